package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// misbehave answers in the ways in which servers fail: the path says how.
func misbehave(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("RateLimit", `"api";a=1000000;w=1`)
	w.Header().Set("RateLimit-Policy", `"api";q=1000000;w=1, "threads";q=12;qu="concurrent-requests"`)
	switch r.URL.Path {
	case "/abort":
		panic(http.ErrAbortHandler)
	case "/abort-later":
		_, _ = io.WriteString(w, strings.Repeat("content ", 1_000))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "/hang":
		<-r.Context().Done()
	case "/hang-later":
		_, _ = io.WriteString(w, "content")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case "/refuse":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, exceeded)
	case "/long":
		_, _ = io.WriteString(w, strings.Repeat("content ", 10_000))
	default:
		_, _ = io.WriteString(w, "content")
	}
}

// hooksThatPanic returns hooks of which one panics once in n calls.
func hooksThatPanic(n int64) *transport.Trace {
	var calls atomic.Int64
	panics := func() {
		if calls.Add(1)%n == 0 {
			panic(errBroken)
		}
	}
	return &transport.Trace{
		Held:     func(transport.HeldInfo) { panics() },
		Admitted: func(transport.AdmittedInfo) { panics() },
		Rejected: func(transport.RejectedInfo) { panics() },
		Learned:  func(transport.LearnedInfo) { panics() },
		Failed:   func(transport.FailedInfo) { panics() },
	}
}

// Over real connections, requests are answered, aborted, cut off, cancelled, left
// hanging and refused, hooks panic, and bodies are closed late or half read. At the end
// nothing is in flight, in line or retained, no permit is missing, and no goroutine is
// left: neither of ours nor of a connection.
func TestNetworkSoak(t *testing.T) {
	n := *manyRequests
	if n == 0 {
		if n = 2_000; testing.Short() {
			n = 400
		}
	}
	before := runtime.NumGoroutine()
	overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
		url, base := serve(http.HandlerFunc(misbehave))
		const permits, callers, seed = 10, 16, 11
		own := quota.Concurrency(permits)
		s := &transport.Shaper{
			Base: base, Accounts: new(quota.Accounts), MaxDelay: 50 * time.Millisecond,
			Limits: func(*http.Request) quota.Limiter { return own }, Trace: hooksThatPanic(97),
			Scope: func(req *http.Request) string { return req.URL.Path }, // refusals hold only those that ask for them
		}
		var left atomic.Int64
		left.Store(int64(n))
		var counts soakCounts
		var all, late sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				rnd := newRand(seed + uint64(i))
				for left.Add(-1) >= 0 {
					path := pick(rnd, "/", "/", "/", "/", "/", "/", "/long", "/long", "/abort", "/abort-later", "/hang", "/hang-later", "/refuse")
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rnd.IntN(30_000))*time.Microsecond)
					if !strings.HasPrefix(path, "/hang") && rnd.IntN(4) > 0 {
						cancel()
						ctx, cancel = context.WithCancel(context.Background())
					}
					resp := counts.count(s, newRequest(ctx, pick(rnd, "GET", "POST"), url+path))
					switch {
					case resp == nil:
						cancel()
					case rnd.IntN(4) == 0: // the body is closed by another goroutine, while this one goes on
						late.Go(func() {
							defer cancel()
							time.Sleep(time.Millisecond)
							resp.Body.Close()
						})
					default:
						if rnd.IntN(2) == 0 {
							_, _ = io.ReadFull(resp.Body, make([]byte, 3))
						} else {
							_, _ = io.Copy(io.Discard, resp.Body)
						}
						resp.Body.Close()
						cancel()
					}
				}
			})
		}
		all.Wait()
		late.Wait()
		s.CloseIdleConnections()
		t.Logf("%d requests: %s", n, &counts)
		for what, n := range map[string]int64{
			"answered": counts.answered.Load(), "rejected or ended": counts.rejected.Load() + counts.ended.Load(),
			"failed": counts.failed.Load(), "panics": counts.panics.Load(),
		} {
			assert.Positive(t, n, what)
		}
		assert.EqualValues(t, permits, own.Stats().Available, "permits")
		atRest(t, s.Accounts, url)
		for _, o := range s.Accounts.Snapshot(time.Now().Add(time.Hour), quota.SnapshotOptions{}) {
			assert.Zero(t, o.Out)
			assert.Zero(t, o.InLine)
			for _, a := range o.Accounts {
				assert.Zero(t, a.InFlight, "%+v", a)
				assert.Zero(t, a.Concurrent, "%+v", a)
				assert.Zero(t, a.InLine, "%+v", a)
			}
		}
	})
	for tries := 0; runtime.NumGoroutine() > before && tries < 500; tries++ {
		time.Sleep(10 * time.Millisecond) // connections take a moment to close
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines are left")
}

// soakCounts count the results of requests.
type soakCounts struct{ answered, rejected, ended, failed, panics atomic.Int64 }

func (c *soakCounts) String() string {
	return fmt.Sprintf("%d answered, %d rejected, %d ended, %d failed, %d panics",
		c.answered.Load(), c.rejected.Load(), c.ended.Load(), c.failed.Load(), c.panics.Load())
}

// count sends a request and counts its result. It returns nil if there is no response.
func (c *soakCounts) count(rt http.RoundTripper, req *http.Request) (resp *http.Response) {
	defer func() {
		if r := recover(); r != nil {
			if r != errBroken {
				panic(r)
			}
			c.panics.Add(1)
			resp = nil
		}
	}()
	resp, err := rt.RoundTrip(req)
	switch {
	case err == nil:
		c.answered.Add(1)
		return resp
	case errors.Is(err, transport.ErrRejected):
		c.rejected.Add(1)
	case req.Context().Err() != nil:
		c.ended.Add(1)
	default:
		c.failed.Add(1)
	}
	return nil
}
