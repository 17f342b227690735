package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// process returns the client of a process that shares its quotas through f.
func process(f *fleet.Fleet, api http.Handler) *http.Client {
	secret := [32]byte{1} // in earnest: random bytes, the same in all processes
	return &http.Client{Transport: &transport.Shaper{
		Base:     &transporttest.Transport{Handler: api},
		Accounts: &quota.Accounts{Peers: f, Secret: &secret},
	}}
}

// use makes some requests, and returns how many were sent.
func use(client *http.Client, n int) (sent int) {
	for range n {
		if resp, err := client.Get("https://api.example/items"); err == nil {
			sent++
			resp.Body.Close()
		}
	}
	return sent
}

// hourly returns a server that allows so many requests an hour.
func hourly(n int64) *transporttest.API {
	return &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: n, Window: time.Hour}}}
}

// Two processes use one quota of ten as if they were one client. A Hub is a store in memory;
// package redisstore has one for processes on several machines.
func ExampleFleet() {
	hub, api := new(fleet.Hub), hourly(10)
	one := fleet.New(hub, fleet.Options{})
	defer one.Close() // gives back what it has
	other := fleet.New(hub, fleet.Options{})
	defer other.Close()

	fmt.Println(use(process(one, api), 7), "sent")
	fmt.Println(use(process(other, api), 1), "sent")
	fmt.Println(api.Counts().Refused, "refused by the server")
	// Output:
	// 7 sent
	// 1 sent
	// 0 refused by the server
}

// Whether the store is reached, for a health check.
func ExampleStatus() {
	reached := make(chan bool, 1)
	f := fleet.New(new(fleet.Hub), fleet.Options{Trace: &fleet.Trace{Linked: func() { reached <- true }}})
	defer f.Close()
	use(process(f, hourly(10)), 1)
	fmt.Println(<-reached)
	var s fleet.Status = f.Status()
	fmt.Println(s.Exchanges > 0)
	// Output:
	// true
	// true
}

// Without its store a process goes on alone. A Trace says so once, and of each exchange how
// long it took.
func ExampleTrace() {
	alone := make(chan error, 1)
	f := fleet.New(down{}, fleet.Options{Trace: &fleet.Trace{
		Alone: func(err error) { alone <- err },
		Exchanged: func(i fleet.ExchangedInfo) {
			_ = i.Took // a histogram would like it
		},
	}})
	defer f.Close()
	fmt.Println(use(process(f, hourly(10)), 2), "sent, although:", <-alone)
	// Output:
	// 2 sent, although: the store is away
}

// down is a store that does not answer.
type down struct{}

func (down) Exchange(context.Context, exchange.ID, *exchange.Turn) (*exchange.Grant, error) {
	return nil, errors.New("the store is away")
}

func (down) Subscribe(ctx context.Context, _ exchange.ID, _ func(*exchange.Word)) error {
	<-ctx.Done()
	return ctx.Err()
}

// A Store of one's own: here one that tells of the first turn, and leaves the rules to a Hub.
func ExampleStore() {
	var store fleet.Store = &telling{Store: new(fleet.Hub), turns: make(chan int, 1)}
	f := fleet.New(store, fleet.Options{})
	defer f.Close()
	fmt.Println(use(process(f, hourly(10)), 2), "sent")
	fmt.Println("the first turn tells of accounts:", <-store.(*telling).turns > 0)
	// Output:
	// 2 sent
	// the first turn tells of accounts: true
}

type telling struct {
	fleet.Store
	turns chan int
}

func (t *telling) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	select {
	case t.turns <- len(turn.Accounts):
	default: // told before
	}
	return t.Store.Exchange(ctx, origin, turn)
}
