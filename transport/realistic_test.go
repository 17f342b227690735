package transport_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A 404 is not a refusal for lack of quota, although its figure says that nothing is
// left, as is usual for concurrent-requests.
func TestNotFoundIsNoRefusal(t *testing.T) {
	bubble(t, "concurrent", func(t *testing.T) {
		var busy atomic.Int64
		srv := newChooser(func(int, *http.Request) answer {
			return func(req *http.Request) (*http.Response, error) {
				n := busy.Add(1)
				time.Sleep(100 * time.Millisecond)
				busy.Add(-1)
				return says(404,
					"RateLimit-Policy", `"c";q=4;qu="concurrent-requests"`,
					"RateLimit", `"c";a=`+string('0'+byte(max(4-n, 0))))(req)
			}
		})
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		began := time.Now()
		burst(t, s, 40, func(int) *http.Request { return getItems(t.Context()) })
		assert.LessOrEqual(t, time.Since(began), 5*time.Second)
	})
}

// If a server sends its fields only when little is left, its last figure does not count
// for ever: a figure without a window stands until the next response (the draft,
// Sections 3.1.2 and 5.1).
func TestFigureWithoutWindowLapses(t *testing.T) {
	bubble(t, "requests", func(t *testing.T) {
		srv := newServer(limit(`"api";a=2`), says(200))
		s := &transport.Shaper{Base: srv}
		for range 4 {
			pass(t, s, getItems(t.Context()))
		}
		for range 20 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
	})
	bubble(t, "concurrent requests", func(t *testing.T) {
		srv := newServer(says(200, "RateLimit-Policy", `"c";q=100;qu="concurrent-requests"`, "RateLimit", `"c";a=0;w=1`),
			slow(time.Second, says(200)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		time.Sleep(time.Hour)
		began := time.Now()
		burst(t, s, 50, func(int) *http.Request { return getItems(t.Context()) })
		assert.Equal(t, time.Second, time.Since(began))
	})
}

// By its own fields, a refusal whose window is over when it arrives would let the next
// request go at once. The client backs off all the same.
func TestRefusalOfAWindowThatIsOver(t *testing.T) {
	bubble(t, "slow server", func(t *testing.T) {
		srv := newServer(slow(1500*time.Millisecond, says(429, "RateLimit", `"api";a=0;w=1`)))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		began := time.Now()
		for time.Since(began) < 2*time.Minute {
			resp, err := s.RoundTrip(getItems(t.Context()))
			require.NoError(t, err)
			drop(resp)
		}
		assert.Equal(t, 8, srv.count())
	})
}

// The cost of a request counts for the unnamed account, too, and Check includes it.
func TestCostOfUnnamedAccount(t *testing.T) {
	bubble(t, "draft -07", func(t *testing.T) {
		s := &transport.Shaper{
			Base: newServer(says(200, "RateLimit", "limit=100, remaining=5, reset=50"), says(200)),
			Cost: func(*http.Request, quota.Policy) int64 { return 10 },
		}
		pass(t, s, getItems(t.Context()))
		want := s.Check(getItems(t.Context())).Wait
		assert.Equal(t, 50*time.Second+time.Millisecond, want)
		assert.Equal(t, want, delay(t, s, getItems(t.Context())))
	})
}

// If a function of the Shaper is slow, no limit is exceeded: the request departs when
// it is admitted, not when RoundTrip was called.
func TestSlowFunctions(t *testing.T) {
	bubble(t, "rate", func(t *testing.T) {
		limiter := quota.Rate(rate.NewLimiter(100, 100))
		var n atomic.Int64
		s := &transport.Shaper{
			Base:   newServer(says(200)),
			Limits: func(*http.Request) quota.Limiter { return limiter },
			// No request waits: after a wait, the clock would be read again anyway.
			MaxDelay: transport.NoDelay,
			Scope: func(*http.Request) string {
				if n.Add(1)%4 == 0 {
					time.Sleep(500 * time.Millisecond)
				}
				return ""
			},
		}
		var gone atomic.Int64
		var wg sync.WaitGroup
		stop := time.Now().Add(10 * time.Second)
		for range 200 {
			wg.Go(func() {
				for time.Now().Before(stop) {
					resp, err := s.RoundTrip(getItems(t.Context()))
					if err == nil {
						drop(resp)
						gone.Add(1)
					} else {
						time.Sleep(time.Millisecond)
					}
				}
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, gone.Load(), int64(100+1050)) // the burst, and 100 a second for 10.5 s
	})
}

// A request departs after the functions of the Shaper have returned: a window that its
// response opens is counted from then on.
func TestSlowLike(t *testing.T) {
	bubble(t, "window", func(t *testing.T) {
		srv := newServer(limit(`"api";a=9;w=10`), limit(`"api";a=0;w=10`), says(200))
		s := &transport.Shaper{Base: srv, Like: func(*http.Request) string {
			time.Sleep(time.Second)
			return ""
		}}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		at := srv.departures()
		assert.Equal(t, 10*time.Second+guard(0), at[2]-at[1])
	})
}
