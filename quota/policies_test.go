package quota_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// answers settles n answers that name a policy, evenly between two instants.
func (d *desk) answers(from, to time.Duration, n int, policy string) {
	for i := range n {
		now := from + (to-from)*time.Duration(i+1)/time.Duration(n)
		d.exchange(now, "", quota.Report{Figures: figure(policy, 9, sec)})
	}
}

// A policy that the server does not name any more is forgotten after a while and a
// number of answers, and not while it is in force.
func TestPoliciesThatVanish(t *testing.T) {
	for _, tt := range []struct {
		name    string
		window  time.Duration // of the policy
		report  quota.Report  // that named it last
		to      time.Duration
		answers int
		known   bool
	}{
		{"at once", mins, quota.Report{}, sec, 100, true},
		{"almost as long as it takes", mins, quota.Report{}, quota.MinSilence - ms, 1_000, true},
		{"as long as it takes", mins, quota.Report{}, quota.MinSilence, 1_000, false},
		{"one answer too few", mins, quota.Report{}, 100 * time.Hour, quota.MinSilenceAnswers - 1, true},
		{"just as many answers", mins, quota.Report{}, 100 * time.Hour, quota.MinSilenceAnswers, false},
		{"four windows are longer, almost", time.Hour, quota.Report{}, 4*time.Hour - ms, 1_000, true},
		{"four windows are longer", time.Hour, quota.Report{}, 4 * time.Hour, 1_000, false},
		{"a window without end", 1 << 62, quota.Report{}, 1000 * time.Hour, 1_000, true},
		{"a hold is in force", mins, quota.Report{Pause: time.Hour, Figures: figure("old", 1, mins)}, time.Hour - ms, 1_000, true},
		{"a hold has ended", mins, quota.Report{Pause: time.Hour, Figures: figure("old", 1, mins)}, time.Hour, 1_000, false},
		{"its figure is in force", mins, quota.Report{Figures: figure("old", 1, time.Hour)}, time.Hour - ms, 1_000, true},
		{"the figure of a partition is in force", mins, quota.Report{Figures: keyedFigure("old", "k", 1, time.Hour)}, time.Hour - ms, 1_000, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			tt.report.Terms = terms("old", 5, tt.window)
			d.exchange(0, "", tt.report)
			d.answers(0, tt.to, tt.answers, "new")
			want := []string{"old", "new"}
			if !tt.known {
				want = want[1:]
			}
			assert.Equal(t, want, d.names())
		})
	}
}

// A request that waits for a policy that is forgotten makes its claims again, and goes.
// (No policy is forgotten while its figure is in force: here it is a limit on concurrent
// requests.)
func TestForgottenPolicyWakesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		conc := quota.Claim{Policy: "old", Units: 1}
		c.tell(quota.Report{Terms: concurrentTerms("old", 1)})
		c.come(t.Context(), "out", quota.Ask{Claims: []quota.Claim{conc}})
		claims := []quota.Claim{conc}
		ask := quota.Ask{Claims: claims, MaxDelay: time.Hour, Again: func() []quota.Claim {
			for _, p := range c.o.Policies() {
				if p.Name == "old" {
					return claims
				}
			}
			return nil
		}}
		waits := c.come(t.Context(), "waits", ask)
		for range quota.MinSilenceAnswers + 2 {
			time.Sleep(mins)
			c.tell(quota.Report{Figures: figure("new", 5, mins)})
		}
		synctest.Wait()
		assert.True(t, waits.done.Load())
		assert.Equal(t, quota.MinSilenceAnswers*mins, waits.after)
	})
}

// An answer changes what two requests in line need: the same unit, of which there is one.
// The one that came first gets it, although the other is woken at the same instant, by
// something else, and is quicker. If the first one's own function hangs, the other goes
// after a tenth of a second.
func TestClaimsChangeByArrival(t *testing.T) {
	conc, k := quota.Claim{Policy: "conc", Units: 1}, keyed("api", "k")
	for name, tt := range map[string]struct {
		first, second []quota.Claim // as they came
		becomes       [2][]quota.Claim
		answer        quota.Report
	}{
		"a policy has keys": {
			[]quota.Claim{api(1)}, []quota.Claim{conc},
			[2][]quota.Claim{{k}, {conc, k}},
			quota.Report{Figures: keyedFigure("api", "k", 1, mins), Moved: []string{"api"}},
		},
		"a policy concerns other requests": {
			[]quota.Claim{api(1), conc}, []quota.Claim{conc},
			[2][]quota.Claim{{conc}, {conc}},
			quota.Report{LeftOut: []string{"api"}},
		},
	} {
		for takes, want := range map[time.Duration][]string{
			ms:        {"out", "first", "second"},
			time.Hour: {"out", "second", "first"},
		} {
			t.Run(fmt.Sprint(name, ", ", takes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCounter(t)
					c.tell(quota.Report{Figures: figure("api", 0, mins), Terms: concurrentTerms("conc", 1)})
					out := c.come(t.Context(), "out", quota.Ask{Claims: []quota.Claim{conc}})
					first := c.come(t.Context(), "first", quota.Ask{Claims: tt.first, MaxDelay: 2 * time.Hour, Again: func() []quota.Claim {
						time.Sleep(takes)
						return tt.becomes[0]
					}})
					second := c.come(t.Context(), "second", quota.Ask{Claims: tt.second, MaxDelay: 2 * time.Hour, Again: func() []quota.Claim {
						return tt.becomes[1]
					}})
					time.Sleep(sec)
					require.False(t, first.done.Load() || second.done.Load())
					c.settle(out, tt.answer)
					out.lease.Release()
					time.Sleep(100*ms + 1)
					synctest.Wait()
					require.Equal(t, want[:2], c.order())
					for _, r := range []*request{first, second} {
						if r.done.Load() {
							r.lease.Release()
						}
					}
					time.Sleep(2 * time.Hour)
					assert.Equal(t, want, c.order())
					first.lease.Release()
					second.lease.Release()
					c.requireNoWaiter()
				})
			})
		}
	}
}

