package transport_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A twoQuotas is an API with a short and a long quota, whose refusals say nothing, and its clients.
type twoQuotas struct {
	http.Handler
	workers int
	trip    time.Duration // the shortest; the longest is half as much more

	mu              sync.Mutex // guards following
	rnd             *rand.Rand
	served, refused int
}

func (q *twoQuotas) draw() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.rnd.Float64()
}

// play has workers send one request after another for a time, through a Shaper or in a loop that backs off.
func (q *twoQuotas) play(t *testing.T, policies []transporttest.Policy, long time.Duration, shaped bool) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Duration(q.draw() * float64(time.Minute))) // of an aligned window
		var rt http.RoundTripper = &transporttest.Transport{
			Handler: &transporttest.API{Policies: policies, OmitLimits: true, OmitPolicies: true, OmitRetryAfter: true},
			Latency: func() time.Duration {
				return 20*time.Millisecond + time.Duration(10*q.draw()*float64(time.Millisecond))
			},
		}
		if shaped {
			rt = &transport.Shaper{Base: rt, MaxDelay: time.Hour, Accounts: &quota.Accounts{Jitter: q.draw}}
		}
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		var wg sync.WaitGroup
		for range q.workers {
			wg.Go(func() { q.work(ctx, rt, shaped) })
		}
		wg.Wait()
	})
}

func (q *twoQuotas) work(ctx context.Context, rt http.RoundTripper, shaped bool) {
	for refused := 0; ctx.Err() == nil; {
		resp, err := rt.RoundTrip(getItems(ctx))
		if err != nil {
			return
		}
		drop(resp)
		served := resp.StatusCode == http.StatusOK
		q.mu.Lock()
		if served {
			q.served++
		} else {
			q.refused++
		}
		q.mu.Unlock()
		if refused++; served {
			refused = 0
		}
		if !served && !shaped {
			wait := min(time.Second<<(refused-1), time.Minute)
			over, cancel := context.WithTimeout(ctx, wait+time.Duration(q.draw()*float64(wait)/4))
			<-over.Done()
			cancel()
		}
	}
}

// Where two quotas say nothing, the longer one does not become the window of the shorter one: a Shaper serves as much as a
// retry loop, for far fewer refusals.
func TestTwoBareQuotas(t *testing.T) {
	const fixed, aligned, bucket = transporttest.FixedWindow, transporttest.AlignedWindow, transporttest.TokenBucket
	const short, long = "short", "long"
	served, of := 0, 0
	all := [][2]transporttest.Algorithm{{fixed, fixed}, {aligned, aligned}, {bucket, aligned}, {bucket, bucket}}
	for _, tt := range raced.Rows([]struct {
		policies   []transporttest.Policy
		algorithms [][2]transporttest.Algorithm
	}{
		{[]transporttest.Policy{{Name: short, Quota: 10, Window: time.Second}, {Name: long, Quota: 200, Window: time.Minute}}, all},
		{[]transporttest.Policy{{Name: short, Quota: 5, Window: time.Second}, {Name: long, Quota: 100, Window: time.Minute}}, all},
		{[]transporttest.Policy{{Name: short, Quota: 20, Window: 10 * time.Second}, {Name: long, Quota: 60, Window: time.Minute}}, all[:1]},
		{[]transporttest.Policy{{Name: short, Quota: 20, Window: 5 * time.Second}, {Name: long, Quota: 200, Window: 2 * time.Minute}}, all[:1]},
	}) {
		policies := tt.policies
		for _, algorithms := range tt.algorithms {
			for i := range policies {
				policies[i].Algorithm = algorithms[i]
			}
			for _, workers := range []int{1, 6, 30} {
				trip := 20 * time.Millisecond
				if workers == 1 {
					trip = 40 * time.Millisecond // ten in a second are no wave
				}
				var runs [2]twoQuotas
				for i := range runs {
					for seed := range uint64(2) {
						runs[i].workers, runs[i].trip, runs[i].rnd = workers, trip, rand.New(rand.NewPCG(seed, 1))
						runs[i].play(t, policies, 8*policies[1].Window, i == 1)
					}
				}
				loop, ours := &runs[0], &runs[1]
				name := fmt.Sprintf("%d/%v and %d/%v, %v, %d workers", policies[0].Quota, policies[0].Window, policies[1].Quota, policies[1].Window, algorithms, workers)
				t.Logf("%s: loop %d/%d, ours %d/%d: %.3f", name, loop.served, loop.refused, ours.served, ours.refused, float64(ours.served)/float64(loop.served))
				served, of = served+ours.served, of+loop.served
				assert.GreaterOrEqual(t, float64(ours.served), 0.9*float64(loop.served), name)
				assert.LessOrEqual(t, ours.refused, loop.refused, name)
			}
		}
	}
	assert.GreaterOrEqual(t, float64(served), 0.98*float64(of))
}
