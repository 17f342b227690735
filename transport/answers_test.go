package transport_test

import (
	"io"
	"math"
	"math/rand/v2"
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

// A lateServer counts requests when they arrive, in windows of 10 s, and says when it answers how
// long the window lasts, or when it ends. Answers take 0.3 to 4 s, or all of them 2 s.
type lateServer struct {
	unix, alike bool

	mu              sync.Mutex
	rnd             *rand.Rand
	began           time.Time
	left            int
	served, refused int
}

const lateQuota, lateWindow = 20, 10 * time.Second

func (s *lateServer) fields(rw http.ResponseWriter) {
	now := time.Now()
	if s.began.IsZero() {
		s.began, s.left = now, lateQuota
	} else if past := now.Sub(s.began).Truncate(lateWindow); past > 0 {
		s.began, s.left = s.began.Add(past), lateQuota
	}
	h, end := rw.Header(), s.began.Add(lateWindow)
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	h.Set("X-RateLimit-Limit", strconv.Itoa(lateQuota))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(s.left))
	h.Set("X-RateLimit-Reset", strconv.Itoa(int(math.Ceil(end.Sub(now).Seconds()))))
	if s.unix {
		h.Set("X-RateLimit-Reset", strconv.Itoa(int(end.Add(time.Second-1).Unix())))
	}
}

func (s *lateServer) ServeHTTP(rw http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fields(rw); s.left == 0 {
		s.refused++
		rw.WriteHeader(http.StatusTooManyRequests)
		return
	}
	s.left--
	s.served++
	work := 2 * time.Second
	if !s.alike {
		work = 300*time.Millisecond + time.Duration(s.rnd.Int64N(int64(3700*time.Millisecond)))
	}
	s.mu.Unlock()
	time.Sleep(work)
	s.mu.Lock()
	s.fields(rw)
}

// Where answers take seconds, a window ends as long after an answer as that says, and not after its
// request departed: else the first request after each window would be refused.
func TestWindowsOfSlowAnswers(t *testing.T) {
	for _, tt := range []struct {
		name        string
		unix, alike bool
	}{
		{"seconds", false, false},
		{"seconds, all take as long", false, true},
		{"instants", true, false},
		{"instants, all take as long", true, true},
	} {
		for seed := range uint64(3) {
			synctest.Test(t, func(t *testing.T) {
				s := &lateServer{unix: tt.unix, alike: tt.alike, rnd: rand.New(rand.NewPCG(seed, 1))}
				trips := rand.New(rand.NewPCG(seed, 2))
				var mu sync.Mutex
				shaper := &transport.Shaper{Base: &transporttest.Transport{Handler: s, Latency: func() time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return 40*time.Millisecond + time.Duration(trips.Int64N(int64(20*time.Millisecond)))
				}}}
				var wg sync.WaitGroup
				start := time.Now()
				for range 30 {
					wg.Go(func() {
						for time.Since(start) < 100*lateWindow {
							req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://late.example/", nil)
							if !assert.NoError(t, err) {
								return
							}
							resp, err := shaper.RoundTrip(req)
							if err != nil {
								time.Sleep(time.Second)
								continue
							}
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
				wg.Wait()
				assert.GreaterOrEqual(t, s.served, 100*lateQuota, "%s, seed %d", tt.name, seed)
				assert.LessOrEqual(t, s.refused, 20, "%s, seed %d", tt.name, seed)
			})
		}
	}
}
