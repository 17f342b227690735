package transport_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// place is the context key of the position in which a request came.
type place struct{}

// queue sends requests that wait in line, one after another, each with its place in
// the context.
func queue(t *testing.T, rt http.RoundTripper, ctxs ...context.Context) {
	for i, ctx := range ctxs {
		go func() {
			resp, err := rt.RoundTrip(getItems(context.WithValue(ctx, place{}, i)))
			if err == nil {
				drop(resp)
			}
		}()
		synctest.Wait()
	}
}

// order returns the places of the requests in the order in which they were sent.
func order(srv *server) (places []any) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for _, req := range srv.requests {
		if p := req.Context().Value(place{}); p != nil {
			places = append(places, p)
		}
	}
	return places
}

func same(ctx context.Context, n int) (ctxs []context.Context) {
	for range n {
		ctxs = append(ctxs, ctx)
	}
	return ctxs
}

// First come, first served, even if all come at one instant.
func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		pass(t, s, getItems(t.Context()))
		queue(t, s, same(t.Context(), 20)...)
		time.Sleep(time.Hour)
		want := make([]any, 20)
		for i := range want {
			want[i] = i
		}
		assert.Equal(t, want, order(srv))
	})
	bubble(t, "when all may go at once", func(t *testing.T) {
		c := quota.Concurrency(1)
		srv := newServer(slow(time.Second, says(200)))
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return c }}
		queue(t, s, same(t.Context(), 10)...)
		time.Sleep(time.Hour)
		assert.Equal(t, []any{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order(srv))
	})
	bubble(t, "a newcomer does not overtake", func(t *testing.T) {
		// The first in line needs more than is left; there would be room for the newcomer.
		srv := newServer(limit(`"api";a=2;w=10`), says(200))
		s := &transport.Shaper{Base: srv, Cost: func(req *http.Request, _ quota.Policy) int64 {
			if req.Context().Value(place{}) == 0 {
				return 3
			}
			return 1
		}}
		pass(t, s, getItems(t.Context()))
		queue(t, s, same(t.Context(), 2)...)
		refusal(t, s, getItems(transport.WithNoDelay(t.Context())))
		time.Sleep(time.Minute)
		assert.Equal(t, []any{0, 1}, order(srv))
	})
}

