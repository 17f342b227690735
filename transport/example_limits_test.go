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
func oneAMinute(string) (quota.Limiter, error) {
	return quota.NewFixedWindow(quota.FixedWindowOptions{Permits: 1, Window: time.Minute})
}

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
	perHost := quota.NewKeyed(oneAMinute, quota.KeyedOptions{})
	s := &transport.Shaper{
		Base:   stub{},
		Limits: quota.By(perHost, func(r *http.Request) string { return r.URL.Host }),
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
	perUser := quota.NewKeyed(oneAMinute, quota.KeyedOptions{})
	s := &transport.Shaper{
		Base: stub{},
		Limits: quota.By(perUser, func(r *http.Request) string {
			return partition.UserID(r.Context())
		}),
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
	all, err := quota.NewConcurrency(quota.ConcurrencyOptions{Permits: 1})
	if err != nil {
		panic(err)
	}
	s := &transport.Shaper{
		Base:   stub{},
		Limits: func(*http.Request) quota.Limiter { return all },
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

// One limit for each host, and one for all hosts together: a request needs both. The
// chain is made for each request, outside of the Keyed: otherwise no limiter of a host
// would be idle while the limit for all is in use.
func ExampleShaper_limitsChain() {
	perHost := quota.NewKeyed(oneAMinute, quota.KeyedOptions{})
	ofHost := quota.By(perHost, func(r *http.Request) string { return r.URL.Host })
	all, err := quota.NewFixedWindow(quota.FixedWindowOptions{Permits: 2, Window: time.Hour})
	if err != nil {
		panic(err)
	}
	s := &transport.Shaper{
		Base: stub{},
		Limits: func(r *http.Request) quota.Limiter {
			both, err := quota.NewChain(ofHost(r), all)
			if err != nil {
				panic(err) // neither is nil
			}
			return both
		},
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
