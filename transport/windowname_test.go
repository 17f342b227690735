package transport_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// An API says how much is left of a minute, or of a day, and neither how much there is nor until when. The
// names of its fields tell how long that is at most.
func TestWindowInTheNameAlone(t *testing.T) {
	for name, c := range map[string]struct {
		quota   int
		window  time.Duration
		begun   time.Duration // that much of the first window is over
		fields  []string      // beside what is left, of which the name comes first
		refused int           // at most, in ten windows
	}{
		"a minute":            {60, time.Minute, 20 * time.Second, []string{"X-Rate-Limit-Remaining-Minute"}, 0},
		"a minute and a day":  {60, time.Minute, 20 * time.Second, []string{"X-Rate-Limit-Remaining-Minute", "X-Rate-Limit-Remaining-Day", "1993"}, 0},
		"a day, each 10 min.": {200, 24 * time.Hour, 20 * time.Hour, []string{"X-Rate-Limit-Remaining-Day"}, 10 * 24 * 6},
	} {
		for _, workers := range []int{1, 6} {
			bubble(t, name+", "+strconv.Itoa(workers)+" workers", func(t *testing.T) {
				began, window, used := time.Now(), 0, 0
				served, refused := 0, 0
				var mu sync.Mutex
				s := &transport.Shaper{MaxDelay: 10 * time.Minute, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(50 * time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					if now := int((time.Since(began) + c.begun) / c.window); now > window {
						window, used = now, 0
					}
					status := 429
					if used < c.quota {
						used++
						served++
						status = 200
					} else {
						refused++
					}
					left := strconv.Itoa(c.quota - used)
					return says(status, append([]string{c.fields[0], left}, c.fields[1:]...)...)(req)
				})}
				for range workers {
					go func() {
						for time.Since(began) < 10*c.window {
							resp, err := s.RoundTrip(getItems(t.Context()))
							if rejected, is := err.(*transport.RejectedError); is {
								time.Sleep(max(rejected.RetryAfter, time.Second))
								continue
							}
							if resp.Body.Close(); resp.StatusCode == 429 {
								time.Sleep(time.Second)
							}
						}
					}()
				}
				time.Sleep(10*c.window + time.Hour)
				synctest.Wait()
				assert.GreaterOrEqual(t, served, 10*c.quota)
				assert.LessOrEqual(t, refused, c.refused)
			})
		}
	}
}
