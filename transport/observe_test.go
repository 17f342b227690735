package transport_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// In Mode Observe no request is held or refused, whatever is known, and the Shaper
// learns the same as in Mode Shape.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := new(quota.Accounts)
		srv := newServer(
			says(429, "RateLimit", `"api";a=0;w=60`, "Retry-After", "70"),
			says(503, "Retry-After", "600"),
			says(429),
			says(200),
		)
		var mu sync.Mutex
		var held []quota.Reason
		s := &transport.Shaper{
			Base: srv, Mode: transport.Observe, Accounts: accounts, Limits: busy(t), MaxQueue: 1,
			MaxDelay: transport.NoDelay,
			Trace: &transport.Trace{
				Held: func(i transport.HeldInfo) {
					assert.True(t, i.Observed)
					mu.Lock()
					held = append(held, i.Reason)
					mu.Unlock()
				},
				Rejected: func(i transport.RejectedInfo) { assert.Fail(t, "rejected", "%+v", i) },
			},
		}
		burst(t, s, 3, plainRequests)
		for range 5 {
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		}
		assert.Equal(t, times(8, 0), srv.departures())
		assert.Len(t, held, 8)
		assert.Contains(t, held, quota.ReasonRetryAfter)

		// In Mode Shape, requests are held by what was learned.
		shaping := &transport.Shaper{Base: srv, Accounts: accounts}
		assert.Equal(t, 600*time.Second, refusal(t, shaping, getItems(t.Context())).RetryAfter)
	})
}
