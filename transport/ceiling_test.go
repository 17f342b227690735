package transport_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A server works on ten requests at a time, refuses what is more, and says nothing of it. Others
// wait until it has room, and one is refused now and then.
func TestUnadvertisedCeiling(t *testing.T) {
	const bound, lasts = 10, 20 * time.Minute
	for service, least := range map[time.Duration]float64{200 * time.Millisecond: .4, time.Second: .6, 5 * time.Second: .7} {
		for _, fields := range [][]string{nil, {"Retry-After", "1"}} {
			for _, workers := range []int{12, 50} {
				bubble(t, fmt.Sprint(service, fields, workers), func(t *testing.T) {
					var mu sync.Mutex // guards following
					var busy, served, refused int
					rnd := rand.New(rand.NewPCG(1, 2))
					serve := func(req *http.Request) (*http.Response, error) {
						time.Sleep(rtt / 2)
						mu.Lock()
						defer func() {
							mu.Unlock()
							time.Sleep(rtt / 2)
						}()
						if busy == bound {
							refused++
							return says(429, fields...)(req)
						}
						busy++
						work := service*9/10 + time.Duration(rnd.Int64N(int64(service/5)))
						mu.Unlock()
						time.Sleep(work)
						mu.Lock()
						busy--
						served++
						return says(200)(req)
					}
					s := &transport.Shaper{Base: newChooser(func(int, *http.Request) answer { return serve })}
					end := time.Now().Add(lasts)
					var wg sync.WaitGroup
					for range workers {
						wg.Go(func() {
							for time.Now().Before(end) {
								resp, err := s.RoundTrip(getItems(t.Context()))
								if assert.NoError(t, err) {
									drop(resp)
								}
							}
						})
					}
					wg.Wait()
					most := bound * int(lasts/(service+rtt))
					t.Log(served, most, refused)
					assert.GreaterOrEqual(t, float64(served), least*float64(most))
					assert.LessOrEqual(t, refused, max(served/25, 100))
				})
			}
		}
	}
}
