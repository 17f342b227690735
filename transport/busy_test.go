package transport_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A server counts by user and by method, and tells both. Who needs a unit of a busy user and one of a busy
// method gets both in turn, whatever the two quotas are, although others take each of them
// all the time: it waits for no longer than eight times the sum of its turns in both lines.
func TestBusyUserAndBusyMethod(t *testing.T) {
	const others = 4 // in each line
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rnd := newRand(seed)
			var bound time.Duration
			policy := func(name, dimension string) transporttest.Policy {
				p := transporttest.Policy{
					Name: name, Quota: 1 + rnd.Int64N(3), Window: time.Duration(1+rnd.IntN(3)) * time.Second,
					Algorithm:   transporttest.Algorithm(rnd.IntN(int(transporttest.Concurrency) + 1)),
					PartitionBy: []string{dimension},
				}
				bound += (others/time.Duration(p.Quota) + 2) * p.Window
				return p
			}
			api := &transporttest.API{
				Policies: []transporttest.Policy{policy("user", "user_id"), policy("method", "method")},
				Dialect:  pick(rnd, parse.EditorsDraft, parse.Draft08),
				Rounding: pick(rnd, nil, math.Floor, func(float64) float64 { return 0 }),
			}
			latency := time.Duration(10+rnd.IntN(200)) * time.Millisecond
			s := &transport.Shaper{
				Base:     &transporttest.Transport{Handler: api, Latency: func() time.Duration { return latency }},
				MaxDelay: time.Hour,
			}
			ctx, cancel := context.WithCancel(t.Context())
			var busy sync.WaitGroup
			defer busy.Wait()
			defer cancel()
			request := func(user, method string) *http.Request {
				req := asUser(ctx, user, method, items)
				req.Header.Set("X-User", user)
				return req
			}
			for i := range others {
				for _, req := range []*http.Request{request("alice", fmt.Sprint("GET", i)), request(fmt.Sprint(i), "POST")} {
					time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
					busy.Go(func() {
						for ctx.Err() == nil {
							if resp, err := s.RoundTrip(req.Clone(ctx)); err == nil {
								drop(resp)
							}
						}
					})
				}
			}
			time.Sleep(10 * time.Second)
			for range 5 {
				assert.LessOrEqual(t, delay(t, s, request("alice", "POST")), 8*bound, "seed %d: %+v", seed, api.Policies)
			}
		})
	}
}
