package transport_test

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A middleware is a rate limiter as web frameworks have them, with the fields that it
// sends: five requests in a window that begins with the first of them.
type middleware struct {
	name    string
	log     bool // each request counts for the window after it; one too many blocks for as long
	headers func(h http.Header, left int, now, reset time.Time, refused bool)
}

// seconds is a time span or an instant in seconds.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

func ceil(d time.Duration) string { return fmt.Sprint(int(math.Ceil(d.Seconds()))) }

func unixCeil(t time.Time) string { return fmt.Sprint(t.Add(time.Second - 1).Unix()) }

func middlewares() []middleware {
	x := func(h http.Header, prefix string, left int, reset string) {
		h.Set(prefix+"Limit", "5")
		h.Set(prefix+"Remaining", fmt.Sprint(left))
		h.Set(prefix+"Reset", reset)
	}
	return []middleware{
		{name: "express-rate-limit, legacy", headers: func(h http.Header, left int, now, reset time.Time, refused bool) {
			x(h, "X-RateLimit-", left, unixCeil(reset))
			if refused {
				h.Set("Retry-After", ceil(reset.Sub(now)))
			}
		}},
		{name: "flask-limiter", headers: func(h http.Header, left int, now, reset time.Time, _ bool) {
			at := reset.Unix() + 1
			x(h, "X-RateLimit-", left, fmt.Sprint(at))
			h.Set("Retry-After", fmt.Sprint(int(time.Unix(at, 0).Sub(now).Seconds())))
		}},
		{name: "gin, ulule", headers: func(h http.Header, left int, _, reset time.Time, _ bool) {
			x(h, "X-RateLimit-", left, fmt.Sprint(reset.Unix()))
		}},
		{name: "gin-rate-limit", headers: func(h http.Header, left int, _, reset time.Time, _ bool) {
			x(h, "X-Rate-Limit-", left, fmt.Sprint(reset.Unix()))
		}},
		{name: "rate-limiter-flexible", headers: func(h http.Header, left int, now, reset time.Time, _ bool) {
			h.Set("Retry-After", seconds(reset.Sub(now).Round(time.Millisecond)))
			x(h, "X-RateLimit-", left, unixCeil(reset))
		}},
		{name: "NestJS throttler", log: true, headers: func(h http.Header, left int, now, reset time.Time, refused bool) {
			if refused {
				h.Set("Retry-After", ceil(reset.Sub(now)))
				return
			}
			x(h, "X-RateLimit-", left, ceil(reset.Sub(now)))
		}},
	}
}

// A counter is the state of a middleware.
type counter struct {
	middleware
	window time.Duration

	mu      sync.Mutex
	reset   time.Time
	blocked time.Time
	hits    []time.Time // served
	refused int
	late    int // refused after the first window
	first   time.Time
}

func (c *counter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.first.IsZero() {
		c.first = now
	}
	if !now.Before(c.reset) {
		if c.reset = now.Add(c.window); !c.log {
			c.hits = nil
		}
	}
	for c.log && len(c.hits) > 0 && !now.Before(c.hits[0].Add(c.window)) {
		c.hits = c.hits[1:]
	}
	h := w.Header()
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	if ok := len(c.hits) < 5 && !now.Before(c.blocked); !ok {
		reset := c.reset
		if c.log {
			if !now.Before(c.blocked) {
				c.blocked = now.Add(c.window)
			}
			reset = c.blocked
		}
		if c.refused++; !now.Before(c.first.Add(c.window)) {
			c.late++
		}
		c.headers(h, 0, now, reset, true)
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	c.hits = append(c.hits, now)
	c.headers(h, 5-len(c.hits), now, c.reset, false)
}

// run sends 40 requests by ten workers and returns how long that took.
func (c *counter) run(t *testing.T, phase time.Duration, shaped bool) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(26*365*24*time.Hour + phase) // away from the year 2000
		began := time.Now()
		trips := 0
		var mu sync.Mutex
		var base http.RoundTripper = &transporttest.Transport{Handler: c, Latency: func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			trips++
			return 15*time.Millisecond + time.Duration(trips*7%11)*time.Millisecond
		}}
		if shaped {
			base = &transport.Shaper{Base: base}
		}
		jobs := make(chan struct{}, 40)
		for range 40 {
			jobs <- struct{}{}
		}
		close(jobs)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for range jobs {
					for {
						resp, err := base.RoundTrip(getItems(t.Context()))
						if !assert.NoError(t, err) {
							return
						}
						resp.Body.Close()
						if resp.StatusCode == http.StatusOK {
							break
						}
						if shaped {
							continue
						}
						wait := time.Second
						if s, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil && s > 0 {
							wait = time.Duration(s * float64(time.Second))
						}
						time.Sleep(wait)
					}
				}
			})
		}
		wg.Wait()
		took = time.Since(began)
	})
	return took
}

// Against the limiters of web frameworks, with windows that are as short as whole
// seconds can say, a Shaper is hardly slower than a retry loop, and refused in the first
// window only.
func TestMiddlewares(t *testing.T) {
	for _, m := range middlewares() {
		for _, window := range []time.Duration{2 * time.Second, time.Second} {
			for _, phase := range []time.Duration{0, 10, 300, 500, 800, 990} {
				name := fmt.Sprintf("%s/%v/%d", m.name, window, phase)
				t.Run(name, func(t *testing.T) {
					loop, ours := &counter{middleware: m, window: window}, &counter{middleware: m, window: window}
					of := loop.run(t, phase*time.Millisecond, false)
					took := ours.run(t, phase*time.Millisecond, true)
					assert.LessOrEqual(t, took, of+of/5, "of the retry loop")
					assert.Zero(t, ours.late, "refused after the first window")
					assert.Less(t, ours.refused, loop.refused)
				})
			}
		}
	}
}
