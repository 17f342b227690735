package quota_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// silentPeers never answer.
type silentPeers struct{ shared atomic.Pointer[quota.Shared] }

func (p *silentPeers) Due(s *quota.Shared) { p.shared.Store(s) }

// Check says of the first request of a fleet what that request does: it waits for the
// others for a moment, however long the origin has been known.
func TestCheckOfTheFirstOfAFleet(t *testing.T) {
	for _, age := range []time.Duration{1, ms, 25 * ms, sec} { // of the origin
		synctest.Test(t, func(t *testing.T) {
			o := (&quota.Accounts{Peers: new(silentPeers)}).Origin(testOrigin)
			check := func() (time.Duration, quota.Reason) {
				ask := claimOf("api")
				r, _ := o.Check(t.Context(), time.Now(), &ask)
				if r == nil {
					return 0, 0
				}
				return r.RetryAfter, r.Cause
			}
			check() // begins the origin
			time.Sleep(age)
			wait, why := check()
			assert.Equal(t, 25*ms, wait, "an origin that is %v old", age)
			assert.Equal(t, quota.ReasonFirstFlight, why)
			began := time.Now()
			var l quota.Lease
			ask := claimOf("api")
			require.NoError(t, o.Admit(t.Context(), began, &ask, &l))
			assert.Equal(t, wait, time.Since(began))
			wait, _ = check()
			assert.Zero(t, wait, "the others have not answered")
		})
	}
}

// Once the first turn has failed, requests do not wait for the others.
func TestFirstTurnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := new(silentPeers)
		o := (&quota.Accounts{Peers: peers}).Origin(testOrigin)
		time.AfterFunc(ms, func() {
			s := peers.shared.Load()
			turn, _ := s.Turn(time.Now())
			assert.NotNil(t, turn)
			s.Failed(time.Now())
		})
		began := time.Now()
		for range 2 {
			var l quota.Lease
			ask := claimOf("api")
			require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
			assert.Equal(t, ms, time.Since(began))
		}
	})
}
