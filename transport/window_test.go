package transport_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// "The draft" is draft-ietf-httpapi-ratelimit-headers, the editor's draft of
// April 2026.

const rtt = 100 * time.Millisecond

// Quotas that were never advertised are not enforced. But an origin that has not
// answered may allow as few as ten requests: the others wait for its first answer. A
// server that allows ten refuses none of fifty; one without quotas costs a round trip,
// once.
func TestFirstFlight(t *testing.T) {
	bubble(t, "allows ten", func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 10, Window: 10 * time.Second}}}
		s := &transport.Shaper{Base: &transporttest.Transport{Handler: api, Latency: func() time.Duration { return rtt }}}
		var statuses sync.Map
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_, status := pass(t, s, getItems(t.Context()))
				statuses.Store(status, true)
			})
		}
		wg.Wait()
		_, refused := statuses.Load(429)
		assert.False(t, refused)
	})
	bubble(t, "has no quotas", func(t *testing.T) {
		srv := newServer(slow(rtt, says(200)))
		s := &transport.Shaper{Base: srv}
		burst(t, s, 50, plainRequests)
		burst(t, s, 50, plainRequests)
		assert.Equal(t, append(append(times(10, 0), times(40, rtt)...), times(50, 2*rtt)...), srv.departures())
	})
	bubble(t, "is not reached", func(t *testing.T) {
		srv := newServer(slow(rtt, fails(&net.OpError{Op: "dial"})))
		s := &transport.Shaper{Base: srv}
		for range 50 {
			go s.RoundTrip(getItems(t.Context()))
		}
		time.Sleep(time.Second - rtt)
		assert.Equal(t, 50, srv.count(), "ten at a time")
	})
	for name, tt := range map[string]struct {
		set func(*transport.Shaper)
		ctx func(context.Context) context.Context
	}{
		"Observe":  {set: func(s *transport.Shaper) { s.Mode = transport.Observe }},
		"NoDelay":  {set: func(s *transport.Shaper) { s.MaxDelay = transport.NoDelay }},
		"no bound": {set: func(s *transport.Shaper) { s.FirstFlight = -1 }},
		"bypass":   {ctx: transport.WithBypass},
		"no delay": {ctx: transport.WithNoDelay},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(slow(rtt, says(200)))
			s, ctx := &transport.Shaper{Base: srv}, t.Context()
			if tt.set != nil {
				tt.set(s)
			}
			if tt.ctx != nil {
				ctx = tt.ctx(ctx)
			}
			burst(t, s, 50, func(int) *http.Request { return getItems(ctx) })
			assert.Equal(t, times(50, 0), srv.departures())
		})
	}
}

// "A client SHOULD NOT exceed the available quota within the time expressed in
// the effective window parameter" (the draft, Section 7). After the window nothing is
// known (Section 3.1.2): a probe is sent, and the others wait for its response.
func TestWindow(t *testing.T) {
	for _, took := range []time.Duration{0, 2 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond} {
		bubble(t, took.String(), func(t *testing.T) {
			srv := newServer(slow(took, limit(`"api";a=3;w=10`)), slow(took, says(200)))
			srv.choose = func(n int, _ *http.Request) answer {
				switch {
				case n == 0:
					return slow(took, limit(`"api";a=3;w=10`))
				case n < 4:
					return slow(took, says(200))
				}
				return slow(took, limit(`"api";a=100;w=10`))
			}
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			burst(t, s, 8, plainRequests)
			end := 10*time.Second + guard(took) // from the departure of the first
			want := append([]time.Duration{0}, times(3, took)...)
			want = append(want, end)
			want = append(want, times(4, end+took)...)
			assert.Equal(t, want, srv.departures())
		})
	}
}

// If the response to a probe says that nothing is left, the next window begins.
func TestWindowAfterWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(slow(rtt, limit(`"api";a=0;w=10`)))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 3, plainRequests)
		step := 10*time.Second + guard(rtt)
		assert.Equal(t, []time.Duration{0, step, 2 * step, 3 * step}, srv.departures())
	})
}

