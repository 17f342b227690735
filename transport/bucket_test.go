package transport_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A bucket is a quota that comes back all the time: an empty one is full after fill.
type bucket struct {
	name  string
	quota int64
	fill  time.Duration
	cost  func(*http.Request) int64 // nil: 1
	full  time.Time                 // when it is full
}

// missing is how many units are missing, rounded up, and how long it takes until they
// are there.
func (b *bucket) missing(now time.Time) (units int64, lasts time.Duration) {
	lasts = max(b.full.Sub(now), 0)
	unit := b.fill / time.Duration(b.quota)
	return int64((lasts + unit - 1) / unit), lasts
}

func (b *bucket) costs(req *http.Request) int64 {
	if b.cost == nil {
		return 1
	}
	return b.cost(req)
}

// A bucketServer refuses a request for which one of its buckets has too little. It sends
// the fields that say writes for each.
type bucketServer struct {
	half       time.Duration // of the round trip
	write      func(h http.Header, b *bucket, now time.Time)
	retryAfter bool // on refusals

	mu              sync.Mutex // guards following
	buckets         []*bucket
	served, refused int
}

func (s *bucketServer) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(s.half)
	defer time.Sleep(s.half)
	s.mu.Lock()
	defer s.mu.Unlock()
	now, h := time.Now(), http.Header{}
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	var wait time.Duration
	for _, b := range s.buckets {
		unit := b.fill / time.Duration(b.quota)
		_, lasts := b.missing(now)
		wait = max(wait, lasts+time.Duration(b.costs(req))*unit-b.fill)
	}
	status := http.StatusOK
	if wait > 0 {
		s.refused++
		status = http.StatusTooManyRequests
		if s.retryAfter {
			h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		}
	} else {
		s.served++
		for _, b := range s.buckets {
			b.full = now.Add(max(b.full.Sub(now), 0) + time.Duration(b.costs(req))*(b.fill/time.Duration(b.quota)))
		}
	}
	for _, b := range s.buckets {
		s.write(h, b, now)
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: req}, nil
}

// openAI writes the fields of OpenAI, with the time until the bucket is full.
func openAI(h http.Header, b *bucket, now time.Time) {
	missing, lasts := b.missing(now)
	h.Set("X-Ratelimit-Limit-"+b.name, fmt.Sprint(b.quota))
	h.Set("X-Ratelimit-Remaining-"+b.name, fmt.Sprint(b.quota-missing))
	h.Set("X-Ratelimit-Reset-"+b.name, lasts.Round(time.Millisecond).String())
}

// anthropic writes the fields of Anthropic, with the instant at which the bucket is full.
func anthropic(h http.Header, b *bucket, now time.Time) {
	missing, lasts := b.missing(now)
	h.Set("Anthropic-Ratelimit-"+b.name+"-Limit", fmt.Sprint(b.quota))
	h.Set("Anthropic-Ratelimit-"+b.name+"-Remaining", fmt.Sprint(b.quota-missing))
	h.Set("Anthropic-Ratelimit-"+b.name+"-Reset", now.Add(lasts).UTC().Format(time.RFC3339))
}

// hetzner writes the fields of Hetzner.
func hetzner(h http.Header, b *bucket, now time.Time) {
	missing, lasts := b.missing(now)
	h.Set("Ratelimit-Limit", fmt.Sprint(b.quota))
	h.Set("Ratelimit-Remaining", fmt.Sprint(b.quota-missing))
	h.Set("Ratelimit-Reset", fmt.Sprint(now.Add(lasts+time.Second-1).Unix()))
}

