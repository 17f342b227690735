package transport_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A policy that was named once, without figures, is not forgotten when responses have
// no fields: their permits are given back when their bodies end.
func TestSilentResponsesGiveBackPermits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{`""`, `"threads"`} {
			srv := newServer(says(200, "RateLimit-Policy", name+`;q=2;qu="concurrent-requests"`), says(200))
			s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := srv.RoundTrip(req)
				resp.Body = io.NopCloser(strings.NewReader("x"))
				return resp, err
			})}
			pass(t, s, getItems(t.Context()))
			for range 3 {
				a, b := start(t, s), start(t, s)
				refusal(t, s, getItems(t.Context()))
				require.NoError(t, a.Body.Close())
				require.NoError(t, b.Body.Close())
			}
		}
	})
}

// start sends a request and returns the response, which the caller must close.
func start(t *testing.T, s *transport.Shaper) *http.Response {
	resp, err := s.RoundTrip(getItems(t.Context()))
	require.NoError(t, err)
	return resp
}

// If a policy counts bytes, the content of responses without fields is counted, too.
func TestContentOfSilentResponsesIsCounted(t *testing.T) {
	const policy = `"";q=10000;qu="content-bytes"`
	sized := func(n int64, a answer) answer {
		return func(req *http.Request) (*http.Response, error) {
			resp, err := a(req)
			resp.ContentLength = n
			resp.Body = io.NopCloser(strings.NewReader(""))
			return resp, err
		}
	}
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(says(200, "RateLimit-Policy", policy), sized(1000, says(200)), sized(10, says(200, "RateLimit", `"";a=700;w=60`)))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		refusal(t, s, getItems(t.Context()))
	})
}

// An openBody counts as open until it is closed.
type openBody struct{ open *atomic.Int64 }

func (b openBody) Read([]byte) (int, error) { return 0, io.EOF }
func (b openBody) Close() error             { b.open.Add(-1); return nil }

// Whichever of the user's functions panics, and whatever servers answer: afterwards no
// request is in flight, in line or retained, no body is open, and no request has seen
// the state of another.
func TestPanicsLeaveNothing(t *testing.T) {
	seed := rand.Uint64()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		boom := func() {
			if random.IntN(12) == 0 {
				panic("boom")
			}
		}
		threads := quota.Concurrency(3)
		var bodies atomic.Int64
		var accounts quota.Accounts
		var now *http.Request
		mine := func(req *http.Request) {
			assert.Same(t, now, req, "seed %d", seed)
			boom()
		}
		s := &transport.Shaper{
			Accounts: &accounts,
			MaxDelay: time.Second,
			Scope:    func(req *http.Request) string { mine(req); return req.URL.Path[1:2] },
			Limits: func(req *http.Request) quota.Limiter {
				if mine(req); random.IntN(2) == 0 {
					return nil
				}
				return threads
			},
			Like: func(req *http.Request) string { mine(req); return req.URL.Path },
			Cost: func(req *http.Request, _ quota.Policy) int64 { mine(req); return 1 },
			Trace: &transport.Trace{
				Held:     func(i transport.HeldInfo) { mine(i.Request) },
				Admitted: func(i transport.AdmittedInfo) { mine(i.Request) },
				Rejected: func(i transport.RejectedInfo) { mine(i.Request) },
				Failed:   func(i transport.FailedInfo) { mine(i.Request) },
				Ignored:  func(i transport.IgnoredInfo) { mine(i.Request) },
			},
			Base: roundTripper(func(req *http.Request) (*http.Response, error) {
				if mine(req); random.IntN(10) == 0 {
					return nil, errBroken
				}
				status, fields := 200, []string{}
				switch random.IntN(12) {
				case 0:
					fields = []string{"RateLimit", `"api";a=3;w=1, "x";a=5;w=1;pk=:YQ==:`}
				case 1:
					fields = []string{"RateLimit-Policy", `"api";q=20;w=1, "threads";q=9;qu="concurrent-requests"`}
				case 2:
					status, fields = 503, []string{"Retry-After", "1"}
				case 3:
					fields = []string{"RateLimit", `bad"`}
				case 4:
					status = 429
				}
				resp, err := says(status, fields...)(req)
				bodies.Add(1)
				resp.ContentLength, resp.Body = -1, openBody{&bodies}
				return resp, err
			}),
		}
		for range 20_000 {
			now = newRequest(context.Background(), "GET", "https://"+string('a'+rune(random.IntN(3)))+".example/"+string('a'+rune(random.IntN(3))))
			func() {
				defer func() {
					if r := recover(); r != nil {
						assert.Equal(t, "boom", r, "seed %d", seed)
					}
				}()
				if resp, err := s.RoundTrip(now); err == nil {
					resp.Body.Close()
				}
			}()
			if random.IntN(3) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		assert.Zero(t, bodies.Load(), "seed %d", seed)
		assert.EqualValues(t, 3, threads.Stats().Available, "seed %d", seed)
		for _, o := range accounts.Snapshot(time.Now(), quota.SnapshotOptions{}) {
			assert.Zero(t, o.Out+int64(o.InLine), "seed %d: %+v", seed, o)
			for _, a := range o.Accounts {
				assert.Zero(t, a.Concurrent, "seed %d: %+v", seed, a)
			}
		}
	})
}

