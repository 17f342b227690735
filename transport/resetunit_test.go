package transport_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// A server that says when its quota is renewed by a number: of milliseconds, or of seconds.
type resetServer struct {
	quota  int
	window time.Duration
	unit   time.Duration
	tells  func(left time.Duration) time.Duration // what it says; nil: the time left
	others int                                    // other clients use up all windows but each so many-th; 0: none

	mu              sync.Mutex // guards following
	since           time.Time
	used            int
	windows         int
	served, refused int
}

func (f *resetServer) answer() answer {
	if passed := time.Since(f.since); f.since.IsZero() {
		f.since = time.Now()
	} else if passed >= f.window {
		f.since, f.used = f.since.Add(passed.Truncate(f.window)), 0
		if f.windows += int(passed / f.window); f.others > 0 && f.windows%f.others > 0 {
			f.used = f.quota
		}
	}
	status, left := 200, f.quota-f.used-1
	if left < 0 {
		status, left = 429, 0
		f.refused++
	} else {
		f.used++
		f.served++
	}
	reset := f.window - time.Since(f.since)
	if f.tells != nil {
		reset = f.tells(reset)
	}
	return says(status, "X-RateLimit-Limit", strconv.Itoa(f.quota), "X-RateLimit-Remaining", strconv.Itoa(left),
		"X-RateLimit-Reset", strconv.FormatInt(int64((reset+f.unit-1)/f.unit), 10))
}

// work sends requests by workers that try again when they are refused, for a time. A response takes
// up to jitter longer than rtt.
func (f *resetServer) work(t *testing.T, s *transport.Shaper, workers int, lasts, jitter time.Duration) {
	rnd := rand.New(rand.NewPCG(3, 4))
	s.Base = newChooser(func(int, *http.Request) answer {
		f.mu.Lock()
		defer f.mu.Unlock()
		took := rtt
		if jitter > 0 {
			took += time.Duration(rnd.Int64N(int64(jitter)))
		}
		return slow(took, f.answer())
	})
	var wg sync.WaitGroup
	end := time.Now().Add(lasts)
	for range workers {
		wg.Go(func() {
			for time.Now().Before(end) {
				resp, err := s.RoundTrip(getItems(t.Context()))
				if err != nil {
					time.Sleep(time.Second)
					continue
				}
				drop(resp)
			}
		})
	}
	wg.Wait()
}

// A number says when a quota is renewed: in seconds, as with most servers, or in milliseconds. With
// a row that says which, the Shaper knows. Without one it finds out.
func TestResetUnit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	constant := func(d time.Duration) func(time.Duration) time.Duration {
		return func(time.Duration) time.Duration { return d }
	}
	random := func(left time.Duration) time.Duration { return left + time.Duration(rnd.Int64N(int64(time.Hour))) }
	later := func(left time.Duration) time.Duration { return left + time.Duration(rnd.Int64N(int64(time.Minute))) }
	for _, tt := range []struct {
		name    string
		server  *resetServer
		workers int
		least   int // served in 20 minutes
		refused int // those are probes, once in ten minutes
	}{
		{"milliseconds, 20 s", &resetServer{quota: 4, window: 20 * time.Second, unit: time.Millisecond}, 3, 240, 0},
		{"milliseconds, a minute", &resetServer{quota: 100, window: time.Minute, unit: time.Millisecond}, 20, 2000, 0},
		{"milliseconds, two minutes", &resetServer{quota: 10, window: 2 * time.Minute, unit: time.Millisecond}, 20, 100, 0},
		{"milliseconds, always the window", &resetServer{quota: 5, window: time.Minute, unit: time.Millisecond, tells: constant(time.Minute)}, 5, 100, 0},
		{"milliseconds, and others", &resetServer{quota: 10, window: 5 * time.Second, unit: time.Millisecond, others: 2}, 3, 1100, 150},
		{"milliseconds, three windows of others", &resetServer{quota: 10, window: 5 * time.Second, unit: time.Millisecond, others: 4}, 3, 500, 300},
		{"milliseconds, half a second", &resetServer{quota: 10, window: time.Second / 2, unit: time.Millisecond}, 3, 10_000, 0},
		{"milliseconds, half a second, many", &resetServer{quota: 10, window: time.Second / 2, unit: time.Millisecond}, 20, 5_000, 0},
		{"milliseconds, less than a second", &resetServer{quota: 5, window: 900 * time.Millisecond, unit: time.Millisecond}, 1, 6_000, 0},
		{"seconds, a minute", &resetServer{quota: 100, window: time.Minute, unit: time.Second}, 20, 2000, 0},
		{"seconds, a quarter of an hour", &resetServer{quota: 100, window: 15 * time.Minute, unit: time.Second}, 20, 200, 1},
		{"seconds at random, a minute", &resetServer{quota: 100, window: time.Minute, unit: time.Second, tells: later}, 3, 1000, 20},
		{"seconds", &resetServer{quota: 100, window: time.Hour, unit: time.Second}, 20, 100, 2},
		{"seconds, all at once", &resetServer{quota: 10, window: time.Hour, unit: time.Second}, 10, 10, 3},
		{"seconds, always the window", &resetServer{quota: 100, window: time.Hour, unit: time.Second, tells: constant(time.Hour)}, 20, 100, 2},
		{"seconds at random", &resetServer{quota: 100, window: time.Hour, unit: time.Second, tells: random}, 20, 100, 5},
		{"seconds, of another window", &resetServer{quota: 100, window: time.Minute, unit: time.Second, tells: constant(time.Hour)}, 20, 201, 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			tt.server.work(t, &transport.Shaper{}, tt.workers, 20*time.Minute, 10*time.Millisecond)
			t.Log(tt.server.served, tt.server.refused)
			assert.GreaterOrEqual(t, tt.server.served, tt.least, "served")
			assert.LessOrEqual(t, tt.server.refused, tt.refused, "refused")
		})
	}
}

