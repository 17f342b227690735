package transport_test

import (
	"errors"
	"fmt"
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

// quickly serves requests in 40 ms.
func quickly(h http.HandlerFunc) http.RoundTripper {
	return &transporttest.Transport{Handler: h, Latency: func() time.Duration { return 40 * time.Millisecond }}
}

// comesBack sends a request until it is served, and returns when that was. If it is rejected, it comes back when the
// error says; if it is refused, after its Retry-After, or a minute.
func comesBack(t *testing.T, rt http.RoundTripper, rejected *int) time.Time {
	for {
		resp, err := rt.RoundTrip(getItems(t.Context()))
		wait := time.Minute
		var r *transport.RejectedError
		switch {
		case errors.As(err, &r):
			*rejected++
			wait = r.RetryAfter
		case err != nil:
			t.Error(err)
			return time.Now()
		default:
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Now()
			}
			if d, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil {
				wait = d
			}
		}
		time.Sleep(wait)
	}
}

// A server tells nothing, and allows 60 requests in a minute and 500 in a day. What it serves between two days
// shows nothing of a quota, so one who waits for RetryAfter is served all of each day.
func TestComesBackToGuessedDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		var minutes, days int64
		var minute, today, served, rejected int
		base := quickly(func(rw http.ResponseWriter, _ *http.Request) {
			if m := time.Now().Unix() / 60; m != minutes {
				minutes, minute = m, 0
			}
			if d := time.Now().Unix() / 86400; d != days {
				days, today = d, 0
			}
			if minute >= 60 || today >= 500 {
				rw.WriteHeader(http.StatusTooManyRequests)
				return
			}
			minute, today, served = minute+1, today+1, served+1
		})
		s := &transport.Shaper{Base: base}
		for began := time.Now(); served < 4*500; {
			if comesBack(t, s, &rejected); time.Since(began) > 3*day+time.Hour {
				break
			}
		}
		assert.Equal(t, 4*500, served)
	})
}

// A bucket of 30 in 10 minutes tells when it will be full. Each hour 40 requests come, for 10 workers: 30 are
// served at once, and the others as units come back, each 20 s.
func TestComesBackToFillingBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const unit, q = 20 * time.Second, 30
		var mu sync.Mutex
		var full time.Time
		refused, rejected := 0, make([]int, 10)
		base := quickly(func(rw http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			status := http.StatusOK
			now := time.Now()
			full = latest(full, now)
			if full.Sub(now)+unit > q*unit {
				status = http.StatusTooManyRequests
				refused++
			} else {
				full = full.Add(unit)
			}
			missing := full.Sub(now)
			mu.Unlock()
			rw.Header().Set("RateLimit-Policy", fmt.Sprintf(`"a";q=%d;w=%d`, q, q*unit/time.Second))
			rw.Header().Set("RateLimit", fmt.Sprintf(`"a";r=%d;t=%d`, q-(missing+unit-1)/unit, (missing+time.Second-1)/time.Second))
			rw.WriteHeader(status)
		})
		s := &transport.Shaper{Base: base}
		for hour := range 3 {
			began := time.Now()
			var wg sync.WaitGroup
			var last time.Time
			for i := range rejected {
				wg.Go(func() {
					for range 4 {
						at := comesBack(t, s, &rejected[i])
						mu.Lock()
						last = latest(last, at)
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			assert.Less(t, last.Sub(began), 10*unit+2*time.Second, "hour %d", hour)
			time.Sleep(time.Until(began.Add(time.Hour)))
		}
		assert.Zero(t, refused)
	})
}

func latest(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// A window of an hour is none that may be over sooner: RetryAfter is its end, and none is refused.
func TestComesBackToWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const q = 100
		var until time.Time
		var used, served, refused, rejected int
		base := quickly(func(rw http.ResponseWriter, _ *http.Request) {
			if now := time.Now(); !now.Before(until) {
				until, used = now.Add(time.Hour), 0
			}
			status := http.StatusOK
			if used++; used > q {
				used, status = q, http.StatusTooManyRequests
				refused++
			} else {
				served++
			}
			rw.Header().Set("RateLimit-Policy", fmt.Sprintf(`"a";q=%d;w=3600`, q))
			rw.Header().Set("RateLimit", fmt.Sprintf(`"a";r=%d;t=%d`, q-used, (time.Until(until)+time.Second-1)/time.Second))
			rw.WriteHeader(status)
		})
		s := &transport.Shaper{Base: base}
		for range 5 * q {
			comesBack(t, s, &rejected)
		}
		assert.Equal(t, 5*q, served)
		assert.Zero(t, refused)
		assert.Equal(t, 4, rejected)
	})
}

// onlyRetryAfter allows 100 requests in a window, which a request begins. It tells nothing but when to come back.
type onlyRetryAfter struct {
	window          func(served int) time.Duration // of the next one
	until           time.Time
	used            int
	served, refused int
}

func (a *onlyRetryAfter) ServeHTTP(rw http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	if !now.Before(a.until) {
		a.used, a.until = 0, now.Add(a.window(a.served))
	}
	if a.used++; a.used > 100 {
		a.refused++
		rw.Header().Set("Retry-After", strconv.Itoa(int((a.until.Sub(now)+time.Second-1)/time.Second)))
		rw.WriteHeader(http.StatusTooManyRequests)
		return
	}
	a.served++
}

// A server allows 100 requests in five minutes, and then 100 in a minute. A client that waits for RetryAfter is the one that
// looks whether windows have become shorter.
func TestComesBackToShorterWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &onlyRetryAfter{window: func(served int) time.Duration {
			if served >= 600 {
				return time.Minute
			}
			return 5 * time.Minute
		}}
		s := &transport.Shaper{Base: quickly(api.ServeHTTP)}
		began, rejected := time.Now(), 0
		for api.served < 2600 {
			comesBack(t, s, &rejected)
		}
		const best = 6*5*time.Minute + 19*time.Minute
		assert.LessOrEqual(t, time.Since(began), best+7*time.Minute+20*time.Second)
		assert.Equal(t, 12, api.refused)
	})
}

// A Retry-After tells that windows last for an hour. RetryAfter is the end of a window then, and not when a request might look
// into it: that would be refused.
func TestComesBackToHourThatWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &onlyRetryAfter{window: func(int) time.Duration { return time.Hour }}
		s := &transport.Shaper{Base: quickly(api.ServeHTTP)}
		began, rejected := time.Now(), 0
		for api.served < 2000 {
			comesBack(t, s, &rejected)
		}
		assert.Less(t, time.Since(began), 19*time.Hour+time.Minute)
		assert.Equal(t, 9, api.refused, "a loop that waits for Retry-After: 19")
		assert.Equal(t, 10, rejected)
	})
}
