package quota

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// names are the policies that are known.
func (d *desk) names() (names []string) {
	for _, p := range d.o.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// answers are n answers that name a policy, one after another, until some time.
func (d *desk) answers(from, to time.Duration, n int, policy string) {
	for i := range n {
		now := from + (to-from)*time.Duration(i+1)/time.Duration(n)
		d.exchange(now, "", Report{Figures: figure(policy, 9, sec)})
	}
}

// A policy that the server names no more is forgotten after a while; not while
// it may only have had no occasion to name it.
func TestPoliciesThatVanish(t *testing.T) {
	for _, tt := range []struct {
		name    string
		window  time.Duration // of the policy
		report  Report        // that named it last
		to      time.Duration
		answers int
		known   bool
	}{
		{"at once", mins, Report{}, sec, 100, true},
		{"almost so long", mins, Report{}, minSilence - ms, 1_000, true},
		{"so long", mins, Report{}, minSilence, 1_000, false},
		{"so long, in few answers", mins, Report{}, 100 * time.Hour, minSilenceAnswers - 1, true},
		{"so long, in as few as that", mins, Report{}, 100 * time.Hour, minSilenceAnswers, false},
		{"four windows are longer, almost", time.Hour, Report{}, 4*time.Hour - ms, 1_000, true},
		{"four windows are longer", time.Hour, Report{}, 4 * time.Hour, 1_000, false},
		{"a window without end", 1 << 62, Report{}, 1000 * time.Hour, 1_000, true},
		{"it holds somebody", mins, Report{Pause: time.Hour, Figures: figure("old", 1, mins)}, time.Hour - ms, 1_000, true},
		{"it has held somebody", mins, Report{Pause: time.Hour, Figures: figure("old", 1, mins)}, time.Hour, 1_000, false},
		{"its figure is in force", mins, Report{Figures: figure("old", 1, time.Hour)}, time.Hour - ms, 1_000, true},
		{"that of a partition is", mins, Report{Figures: keyedFigure("old", "k", 1, time.Hour)}, time.Hour - ms, 1_000, true},
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
			assert.Len(t, d.o.named, len(want))
		})
	}
}

// Who waits for a policy that vanishes need not any more. (None is forgotten
// whose figure is in force: here it is a limit on concurrent requests.)
func TestVanishedPolicyLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		conc := Claim{Policy: "old", Units: 1}
		c.tell(Report{Terms: []Terms{{Policy: Policy{Name: "old", Quota: 1, Unit: UnitConcurrentRequests}}}})
		c.come(t.Context(), "out", Ask{Claims: []Claim{conc}})
		claims := []Claim{conc}
		ask := Ask{Claims: claims, MaxDelay: time.Hour, Again: func() []Claim {
			if _, known := c.o.policy("old"); !known {
				return nil
			}
			return claims
		}}
		waits := c.come(t.Context(), "waits", ask)
		for range minSilenceAnswers + 2 {
			time.Sleep(mins)
			c.tell(Report{Figures: figure("new", 5, mins)})
		}
		synctest.Wait()
		assert.True(t, waits.done.Load())
		assert.Equal(t, minSilenceAnswers*mins, waits.after.Round(mins))
	})
}

// One that is named with every twentieth answer is not forgotten, at whatever
// rate they come.
func TestPoliciesThatAreSeldomNamedStay(t *testing.T) {
	for _, apart := range []time.Duration{ms, sec, time.Hour} {
		d := newDesk(t)
		for i := range 1_000 {
			policy := "often"
			if i%20 == 0 {
				policy = "seldom"
			}
			d.exchange(time.Duration(i)*apart, "", Report{Figures: figure(policy, 9, sec)})
			if i > 0 {
				assert.Equal(t, []string{"seldom", "often"}, d.names())
			}
		}
	}
}

// Answers that name nothing let nothing be forgotten: the server may just say
// nothing any more.
func TestSilenceForgetsNothing(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Figures: figure("api", 9, sec)})
	for i := range 1_000 {
		d.exchange(time.Duration(i)*mins, "", Report{})
	}
	assert.Equal(t, []string{"api"}, d.names())
}

// What is out to a policy that is forgotten is settled all the same; named
// again, it is as new.
func TestForgottenWhileOut(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Terms: terms("old", 5, mins)})
	l := d.send(sec, "", Claim{Policy: "old", Units: 1})
	d.answers(sec, time.Hour, 100, "new")
	assert.Equal(t, []string{"new"}, d.names())
	d.settle(time.Hour, l, Report{})
	d.exchange(time.Hour, "", Report{Terms: terms("old", 7, mins)})
	assert.Equal(t, []string{"new", "old"}, d.names())
	assert.Equal(t, int64(7), d.o.find(accountID{policyID: policyID{name: "old"}}).Quota)
	d.consistent()
}

// Nobody is held by a policy that is forgotten: who waits for it, and says what
// concerns them anew, goes.
func TestForgottenLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Terms: []Terms{{Policy: Policy{Name: "old", Quota: 1, Unit: UnitConcurrentRequests}}}})
		held := new(Lease)
		ask := claimOf("old")
		if err := c.o.Admit(t.Context(), time.Now(), &ask, held); err != nil {
			t.Fatal(err)
		}
		waits := claimOf("old")
		waits.MaxDelay = 2 * time.Hour
		waits.Again = func() (cs []Claim) {
			for _, p := range c.o.Policies() {
				cs = append(cs, Claim{Policy: p.Name, Units: 1})
			}
			return cs
		}
		got := c.come(t.Context(), "", waits)
		for range minSilenceAnswers {
			time.Sleep(20 * sec)
			assert.False(t, got.done.Load())
			c.tell(Report{Figures: figure("new", 9, sec)})
		}
		c.tell(Report{Figures: figure("new", 9, sec)})
		synctest.Wait()
		assert.True(t, got.done.Load())
		assert.NoError(t, got.err)
		assert.Equal(t, minSilenceAnswers*20*sec, got.after)
		held.Release()
		c.wg.Wait()
	})
}
