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

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// Where messages to one channel are limited, and nothing says so but a 429 with Retry-After, those to other channels
// go on, whether their number is in the path or in the query. In ten minutes, a loop would be served 7,200 of these.
func TestResourceDoesNotHoldOthers(t *testing.T) {
	for _, url := range []string{"http://chat.example/channels/%d/messages", "http://chat.example/messages?channel=%d"} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			served, refused, end := map[bool]int{}, 0, time.Now()
			left := 0
			busy := fmt.Sprintf(url, 1)
			server := &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				isBusy := "http://chat.example"+r.URL.RequestURI() == busy
				if now := time.Now(); isBusy && !now.Before(end) {
					left, end = 5, now.Add(10*time.Second)
				}
				switch {
				case isBusy && left == 0:
					refused++
					w.Header().Set("Retry-After", strconv.Itoa(int(time.Until(end)/time.Second)+1))
					w.WriteHeader(429)
					return
				case isBusy:
					left--
				}
				served[isBusy]++
			})}
			shaper := &transport.Shaper{Base: roundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(50 * time.Millisecond)
				return server.RoundTrip(r)
			})}
			until := time.Now().Add(10 * time.Minute)
			post := func(url string) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, nil)
				if !assert.NoError(t, err) {
					return
				}
				resp, err := shaper.RoundTrip(req)
				if !assert.NoError(t, err) {
					return
				}
				resp.Body.Close()
				if resp.StatusCode == 429 { // the loop
					s, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
					time.Sleep(time.Duration(s) * time.Second)
				}
			}
			var workers sync.WaitGroup
			for w := range 3 {
				workers.Go(func() {
					for time.Now().Before(until) {
						post(busy)
					}
				})
				workers.Go(func() {
					for n := w; time.Now().Before(until); n += 3 {
						post(fmt.Sprintf(url, 2+n%50))
						time.Sleep(200 * time.Millisecond)
					}
				})
			}
			workers.Wait()
			t.Logf("%s: others %d, busy %d and %d refused", url, served[false], served[true], refused)
			assert.GreaterOrEqual(t, served[false], 7_100)
			assert.GreaterOrEqual(t, served[true], 290)
			assert.Less(t, refused, 60, "a loop: 180")
		})
	}
}

// A thingsServer tells what is left of a quota for each thing, in the same fields, and nothing says for which one.
type thingsServer struct {
	quota  int
	window time.Duration
	thing  func(path string) string
	fields func(w http.ResponseWriter, quota, left int, window, reset time.Duration)

	mu      sync.Mutex
	used    map[string]int
	ends    map[string]time.Time
	refused int
}