// Where a Retry-After is all that a server says, one wave is refused, and no second one: the first
// window shows how much there is. A retry loop is refused in each window.
func TestOneWaveIsRefused(t *testing.T) {
	for _, tt := range []struct {
		quota, workers int
		window         time.Duration
		bare           bool
		refused        int // at most
	}{
		{100, 60, 10 * time.Second, false, 61},
		{40, 40, time.Second, true, 44},
	} {
		synctest.Test(t, func(t *testing.T) {
			var used int
			var ends time.Time
			server := &silentServer{bare: tt.bare, trips: rand.New(rand.NewPCG(1, 2))}
			server.wait = func(now time.Time) time.Duration {
				if !now.Before(ends) {
					used, ends = 0, now.Add(tt.window)
				}
				if used == tt.quota {
					return ends.Sub(now)
				}
				used++
				return 0
			}
			shaper := &transport.Shaper{Base: server, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			sendUntil(t, shaper, tt.workers, time.Microsecond, time.Now().Add(5*tt.window-tt.window/2))
			t.Logf("served %d, refused %d", server.served, server.refused)
			assert.LessOrEqual(t, server.refused, tt.refused)
			assert.GreaterOrEqual(t, server.served, 4*tt.quota)
		})
	}
}

// A silentServer says nothing of its quota but in a Retry-After.
type silentServer struct {
	wait func(now time.Time) time.Duration // until it serves the request that arrives; 0: it does so now
	bare bool                              // it has no Retry-After

	mu              sync.Mutex // guards following
	trips           *rand.Rand
	served, refused int
}

// RoundTrip implements http.RoundTripper.
func (s *silentServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	trip := 5*time.Millisecond + time.Duration(s.trips.Int64N(int64(time.Millisecond)))
	s.mu.Unlock()
	time.Sleep(trip)
	s.mu.Lock()
	wait := s.wait(time.Now())
	if wait == 0 {
		s.served++
	} else {
		s.refused++
	}
	s.mu.Unlock()
	time.Sleep(trip)
	switch {
	case wait == 0:
		return says(200)(req)
	case s.bare:
		return says(429)(req)
	}
	return says(429, "Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))(req)
}

// sendUntil has each of the workers send one request after another until the end. They begin apart.
func sendUntil(t *testing.T, shaper *transport.Shaper, workers int, apart time.Duration, end time.Time) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * apart)
			for time.Now().Before(end) {
				resp, err := shaper.RoundTrip(getItems(t.Context()))
				if !assert.NoError(t, err) {
					return
				}
				drop(resp)
			}
		})
	}
	wg.Wait()
}

// A bucket that says nothing of itself serves a burst first, and then what comes back. The burst is
// not taken for a quota that comes back whole, again and again.
func TestBurstIsNoQuota(t *testing.T) {
	for _, tt := range []struct {
		burst   int
		every   time.Duration // a unit comes back
		bare    bool          // it has no Retry-After
		served  int           // at least
		refused int           // at most
	}{
		{300, time.Second, false, 900, 1500},
		{50, 600 * time.Millisecond, true, 1050, 1800},
	} {
		synctest.Test(t, func(t *testing.T) {
			full := time.Now()
			server := &silentServer{bare: tt.bare, trips: rand.New(rand.NewPCG(1, 2))}
			server.wait = func(now time.Time) time.Duration {
				if full.Before(now) {
					full = now
				}
				if early := full.Add(tt.every).Sub(now) - time.Duration(tt.burst)*tt.every; early > 0 {
					return early
				}
				full = full.Add(tt.every)
				return 0
			}
			shaper := &transport.Shaper{Base: server, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			sendUntil(t, shaper, 50, time.Microsecond, time.Now().Add(10*time.Minute))
			t.Logf("served %d, refused %d", server.served, server.refused)
			assert.GreaterOrEqual(t, server.served, tt.served)
			assert.LessOrEqual(t, server.refused, tt.refused)
		})
	}
}

// A program that starts in a window of which another run has used much waits for the next one, and then it has all of that,
// although it does not wait within the Shaper.
func TestSecondRunInAWindow(t *testing.T) {
	for _, tt := range []struct {
		quota, used, jobs int
		window, into      time.Duration // the program starts so long after the window began
		most              time.Duration // that it takes after the end of the window
	}{
		{1000, 900, 600, time.Hour, 20 * time.Minute, 69 * time.Second},
		{1000, 700, 1300, time.Hour, 50 * time.Minute, 24 * time.Second},
		{1000, 900, 600, 24 * time.Hour, 2 * time.Hour, 64 * time.Second},
		{60, 40, 50, time.Minute, 30 * time.Second, 2 * time.Second},
		{100, 90, 90, 10 * time.Second, 2 * time.Second, time.Second},
	} {
		for _, workers := range []int{2, 8, 20} {
			synctest.Test(t, func(t *testing.T) {
				ends, left := time.Now().Add(tt.window-tt.into), tt.quota-tt.used
				over := ends
				server := &silentServer{trips: rand.New(rand.NewPCG(1, 2))}
				server.wait = func(now time.Time) time.Duration {
					for !now.Before(ends) {
						ends, left = ends.Add(tt.window), tt.quota
					}
					if left == 0 {
						return ends.Sub(now)
					}
					left--
					return 0
				}
				shaper := &transport.Shaper{Base: server}
				var jobs atomic.Int64
				jobs.Store(int64(tt.jobs))
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for jobs.Add(-1) >= 0 {
							for served := false; !served; {
								resp, err := shaper.RoundTrip(getItems(t.Context()))
								var rejected *transport.RejectedError
								if errors.As(err, &rejected) {
									time.Sleep(rejected.RetryAfter)
									continue
								}
								if !assert.NoError(t, err) {
									return
								}
								served = resp.StatusCode == 200
								drop(resp)
							}
						}
					})
				}
				wg.Wait()
				t.Logf("%+v, %d workers: %v, refused %d", tt, workers, time.Since(over), server.refused)
				assert.LessOrEqual(t, time.Since(over), tt.most, "%+v, %d workers", tt, workers)
				assert.LessOrEqual(t, server.refused, workers, "%+v, %d workers", tt, workers)
			})
		}
	}
}
