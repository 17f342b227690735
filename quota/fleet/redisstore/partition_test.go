package redisstore

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// These tests break the way between some processes and Redis.

// A bad line is a store that is reached in a bad way.
type badLine struct {
	fleet.Store
	cut   atomic.Bool  // it is not reached
	trip  atomic.Int64 // to the store and back, as a time.Duration
	twice bool         // what is sent arrives twice
	gave  atomic.Int64 // how often the second arrival granted something
	deaf  bool         // no word arrives
}

var errCut = errors.New("the line is cut")

func (b *badLine) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	if b.cut.Load() {
		return nil, errCut
	}
	time.Sleep(time.Duration(b.trip.Load() / 2))
	grant, err := b.Store.Exchange(ctx, origin, turn)
	if b.twice && err == nil {
		again, err := b.Store.Exchange(ctx, origin, turn)
		if err == nil && !again.Void {
			b.gave.Add(1)
		}
	}
	time.Sleep(time.Duration(b.trip.Load() / 2))
	return grant, err
}

func (b *badLine) Subscribe(ctx context.Context, origin exchange.ID, hear func(*exchange.Word)) error {
	if b.deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	return b.Store.Subscribe(ctx, origin, hear)
}

func newProcessOn(t *testing.T, rdb redis.UniversalClient, line *badLine, api *transporttest.API) *process {
	line.Store = New(rdb, "")
	f := fleet.New(line, fleet.Options{})
	t.Cleanup(func() {
		f.Close()
		rdb.Close()
	})
	return &process{t, f, clientOf(f, api)}
}

// One of two processes is cut off. It goes on alone, and comes back.
func TestPartition(t *testing.T) {
	s := start(t)
	api := plenty()
	line := new(badLine)
	one, other := newProcessOn(t, s.client(), line, api), newProcess(t, s.client(), api)
	both := func(s fleet.Status) bool {
		other.get()
		return s.Linked && s.Peers == 2 && other.fleet.Status().Linked
	}
	one.until("find each other", both)
	line.cut.Store(true)
	one.until("alone", func(s fleet.Status) bool { return alone(s) && errors.Is(s.Err, errCut) })
	before := other.fleet.Status().Exchanges
	other.until("goes on", func(s fleet.Status) bool { return s.Linked && s.Exchanges > before+3 })
	line.cut.Store(false)
	one.until("find each other again", both)
}

// A store that is slow is used as long as it answers in 100 ms. If it takes longer, the
// process is alone until it is quicker.
func TestSlow(t *testing.T) {
	s := start(t)
	line := new(badLine)
	p := newProcessOn(t, s.client(), line, plenty())
	line.trip.Store(int64(10 * time.Millisecond))
	p.until("linked", func(s fleet.Status) bool { return s.Linked && s.Exchanges > 3 })
	line.trip.Store(int64(time.Second))
	p.until("alone", alone)
	line.trip.Store(0)
	p.until("linked again", linked)
}

// Two processes that hear no words share a quota nevertheless, and so do two of which
// everything arrives twice.
func TestDeafAndTwice(t *testing.T) {
	for name, line := range map[string]func() *badLine{
		"deaf":  func() *badLine { return &badLine{deaf: true} },
		"twice": func() *badLine { return &badLine{twice: true} },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 20, Window: time.Second}}}
			var all sync.WaitGroup
			var lines []*badLine
			for range 2 {
				lines = append(lines, line())
				p := newProcessOn(t, s.client(), lines[len(lines)-1], api)
				for range 30 {
					all.Go(func() {
						for {
							resp, err := p.client.Get("https://api.example/things")
							if !assert.NoError(t, err) {
								return
							}
							resp.Body.Close()
							if resp.StatusCode == http.StatusOK {
								return
							}
						}
					})
				}
			}
			all.Wait()
			assert.EqualValues(t, 60, api.Counts().Served)
			for _, l := range lines {
				assert.Zero(t, l.gave.Load())
			}
		})
	}
}

const (
	socketVariable  = "HEADWAY_TEST_SOCKET"
	addressVariable = "HEADWAY_TEST_API"
)

// TestChild is a process of TestProcessesKilled: it makes requests until its standard
// input ends.
func TestChild(t *testing.T) {
	socket, address := os.Getenv(socketVariable), os.Getenv(addressVariable)
	if socket == "" {
		t.Skip("it is run by TestProcessesKilled")
	}
	s := &server{t: t, socket: socket}
	f := fleet.New(New(s.client(), ""), fleet.Options{})
	defer f.Close()
	client := &http.Client{Transport: &transport.Shaper{Accounts: &quota.Accounts{Peers: f, Secret: &[32]byte{1}}}}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	for {
		select {
		case <-ended:
			return
		default:
		}
		resp, err := client.Get(address)
		require.NoError(t, err)
		resp.Body.Close()
	}
}

// Four processes use a quota. One after another is killed, and the others go on.
func TestProcessesKilled(t *testing.T) {
	s := start(t)
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 50, Window: time.Second}}}
	web := httptest.NewServer(api)
	defer web.Close()
	var children []*exec.Cmd
	for range 4 {
		c := exec.Command(os.Args[0], "-test.run=^TestChild$")
		c.Env = append(os.Environ(), socketVariable+"="+s.socket, addressVariable+"="+web.URL)
		stdin, err := c.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		children = append(children, c)
		defer func() {
			stdin.Close()
			if c.ProcessState == nil {
				_ = c.Wait()
			}
		}()
	}
	rdb := s.client()
	defer rdb.Close()
	eventually(t, "all are in Redis", func() bool {
		const members = "return cmsgpack.unpack(redis.call('GET', KEYS[1]))[27]"
		for _, key := range rdb.Keys(t.Context(), "hw6:*:a:*").Val() {
			if n, _ := rdb.Eval(t.Context(), members, []string{key}).Int(); n == 4 {
				return true
			}
		}
		return false
	})
	for _, c := range children[:3] {
		require.NoError(t, c.Process.Kill())
		_ = c.Wait()
		before := api.Counts().Served
		eventually(t, "the others go on", func() bool { return api.Counts().Served >= before+60 })
	}
}
