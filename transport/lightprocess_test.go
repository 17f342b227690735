package transport_test

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// A process that makes few requests is served beside one that takes what comes back of a bucket at once. Each of its
// requests finds the last unit and is told how long it takes until the bucket is full: a window that has just begun
// would have more.
func TestLightProcessBesideBusyOne(t *testing.T) {
	worst, total := int64(math.MaxInt64), int64(0)
	for seed := range uint64(5) {
		bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			api := &transporttest.API{
				Policies: []transporttest.Policy{{Name: "api", Quota: 100, Window: 10 * time.Second, Burst: 100, Algorithm: transporttest.GCRA}},
				Dialect:  parse.Draft08,
			}
			var mu sync.Mutex // guards rnd
			rnd := rand.New(rand.NewPCG(seed, 1))
			base := &transporttest.Transport{Handler: api, Latency: func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return 40*time.Millisecond + time.Duration(rnd.Int64N(int64(20*time.Millisecond)))
			}}
			end := time.Now().Add(5 * time.Minute)
			var served [2]atomic.Int64
			var wg sync.WaitGroup
			ask := func(process int, shaper *transport.Shaper) {
				resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin))
				if err != nil { // it would have waited for more than MaxDelay
					time.Sleep(time.Second)
					return
				}
				if drop(resp); resp.StatusCode == http.StatusOK && time.Now().Before(end) {
					served[process].Add(1)
				}
			}
			busy, light := &transport.Shaper{Base: base}, &transport.Shaper{Base: base}
			for range 4 {
				wg.Go(func() {
					for time.Now().Before(end) {
						ask(0, busy)
					}
				})
			}
			time.Sleep(333 * time.Millisecond)
			for time.Now().Before(end) {
				wg.Go(func() { ask(1, light) })
				time.Sleep(500 * time.Millisecond)
			}
			wg.Wait()
			t.Log(seed, served[0].Load(), served[1].Load(), api.Counts())
			worst = min(worst, served[1].Load())
			total += served[1].Load()
			assert.LessOrEqual(t, api.Counts().Refused, int64(30))
		})
	}
	assert.GreaterOrEqual(t, worst, int64(100))
	assert.GreaterOrEqual(t, total, int64(2300), "of 3,000; where only one request looks in 10 s, 1,056")
}
