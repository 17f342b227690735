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
	"github.com/headway-go/headway/transport/transporttest"
)

// Requests arrive at random in two processes that share a sliding log, at nine tenths of the quota. Each process waited for a
// second after each unit that was back, although the others are back soon, so nearly a tenth of the quota was lost, or a third
// of a larger one: requests waited longer and longer.
func TestTwoProcessesShareLog(t *testing.T) {
	for _, tt := range []struct {
		quota   int
		figures string
		wait    time.Duration // on average of three seeds, at most
		denied  int           // for each hundred requests, at most
	}{
		{10, "RateLimit", 6 * time.Second, 20},
		{50, "RateLimit", time.Second, 8},
	} {
		var waited time.Duration
		served, denied := 0, 0
		for seed := range uint64(3) {
			bubble(t, fmt.Sprintf("%d %s, seed %d", tt.quota, tt.figures, seed), func(t *testing.T) {
				srv := &arrivalsServer{quota: tt.quota, per: time.Second, log: true, figures: tt.figures}
				w, n := arriveInTwo(t, srv, seed)
				waited, served, denied = waited+w, served+n, denied+srv.denied
			})
		}
		t.Log(tt.quota, tt.figures, waited/time.Duration(served), denied, served)
		assert.LessOrEqual(t, waited/time.Duration(served), tt.wait, tt)
		assert.LessOrEqual(t, denied, tt.denied*served/100, tt)
	}
}

// arriveInTwo sends requests from two processes for two minutes, each until it is served. It returns how long they took, and how many there
// were.
func arriveInTwo(t *testing.T, srv *arrivalsServer, seed uint64) (waited time.Duration, served int) {
	lag := rand.New(rand.NewPCG(seed, 2))
	var mu sync.Mutex // guards lag and the results
	base := &transporttest.Transport{Handler: srv, Latency: func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return 20*time.Millisecond + time.Duration(lag.Int64N(int64(10*time.Millisecond)))
	}}
	var wg sync.WaitGroup
	for process := range uint64(2) {
		s := &transport.Shaper{MaxDelay: time.Hour, Base: base}
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 3+process))
			for began := time.Now(); time.Since(began) < 2*time.Minute; {
				wg.Go(func() {
					at := time.Now()
					for {
						if _, status := pass(t, s, getItems(t.Context())); status == http.StatusOK {
							break
						}
					}
					mu.Lock()
					defer mu.Unlock()
					served++
					waited += time.Since(at)
				})
				time.Sleep(time.Duration(rnd.ExpFloat64() * 2 / .9 * float64(srv.per) / float64(srv.quota)))
			}
		})
	}
	wg.Wait()
	return waited, served
}