// crowd sends n requests with so many workers, each of which sends a refused request again
// after the Retry-After, or a second. It returns how long it took, and how long the
// Shaper has held the request that it has held longest.
func crowd(t *testing.T, rt http.RoundTripper, n, workers int, request func() *http.Request) (took, held time.Duration) {
	began := time.Now()
	var mu sync.Mutex
	jobs := make(chan struct{}, n)
	for range n {
		jobs <- struct{}{}
	}
	close(jobs)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * 3 * time.Millisecond) // so that no two answers come at the same instant
			for range jobs {
				for {
					req := request()
					sent := time.Now()
					resp, err := rt.RoundTrip(req)
					if !assert.NoError(t, err) {
						return
					}
					took := time.Since(sent)
					drop(resp)
					mu.Lock()
					held = max(held, took)
					mu.Unlock()
					if resp.StatusCode == http.StatusOK {
						break
					}
					after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
					time.Sleep(max(time.Duration(after)*time.Second, time.Second))
				}
			}
		})
	}
	wg.Wait()
	return time.Since(began), held
}

func always(n int64) func(*http.Request) int64 { return func(*http.Request) int64 { return n } }

// A bucket of 1,000 tokens that gets 100 a second, and requests of 400: without Shaper.Cost
// the first ones show what they cost.
func TestBucketOfTokens(t *testing.T) {
	for _, tt := range []struct {
		name       string
		cost       func(*http.Request, quota.Policy) int64
		retryAfter bool
		refused    int
	}{
		{"cost known", func(*http.Request, quota.Policy) int64 { return 400 }, false, 1},
		{"cost known, Retry-After", func(*http.Request, quota.Policy) int64 { return 400 }, true, 1},
		{"cost not known", func(*http.Request, quota.Policy) int64 { return -1 }, false, 4},
		{"no Cost", nil, false, 4},
		{"no Cost, Retry-After", nil, true, 4},
	} {
		for _, strategy := range []quota.Strategy{quota.Adaptive, quota.Plain} {
			bubble(t, tt.name+" "+strategy.String(), func(t *testing.T) {
				const n = 30
				srv := &bucketServer{half: rtt / 2, write: openAI, retryAfter: tt.retryAfter, buckets: []*bucket{
					{name: "Tokens", quota: 1000, fill: 10 * time.Second, cost: always(400)},
				}}
				s := &transport.Shaper{Base: srv, Cost: tt.cost, Accounts: &quota.Accounts{Strategy: strategy, Jitter: func() float64 { return 0.5 }}}
				took, _ := crowd(t, s, n, 3, func() *http.Request { return getItems(t.Context()) })
				ideal := (n*400-1000)*10*time.Millisecond + rtt
				assert.LessOrEqual(t, srv.refused, tt.refused)
				assert.LessOrEqual(t, took, ideal*11/10)
			})
		}
	}
}

// Anthropic allows 50 requests a minute as a bucket.
func TestBucketOfAnthropic(t *testing.T) {
	for _, strategy := range []quota.Strategy{quota.Adaptive, quota.Plain} {
		bubble(t, strategy.String(), func(t *testing.T) {
			srv := &bucketServer{half: rtt / 2, write: anthropic, retryAfter: true, buckets: []*bucket{
				{name: "Requests", quota: 50, fill: time.Minute},
			}}
			s := &transport.Shaper{Base: srv, Accounts: &quota.Accounts{Strategy: strategy}}
			took, held := crowd(t, s, 150, 2, func() *http.Request { return getItems(t.Context()) })
			ideal := 100*1200*time.Millisecond + rtt
			assert.Zero(t, srv.refused)
			assert.LessOrEqual(t, took, ideal*108/100)
			assert.LessOrEqual(t, held, 3*time.Second)
		})
	}
}

// Hetzner gives back one of 3,600 requests a second.
func TestBucketOfHetzner(t *testing.T) {
	for _, left := range []int64{3600, 20, 0} {
		bubble(t, fmt.Sprint(left, " left"), func(t *testing.T) {
			srv := &bucketServer{half: rtt / 2, write: hetzner, retryAfter: true, buckets: []*bucket{
				{name: "", quota: 3600, fill: time.Hour, full: time.Now().Add(time.Duration(3600-left) * time.Second)},
			}}
			s := &transport.Shaper{Base: srv}
			request := func() *http.Request { return newRequest(t.Context(), "GET", "https://api.hetzner.cloud/v1/servers") }
			took, _ := crowd(t, s, 60, 10, request)
			if left > 0 {
				assert.Zero(t, srv.refused)
			} else {
				assert.LessOrEqual(t, srv.refused, 10, "the first flight")
			}
			ideal := time.Duration(max(60-left, 0))*time.Second + rtt
			assert.LessOrEqual(t, took, ideal*108/100+time.Second)
		})
	}
}

