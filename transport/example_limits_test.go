package transport_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// oneAMinute returns the limiter of one key.
func oneAMinute(string) quota.Limiter { return quota.FixedWindow(1, time.Minute) }

func host(r *http.Request) string { return r.URL.Host }

// try sends a request of a user that does not wait, and prints the result.
func try(s *transport.Shaper, url, user string) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	ctx := transport.WithNoDelay(partition.WithUserID(req.Context(), user))
	_, err = s.RoundTrip(req.WithContext(ctx))
	var rejected *transport.RejectedError
	if errors.As(err, &rejected) {
		fmt.Println(req.URL.Host, user, rejected.Reason, rejected.RetryAfter.Round(time.Second))
		return
	}
	fmt.Println(req.URL.Host, user, err)
}

// One limit for each host.
func ExampleShaper_limitsPerHost() {
	s := &transport.Shaper{
		Base:   stub{},
		Limits: quota.By(host, oneAMinute),
	}
	try(s, "http://a.example/1", "alice")
	try(s, "http://a.example/2", "bob")
	try(s, "http://b.example/1", "alice")
	// Output:
	// a.example alice <nil>
	// a.example bob own limit 1m0s
	// b.example alice <nil>
}

// One limit for each user, whatever the host.
func ExampleShaper_limitsPerUser() {
	user := func(r *http.Request) string { return partition.UserID(r.Context()) }
	s := &transport.Shaper{
		Base:   stub{},
		Limits: quota.By(user, oneAMinute),
	}
	try(s, "http://a.example/1", "alice")
	try(s, "http://b.example/1", "alice")
	try(s, "http://a.example/1", "bob")
	// Output:
	// a.example alice <nil>
	// b.example alice own limit 1m0s
	// a.example bob <nil>
}

// One limit on concurrency for all requests. A request counts until the body of its
// response ends.
func ExampleShaper_limitsGlobal() {
	all := quota.Concurrency(1)
	s := &transport.Shaper{
		Base:   stub{},
		Limits: quota.Always[*http.Request](all),
	}
	elsewhere, err := all.TryAcquire(1)
	if err != nil {
		panic(err)
	}
	try(s, "http://a.example/1", "alice")
	elsewhere.Release()
	try(s, "http://a.example/1", "alice")
	try(s, "http://b.example/1", "bob")
	// Output:
	// a.example alice own limit 0s
	// a.example alice <nil>
	// b.example bob <nil>
}

// One limit for each host, and one for all hosts together: a request needs both.
func ExampleShaper_limitsChain() {
	s := &transport.Shaper{
		Base: stub{},
		Limits: quota.Together(
			quota.By(host, oneAMinute),
			quota.Always[*http.Request](quota.FixedWindow(2, time.Hour)),
		),
	}
	try(s, "http://a.example/1", "alice")
	try(s, "http://a.example/2", "alice")
	try(s, "http://b.example/1", "alice") // the refused one has cost nothing
	try(s, "http://c.example/1", "alice")
	// Output:
	// a.example alice <nil>
	// a.example alice own limit 1m0s
	// b.example alice <nil>
	// c.example alice own limit 1h0m0s
}

// The code of the README, for a crawler: to each host a request every half second and two
// at a time, and ten at a time in all.
func ExampleShaper_ownLimits() {
	host := func(r *http.Request) string { return r.URL.Host }
	shaper := &transport.Shaper{Limits: quota.Together(
		quota.By(host, func(string) quota.Limiter {
			return quota.Chain(
				quota.PerSecond(2, 1, quota.Options{Name: "rate"}), // PerSecond(2, 10): after a burst of ten
				quota.Concurrency(2, quota.Options{Name: "per host"}),
			)
		}),
		quota.Always[*http.Request](quota.Concurrency(10, quota.Options{Name: "all"})),
	)}
	shaper.Base = stub{}
	for range 2 {
		req, _ := http.NewRequest(http.MethodGet, "http://a.example/", nil)
		_, err := shaper.RoundTrip(req.WithContext(transport.WithNoDelay(req.Context())))
		var rejected *transport.RejectedError
		if errors.As(err, &rejected) {
			fmt.Println(rejected.Policy, rejected.Reason)
		} else {
			fmt.Println(err)
		}
	}
	// Output:
	// <nil>
	// rate own limit
}
