package transport_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A server refuses at once and serves slowly, so refusals overtake the answers of requests that
// were served. That is not a row of refusals, and no reason to back off for longer each time.
func TestRefusalsThatOvertakeAnswers(t *testing.T) {
	for _, tt := range []struct {
		name          string
		served, other []string // fields of responses
	}{
		{"nothing said", nil, nil},
		{"Retry-After", nil, []string{"Retry-After", "5"}},
		{"limits of refusals", nil, []string{"RateLimit", `"api";r=0;t=5`}},
		{"X-RateLimit", []string{"X-RateLimit-Limit", "1", "X-RateLimit-Reset", "5"},
			[]string{"X-RateLimit-Limit", "1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "5"}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var mu sync.Mutex // guards following
			var next time.Time
			var served int
			s := &transport.Shaper{Base: newChooser(func(int, *http.Request) answer {
				mu.Lock()
				defer mu.Unlock()
				if time.Now().Before(next) {
					return slow(10*time.Millisecond, says(429, tt.other...))
				}
				next = time.Now().Add(5 * time.Second)
				served++
				return slow(1500*time.Millisecond, says(200, tt.served...))
			})}
			end := time.Now().Add(20 * time.Minute)
			var wg sync.WaitGroup
			for range 4 {
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
			t.Log(served)
			assert.GreaterOrEqual(t, served, 240*3/4, "in 20 minutes")
		})
	}
}

// A server names no window. Its resets are those of single units, and its answers take longer than
// that. A reset is not taken for a window then, in which the whole quota is there again.
func TestSlowAnswersByUnits(t *testing.T) {
	bubble(t, "a unit in a second", func(t *testing.T) {
		var mu sync.Mutex // guards following
		var served, refused int
		api := &transporttest.API{Dialect: parse.VendorFields, OmitRetryAfter: true, Policies: []transporttest.Policy{
			{Name: "api", Quota: 60, Window: time.Minute, Algorithm: transporttest.TokenBucket},
		}}
		rnd := newRand(1)
		draw := func(d time.Duration) time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Duration(rnd.Int64N(int64(d)))
		}
		s := &transport.Shaper{Base: newChooser(func(_ int, req *http.Request) answer {
			time.Sleep(draw(50 * time.Millisecond))
			d := api.Decide(time.Now(), req)
			took := draw(50 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if d.Served {
				served, took = served+1, took+3*time.Second
			} else {
				refused++
			}
			return slow(took, func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: d.Status, Header: d.Header, Body: io.NopCloser(bytes.NewReader(d.Body)), Request: req}, nil
			})
		})}
		end := time.Now().Add(30 * time.Minute)
		var wg sync.WaitGroup
		for range 18 {
			wg.Go(func() {
				for time.Now().Before(end) {
					resp, _ := s.RoundTrip(getItems(t.Context()))
					drop(resp)
					time.Sleep(draw(18 * time.Second))
				}
			})
		}
		wg.Wait()
		t.Log(served, refused)
		assert.Less(t, refused, served/5)
	})
}

// Workers share as many items as a quota of an hour has units. What is in flight may be counted in a figure
// already: the last requests wait for it, and are not refused for the rest of the hour.
func TestAllOfAQuotaIsUsed(t *testing.T) {
	for _, dialect := range []parse.Dialect{parse.EditorsDraft, parse.VendorFields} {
		for _, tt := range []struct{ quota, workers int64 }{{60, 30}, {300, 100}, {1000, 8}} {
			bubble(t, fmt.Sprint(dialect, tt), func(t *testing.T) {
				for seed := range uint64(10) {
					rnd := newRand(seed)
					var mu sync.Mutex // guards rnd
					api := &transporttest.API{Dialect: dialect, Policies: []transporttest.Policy{{Name: "api", Quota: tt.quota, Window: time.Hour}}}
					s := &transport.Shaper{Base: &transporttest.Transport{Handler: api, Latency: func() time.Duration {
						mu.Lock()
						defer mu.Unlock()
						return 20*time.Millisecond + time.Duration(rnd.Int64N(int64(130*time.Millisecond)))
					}}}
					began := time.Now()
					var items atomic.Int64
					var wg sync.WaitGroup
					for range tt.workers {
						wg.Go(func() {
							for items.Add(1) <= tt.quota {
								resp, err := s.RoundTrip(getItems(t.Context()))
								if assert.NoError(t, err, "seed %d", seed) {
									drop(resp)
								}
							}
						})
					}
					wg.Wait()
					assert.Less(t, time.Since(began), time.Minute, "seed %d", seed)
					assert.Equal(t, transporttest.Counts{Served: tt.quota}, api.Counts(), "seed %d", seed)
				}
			})
		}
	}
}