// After the end of a window, as many requests may go as it left over, and one more as a
// probe. The full quota is not assumed (the draft, Section 3.1.2).
func TestLeftOverAfterWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=5;w=10`), slow(rtt, limit(`"api";a=50;w=10`)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		time.Sleep(20 * time.Second)
		burst(t, s, 8, plainRequests)
		at := srv.departures()
		assert.Equal(t, times(5, 20*time.Second), at[1:6])
		assert.Equal(t, times(2, 20*time.Second+rtt), at[7:], "departures after the response to the probe")
	})
}

// If the quota is large enough, no request is delayed, not even at the start.
func TestEnoughQuotaIsNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(slow(rtt, says(200, "RateLimit", `"api";a=700;w=60`, "RateLimit-Policy", `"api";q=1000;w=60`)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 600, plainRequests)
		assert.Equal(t, append([]time.Duration{0}, times(600, rtt)...), srv.departures())
	})
}

// w=0 says that the window is over now (a policy's window must not be 0, a
// service limit's may). If nothing is left, the next request goes a second later: a
// server that rounds down sends w=0 in the last second of the window.
func TestWindowOfZero(t *testing.T) {
	bubble(t, "something left", func(t *testing.T) {
		srv := newServer(limit(`"api";a=1;w=0`))
		s := &transport.Shaper{Base: srv}
		for range 5 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
	})
	bubble(t, "nothing left", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=0`), limit(`"api";a=9;w=9`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		took := delay(t, s, getItems(t.Context()))
		assert.Equal(t, time.Second, took)
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}

// A figure without a window stands until the next response. If nothing is left, a probe
// is sent after a while.
func TestFigureWithoutWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=2`), says(200), says(200), limit(`"api";a=5`), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		assert.Zero(t, delay(t, s, getItems(t.Context())))
		assert.Zero(t, delay(t, s, getItems(t.Context())))
		assert.Equal(t, time.Second, delay(t, s, getItems(t.Context())))
		for range 5 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
	})
}

// During a window longer than ten minutes, one probe per ten minutes is sent (the
// draft, Section 9.5.1).
func TestLongWindowIsProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=86400`))
		s := &transport.Shaper{Base: srv, MaxDelay: 24 * time.Hour}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 5, plainRequests)
		assert.Equal(t, []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 40 * time.Minute, 50 * time.Minute}, srv.departures())
	})
}

// The examples of the draft's Appendix A, each as the response to a first request, and
// how long each of the next requests waits.
func TestDraftExamples(t *testing.T) {
	ms := time.Millisecond
	for _, tt := range []struct {
		name   string
		answer answer
		waits  []time.Duration // of the next requests, one after another; the last is longer than MaxDelay
	}{
		{"A.1.1 exhausted", limit(`"default";a=0;w=50`), []time.Duration{50*time.Second + ms}},
		{"A.1.2 day", limit(`"dayLimit";a=2;w=36000`), []time.Duration{0, 0, 10 * time.Minute}},
		{"A.1.4 throttled", says(429,
			"Date", "Mon, 05 Aug 2019 09:27:00 GMT",
			"Retry-After", "Mon, 05 Aug 2019 09:27:05 GMT",
			"RateLimit", `"default";a=0;w=5`), []time.Duration{5*time.Second + ms}},
		{"A.2.1 policy", says(200, "RateLimit", `"fixedwindow";a=1;w=50`, "RateLimit-Policy", `"fixedwindow";q=100;w=60`),
			[]time.Duration{0, 50*time.Second + ms}},
		{"A.2.3 pushed back", says(429, "RateLimit-Policy", `"dynamic";q=15;w=20`, "RateLimit", `"dynamic";a=0;w=20`),
			[]time.Duration{20*time.Second + ms}},
		{"A.3 retry after", says(429, "Retry-After", "20", "RateLimit-Policy", `"dynamic";q=100;w=60`, "RateLimit", `"dynamic";a=1;w=40`),
			[]time.Duration{20 * time.Second, 20*time.Second + ms}},
		{"A.3.1 two windows", says(200, "RateLimit-Policy", `"hour";q=1000;w=3600, "day";q=5000;w=86400`, "RateLimit", `"day";a=1;w=36000`),
			[]time.Duration{0, 10 * time.Minute}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			srv := newServer(tt.answer, says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
			pass(t, s, getItems(t.Context()))
			var waits []time.Duration
			for range tt.waits {
				waits = append(waits, delay(t, s, getItems(t.Context())))
			}
			assert.Equal(t, tt.waits, waits)
		})
	}
}

// The draft, Appendix A.3: nothing is sent before Retry-After has passed; then the
// available quota is used within the rest of the effective window.
func TestDraftA3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(
			says(429, "Retry-After", "20", "RateLimit-Policy", `"dynamic";q=100;w=60`, "RateLimit", `"dynamic";a=15;w=40`),
			says(200),
		)
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 20, plainRequests)
		at := srv.departures()[1:]
		assert.Equal(t, times(15, 20*time.Second), at[:15])
		assert.Equal(t, 40*time.Second+guard(0), at[15])
	})
}

// The draft, Appendix A.3.1: both policies are kept. The one without a service limit is
// kept by the client's own count.
func TestDraftA31(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(says(200,
			"RateLimit-Policy", `"hour";q=5;w=60, "day";q=5000;w=86400`,
			"RateLimit", `"day";a=100;w=36000`))
		s := &transport.Shaper{Base: srv}
		for range 5 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
		assert.Equal(t, time.Minute, delay(t, s, getItems(t.Context())).Truncate(time.Second))
	})
}