// Not to know the unit costs a client that sends one request after the other no more than one
// refusal, whatever the server means, and the times of the next ones are nearly as good as if it
// is known. Requests that overtake each other may cost another one.
func TestResetUnitAtRandom(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			run := func(vendors []parse.Vendor, unit time.Duration) *resetServer {
				rnd := rand.New(rand.NewPCG(seed, 7))
				srv := &resetServer{quota: 1 + rnd.IntN(200), unit: unit, window: time.Duration(1000+rnd.IntN(6000)) * time.Second}
				if unit == time.Millisecond {
					srv.window = time.Duration(5000+rnd.IntN(100_000)) * time.Millisecond
				}
				if rnd.IntN(3) == 0 && unit == time.Second { // in milliseconds it is taken for seconds
					srv.tells = func(time.Duration) time.Duration { return srv.window }
				}
				srv.work(t, &transport.Shaper{Vendors: vendors, FirstFlight: 1}, 1, 20*time.Minute, time.Duration(rnd.IntN(3))*300*time.Millisecond)
				return srv
			}
			for _, unit := range []time.Duration{time.Second, time.Millisecond} {
				known := run([]parse.Vendor{{Hosts: []string{"api.example"}, ResetIn: unit}}, unit)
				found := run(nil, unit)
				assert.LessOrEqual(t, found.refused, known.refused+1, "seed %d: refused, in %v", seed, unit)
				assert.GreaterOrEqual(t, float64(found.served), .97*float64(known.served), "seed %d: served, in %v", seed, unit)
			}
		})
	}
}

// What is said in the responses before decides how long the last one, with nothing left, holds.
func TestResetUnitOfResponses(t *testing.T) {
	type said struct {
		status int
		fields string // "available reset", and further fields
		pause  time.Duration
	}
	const s = time.Second
	row := []parse.Vendor{{Name: "a row", Hosts: []string{"example"}, ResetIn: time.Second}}
	for _, tt := range []struct {
		name    string
		vendors []parse.Vendor
		said    []said
		held    time.Duration
	}{
		{"milliseconds", nil, []said{{200, "0 58000", 0}}, 58 * s},
		{"milliseconds, beside a count", nil, []said{{429, "0 42630 X-RateLimit-Current:13", 0}}, 42630 * time.Millisecond},
		{"less than a second", nil, []said{{200, "3 1800", 1200 * time.Millisecond}, {200, "0 500", 0}}, s / 2},
		{"at the same time of windows", nil, []said{{200, "9 59900", 60 * s}, {200, "8 59900", 60 * s}, {200, "7 59900", 60 * s}, {200, "0 58000", 0}}, 58 * s},
		{"renewed too late", nil, []said{{200, "0 5000", 6 * s}, {429, "0 1", 2 * s}, {200, "0 5000", 0}}, 5 * s},
		{"a small number", nil, []said{{200, "0 100", 0}}, 100 * s},
		{"seconds that fall", nil, []said{{200, "3 5000", s / 2}, {200, "2 5000", s / 2}, {200, "0 4999", 0}}, 4999 * s},
		{"seconds that fall, and a small number", nil, []said{{200, "3 1500", s / 2}, {200, "2 1500", s / 2}, {200, "1 1499", 0}, {200, "0 100", 0}}, 100 * s},
		{"seconds that do not fall", nil, []said{{200, "3 5000", s}, {200, "2 5000", s}, {200, "0 5000", 0}}, 5000 * s},
		{"a refusal", nil, []said{{200, "0 5000", 6 * s}, {429, "0 4994", 0}}, 4994 * s},
		{"a Retry-After", nil, []said{{403, "5 5000 Retry-After:5000", 5000 * s}, {200, "0 4000", 0}}, 4000 * s},
		{"a row", row, []said{{200, "0 5000", 0}}, 5000 * s},
		{"a window", nil, []said{{200, "0 5000 X-RateLimit-Window:7200", 0}}, 5000 * s},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var answers []answer
			for _, said := range tt.said {
				f := strings.Fields(said.fields)
				fields := []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", f[0], "X-RateLimit-Reset", f[1]}
				for _, more := range f[2:] {
					name, value, _ := strings.Cut(more, ":")
					fields = append(fields, name, value)
				}
				answers = append(answers, says(said.status, fields...))
			}
			s := &transport.Shaper{Base: newServer(answers...), Vendors: tt.vendors, MaxDelay: transport.NoDelay}
			for _, said := range tt.said {
				resp, err := s.RoundTrip(getItems(t.Context()))
				require.NoError(t, err)
				drop(resp)
				time.Sleep(said.pause)
			}
			_, err := s.RoundTrip(getItems(t.Context()))
			var rejected *transport.RejectedError
			require.ErrorAs(t, err, &rejected)
			assert.LessOrEqual(t, rejected.RetryAfter, tt.held+time.Second)
			assert.GreaterOrEqual(t, rejected.RetryAfter, tt.held/20) // it may be taken for a bucket of ten
		})
	}
}
