package transport_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
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
