package transport_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/transport"
)

// A gateway is a server with several routes, /routea and so on. Requests come at random; each is tried again as often as it is
// refused, six times at most, after the Retry-After.
type gateway struct {
	rates      []float64 // of each route, per second
	retryAfter time.Duration
	lasts      time.Duration
	refuses    func(route int, t time.Duration) bool
}

// traffic is what became of it, by route.
type traffic struct {
	refused, served []int
	waited          []time.Duration // until the requests that were served were, together
}

// mean is how long requests of the routes from first on took until they were served.
func (c traffic) mean(first int) time.Duration {
	var waited time.Duration
	n := 0
	for i := first; i < len(c.served); i++ {
		waited += c.waited[i]
		n += c.served[i]
	}
	return waited / time.Duration(max(n, 1))
}

func (c traffic) refusals() (n int) {
	for _, r := range c.refused {
		n += r
	}
	return n
}

// run sends the traffic, through a Shaper if shaped.
func (g gateway) run(t *testing.T, seed uint64, shaped bool) traffic {
	start, rnd := time.Now(), newRand(seed)
	c := traffic{make([]int, len(g.rates)), make([]int, len(g.rates)), make([]time.Duration, len(g.rates))}
	var mu sync.Mutex // guards c
	var rt http.RoundTripper = roundTripper(func(req *http.Request) (*http.Response, error) {
		time.Sleep(rtt / 2)
		route, _ := strconv.Atoi(req.Header.Get("Route"))
		refuses := g.refuses(route, time.Since(start))
		time.Sleep(rtt / 2)
		if refuses {
			return says(503, "Retry-After", fmt.Sprint(g.retryAfter.Seconds()))(req)
		}
		return says(200)(req)
	})
	if shaped {
		rt = &transport.Shaper{Base: rt}
	}
	var all float64
	for _, rate := range g.rates {
		all += rate
	}
	var wg sync.WaitGroup
	for time.Since(start) < g.lasts {
		time.Sleep(time.Duration(rnd.ExpFloat64() / all * float64(time.Second)))
		route, x := 0, rnd.Float64()*all
		for x >= g.rates[route] && route < len(g.rates)-1 {
			x -= g.rates[route]
			route++
		}
		wg.Go(func() {
			came := time.Now()
			for range 6 {
				req := newRequest(t.Context(), http.MethodGet, "http://api.example/route"+string(rune('a'+route)))
				req.Header.Set("Route", strconv.Itoa(route))
				resp, err := rt.RoundTrip(req)
				if err != nil {
					time.Sleep(time.Second)
					continue
				}
				drop(resp)
				mu.Lock()
				if resp.StatusCode == 200 {
					c.served[route]++
					c.waited[route] += time.Since(came)
					mu.Unlock()
					return
				}
				c.refused[route]++
				mu.Unlock()
				time.Sleep(g.retryAfter)
			}
		})
	}
	wg.Wait()
	return c
}

// Some routes of several answer 503 with a Retry-After for an hour. All requests wait for that once or twice, and for each route that is
// found to be out of order after the first. Then those of other routes do not wait any more.
func TestRoutesOutOfOrder(t *testing.T) {
	rare, often := 1./60, 1.
	for name, c := range raced.Cases(map[string]struct {
		bad        int
		rates      []float64
		retryAfter time.Duration
		most       time.Duration // that the other routes wait on the mean
	}{
		"one of 2, rarely, 30 s":  {1, []float64{rare, 5}, 30 * time.Second, time.Second},
		"one of 5, rarely, 30 s":  {1, []float64{rare, 1, 1, 1, 1}, 30 * time.Second, time.Second},
		"one of 5, rarely, 120 s": {1, []float64{rare, 1, 1, 1, 1}, 2 * time.Minute, 7 * time.Second},
		"one of 5, often, 5 s":    {1, []float64{often, 1, 1, 1, 1}, 5 * time.Second, time.Second},
		"one of 5, often, 30 s":   {1, []float64{often, 1, 1, 1, 1}, 30 * time.Second, time.Second},
		"3 of 8, often, 30 s":     {3, []float64{.2, .2, .2, 1, 1, 1, 1, 1}, 30 * time.Second, 2 * time.Second},
		"5 of 10, often, 5 s":     {5, []float64{.2, .2, .2, .2, .2, 1, 1, 1, 1, 1}, 5 * time.Second, time.Second},
	}) {
		for seed := range uint64(3) {
			bubble(t, fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				g := gateway{rates: c.rates, retryAfter: c.retryAfter, lasts: time.Hour}
				g.refuses = func(route int, _ time.Duration) bool { return route < c.bad }
				loop, ours := g.run(t, seed, false), g.run(t, seed, true)
				t.Log(loop.mean(c.bad), ours.mean(c.bad), loop.refusals(), ours.refusals())
				assert.LessOrEqual(t, ours.refusals(), loop.refusals())
				assert.LessOrEqual(t, ours.mean(c.bad), c.most)
			})
		}
	}
}

// One of two routes refuses every second request. Its requests are served as those of a loop are, in the end: not one after each
// Retry-After.
func TestRouteHalfOutOfOrder(t *testing.T) {
	for seed := range uint64(3) {
		bubble(t, fmt.Sprint("seed ", seed), func(t *testing.T) {
			const pause = 5 * time.Second
			var n atomic.Int64
			g := gateway{rates: []float64{1, 4}, retryAfter: pause, lasts: time.Hour}
			g.refuses = func(route int, _ time.Duration) bool { return n.Add(1)%2 == 0 && route == 0 }
			loop, ours := g.run(t, seed, false), g.run(t, seed, true)
			t.Log(loop.mean(0), ours.mean(0), ours.mean(1), loop.served, ours.served, loop.refusals(), ours.refusals())
			assert.LessOrEqual(t, ours.mean(1), 200*time.Millisecond)
			assert.Greater(t, 50*ours.served[0], 49*loop.served[0])
			assert.LessOrEqual(t, ours.waited[0], 2*loop.waited[0])
		})
	}
}

// The whole server is out of order for a minute in five. It is refused a request or two for each Retry-After: all are held.
func TestWholeServerOutOfOrder(t *testing.T) {
	for name, rates := range raced.Cases(map[string][]float64{
		"one route": {5}, "two": {2, 2}, "five": {1, 1, 1, 1, 1}, "one busy": {20, 1, 1, 1, 1},
	}) {
		for seed := range uint64(3) {
			bubble(t, fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				const pause = 5 * time.Second
				g := gateway{rates: rates, retryAfter: pause, lasts: 30 * time.Minute}
				g.refuses = func(_ int, t time.Duration) bool { return t%(5*time.Minute) >= 4*time.Minute }
				loop, ours := g.run(t, seed, false), g.run(t, seed, true)
				t.Log(loop.refusals(), ours.refusals())
				outages := int(g.lasts / (5 * time.Minute))
				inFlight := 12 // at the first refusal of an outage, of 24 requests a second
				assert.LessOrEqual(t, ours.refusals(), outages*(int(time.Minute/pause)+inFlight))
				assert.Less(t, 10*ours.refusals(), loop.refusals())
			})
		}
	}
}
