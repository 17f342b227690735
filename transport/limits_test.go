package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// With a concurrency limit of the client's own, the next request goes when the body of
// an earlier response ends.
func TestOwnConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quota.Concurrency(3)
		srv := newServer(says(200))
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return c }}
		for range 9 {
			go func() {
				resp, err := s.RoundTrip(getItems(context.Background()))
				if assert.NoError(t, err) {
					time.Sleep(10 * time.Second)
					drop(resp)
				}
			}()
		}
		time.Sleep(time.Hour)
		var want []time.Duration
		for i := range 3 {
			want = append(want, times(3, time.Duration(i)*10*time.Second)...)
		}
		assert.Equal(t, want, srv.departures())
		assert.EqualValues(t, 3, c.Stats().Available)
	})
}

// A rate limit of the client's own: a rate.Limiter of golang.org/x/time.
func TestOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		five := quota.Rate(rate.NewLimiter(5, 5))
		srv := newServer(says(200))
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return five }}
		burst(t, s, 30, plainRequests)
		for i, at := range srv.departures() {
			want := time.Duration(max(i-4, 0)) * time.Second / 5
			assert.InDelta(t, want, at, float64(time.Microsecond), "request %d", i)
		}
	})
}

// The wait for a slow rate is known in advance: a request that cannot wait for it is
// refused at once, with a RetryAfter.
func TestSlowRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hourly := quota.Rate(rate.NewLimiter(rate.Every(time.Hour), 1))
		s := &transport.Shaper{Base: stillServer(), Limits: func(*http.Request) quota.Limiter { return hourly }}
		pass(t, s, getItems(t.Context()))
		err := refusal(t, s, getItems(t.Context()))
		assert.Equal(t, quota.ReasonMaxDelay, err.Reason)
		assert.InDelta(t, time.Hour, err.RetryAfter, float64(time.Microsecond))
		s.MaxDelay = 2 * time.Hour
		assert.InDelta(t, time.Hour, delay(t, s, getItems(t.Context())), float64(time.Microsecond))
	})
}

// Limits may return different limiters, or nil.
func TestLimitsByRequest(t *testing.T) {
	busy := busy(t)
	s := &transport.Shaper{Base: stillServer(), MaxDelay: transport.NoDelay, Limits: func(req *http.Request) quota.Limiter {
		if strings.HasPrefix(req.URL.Path, "/items") {
			return busy(req)
		}
		return nil
	}}
	err := refusalNow(t, s, getItems(t.Context()))
	assert.Equal(t, &transport.RejectedError{Reason: quota.ReasonOwnLimit, Cause: quota.ReasonOwnLimit}, err)
	pass(t, s, newRequest(t.Context(), "GET", "http://api.example/search"))
}

// refusalNow is refusal outside of a bubble.
func refusalNow(t *testing.T, rt http.RoundTripper, req *http.Request) *transport.RejectedError {
	t.Helper()
	resp, err := rt.RoundTrip(req)
	drop(resp)
	var rejected *transport.RejectedError
	require.ErrorAs(t, err, &rejected)
	return rejected
}

// A limiter that can never grant a permit refuses at once.
func TestLimiterThatNeverGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := quota.Rate(rate.NewLimiter(1, 0))
		s := &transport.Shaper{Base: stillServer(), Limits: func(*http.Request) quota.Limiter { return never }}
		assert.Equal(t, quota.ReasonOwnLimit, refusal(t, s, getItems(t.Context())).Reason)
		v := s.Check(getItems(t.Context()))
		assert.Equal(t, quota.ReasonOwnLimit, v.Reason)
		assert.NotNil(t, v.Rejected)
	})
}

// The client's own limits and the server's quotas are charged together at one instant,
// or not at all. No request holds one while it waits for the other.
func TestAllOrNone(t *testing.T) {
	bubble(t, "no permit is taken while waiting for the server", func(t *testing.T) {
		c := quota.Concurrency(1)
		srv := newServer(limit(`"api";a=0;w=60`), says(200))
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return c }}
		pass(t, s, getItems(t.Context()))
		go pass(t, s, getItems(t.Context()))
		synctest.Wait()
		assert.EqualValues(t, 1, c.Stats().Available)
		refusal(t, s, getItems(transport.WithNoDelay(t.Context())))
		assert.EqualValues(t, 1, c.Stats().Available)
		// Another origin is not held.
		assert.Zero(t, delay(t, s, newRequest(t.Context(), "GET", "http://www.example")))
		time.Sleep(time.Hour)
		assert.EqualValues(t, 1, c.Stats().Available)
	})
	bubble(t, "no unit is taken while waiting for a permit", func(t *testing.T) {
		c := quota.Concurrency(1)
		srv := newServer(limit(`"api";a=1;w=60`), says(200))
		limited := false
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter {
			if limited {
				return c
			}
			return nil
		}}
		pass(t, s, getItems(t.Context()))
		lease, err := c.TryAcquire(1)
		require.NoError(t, err)
		limited = true
		go pass(t, s, getItems(t.Context()))
		synctest.Wait()
		refusal(t, s, getItems(transport.WithNoDelay(t.Context())))
		limited = false
		assert.Zero(t, delay(t, s, getItems(t.Context())), "the unit was taken")
		lease.Release()
		synctest.Wait()
		assert.EqualValues(t, 1, c.Stats().Available, "a request that waits for the server has a permit")
		time.Sleep(time.Hour)
		assert.Equal(t, 3, srv.count())
	})
	bubble(t, "no token is taken while waiting for the server", func(t *testing.T) {
		tokens := rate.NewLimiter(rate.Every(time.Hour), 3)
		r := quota.Rate(tokens)
		srv := newServer(limit(`"api";a=0;w=60`), says(200))
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return r }}
		pass(t, s, getItems(t.Context()))
		for range 5 {
			refusal(t, s, getItems(transport.WithNoDelay(t.Context())))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := s.RoundTrip(getItems(ctx))
		assert.ErrorIs(t, err, context.Canceled)
		assert.InDelta(t, 2, tokens.Tokens(), 0.01)
		assert.Equal(t, 59*time.Second+guard(0), delay(t, s, getItems(t.Context())))
		assert.InDelta(t, 1, tokens.Tokens(), 0.05)
	})
	bubble(t, "a dial error gives the permit back", func(t *testing.T) {
		tokens := rate.NewLimiter(rate.Every(time.Hour), 1)
		r := quota.Rate(tokens)
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Limits: func(*http.Request) quota.Limiter { return r }}
		s.Base = newServer(fails(dialError), says(200))
		_, err := s.RoundTrip(getItems(t.Context()))
		assert.ErrorIs(t, err, errBroken)
		pass(t, s, getItems(t.Context()))
		refusal(t, s, getItems(t.Context()))
	})
}

