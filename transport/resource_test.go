package transport_test

import (
	"fmt"
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
