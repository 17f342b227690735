package transport_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A server that refuses a part of what comes at random, at once, has no quota. A client with a Shaper is
// served nearly as often there as one that waits a second after each refusal and comes back, or more often: the part that is refused
// is the same. It takes minutes to find that out where few are in flight: after a Retry-After, and of each of many kinds.
func TestShedsAreNoQuota(t *testing.T) {
	const lasts = 10 * time.Minute
	run := func(t *testing.T, shaped bool, seed uint64, status, kinds, workers int, part float64, fields ...string) (served int) {
		bubble(t, fmt.Sprint("shaped ", shaped, ", seed ", seed, ", status ", status, ", kinds ", kinds, ", workers ", workers, ", part ", part, fields), func(t *testing.T) {
			var mu sync.Mutex
			rnd := rand.New(rand.NewPCG(seed, 2))
			rt := http.RoundTripper(newChooser(func(int, *http.Request) answer {
				return func(req *http.Request) (*http.Response, error) {
					mu.Lock()
					no, work := rnd.Float64() < part, time.Duration(rnd.Int64N(int64(100*time.Millisecond)))
					mu.Unlock()
					time.Sleep(40 * time.Millisecond)
					if no {
						return says(status, fields...)(req)
					}
					time.Sleep(150*time.Millisecond + work)
					mu.Lock()
					served++
					mu.Unlock()
					return says(http.StatusOK)(req)
				}
			}))
			if shaped {
				rt = &transport.Shaper{MaxDelay: time.Hour, Base: rt, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			}
			end := time.Now().Add(lasts)
			var wg sync.WaitGroup
			for first := range workers {
				wg.Go(func() {
					for i := first; time.Now().Before(end); i++ {
						path := fmt.Sprintf("%s/%c/list", items, 'a'+i%kinds)
						resp, err := rt.RoundTrip(newRequest(t.Context(), http.MethodGet, path))
						if assert.NoError(t, err) {
							drop(resp)
							if !shaped && resp.StatusCode != http.StatusOK {
								time.Sleep(time.Second)
							}
						}
					}
				})
			}
			wg.Wait()
		})
		return served
	}
	type row struct {
		status  int
		fields  []string
		kinds   int
		part    float64 // that is refused
		workers int
		least   int // percent of what a loop is served
	}
	retryAfter := []string{"Retry-After", "1"}
	rows := []row{
		{429, nil, 10, .1, 12, 90}, {429, nil, 10, .1, 50, 90},
		{429, retryAfter, 10, .1, 4, 75}, {429, retryAfter, 10, .1, 12, 50}, {429, retryAfter, 10, .3, 4, 45},
		{503, retryAfter, 10, .1, 12, 60},
	}
	for _, part := range []float64{.1, .3} {
		for _, workers := range []int{1, 4, 12, 50} {
			if rows = append(rows, row{429, nil, 1, part, workers, 94}); workers > 1 {
				rows = append(rows, row{429, retryAfter, 1, part, workers, 90})
			}
		}
	}
	for _, c := range raced.Rows(rows) {
		seeds := uint64(3)
		if c.kinds > 1 {
			seeds = 6 // what is served differs more from run to run
		}
		var served, loop int
		for seed := range seeds {
			served += run(t, true, seed, c.status, c.kinds, c.workers, c.part, c.fields...)
			loop += run(t, false, seed, c.status, c.kinds, c.workers, c.part, c.fields...)
		}
		assert.GreaterOrEqual(t, 100*served, c.least*loop, "%v of requests refused %d %v, %d kinds, %d workers: %d, loop %d", c.part, c.status, c.fields, c.kinds, c.workers, served, loop)
	}
}
