package transport_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// Requests that waited for the first answer of a server join the lines of its quotas. Which
// of them are too far back there to go in time are refused then, not after all of MaxDelay,
// and are told when it is worth coming back.
func TestBehindOthersOfFirstContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 10, Window: 10 * time.Second}}}
		latency := func() time.Duration { return 50 * time.Millisecond }
		s := &transport.Shaper{Base: &transporttest.Transport{Handler: api, Latency: latency}, MaxDelay: 25 * time.Second, FirstFlight: 10}
		began := time.Now()
		var mu sync.Mutex
		refused := make(map[time.Duration]map[time.Duration]int) // when, and its RetryAfter
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				resp, err := s.RoundTrip(getItems(t.Context()))
				if err == nil {
					drop(resp)
					return
				}
				var rejected *transport.RejectedError
				if !assert.ErrorAs(t, err, &rejected) {
					return
				}
				at := time.Since(began).Truncate(time.Second)
				mu.Lock()
				defer mu.Unlock()
				if refused[at] == nil {
					refused[at] = make(map[time.Duration]int)
				}
				refused[at][rejected.RetryAfter.Truncate(time.Second)]++
			})
		}
		all.Wait()
		assert.Equal(t, transporttest.Counts{Served: 30}, api.Counts())
		assert.Equal(t, map[time.Duration]map[time.Duration]int{
			0:                {30 * time.Second: 10},
			20 * time.Second: {9 * time.Second: 20}, // the next window begins too late
		}, refused)
	})
}
