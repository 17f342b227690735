package redisstore

import (
	"flag"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

var allRows = flag.Bool("goodput", false, "measure all rows of TestGoodput, which takes six minutes; by default, one")

const apiTrip = 50 * time.Millisecond // to the API and back

// A goodputRow is a number of processes that have more to do than a quota allows.
type goodputRow struct {
	name      string
	algorithm transporttest.Algorithm
	quota     int64
	window    time.Duration
	processes int
	each      int           // requests of a process
	workers   int           // of a process
	trip      time.Duration // to Redis and back, on top of what it takes
	long      bool
}

func goodputRows() []goodputRow {
	return []goodputRow{
		{"8 processes, 20/1s", transporttest.FixedWindow, 20, time.Second, 8, 10, 4, 0, false},
		{"8 processes, 20/1s, for longer", transporttest.FixedWindow, 20, time.Second, 8, 50, 6, 0, true},
		{"8 processes, 100/2s", transporttest.FixedWindow, 100, 2 * time.Second, 8, 125, 6, 0, true},
		{"8 processes, 100/10s", transporttest.FixedWindow, 100, 10 * time.Second, 8, 50, 6, 0, true},
		{"64 processes, 64/1s", transporttest.FixedWindow, 64, time.Second, 64, 20, 2, 0, true},
		{"8 processes, log 20/1s", transporttest.SlidingLog, 20, time.Second, 8, 50, 6, 0, true},
		{"8 processes, bucket 10/1s", transporttest.TokenBucket, 10, time.Second, 8, 25, 6, 0, true},
		{"8 processes, 100/2s, Redis 20 ms away", transporttest.FixedWindow, 100, 2 * time.Second, 8, 125, 6, 20 * time.Millisecond, true},
	}
}

// requests is how many all make.
func (r *goodputRow) requests() int64 { return int64(r.processes * r.each) }

// least is the time that one client which knows everything needs.
func (r *goodputRow) least() time.Duration {
	n := r.requests()
	if r.algorithm == transporttest.TokenBucket {
		return apiTrip + time.Duration(n-r.quota)*r.window/time.Duration(r.quota)
	}
	return apiTrip + time.Duration((n-1)/r.quota)*r.window
}

// A score is what was measured in one row.
type score struct {
	goodput, refused, exchanges float64 // refused in percent, exchanges for each request
	failed                      int64   // exchanges
	peers                       int
}

// run has each of the fleets make its part of the requests. A nil one is a process that
// knows of no others.
func (r *goodputRow) run(t *testing.T, fleets ...*fleet.Fleet) (s score) {
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Algorithm: r.algorithm, Quota: r.quota, Window: r.window}}}
	base := &transporttest.Transport{Handler: api, Latency: func() time.Duration { return apiTrip }}
	var all sync.WaitGroup
	var served, refused atomic.Int64
	began := time.Now()
	for _, f := range fleets {
		accounts := &quota.Accounts{Secret: &[32]byte{1}}
		if f != nil {
			accounts.Peers = f
		}
		client := &http.Client{Transport: &transport.Shaper{Base: base, Accounts: accounts}}
		var left atomic.Int64
		left.Store(r.requests() / int64(len(fleets)))
		for range r.processes * r.workers / len(fleets) {
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
	s.goodput = r.least().Seconds() / time.Since(began).Seconds()
	require.Equal(t, r.requests(), served.Load())
	n := float64(r.requests())
	s.refused = 100 * float64(refused.Load()) / n
	for _, f := range fleets {
		if f != nil {
			now := f.Status()
			s.exchanges += float64(now.Exchanges) / n
			s.failed += now.Failures
			s.peers = max(s.peers, now.Peers)
		}
	}
	return s
}

// Many processes' worth of Accounts use one quota through a real redis-server, in real
// time. What they reach depends on the machine, so it is printed; the test asks only that
// all is served, and that Redis was reached. What the machine costs is seen by two others:
//
//   - alone: one process without a fleet makes all the requests, in real time. What it
//     misses is no fault of the fleet; "of alone" is the ratio of both.
//   - simulated: the same processes share a Hub, in simulated time on an idle machine.
//
// With -goodput it measures all rows, one after another:
//
//	go test -run TestGoodput -goodput -v .
func TestGoodput(t *testing.T) {
	for _, row := range goodputRows() {
		if row.long && !*allRows {
			continue
		}
		t.Run(row.name, func(t *testing.T) {
			s := start(t)
			var fleets []*fleet.Fleet
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
			}
			got := row.run(t, fleets...)
			assert.Positive(t, got.exchanges, "Redis was reached")
			alone := row.run(t, nil)
			simulated := row.simulated(t)
			t.Logf("goodput %.3f (%.3f of alone, which is %.3f; simulated %.3f), refused %.2f %% (alone %.2f, simulated %.2f), exchanges %.2f a request (simulated %.2f), %d failed, %d peers",
				got.goodput, got.goodput/alone.goodput, alone.goodput, simulated.goodput, got.refused, alone.refused, simulated.refused, got.exchanges, simulated.exchanges, got.failed, got.peers)
		})
	}
}

// simulated runs the row with a Hub, in simulated time.
func (r *goodputRow) simulated(t *testing.T) (s score) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(fleet.Hub)
		var fleets []*fleet.Fleet
		for range r.processes {
			line := &badLine{Store: hub}
			line.trip.Store(int64(max(r.trip, time.Millisecond)))
			fleets = append(fleets, fleet.New(line, fleet.Options{}))
		}
		s = r.run(t, fleets...)
		for _, f := range fleets {
			f.Close()
		}
	})
	return s
}