// A policy that every twentieth answer names is not forgotten, at any rate of answers.
func TestPoliciesThatAreSeldomNamedStay(t *testing.T) {
	for _, apart := range []time.Duration{ms, sec, time.Hour} {
		d := newDesk(t)
		for i := range 1_000 {
			policy := "often"
			if i%20 == 0 {
				policy = "seldom"
			}
			d.exchange(time.Duration(i)*apart, "", quota.Report{Figures: figure(policy, 9, sec)})
			if i > 0 {
				assert.Equal(t, []string{"seldom", "often"}, d.names())
			}
		}
	}
}

// Answers that name no policy do not count: the server may have ceased to send fields.
func TestSilenceForgetsNothing(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: figure("api", 9, sec)})
	for i := range 1_000 {
		d.exchange(time.Duration(i)*mins, "", quota.Report{})
	}
	assert.Equal(t, []string{"api"}, d.names())
}

// A request that was charged under a policy that is forgotten is settled all the same.
// Named again, the policy is as a new one.
func TestForgottenWhileOut(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Terms: terms("old", 5, mins)})
	l := d.send(sec, "", quota.Claim{Policy: "old", Units: 1})
	d.answers(sec, time.Hour, 100, "new")
	assert.Equal(t, []string{"new"}, d.names())
	d.settle(time.Hour, l, quota.Report{})
	d.exchange(time.Hour, "", quota.Report{Terms: terms("old", 7, mins)})
	assert.Equal(t, []string{"new", "old"}, d.names())
	assert.Equal(t, int64(7), d.known("", quota.Claim{Policy: "old"}).Quota)
	d.o.RequireConsistent(t)
}

// A request that waits for a policy goes with the first answer after it was forgotten,
// whatever else it claims then.
func TestForgottenPolicyLetsRequestsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Terms: concurrentTerms("old", 1)})
		taken := new(quota.Lease)
		ask := claimOf("old")
		if err := c.o.Admit(t.Context(), time.Now(), &ask, taken); err != nil {
			t.Fatal(err)
		}
		waits := claimOf("old")
		waits.MaxDelay = 2 * time.Hour
		waits.Again = func() (cs []quota.Claim) {
			for _, p := range c.o.Policies() {
				cs = append(cs, quota.Claim{Policy: p.Name, Units: 1})
			}
			return cs
		}
		got := c.come(t.Context(), "", waits)
		for range quota.MinSilenceAnswers {
			time.Sleep(20 * sec)
			assert.False(t, got.done.Load())
			c.tell(quota.Report{Figures: figure("new", 9, sec)})
		}
		c.tell(quota.Report{Figures: figure("new", 9, sec)})
		synctest.Wait()
		assert.True(t, got.done.Load())
		assert.NoError(t, got.err)
		assert.Equal(t, quota.MinSilenceAnswers*20*sec, got.after)
		taken.Release()
		c.wg.Wait()
	})
}

// A quota of 0 is a quota. A policy without one keeps what was advertised last, also where
// it is keyed from then on.
func TestQuotaOfNothingIsAdvertised(t *testing.T) {
	d := newDesk(t)
	for _, tt := range []struct {
		advertised, want int64
		keyed            bool
	}{{5, 5, false}, {quota.None, 5, false}, {0, 0, false}, {quota.None, 0, false}, {5, 5, false}, {quota.None, 5, true}} {
		p := quota.Policy{Name: "api", Quota: tt.advertised, Keyed: tt.keyed, Window: mins, Unit: quota.UnitContentBytes}
		want := p
		if want.Quota = tt.want; tt.advertised < 0 {
			p.Window, p.Unit = 0, ""
		}
		d.exchange(0, "", quota.Report{Terms: []quota.Policy{p}})
		assert.Equal(t, []quota.Policy{want}, d.o.Policies())
	}
}
