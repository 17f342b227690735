package transport_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// telling refuses as some APIs do, which say only in the body how long to wait.
func telling(wait time.Duration, fields ...string) answer {
	body := fmt.Sprintf(`{"ok":false,"error_code":429,"parameters":{"retry_after":%g}}`, wait.Seconds())
	return withBody(says(429, append(fields, "Content-Type", "application/json")...), body)
}

// inBody moves the Retry-After of refusals to the body.
func inBody(base http.RoundTripper) roundTripper {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := base.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		drop(resp)
		body := `{"retry_after":` + resp.Header.Get("Retry-After") + `}`
		resp.Header.Del("Retry-After")
		resp.Header.Set("Content-Type", "application/json")
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		return resp, nil
	}
}

// What only the body of a refusal says of how long to wait counts as a Retry-After, once the caller has read it. Nothing is
// read ahead of the caller.
func TestWaitInBody(t *testing.T) {
	const wait = 35 * time.Second
	for name, tt := range map[string]struct {
		answer
		wait time.Duration // 0: a back-off
	}{
		"JSON":                {telling(wait), wait},
		"text":                {withBody(says(429, "Content-Type", "text/plain; charset=utf-8"), "Slow down, and try again in 35 seconds."), wait},
		"less than a second":  {telling(300 * time.Millisecond), 300 * time.Millisecond},
		"Retry-After counts":  {telling(wait, "Retry-After", "5"), 5 * time.Second},
		"Retry-After: 0":      {telling(wait, "Retry-After", "0"), 0},
		"above the cap":       {telling(100 * time.Hour), 0},
		"another media type":  {withBody(says(429, "Content-Type", "text/html"), "try again in 35 seconds"), 0},
		"none":                {withBody(says(429, "Content-Type", "application/json"), `{"error":"slow down"}`), 0},
		"empty":               {withBody(says(429, "Content-Type", "application/json"), ``), 0},
		"too long":            {withBody(says(429, "Content-Type", "application/json"), `{"retry_after":35,"x":"`+strings.Repeat("x", 16<<10)+`"}`), 0},
		"of a client error":   {withBody(says(404, "Content-Type", "application/json"), `{"retry_after":35}`), -1},
		"of a server's error": {withBody(says(500, "Content-Type", "application/json"), `{"retry_after":35}`), -1},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(tt.answer, says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
			pass(t, s, getItems(t.Context()))
			pass(t, s, getItems(t.Context()))
			switch got := srv.departures()[1]; {
			case tt.wait < 0:
				assert.Zero(t, got)
			case tt.wait == 0:
				assert.GreaterOrEqual(t, got, time.Second)
				assert.LessOrEqual(t, got, time.Second*5/4)
			default:
				assert.Equal(t, tt.wait, got)
			}
		})
	}
	bubble(t, "read late", func(t *testing.T) {
		srv := newServer(telling(wait), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		time.Sleep(500 * time.Millisecond)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.JSONEq(t, `{"ok":false,"error_code":429,"parameters":{"retry_after":35}}`, string(body))
		assert.NoError(t, resp.Body.Close())
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, wait, srv.departures()[1], "from the arrival of the answer on")
	})
	bubble(t, "with a policy", func(t *testing.T) {
		srv := newServer(says(200, "RateLimit", `"writes";a=99;w=600`), problem(429, exceeded[:len(exceeded)-1]+`,"retry_after":35}`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, wait, srv.departures()[2])
	})
	bubble(t, "not read", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(telling(wait)), MaxDelay: time.Hour}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		got := delay(t, s, getItems(t.Context()))
		assert.GreaterOrEqual(t, got, time.Second)
		assert.LessOrEqual(t, got, time.Second*5/4)
	})
	bubble(t, "of one request alone", func(t *testing.T) {
		srv := newServer(says(200))
		srv.choose = func(n int, _ *http.Request) answer {
			if n == 0 {
				return slow(rtt, telling(wait))
			}
			return slow(2*time.Second, says(200))
		}
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour, FirstFlight: -1}
		var wg sync.WaitGroup
		for range 6 { // all but the first depart while its refusal is on its way, and are served after a back-off would be over
			wg.Go(func() { pass(t, s, getItems(t.Context())) })
			time.Sleep(rtt / 10)
		}
		wg.Wait()
		pass(t, s, getItems(t.Context()))
		assert.Less(t, srv.departures()[6], 3*time.Second, "others were served meanwhile")
	})
	bubble(t, "many at once", func(t *testing.T) {
		srv := newServer(says(200))
		srv.choose = func(n int, _ *http.Request) answer {
			if n < 20 {
				return slow(rtt, telling(wait))
			}
			return slow(rtt, says(200))
		}
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour, FirstFlight: -1}
		burst(t, s, 20, plainRequests)
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, wait+rtt, srv.departures()[20])
	})
}

// A server that bounds what is in flight serves the next request as soon as it has answered another, whatever wait the bodies of its
// refusals tell: that holds no others.
func TestWaitInBodyOfABound(t *testing.T) {
	const lasts, bound, workers = 5 * time.Minute, 3, 4
	serve := func(t *testing.T, body string) (served int) {
		var mu sync.Mutex // guards rnd, busy and served
		rnd, busy, end := rand.New(rand.NewPCG(1, 2)), 0, time.Now().Add(lasts)
		srv := roundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(20 * time.Millisecond)
			mu.Lock()
			refused, work := busy >= bound, 150*time.Millisecond+time.Duration(rnd.Int64N(int64(100*time.Millisecond)))
			busy++
			mu.Unlock()
			a := withBody(says(429, "Content-Type", "application/json"), body)
			if !refused {
				a = says(200)
				time.Sleep(work)
			}
			mu.Lock()
			defer mu.Unlock()
			if busy--; !refused {
				served++
			}
			return a(req)
		})
		saturate(t, &transport.Shaper{Base: srv, MaxDelay: time.Hour, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}, workers, end)
		return served
	}
	bubble(t, "five seconds", func(t *testing.T) {
		none, told := serve(t, `{"error":"too many"}`), serve(t, `{"retry_after":5}`)
		t.Logf("%d served, %d if bodies tell a wait", none, told)
		assert.GreaterOrEqual(t, float64(told), .95*float64(none))
	})
}