func (s *thingsServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thing, now := s.thing(r.Method+" "+r.URL.Path), time.Now()
	if !now.Before(s.ends[thing]) {
		s.used[thing], s.ends[thing] = 0, now.Add(s.window)
	}
	s.used[thing]++
	left, reset := s.quota-s.used[thing], s.ends[thing].Sub(now)
	s.fields(w, s.quota, max(left, 0), s.window, reset)
	if left < 0 {
		s.refused++
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// Where each thing has a quota of its own, and the fields tell what is left of that of the request, a thing that is used up
// does not hold the others: neither while it is, nor by what is in flight. Which part of the path names the thing is found out.
func TestToldResourceDoesNotHoldOthers(t *testing.T) {
	type fields = func(w http.ResponseWriter, quota, left int, window, reset time.Duration)
	seconds := func(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
	dialects := map[string]fields{
		"X-RateLimit": func(w http.ResponseWriter, quota, left int, _, reset time.Duration) {
			w.Header().Set("X-RateLimit-Limit", strconv.Itoa(quota))
			w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left))
			w.Header().Set("X-RateLimit-Reset", strconv.Itoa(seconds(reset)))
		},
		"-08": func(w http.ResponseWriter, quota, left int, window, reset time.Duration) {
			w.Header().Set("RateLimit-Policy", fmt.Sprintf(`"default";q=%d;w=%d`, quota, seconds(window)))
			w.Header().Set("RateLimit", fmt.Sprintf(`"default";r=%d;t=%d`, left, seconds(reset)))
		},
	}
	segment := func(i int) func(string) string {
		return func(path string) string { return strings.Split(path, "/")[i] }
	}
	whole := func(path string) string { return path }
	for _, tt := range []struct {
		name   string
		quota  int
		window time.Duration
		thing  func(string) string
		path   func(thing, i int) string
		lasts  time.Duration
		busy   int // workers with the first thing
		every  time.Duration
		// what a loop reaches
		served, others int
	}{
		{"channels", 100, time.Hour, segment(2), func(c, _ int) string { return fmt.Sprintf("/channels/%d/messages", c) }, 3 * time.Hour, 3, time.Minute, 300, 180},
		{"shops", 100, time.Hour, segment(2), func(c, i int) string { return fmt.Sprintf("/shops/%d/orders/%d", c, i) }, 3 * time.Hour, 3, time.Minute, 300, 180},
		{"documents", 100, time.Hour, whole, func(c, _ int) string { return fmt.Sprintf("/projects/7/documents/%d", c) }, 3 * time.Hour, 3, time.Minute, 300, 180},
		{"channels, short windows", 20, 20 * time.Second, segment(2), func(c, _ int) string { return fmt.Sprintf("/channels/%d/messages", c) }, 5 * time.Minute, 3, 500 * time.Millisecond, 300, 600},
		{"two routes of channels", 20, 20 * time.Second, whole, func(c, i int) string { return fmt.Sprintf("/channels/%d/%s", c, []string{"pins", "messages"}[i%2]) }, 5 * time.Minute, 3, 500 * time.Millisecond, 600, 600},
	} {
		for dialect, f := range dialects {
			synctest.Test(t, func(t *testing.T) {
				server := &thingsServer{quota: tt.quota, window: tt.window, thing: tt.thing, fields: f, used: map[string]int{}, ends: map[string]time.Time{}}
				base := &transporttest.Transport{Handler: server, Latency: func() time.Duration { return 25 * time.Millisecond }}
				shaper := &transport.Shaper{Base: base, MaxDelay: time.Hour}
				var mu sync.Mutex
				served, waited := map[bool]int{}, time.Duration(0)
				until := time.Now().Add(tt.lasts)
				get := func(thing, i int) {
					began := time.Now()
					for {
						resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin+tt.path(thing, i)))
						if err != nil || time.Now().After(until) {
							return
						}
						resp.Body.Close()
						if resp.StatusCode == http.StatusOK {
							break
						}
					}
					mu.Lock()
					defer mu.Unlock()
					served[thing == 1]++
					if thing != 1 {
						waited = max(waited, time.Since(began))
					}
				}
				var work sync.WaitGroup
				for w := range tt.busy {
					work.Go(func() {
						for i := w; time.Now().Before(until); i += tt.busy {
							get(1, i)
						}
					})
				}
				for i := 0; time.Now().Before(until); i++ {
					work.Go(func() { get(2+i%20, i) })
					time.Sleep(tt.every)
				}
				work.Wait()
				t.Logf("%s, %s: busy %d, others %d, which waited for %v at most; refused %d", tt.name, dialect, served[true], served[false], waited, server.refused)
				assert.GreaterOrEqual(t, served[true], tt.served*97/100, tt.name)
				assert.GreaterOrEqual(t, served[false], tt.others*97/100, tt.name)
				assert.LessOrEqual(t, server.refused, (served[true]+served[false])/20, tt.name)
			})
		}
	}
}

// A thing that a Retry-After holds is held to its end, though it has a scope of its own by then, and its quota is there again.
// So is one that was told, by a response that is no refusal, that nothing is left.
func TestToldResourceIsHeldToTheEnd(t *testing.T) {
	for _, retryAfter := range []string{"60", ""} {
		bubble(t, "Retry-After "+retryAfter, func(t *testing.T) { playHeldResource(t, retryAfter) })
	}
}

func playHeldResource(t *testing.T, retryAfter string) {
	begin, n, second := time.Now(), 0, time.Duration(0)
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-RateLimit-Limit", "100")
		h.Set("X-RateLimit-Remaining", "99")
		h.Set("X-RateLimit-Reset", "20")
		if r.URL.Path != "/items/1" {
			return
		}
		if n++; n == 2 {
			h.Set("X-RateLimit-Remaining", "0")
			if retryAfter != "" {
				h.Set("Retry-After", retryAfter)
				w.WriteHeader(http.StatusTooManyRequests)
			}
			return
		}
		second = time.Since(begin)
	})
	base := &transporttest.Transport{Handler: server, Latency: func() time.Duration { return 25 * time.Millisecond }}
	shaper := &transport.Shaper{Base: base, MaxDelay: time.Hour}
	send := func(path string) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example"+path, nil)
		resp, err := shaper.RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
	}
	send("/items/1")
	send("/items/1")
	held := time.Since(begin) + 20*time.Second - time.Second // of whole seconds
	send("/items/2")
	assert.Less(t, time.Since(begin), 10*time.Second, "another thing has a scope of its own")
	if retryAfter != "" {
		held += 41 * time.Second
		time.Sleep(25 * time.Second)
		send("/items/2") // the quota is there again
	}
	send("/items/1")
	assert.GreaterOrEqual(t, second, held)
}