// MaxQueue bounds the number of requests in one line. Another partition has another
// line.
func TestMaxQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`))
		s := &transport.Shaper{Base: srv, MaxQueue: 3, MaxDelay: time.Hour}
		bob := asUser(t.Context(), "bob", "GET", items).Context()
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(bob))
		queue(t, s, same(t.Context(), 3)...)
		err := refusal(t, s, getItems(t.Context()))
		assert.Equal(t, &transport.RejectedError{Policy: "api", Reason: quota.ReasonQueueFull, Cause: quota.ReasonExhausted, RetryAfter: 10*time.Second + guard(0)}, err)
		refusal(t, s, getItems(transport.WithPriority(t.Context(), 9)))
		queue(t, s, same(bob, 3)...)
		assert.Equal(t, quota.ReasonQueueFull, refusal(t, s, getItems(bob)).Reason)
		assert.Zero(t, delay(t, s, getItems(transport.WithBypass(t.Context()))))

		// When requests have left the line, others may wait in it.
		time.Sleep(11 * time.Second)
		assert.Zero(t, s.Check(getItems(t.Context())).Rejected)
		time.Sleep(time.Hour)
	})
	bubble(t, "no bound", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`), limit(`"api";a=99999;w=10`))
		s := &transport.Shaper{Base: srv, MaxQueue: -1}
		pass(t, s, getItems(t.Context()))
		burst(t, s, transport.DefaultMaxQueue+100, plainRequests)
		assert.Equal(t, transport.DefaultMaxQueue+101, srv.count())
	})
	bubble(t, "by default", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`), limit(`"api";a=99999;w=10`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		var wg sync.WaitGroup
		for range transport.DefaultMaxQueue {
			wg.Go(func() { pass(t, s, getItems(context.Background())) })
		}
		synctest.Wait()
		assert.Equal(t, quota.ReasonQueueFull, refusal(t, s, getItems(t.Context())).Reason)
		wg.Wait()
	})
}

// A request that is cancelled, wherever it stands in the line, does not affect the
// others: they go when they would have gone, and as many.
func TestCancelInLine(t *testing.T) {
	errGone := errors.New("gone")
	for name, cancelled := range map[string][]int{
		"head": {0}, "middle": {2}, "tail": {4}, "head and tail": {0, 4}, "all but the last": {0, 1, 2, 3}, "all": {0, 1, 2, 3, 4},
	} {
		bubble(t, name, func(t *testing.T) {
			c := quota.Concurrency(7)
			srv := newServer(limit(`"api";a=0;w=10`), limit(`"api";a=2;w=10`), says(200))
			s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return c }, MaxDelay: time.Hour}
			pass(t, s, getItems(t.Context()))
			var ctxs []context.Context
			var cancels []context.CancelCauseFunc
			for range 5 {
				ctx, cancel := context.WithCancelCause(t.Context())
				ctxs, cancels = append(ctxs, ctx), append(cancels, cancel)
			}
			queue(t, s, ctxs...)
			time.Sleep(time.Second)
			var stay []any
			gone := make(map[int]bool)
			for _, i := range cancelled {
				cancels[i](errGone)
				gone[i] = true
			}
			for i := range 5 {
				if !gone[i] {
					stay = append(stay, i)
				}
			}
			synctest.Wait()
			assert.EqualValues(t, 7, c.Stats().Available)
			if len(stay) == 0 {
				// The line is empty: the window still ends when it did, and one may go.
				assert.Equal(t, 9*time.Second+guard(0), delay(t, s, getItems(t.Context())))
				return
			}
			time.Sleep(9*time.Second + guard(0)) // a probe, then two may go; the others wait again
			synctest.Wait()
			first := order(srv)
			require.Len(t, first, min(len(stay), 3))
			assert.Equal(t, stay[0], first[0])
			assert.ElementsMatch(t, stay[:len(first)], first, "the probe, then two at one instant")
			for _, at := range srv.departures()[1:] {
				assert.Equal(t, 10*time.Second+guard(0), at)
			}
			time.Sleep(time.Hour)
			require.Len(t, order(srv), len(stay))
			assert.Equal(t, stay[len(first):], order(srv)[len(first):])
			assert.EqualValues(t, 7, c.Stats().Available)
		})
	}
}

// Whenever requests are cancelled, and in whichever order, none of the others waits
// for ever and no unit is lost.
func TestCancelAtRandom(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			rnd := newRand(seed)
			srv := newServer(slow(time.Duration(rnd.IntN(300))*time.Millisecond, limit(`"api";a=3;w=5`)))
			s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
			pass(t, s, getItems(t.Context()))
			var wg sync.WaitGroup
			for range 40 {
				ctx, cancel := context.WithCancelCause(t.Context())
				if rnd.IntN(2) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(40_000))*time.Millisecond, func() { cancel(errBroken) })
				}
				wait := time.Duration(rnd.IntN(2000)) * time.Millisecond
				wg.Go(func() {
					defer cancel(nil)
					time.Sleep(wait)
					resp, err := s.RoundTrip(getItems(ctx))
					if err != nil {
						assert.ErrorIs(t, err, errBroken, "seed %d", seed)
						return
					}
					drop(resp)
				})
			}
			wg.Wait()
			time.Sleep(time.Minute)
			// All requests have ended: the unit of the current window is there.
			assert.Zero(t, s.Check(getItems(t.Context())).Wait, "seed %d", seed)
		})
	}
}

// Every request is sent exactly once, although many wait for several limits at a time.
func TestManyLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quota.Concurrency(2)
		srv := newChooser(func(n int, req *http.Request) answer {
			return slow(time.Duration(n%7)*10*time.Millisecond, limit(`"a";a=2;w=1, "b";a=3;w=2, "c";a=1;w=3;pk=:`+map[string]string{"GET": "QQ==", "PUT": "Qg=="}[req.Method]+`:`))
		})
		s := &transport.Shaper{Base: srv, MaxDelay: 24 * time.Hour, Limits: func(*http.Request) quota.Limiter { return c }}
		burst(t, s, 200, func(i int) *http.Request {
			return newRequest(transport.WithPriority(t.Context(), i%3), []string{"GET", "PUT"}[i%2], items)
		})
		assert.Equal(t, 200, srv.count())
		assert.EqualValues(t, 2, c.Stats().Available)
	})
}

// Requests in line are charged to policies that become known while they wait: a policy
// that the response to the first of them names concerns the others.
func TestPolicyLearnedWhileInLine(t *testing.T) {
	bubble(t, "after Retry-After", func(t *testing.T) {
		srv := newServer(says(503, "Retry-After", "10"), slow(rtt, limit(`"api";a=3;w=60`)), slow(rtt, says(200)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for range 9 {
			go pass(t, s, getItems(context.Background()))
		}
		time.Sleep(50 * time.Second)
		assert.Equal(t, 1+1+3, srv.count())
		time.Sleep(time.Hour)
		assert.Equal(t, 1+9, srv.count())
	})
	bubble(t, "in line for a permit", func(t *testing.T) {
		srv := newServer(slow(rtt, limit(`"api";a=3;w=60`)), slow(rtt, says(200)))
		s := &transport.Shaper{Base: srv, Limits: oneAtATime(t)}
		for range 9 {
			go pass(t, s, getItems(context.Background()))
		}
		time.Sleep(50 * time.Second)
		assert.Equal(t, 1+3, srv.count())
		time.Sleep(time.Hour)
		assert.Equal(t, 9, srv.count())
	})
	bubble(t, "in line for another policy", func(t *testing.T) {
		srv := newServer(limit(`"a";a=0;w=10`), limit(`"a";a=99;w=60, "b";a=3;w=60`), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for range 9 {
			go pass(t, s, getItems(context.Background()))
		}
		time.Sleep(50 * time.Second)
		assert.Equal(t, 1+1+3, srv.count())
		time.Sleep(time.Hour)
		assert.Equal(t, 1+9, srv.count())
	})
}