// One limiter may be shared by Shapers, and used beside them.
func TestSharedLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quota.Concurrency(1)
		limits := func(*http.Request) quota.Limiter { return c }
		srv := newServer(slow(time.Second, says(200)))
		a, b := &transport.Shaper{Base: srv, Limits: limits}, &transport.Shaper{Base: srv, Limits: limits}
		go pass(t, a, getItems(t.Context()))
		synctest.Wait()
		go pass(t, b, newRequest(t.Context(), "GET", "http://www.example"))
		synctest.Wait()
		lease, err := c.Acquire(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, []time.Duration{0, time.Second}, srv.departures())
		lease.Release()
	})
}

// Unwrap gives access to what a limiter of the client's own says beyond RetryAfter.
func TestRejectedErrorOfLimiter(t *testing.T) {
	bubble(t, "custom", func(t *testing.T) {
		hot := errors.New("too hot")
		busy := quota.Custom(quota.CustomFuncs{Take: func(context.Context, int64) quota.Answer {
			return quota.Answer{RetryAfter: time.Second, Err: hot}
		}})
		s := &transport.Shaper{Base: stillServer(), MaxDelay: transport.NoDelay, Limits: func(*http.Request) quota.Limiter { return busy }}
		rejected := refusal(t, s, getItems(t.Context()))
		var cause *quota.Refusal
		require.ErrorAs(t, rejected, &cause)
		assert.ErrorIs(t, rejected, hot)
		assert.ErrorContains(t, cause, ": too hot")
		assert.Equal(t, time.Second, rejected.RetryAfter)
		assert.ErrorIs(t, rejected, transport.ErrRejected)
	})
	bubble(t, "closed", func(t *testing.T) {
		one := quota.Concurrency(1)
		one.Close()
		s := &transport.Shaper{Base: stillServer(), Limits: func(*http.Request) quota.Limiter { return one }}
		rejected := refusal(t, s, getItems(t.Context()))
		assert.Equal(t, quota.ReasonClosed, rejected.Reason)
		assert.ErrorIs(t, rejected, quota.ErrClosed)
	})
}

// Who needs a permit of a busy user and one of a busy host gets both in turn, although
// others take each of them all the time.
func TestBusyUserAtBusyHost(t *testing.T) {
	for name, tt := range map[string]struct {
		limit   func() quota.Limiter
		longest time.Duration // with five others in each line, and some turns for them in between
	}{
		"rate":        {func() quota.Limiter { return quota.PerSecond(2, 2) }, 10 * time.Second},
		"concurrency": {func() quota.Limiter { return quota.Concurrency(2) }, 3 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var busy sync.WaitGroup
			defer busy.Wait()
			defer cancel()
			srv := newServer(func(req *http.Request) (*http.Response, error) {
				time.Sleep(70 * time.Millisecond)
				return says(200)(req)
			})
			s := &transport.Shaper{Base: srv, Limits: quota.Together(
				quota.By(func(r *http.Request) string { return partition.UserID(r.Context()) }, func(string) quota.Limiter { return tt.limit() }),
				quota.By(func(r *http.Request) string { return r.URL.Host }, func(string) quota.Limiter { return tt.limit() }),
			)}
			for i := range 5 {
				for _, req := range []*http.Request{
					asUser(ctx, "alice", "GET", fmt.Sprintf("http://%d.example/", i)),
					asUser(ctx, fmt.Sprint(i), "GET", "http://busy.example/"),
				} {
					time.Sleep(37 * time.Millisecond)
					busy.Go(func() {
						for ctx.Err() == nil {
							if resp, err := s.RoundTrip(req.Clone(req.Context())); err == nil {
								drop(resp)
							}
						}
					})
				}
			}
			time.Sleep(10 * time.Second)
			for range 10 {
				assert.LessOrEqual(t, delay(t, s, asUser(t.Context(), "alice", "GET", "http://busy.example/")), tt.longest)
			}
		})
	}
}
