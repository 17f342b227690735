package transport_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A server refuses one request in a hundred by chance. A client with a Shaper is served as often as
// one that sleeps for a second where it is refused.
func TestShedding(t *testing.T) {
	const lasts, workers = 2 * time.Minute, 20
	for seed := range uint64(3) {
		bubble(t, fmt.Sprint("seed ", seed), func(t *testing.T) {
			run := func(shaped bool) (served int) {
				var mu sync.Mutex // guards following
				rnd := newRand(seed)
				var rt http.RoundTripper = newChooser(func(int, *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					took := rtt + time.Duration(rnd.Int64N(int64(rtt/10)))
					if rnd.IntN(100) == 0 {
						return slow(took, says(429))
					}
					served++
					return slow(took, says(200))
				})
				if shaped {
					rt = &transport.Shaper{Base: rt}
				}
				end := time.Now().Add(lasts)
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() {
						for time.Now().Before(end) {
							_, status := pass(t, rt, getItems(t.Context()))
							if status != 200 && !shaped {
								time.Sleep(time.Second)
							}
						}
					})
				}
				wg.Wait()
				return served
			}
			ours, plain := run(true), run(false)
			t.Log(ours, plain)
			assert.GreaterOrEqual(t, float64(ours), .8*float64(plain))
		})
	}
}

// A server refuses each fifth request. It is asked no more often than by goroutines that sleep for a second
// where they are refused, also if ours come back at once.
func TestSheddingIsNotHammered(t *testing.T) {
	const lasts, workers = time.Minute, 20
	bubble(t, "", func(t *testing.T) {
		var served, refused atomic.Int64
		srv := newChooser(func(n int, _ *http.Request) answer {
			took := rtt + time.Duration(n%1000)*time.Nanosecond
			if n%5 == 4 {
				refused.Add(1)
				return slow(took, says(429))
			}
			served.Add(1)
			return slow(took, says(200))
		})
		rt := &transport.Shaper{Base: srv}
		end := time.Now().Add(lasts)
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for time.Now().Before(end) {
					pass(t, rt, getItems(t.Context()))
				}
			})
		}
		wg.Wait()
		t.Log(served.Load(), refused.Load())
		assert.LessOrEqual(t, refused.Load(), int64(workers*lasts/time.Second))
		assert.GreaterOrEqual(t, served.Load(), int64(2500))
	})
}