// Quotas in several units are met together.
func TestBucketsOfSeveralUnits(t *testing.T) {
	tokens := func(n int64) func(*http.Request, quota.Policy) int64 {
		return func(_ *http.Request, p quota.Policy) int64 {
			if p.Unit == "tokens" {
				return n
			}
			return -1
		}
	}
	for _, tt := range []struct {
		name    string
		write   func(h http.Header, b *bucket, now time.Time)
		buckets []*bucket
		cost    func(*http.Request, quota.Policy) int64
		n       int
		ideal   time.Duration
		refused int
	}{
		{"requests and tokens, known", openAI, []*bucket{
			{name: "Requests", quota: 60, fill: time.Minute},
			{name: "Tokens", quota: 10_000, fill: time.Minute, cost: always(400)},
		}, tokens(400), 50, time.Minute, 1},
		{"requests and tokens", openAI, []*bucket{
			{name: "Requests", quota: 60, fill: time.Minute},
			{name: "Tokens", quota: 10_000, fill: time.Minute, cost: always(400)},
		}, nil, 50, time.Minute, 5},
		{"tokens and fewer requests", openAI, []*bucket{
			{name: "Requests", quota: 30, fill: time.Minute},
			{name: "Tokens", quota: 100_000, fill: time.Minute, cost: always(400)},
		}, nil, 60, time.Minute, 5},
		{"input and output", anthropic, []*bucket{
			{name: "Requests", quota: 50, fill: time.Minute},
			{name: "Input-Tokens", quota: 20_000, fill: time.Minute, cost: always(300)},
			{name: "Output-Tokens", quota: 4_000, fill: time.Minute, cost: always(200)},
		}, nil, 40, time.Minute, 5},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			srv := &bucketServer{half: rtt / 2, write: tt.write, retryAfter: true, buckets: tt.buckets}
			s := &transport.Shaper{Base: srv, Cost: tt.cost}
			took, _ := crowd(t, s, tt.n, 5, func() *http.Request { return getItems(t.Context()) })
			assert.LessOrEqual(t, srv.refused, tt.refused)
			assert.LessOrEqual(t, took, tt.ideal*11/10)
		})
	}
}

// A server charges a little more than the estimate, of a bucket from which the whole crowd
// wants to be served. The second refusal in a row is followed by a back-off: they do not try
// one after the other, each at once after the refusal of the one before.
func TestEstimateTooLow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, at := 3000., time.Now() // 1,000 a second come back
		served, refused := 0, 0
		var mu sync.Mutex
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			left, at = min(3000, left+1000*time.Since(at).Seconds()), time.Now()
			ok := left >= 500
			if ok {
				left -= 500
				served++
			} else {
				refused++
			}
			w.Header().Set("X-RateLimit-Limit-Tokens", "3000")
			w.Header().Set("X-RateLimit-Remaining-Tokens", strconv.Itoa(int(left)))
			w.Header().Set("X-RateLimit-Reset-Tokens", fmt.Sprintf("%dms", 3000-int(left)))
			mu.Unlock()
			if !ok {
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			time.Sleep(50 * time.Millisecond)
		})
		s := &transport.Shaper{
			Base:     &transporttest.Transport{Handler: h, Latency: func() time.Duration { return time.Millisecond }},
			Accounts: &quota.Accounts{Jitter: func() float64 { return 0 }},
		}
		ask := func() { // the estimate is 490
			body := `{"model": "small", "max_tokens": 480, "messages": [{"role": "user", "content": "hello there, how are you?"}]}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://llm.example/v1/chat/completions", strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			pass(t, s, req)
		}
		began := time.Now()
		ask()
		ask()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Microsecond)
				ask()
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, refused, 2)
		assert.Equal(t, 22, served+refused)
		assert.LessOrEqual(t, time.Since(began), 9*time.Second, "11,000 tokens take 8 s")
	})
}
