package redisstore

import (
	"flag"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

var allRows = flag.Bool("goodput", false, "measure all rows of TestGoodput, which takes three minutes; by default, one")

// Many processes' worth of Accounts use one quota through a real redis-server, in real
// time. What they reach depends on the machine, so it is printed; the test asks only that
// all is served, and that Redis was reached. With -goodput it measures all rows:
//
//	go test -run TestGoodput -goodput -v .
func TestGoodput(t *testing.T) {
	for _, row := range []struct {
		name      string
		algorithm transporttest.Algorithm
		quota     int64
		window    time.Duration
		processes int
		each      int           // requests of a process
		workers   int           // of a process
		trip      time.Duration // to Redis and back, on top of what it takes
		long      bool
	}{
		{"8 processes, 20/1s", transporttest.FixedWindow, 20, time.Second, 8, 10, 4, 0, false},
		{"8 processes, 20/1s, for longer", transporttest.FixedWindow, 20, time.Second, 8, 50, 6, 0, true},
		{"8 processes, 100/2s", transporttest.FixedWindow, 100, 2 * time.Second, 8, 125, 6, 0, true},
		{"8 processes, 100/10s", transporttest.FixedWindow, 100, 10 * time.Second, 8, 50, 6, 0, true},
		{"64 processes, 64/1s", transporttest.FixedWindow, 64, time.Second, 64, 20, 2, 0, true},
		{"8 processes, log 20/1s", transporttest.SlidingLog, 20, time.Second, 8, 50, 6, 0, true},
		{"8 processes, bucket 10/1s", transporttest.TokenBucket, 10, time.Second, 8, 25, 6, 0, true},
		{"8 processes, 100/2s, Redis 20 ms away", transporttest.FixedWindow, 100, 2 * time.Second, 8, 125, 6, 20 * time.Millisecond, true},
	} {
		if row.long && !*allRows {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			s := start(t)
			api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Algorithm: row.algorithm, Quota: row.quota, Window: row.window}}}
			base := &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }}
			var all sync.WaitGroup
			var served, refused atomic.Int64
			var fleets []*fleet.Fleet
			began := time.Now()
			for range row.processes {
				rdb := s.client()
				line := &badLine{Store: New(rdb, "")}
				line.trip.Store(int64(row.trip))
				f := fleet.New(line, fleet.Options{})
				t.Cleanup(func() {
					f.Close()
					rdb.Close()
				})
				fleets = append(fleets, f)
				client := &http.Client{Transport: &transport.Shaper{Base: base, Accounts: &quota.Accounts{Peers: f, Secret: &[32]byte{1}}}}
				var left atomic.Int64
				left.Store(int64(row.each))
				for range row.workers {
					all.Go(func() {
						for left.Add(-1) >= 0 {
							for answered := false; !answered; {
								resp, err := client.Get("https://api.example/things")
								if !assert.NoError(t, err) {
									return
								}
								resp.Body.Close()
								if answered = resp.StatusCode == http.StatusOK; answered {
									served.Add(1)
								} else {
									refused.Add(1)
								}
							}
						}
					})
				}
			}
			all.Wait()
			took := time.Since(began)
			n := int64(row.processes * row.each)
			require.Equal(t, n, served.Load())
			var exchanges, failures int64
			peers := 0
			for _, f := range fleets {
				s := f.Status()
				exchanges, failures, peers = exchanges+s.Exchanges, failures+s.Failures, max(peers, s.Peers)
			}
			assert.Positive(t, exchanges, "Redis was reached")
			least := time.Duration((n-1)/row.quota) * row.window // of a window
			switch row.algorithm {
			case transporttest.TokenBucket:
				least = time.Duration(n-row.quota) * row.window / time.Duration(row.quota)
			}
			t.Logf("goodput %.3f, refused %.2f %%, exchanges %.2f a request, %d failed, %d peers", (least+50*time.Millisecond).Seconds()/took.Seconds(), 100*float64(refused.Load())/float64(n), float64(exchanges)/float64(n), failures, peers)
		})
	}
}
