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
	"github.com/headway-go/headway/transport/transporttest"
)

// TestSaturated has one client that a server serves alone, and that has more work than the quota allows: three workers for
// each unit, or as many as the row says, for ten minutes. The server says nothing but Retry-After. Requests wait all the time, and what is inferred is
// right nevertheless. The bounds are what was measured. So a change that helps clients which share a quota with others
// fails here if it takes such a client for one of them.
func TestSaturated(t *testing.T) {
	const lasts = 10 * time.Minute
	for _, tt := range raced.Rows([]struct {
		algorithm transporttest.Algorithm
		quota     int64
		window    time.Duration
		workers   int
		inBody    bool  // not Retry-After: the body
		served    int64 // at least
		refused   int64 // at most
	}{
		{transporttest.SlidingLog, 5, time.Second, 15, false, 2885, 34},
		{transporttest.SlidingLog, 10, 2 * time.Second, 30, false, 2987, 39},
		{transporttest.SlidingLog, 5, 2 * time.Second, 15, false, 1466, 35},
		{transporttest.AlignedWindow, 10, time.Second, 30, false, 5609, 48},
		{transporttest.SlidingLog, 20, 3 * time.Second, 60, false, 4017, 67},
		{transporttest.SlidingLog, 5, 5 * time.Second, 15, false, 592, 61},
		{transporttest.AlignedWindow, 5, 5 * time.Second, 15, false, 615, 41},
		{transporttest.AlignedWindow, 50, 5 * time.Second, 20, false, 6020, 91},
		{transporttest.AlignedWindow, 10, 10 * time.Second, 5, false, 605, 28},
		{transporttest.AlignedWindow, 10, 20 * time.Second, 20, false, 320, 36},
		{transporttest.SlidingWindow, 10, time.Second, 30, false, 4869, 44},
		{transporttest.SlidingWindow, 60, 10 * time.Second, 180, false, 3620, 321},
		{transporttest.AlignedWindow, 10, 20 * time.Second, 5, true, 305, 14},
		{transporttest.AlignedWindow, 100, 10 * time.Second, 5, true, 6005, 56},
		{transporttest.SlidingLog, 10, 20 * time.Second, 5, true, 300, 57},
	}) {
		name := fmt.Sprintf("%d, %d in %v, %d workers, in body %t", tt.algorithm, tt.quota, tt.window, tt.workers, tt.inBody)
		bubble(t, name, func(t *testing.T) {
			api := &transporttest.API{
				Policies:   []transporttest.Policy{{Name: "api", Quota: tt.quota, Window: tt.window, Algorithm: tt.algorithm}},
				OmitLimits: true, OmitPolicies: true,
			}
			var mu sync.Mutex // guards lag
			lag := rand.New(rand.NewPCG(1, 99))
			var base http.RoundTripper = &transporttest.Transport{Handler: api, Latency: func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return 20*time.Millisecond + time.Duration(lag.Int64N(int64(10*time.Millisecond)))
			}}
			if tt.inBody {
				base = inBody(base)
			}
			s := &transport.Shaper{Base: base, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			saturate(t, s, tt.workers, time.Now().Add(lasts))
			n := api.Counts()
			t.Logf("%s: %d served, %d refused", name, n.Served, n.Refused)
			assert.GreaterOrEqual(t, n.Served, tt.served)
			assert.LessOrEqual(t, n.Refused, tt.refused)
		})
	}
}

// saturate runs workers that send one request after another until end.
func saturate(t *testing.T, rt http.RoundTripper, workers int, end time.Time) {
	done := make(chan struct{})
	for range workers {
		go func() {
			defer func() { done <- struct{}{} }()
			for time.Now().Before(end) {
				resp, err := rt.RoundTrip(getItems(t.Context()))
				if !assert.NoError(t, err) {
					return
				}
				drop(resp)
			}
		}()
	}
	for range workers {
		<-done
	}
}
