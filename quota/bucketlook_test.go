package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// One request in ten minutes looks into a bucket that fills slowly, also while others, which are not to wait
// so long, are rejected.
func TestLookIntoBucketAmongRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := quota.Accounts{Jitter: noJitter}
		o := a.Origin("https://api.example")
		var l quota.Lease
		require.NoError(t, o.Admit(t.Context(), time.Time{}, &quota.Ask{Claims: []quota.Claim{unnamed}}, &l))
		o.Settle(time.Now(), &l, &quota.Report{
			Terms:   []quota.Policy{{Quota: 10, Window: 10 * time.Hour}},
			Figures: []quota.Figure{{Available: 0, Window: time.Hour, Full: 10 * time.Hour}},
		})
		began, rejected := time.Now(), 0
		for o.Admit(t.Context(), time.Time{}, &quota.Ask{Claims: []quota.Claim{unnamed}, MaxDelay: -1}, &l) != nil {
			rejected++
			time.Sleep(time.Minute)
		}
		assert.Equal(t, 10*time.Minute, time.Since(began))
		assert.Equal(t, 10, rejected)
		o.Settle(time.Now(), &l, &quota.Report{Refused: true, Figures: []quota.Figure{{Available: 0, Window: 50 * time.Minute, Full: 590 * time.Minute}}})
	})
}
