package quota_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A request that cannot go in time because of those ahead in line is refused at once, and
// told when the advertised quota allows it at the earliest.
func TestBehindOthersInLine(t *testing.T) {
	bucket := []quota.Figure{{Policy: "api", Available: 0, Window: 10 * sec, Full: 10 * sec}}
	for name, tt := range map[string]struct {
		terms    []quota.Policy
		figures  []quota.Figure
		units    int64
		ahead    int
		earliest time.Duration
	}{
		"windows, the next one known":    {terms("api", 10, 10*sec), figure("api", 0, 10*sec), 1, 30, 20 * sec},
		"windows, one of them":           {terms("api", 10, 10*sec), figure("api", 0, 10*sec), 1, 29, 10*sec + ms},
		"a bucket":                       {terms("api", 10, 10*sec), bucket, 1, 30, 31 * sec},
		"tokens, half of what is likely": {[]quota.Policy{{Name: "api", Quota: 100, Window: 10 * sec, Unit: "tokens"}}, figure("api", 0, 10*sec), 10, 80, 35 * sec},
		"no policy":                      {nil, figure("api", 0, 10*sec), 1, 100, 0},
		"requests at once":               {[]quota.Policy{{Name: "api", Quota: 10, Unit: quota.UnitConcurrentRequests}}, figure("api", 0, 0), 1, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				claim := quota.Claim{Policy: "api", Units: tt.units}
				d.exchange(0, "", quota.Report{Terms: tt.terms, Figures: tt.figures}, claim)
				ask := func(longest time.Duration) *quota.Ask {
					return &quota.Ask{Claims: []quota.Claim{claim}, MaxDelay: longest, MaxQueue: -1}
				}
				ctx, cancel := context.WithCancel(t.Context())
				var ahead sync.WaitGroup
				defer ahead.Wait()
				defer cancel()
				for range tt.ahead {
					ahead.Go(func() {
						l := new(quota.Lease)
						if d.o.Admit(ctx, time.Now(), ask(time.Hour), l) == nil {
							<-ctx.Done()
							l.Cancel()
						}
					})
				}
				synctest.Wait()
				r, waits := d.o.Check(t.Context(), time.Now(), ask(time.Hour))
				require.NotNil(t, r)
				assert.True(t, waits)
				if tt.earliest == 0 {
					assert.LessOrEqual(t, r.Wait, 10*sec+ms)
					return
				}
				assert.Equal(t, tt.earliest, r.Wait)
				assert.Equal(t, tt.earliest, r.RetryAfter)
				_, waits = d.o.Check(t.Context(), time.Now(), ask(tt.earliest))
				assert.True(t, waits)

				var refusal *quota.Refusal
				err := d.o.Admit(t.Context(), time.Now(), ask(tt.earliest-1), new(quota.Lease))
				require.ErrorAs(t, err, &refusal)
				assert.Equal(t, quota.ReasonMaxDelay, refusal.Reason)
				assert.Equal(t, tt.earliest, refusal.RetryAfter)
				assert.Zero(t, time.Since(d.begin), "at once")
			})
		})
	}
}
