package transport_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// "The available quota … indicates that the server may soon throttle" (the draft,
// Section 3.1.1): with units left and nothing in flight, a request departs soon,
// whatever was learned of other clients.
func TestUnitsLeftAreUsed(t *testing.T) {
	for name, answers := range map[string][]answer{
		"a drop in a minute": {limit(`"api";a=60;w=58`), limit(`"api";a=20;w=56`), limit(`"api";a=19;w=55`)},
		"a drop in an hour":  {limit(`"api";a=900;w=3600`), limit(`"api";a=100;w=3599`), limit(`"api";a=20;w=3598`), limit(`"api";a=19;w=3597`)},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(answers...)
			s := &transport.Shaper{Base: srv}
			for range 10 {
				assert.LessOrEqual(t, delay(t, s, getItems(t.Context())), 16*time.Second)
			}
			assert.LessOrEqual(t, srv.departures()[9], 50*time.Second)
		})
	}
}

// A learned cost (c; the draft, Section 3.1.4) is an estimate: it does not reject
// requests for the whole window, and the next answer corrects it.
func TestLearnedCostDoesNotReject(t *testing.T) {
	for name, cost := range map[string]func(*http.Request, quota.Policy) int64{
		"no Cost": nil, "a Cost of 1": func(*http.Request, quota.Policy) int64 { return 1 },
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(
				says(200, "RateLimit", `"api";a=999;w=3600`, "RateLimit-Policy", `"api";q=1000;w=3600`),
				limit(`"api";a=99;w=3600;c=900`), limit(`"api";a=98;w=3600;c=1`))
			s := &transport.Shaper{Base: srv, Cost: cost}
			for range 2 {
				assert.Zero(t, delay(t, s, getItems(t.Context())))
			}
			for range 8 { // 900, 675, … 121 are more than is left
				assert.Equal(t, time.Minute, delay(t, s, getItems(t.Context())))
			}
			for range 20 {
				assert.Zero(t, delay(t, s, getItems(t.Context())))
			}
		})
	}
}

// A quota without a figure is counted (draft -09, Appendix B.3.1; -07, Section 3.1;
// -06, Appendix B.3.1): the request that tells is one of it. The window ends with a
// guard.
func TestRequestThatTellsIsSpent(t *testing.T) {
	for name, fields := range map[string][]string{
		"-06":            {"RateLimit-Limit", "3", "RateLimit-Reset", "10"},
		"-06 and policy": {"RateLimit-Limit", "3", "RateLimit-Reset", "10", "RateLimit-Policy", "3;w=10"},
		"-07":            {"RateLimit", "limit=3, reset=10"},
		"-09":            {"RateLimit", `"api";t=10`, "RateLimit-Policy", `"api";q=3`},
		"-09 with a key": {"RateLimit", `"api";t=10;pk=:YQ==:`, "RateLimit-Policy", `"api";q=3;pk=:YQ==:`},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(slow(rtt, says(200, fields...)))
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			burst(t, s, 5, plainRequests)
			end := rtt + 10*time.Second + guard(rtt)
			assert.Equal(t, []time.Duration{0, rtt, rtt, end, end, end}, srv.departures())
		})
	}
}

// The request that opens a window is one of it, with or without a figure in its
// answer (the draft, Section 3.1.2: what comes after a window is not known).
func TestProbeCountsInWindowThatItOpens(t *testing.T) {
	bubble(t, "silent", func(t *testing.T) {
		srv := newServer(
			slow(rtt, says(200, "RateLimit", `"api";a=0;w=10`, "RateLimit-Policy", `"api";q=5;w=10`)),
			slow(rtt, says(200)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 10, plainRequests)
		first := 10*time.Second + guard(rtt)
		rest, next := first+rtt, 2*first
		assert.Equal(t, []time.Duration{0, first, rest, rest, rest, rest, next, next, next, next, next}, srv.departures())
	})
}

// A quota that only refusals tell of bounds every window after: none begins with more
// than it.
func TestQuotaOfRefusalsBoundsWindows(t *testing.T) {
	const limited, workers, served = 10, 10, 60
	for name, fields := range map[string]func(left int) []string{
		"X-RateLimit": func(left int) []string {
			return []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", fmt.Sprint(left)}
		},
		"-07": func(left int) []string {
			return []string{"RateLimit", fmt.Sprintf("limit=10, remaining=0, reset=%d", left)}
		},
		"the draft": func(left int) []string {
			return []string{"RateLimit", fmt.Sprintf(`"api";a=0;w=%d`, left), "RateLimit-Policy", `"api";q=10`}
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var mu sync.Mutex
			var opened time.Time
			var n, refused int
			srv := newChooser(func(int, *http.Request) answer {
				mu.Lock()
				defer mu.Unlock()
				const window = 10 * time.Second
				if time.Since(opened) >= window {
					opened, n = time.Now(), 0
				}
				if n++; n <= limited {
					return slow(rtt, says(200))
				}
				refused++
				left := window - time.Since(opened)
				return slow(rtt, says(429, fields(int((left+time.Second-1)/time.Second))...))
			})
			s := &transport.Shaper{Base: srv}
			var done atomic.Int64
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for done.Load() < served {
						if _, status := pass(t, s, getItems(t.Context())); status == 200 {
							done.Add(1)
						}
					}
				})
			}
			wg.Wait()
			assert.LessOrEqual(t, refused, 15) // 10 of the first wave, and one in each window
		})
	}
}
