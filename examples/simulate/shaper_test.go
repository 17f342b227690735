package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A check simulates a row with real Shapers and goroutines in a synctest bubble, which
// the event queue leaves out.
type check struct {
	row *row
	api *transporttest.API

	mu  sync.Mutex // guards rnd
	rnd *rand.Rand

	served, refused atomic.Int64
}

func (c *check) draw(mean time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return around(c.rnd, mean)
}

func (c *check) jitter() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.Float64()
}

func newCheck(r *row) *check {
	c := &check{row: r, rnd: source(1, r.name, "check")}
	c.api = newServer(&loop{now: begins}, r, nil).api
	if r.service > 0 {
		c.api.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			time.Sleep(c.draw(r.service))
		})
	}
	return c
}

func (c *check) shaper() *transport.Shaper {
	return &transport.Shaper{
		Base: &transporttest.Transport{
			Handler: c.api,
			Latency: func() time.Duration { return c.draw(c.row.rtt/2) + c.draw(c.row.rtt/2) },
		},
		Accounts: &quota.Accounts{Jitter: c.jitter},
		MaxDelay: 24 * time.Hour,
	}
}

// play does all jobs and returns the time taken.
func (c *check) play(t *testing.T, arrivals [][]time.Duration) time.Duration {
	time.Sleep(c.row.into)
	begin := time.Now()
	var wg sync.WaitGroup
	for range c.row.size() {
		s := c.shaper()
		for i, d := range c.row.demand {
			jobs := make(chan time.Duration, d.jobs)
			for _, at := range arrivals[i] {
				jobs <- at
			}
			close(jobs)
			workers := d.workers
			if workers == 0 {
				workers = d.jobs
			}
			for range workers {
				wg.Go(func() {
					for at := range jobs {
						time.Sleep(time.Until(begin.Add(at)))
						c.do(t, s, d.user)
					}
				})
			}
		}
	}
	wg.Wait()
	return time.Since(begin)
}

// do sends a request until it is served.
func (c *check) do(t *testing.T, s *transport.Shaper, user string) {
	for {
		ctx := partition.WithUserID(context.Background(), user)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/", nil)
		if !assert.NoError(t, err) {
			return
		}
		req.Header.Set("X-User", user)
		resp, err := s.RoundTrip(req)
		if !assert.NoError(t, err) {
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			c.served.Add(1)
			return
		}
		c.refused.Add(1)
	}
}

// The event queue and real Shapers give the same result.
func TestShaperAgrees(t *testing.T) {
	for _, name := range []string{
		"fixed 20/1s", "aligned 100/10s", "log 100/10s", "bucket 10/1s burst 20", "concurrency 8",
		"fixed 100/10s, -06", "fixed 100/10s down", "10/1s and 200/60s", "8 processes", "half the quota",
		"20 users, one of them hot",
	} {
		t.Run(name, func(t *testing.T) {
			r := rowCalled(t, name)
			c := contenders()[0]
			want := play(r, c, 1)
			require.Equal(t, done, want.end)
			x := &run{loop: &loop{now: begins}, row: r, rnd: source(1, r.name, c.name)}
			arrivals := x.populate(c, 1)
			synctest.Test(t, func(t *testing.T) {
				k := newCheck(r)
				took := k.play(t, arrivals)
				assert.EqualValues(t, want.served, k.served.Load())
				assert.InEpsilon(t, want.taken.Seconds(), took.Seconds(), 0.01)
				refused := float64(k.refused.Load()) / float64(want.served)
				assert.InDelta(t, float64(want.refused+want.wave)/float64(want.served), refused, 0.02)
				t.Logf("took %v, %v; refused %d+%d, %d", want.taken, took, want.refused, want.wave, k.refused.Load())
			})
		})
	}
}