// A policy without a service limit is kept by the client's own count (the draft,
// Section 2), unless it has no window.
func TestPolicyAlone(t *testing.T) {
	bubble(t, "with a window", func(t *testing.T) {
		srv := newServer(slow(rtt, says(200, "RateLimit-Policy", `"api";q=10;w=60`)))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 25, plainRequests)
		window := time.Minute + guard(rtt)
		want := append([]time.Duration{0}, times(9, rtt)...)
		want = append(want, times(10, window)...)
		assert.Equal(t, append(want, times(6, 2*window)...), srv.departures())
	})
	bubble(t, "without", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(200, "RateLimit-Policy", `"api";q=1`))}
		for range 20 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
	})
}

// When the quota of a policy is lowered, no more than that is available at once. An
// available quota above the quota counts as the quota.
func TestQuotaBoundsAvailable(t *testing.T) {
	bubble(t, "lowered", func(t *testing.T) {
		srv := newServer(
			says(200, "RateLimit", `"api";a=50;w=60`, "RateLimit-Policy", `"api";q=100;w=60`),
			says(200, "RateLimit-Policy", `"api";q=5;w=60`),
			says(200),
		)
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		for range 5 {
			pass(t, s, getItems(t.Context()))
		}
		refusal(t, s, getItems(t.Context()))
	})
	bubble(t, "exceeded", func(t *testing.T) {
		srv := newServer(says(200, "RateLimit", `"api";a=1000;w=60`, "RateLimit-Policy", `"api";q=5;w=60`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		for range 6 {
			pass(t, s, getItems(t.Context()))
		}
		refusal(t, s, getItems(t.Context()))
	})
}

// All policies are kept, each in its own window.
func TestSeveralPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"burst";a=2;w=5, "steady";a=3;w=30`), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		var waits []time.Duration
		for range 4 {
			waits = append(waits, delay(t, s, getItems(t.Context())))
		}
		assert.Equal(t, []time.Duration{0, 0, 5*time.Second + guard(0), 25 * time.Second}, waits)
	})
}

// A policy in content-bytes counts the bodies of requests; one in concurrent-requests,
// requests that have not ended. A policy in an unknown unit is not enforced.
func TestQuotaUnits(t *testing.T) {
	bubble(t, "content-bytes", func(t *testing.T) {
		srv := newServer(says(200, "RateLimit", `"bytes";a=100;w=60`, "RateLimit-Policy", `"bytes";q=1000;w=60;qu="content-bytes"`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		put := func(n int64) *http.Request {
			req := newRequest(t.Context(), "PUT", items)
			req.Body, req.ContentLength = http.NoBody, n
			return req
		}
		pass(t, s, put(10))
		pass(t, s, put(60))
		refusal(t, s, put(41))
		pass(t, s, put(39))
		refusal(t, s, put(-1)) // length not known: that of earlier requests counts
		pass(t, s, newRequest(t.Context(), "GET", items))
		refusal(t, s, newRequest(t.Context(), "GET", items)) // at least 1
	})
	bubble(t, "concurrent-requests", func(t *testing.T) {
		srv := newServer(says(200, "RateLimit-Policy", `"threads";q=2;qu="concurrent-requests"`))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		one, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		two, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		assert.Equal(t, "threads", refusal(t, s, getItems(t.Context())).Policy)
		drop(one)
		pass(t, s, getItems(t.Context()))
		drop(two)
		pass(t, s, getItems(t.Context()))
	})
	bubble(t, "any other", func(t *testing.T) {
		srv := newServer(says(200, "RateLimit", `"x";a=0;w=60`, "RateLimit-Policy", `"x";q=1;w=60;qu="furlongs"`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for range 5 {
			assert.Equal(t, time.Minute+guard(0), delay(t, s, getItems(t.Context())))
		}
	})
}

// A policy whose unit changes does not freeze: requests that were in flight meanwhile
// are given back once.
func TestUnitThatChanges(t *testing.T) {
	const concurrent, plain = `"api";q=2;w=60;qu="concurrent-requests"`, `"api";q=1000;w=60`
	synctest.Test(t, func(t *testing.T) {
		srv := newChooser(func(n int, _ *http.Request) answer {
			if n >= 1 && n <= 4 {
				return slow(rtt, says(200, "RateLimit-Policy", plain))
			}
			return says(200, "RateLimit-Policy", concurrent)
		})
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 4, func(int) *http.Request { return getItems(transport.WithBypass(t.Context())) })
		pass(t, s, getItems(t.Context()))
		for range 3 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
		one, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		defer drop(one)
		two, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		defer drop(two)
		refusal(t, s, getItems(transport.WithNoDelay(t.Context())))
	})
}

// After a window a probe is sent, whatever the server said before and whatever the
// request costs: an account never freezes.
func TestNeverFrozen(t *testing.T) {
	for name, a := range map[string]answer{
		"q=0":           says(200, "RateLimit-Policy", `"api";q=0;w=5`),
		"a=0 and q=0":   says(200, "RateLimit-Policy", `"api";q=0;w=5`, "RateLimit", `"api";a=0;w=5`),
		"a=0":           limit(`"api";a=0;w=5`),
		"no window":     limit(`"api";a=0`),
		"over now":      limit(`"api";a=0;w=0`),
		"429":           says(429, "RateLimit", `"api";a=0;w=5`),
		"429 alone":     says(429),
		"no concurrent": says(200, "RateLimit-Policy", `"api";q=0;qu="concurrent-requests"`, "RateLimit", `"api";a=0`),
		"503":           says(503, "Retry-After", "5"),
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(slow(rtt, a))
			s := &transport.Shaper{Base: srv}
			for range 20 {
				assert.LessOrEqual(t, delay(t, s, getItems(t.Context())), time.Minute+rtt)
			}
			burst(t, s, 2, plainRequests)
		})
	}
	bubble(t, "costs more than the quota", func(t *testing.T) {
		left := `"api";a=2;w=5`
		srv := newChooser(func(int, *http.Request) answer {
			return slow(rtt, says(200, "RateLimit-Policy", `"api";q=3;w=5`, "RateLimit", left))
		})
		s := &transport.Shaper{Base: srv, Cost: func(*http.Request, quota.Policy) int64 { return 5 }}
		pass(t, s, getItems(t.Context()))
		for range 3 {
			assert.Equal(t, 5*time.Second+guard(rtt), delay(t, s, getItems(t.Context())))
		}
		time.Sleep(5 * time.Second)
		left = `"api";a=3;w=5`
		for range 2 {
			assert.Equal(t, rtt, delay(t, s, getItems(t.Context())), "all of it is there")
		}
		burst(t, s, 3, plainRequests)
		n := srv.count()
		assert.Equal(t, []time.Duration{rtt, rtt}, []time.Duration{
			srv.departures()[n-2] - srv.departures()[n-3], srv.departures()[n-1] - srv.departures()[n-2],
		}, "one at a time")
	})
	bubble(t, "probe lost", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=5`), fails(errBroken), fails(errBroken), limit(`"api";a=9;w=5`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				resp, _ := s.RoundTrip(getItems(context.Background()))
				drop(resp)
			})
		}
		wg.Wait()
		assert.Equal(t, 5*time.Second+guard(0), srv.departures()[4])
	})
	bubble(t, "probe hangs", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=5`), slow(10*time.Minute, says(200)), limit(`"api";a=9;w=5`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 3, plainRequests)
		assert.Equal(t, 6*time.Second+guard(0), srv.departures()[2], "one second after the probe")
	})
	bubble(t, "probe cancelled", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=5`), func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}, limit(`"api";a=0;w=5`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		go func() {
			_, err := s.RoundTrip(getItems(ctx))
			assert.ErrorIs(t, err, context.DeadlineExceeded)
		}()
		time.Sleep(6 * time.Second) // the probe is in flight
		assert.Equal(t, guard(0), delay(t, s, getItems(t.Context())), "one second after the probe")
		time.Sleep(time.Hour)
	})
}

// Against a server that enforces what it advertises, the whole quota is used and no
// request is refused, in both dialects.
func TestUsesAllAndNoMore(t *testing.T) {
	for _, dialect := range []parse.Dialect{parse.EditorsDraft, parse.Draft08} {
		for _, algorithm := range []transporttest.Algorithm{transporttest.FixedWindow, transporttest.AlignedWindow} {
			bubble(t, fmt.Sprint(dialect, algorithm), func(t *testing.T) {
				api := &transporttest.API{
					Dialect:  dialect,
					Policies: []transporttest.Policy{{Name: "api", Quota: 20, Window: 10 * time.Second, Algorithm: algorithm}},
				}
				s := &transport.Shaper{
					Base:     &transporttest.Transport{Handler: api, Latency: func() time.Duration { return rtt }},
					MaxDelay: time.Hour,
				}
				began := time.Now()
				pass(t, s, getItems(t.Context()))
				burst(t, s, 99, plainRequests)
				assert.Equal(t, transporttest.Counts{Served: 100}, api.Counts())
				assert.Equal(t, 4*(10*time.Second+guard(rtt))+2*rtt, time.Since(began))
			})
		}
	}
}
