package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// A quota of 10 in 10 s was told once. Requests come in each tenth of a second, for two minutes, and the
// answers do not name it, but for some of another scope.
func TestAbsentQuota(t *testing.T) {
	const never = 1000 * time.Hour
	told := quota.Report{Terms: terms("api", 10, 10*sec)}
	silent := quota.Report{}
	for _, tt := range []struct {
		name          string
		how           quota.Strategy
		first         quota.Report
		within        quota.Report  // the answer to what our own count allows,
		beyond        quota.Report  // and to what it does not; a refusal, to the first
		again, others time.Duration // the policy is told so often; and to another scope
		beyondCount   int           // how many go that our own count does not allow, as long as the policy is known
		policies      []string      // that are known at the end
	}{
		{"it serves all", quota.Adaptive, told, silent, silent, never, never, 15, nil},
		{"a refusal, and one looks after it", quota.Adaptive, told, silent, quota.Report{Refused: true, Pause: -1}, never, never, 2, []string{"api"}},
		{"unsure", quota.Adaptive, told, silent, quota.Report{Unsure: true}, never, never, 4, []string{"api"}},
		{"failed", quota.Adaptive, told, silent, quota.Report{Failed: true}, never, never, 4, []string{"api"}},
		{"all are unsure", quota.Adaptive, told, quota.Report{Unsure: true}, quota.Report{Unsure: true}, never, never, 0, []string{"api"}},
		{"named now and then", quota.Adaptive, told, silent, silent, 20 * sec, never, 0, []string{"api"}},
		{"named more seldom", quota.Adaptive, told, silent, silent, 33 * sec, never, 45, []string{"api"}},
		{"named for others", quota.Adaptive, told, silent, silent, never, 25 * sec, 15, []string{"api"}},
		{"another unit", quota.Adaptive, quota.Report{Terms: unitTerms("api", 10, "tokens")}, silent, silent, never, never, 0, []string{"api"}},
		{"Plain", quota.Plain, told, silent, silent, never, never, 0, []string{"api"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := deskOf(t, &quota.Accounts{Jitter: noJitter, Strategy: tt.how}, testOrigin)
			d.exchange(0, "", tt.first, api(1))
			beyond, named := 0, time.Duration(0)
			for now := 100 * ms; now < 2*mins; now += 100 * ms {
				if now == tt.others {
					d.exchange(now, "other", told, api(1))
				}
				l, _ := d.try(now, "", api(1))
				if l == nil {
					continue
				}
				r := tt.within
				if probe, _ := l.Probe(); probe {
					if beyond++; beyond == 1 || !tt.beyond.Refused {
						r = tt.beyond
					}
				}
				if now-named >= tt.again {
					r, named = told, now
				}
				d.done(now+ms, l, r)
			}
			assert.Equal(t, tt.beyondCount, beyond)
			assert.Equal(t, tt.policies, d.names())
		})
	}
}
