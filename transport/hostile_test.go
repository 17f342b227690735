package transport_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

// number returns a number that a server could send: most are sensible.
func number(rnd *rand.Rand) string {
	return pick(rnd, "0", "1", "2", "3", "5", "9", "10", "60", "600", "3600", "31536000", "999999999999999",
		"-1", "1.5", "1e9", "?0", "", `"7"`, ":AA==:", "99999999999999999999", fmt.Sprint(rnd.IntN(30)))
}

func name(rnd *rand.Rand) string {
	return pick(rnd, `"api"`, `"api"`, `"day"`, "day", `""`, `"\\"`, "7", `"`+strings.Repeat("x", rnd.IntN(400))+`"`, fmt.Sprintf(`"p%d"`, rnd.IntN(50)))
}

// list returns a RateLimit field with parameters of the given names.
func list(rnd *rand.Rand, params ...string) string {
	var b strings.Builder
	for i := range rnd.IntN(4) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(rnd))
		for _, p := range params {
			switch rnd.IntN(5) {
			case 0:
			case 1:
				b.WriteString(";" + p)
			case 2:
				b.WriteString(";" + p + "=" + pick(rnd, ":YWxpY2U=:", ":R0VU:", ":Yg==:", "GET", `"requests"`, `"content-bytes"`, `"concurrent-requests"`, `"x"`))
			default:
				b.WriteString(";" + p + "=" + number(rnd))
			}
		}
	}
	if rnd.IntN(20) == 0 {
		b.WriteString(pick(rnd, ",", ";", "=", "\x00", "é", strings.Repeat(`, "z";a=0;w=1`, 200)))
	}
	return b.String()
}

// hostile answers with random fields.
func hostile(rnd *rand.Rand) answer {
	var fields []string
	add := func(name, value string) {
		if rnd.IntN(3) == 0 {
			fields = append(fields, name, value)
		}
	}
	for range 2 {
		add("RateLimit", list(rnd, "a", "w", "pk", "c", "r", "t"))
		add("RateLimit-Policy", list(rnd, "q", "w", "pk", "qu"))
	}
	add("RateLimit-Partition", list(rnd, "method", "user_id", "region"))
	add("Retry-After", pick(rnd, number(rnd), "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 05 Aug 2019 09:27:00 GMT", "soon"))
	add("Date", pick(rnd, "Mon, 05 Aug 2019 09:27:00 GMT", "never", "Thu, 01 Jan 1970 00:00:00 GMT"))
	if rnd.IntN(10) == 0 {
		fields = append(fields, pick(rnd, "Age", "X-From-Cache", "Cache-Status"), pick(rnd, "1", "c; hit", "x"))
	}
	a := says(pick(rnd, 200, 200, 200, 301, 304, 403, 404, 413, 429, 429, 503), fields...)
	if rnd.IntN(15) == 0 {
		a = fails(pick[error](rnd, errBroken, dialError))
	}
	return slow(time.Duration(rnd.IntN(1500))*time.Millisecond, a)
}

// No input makes a Shaper panic, hold a request for longer than MaxDelay, or leave one
// waiting for ever: a bubble with a goroutine left at its end fails the test.
func TestHostileServer(t *testing.T) {
	rounds := uint64(100)
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("seed %d: panic: %v", seed, r)
				}
			}()
			rnd := newRand(seed)
			answers := make([]answer, 100)
			for i := range answers {
				answers[i] = hostile(rnd)
			}
			left := make(map[*http.Request]time.Time)
			var mu sync.Mutex
			srv := newChooser(func(n int, req *http.Request) answer {
				mu.Lock()
				left[req] = time.Now()
				mu.Unlock()
				return answers[n%len(answers)]
			})
			maxDelay := pick(rnd, time.Second, 10*time.Second, 2*time.Minute)
			permits := 1 + rnd.Int64N(20)
			concurrency := quota.Concurrency(permits)
			s := &transport.Shaper{
				Base: srv, MaxDelay: maxDelay, MaxQueue: rnd.IntN(20), Trace: allHooks(func(any) {}),
				Limits:   func(*http.Request) quota.Limiter { return concurrency },
				Accounts: new(quota.Accounts),
			}
			var wg sync.WaitGroup
			for range 60 {
				start := time.Duration(rnd.IntN(60_000)) * time.Millisecond
				method, path, user := pick(rnd, "GET", "PUT"), pick(rnd, "a", "b"), pick(rnd, "alice", "bob", "")
				ctx, cancel := context.WithCancel(t.Context())
				if rnd.IntN(4) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(20_000))*time.Millisecond)
				}
				wg.Go(func() {
					defer cancel()
					time.Sleep(start)
					ctx := transport.WithPriority(partition.WithUserID(ctx, user), len(path))
					req := newRequest(ctx, method, "http://api.example/"+path)
					began := time.Now()
					resp, err := s.RoundTrip(req)
					mu.Lock()
					defer mu.Unlock()
					if at, ok := left[req]; ok {
						assert.LessOrEqual(t, at.Sub(began), maxDelay, "seed %d: held too long", seed)
					} else {
						assert.Error(t, err, "seed %d", seed)
						assert.LessOrEqual(t, time.Since(began), maxDelay, "seed %d: refused too late", seed)
					}
					assert.True(t, (resp == nil) != (err == nil), "seed %d", seed)
					if resp != nil {
						drop(resp)
					}
				})
			}
			wg.Wait()
			assert.Equal(t, permits, concurrency.Stats().Available, "seed %d: permits", seed)
			atRest(t, s.Accounts, "http://api.example")
			// No account is frozen for ever: within little more than a day a request goes.
			s.MaxDelay = 400 * 24 * time.Hour
			s.Base = stillServer()
			assert.LessOrEqual(t, delay(t, s, newRequest(t.Context(), "GET", "http://api.example/a")), 25*time.Hour, "seed %d", seed)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A server with random fields does not make the client's memory grow without bound.
func TestHostileServerIsBounded(t *testing.T) {
	const seed = 11
	rnd := newRand(seed)
	srv := newServer(func(req *http.Request) (*http.Response, error) {
		resp, err := says(pick(rnd, 200, 200, 403, 429, 503))(req)
		lie(rnd, resp.Header)
		return resp, err
	})
	s := &transport.Shaper{Accounts: &quota.Accounts{MaxAccounts: 300}, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := srv.RoundTrip(req)
		srv.requests, srv.times = nil, nil
		return resp, err
	})}
	heap := func(answers int) uint64 {
		for i := range answers {
			ctx := transport.WithBypass(partition.WithUserID(t.Context(), fmt.Sprint("user", i%3)))
			resp, err := s.RoundTrip(newRequest(ctx, "GET", fmt.Sprint("http://api.example/", i%5)))
			require.NoError(t, err)
			drop(resp)
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	few := heap(2_000)
	many := heap(4_000)
	assert.Less(t, many, few+few/4+100<<10, "seed %d", seed)
	assert.LessOrEqual(t, len(s.Accounts.Origin("http://api.example").Policies()), 32)
}
