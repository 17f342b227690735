package quota

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first wave: requests that are out when the first answer comes have been
// or will be charged to what it tells of (the draft, Section 7).
func TestFirstWave(t *testing.T) {
	wave := func(d *desk, n int, scope string) (ls []*Lease) {
		for range n {
			ls = append(ls, d.send(0, scope))
		}
		return ls
	}

	t.Run("fifty are out, the first answer says 99: fifty more may go", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 50, "")
		d.settle(100*ms, ls[0], Report{Figures: figure("api", 99, mins)})
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("as the others are answered it stays at what the server says", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 50, "")
		for i, l := range ls {
			d.settle(100*ms, l, Report{Figures: figure("api", 99-int64(i), mins)})
		}
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("answered out of order", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 50, "")
		for i, l := range ls {
			d.settle(100*ms, l, Report{Figures: figure("api", 50+int64((i*7)%50), mins)})
			if a := d.o.find(accountID{policyID: policyID{name: "api"}}); spare(a) > 50 {
				assert.Fail(t, "more than is left", "after %d answers: %d", i+1, spare(a))
				break
			}
		}
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("others that are answered without figures cost", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 50, "")
		d.settle(100*ms, ls[0], Report{Figures: figure("api", 99, mins)})
		for _, l := range ls[1:] {
			d.settle(100*ms, l, Report{})
		}
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("others that never left cost nothing", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 50, "")
		d.settle(100*ms, ls[0], Report{Figures: figure("api", 99, mins)})
		for _, l := range ls[1:] {
			l.Cancel()
		}
		assert.Equal(t, 99, d.more(100*ms, "", api(1)))
	})
	t.Run("those that depart later count by their own claims only", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 2, "")
		d.settle(100*ms, ls[0], Report{Figures: figure("api", 10, mins)})
		late := d.send(100*ms, "", api(1))
		d.settle(200*ms, late, Report{Figures: figure("api", 8, mins)})
		d.settle(200*ms, ls[1], Report{Figures: figure("api", 9, mins)})
		assert.Equal(t, 8, d.more(200*ms, "", api(1)))
	})
	t.Run("other scopes are nobody's business", func(t *testing.T) {
		d := newDesk(t)
		wave(d, 40, "bob")
		ls := wave(d, 10, "alice")
		d.settle(100*ms, ls[0], Report{Figures: figure("api", 99, mins)})
		assert.Equal(t, 90, d.more(100*ms, "alice", api(1)))
	})
	t.Run("of partitions, those that turn out to be of another one do not count", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 10, "")
		d.settle(100*ms, ls[0], Report{Figures: keyedFigure("api", "alice", 99, mins)})
		a := d.o.find(aliceID)
		assert.Equal(t, int64(90), spare(a), "any of the nine may be alice's")
		for _, l := range ls[1:] {
			d.settle(100*ms, l, Report{Figures: keyedFigure("api", "bob", 50, mins)})
		}
		assert.Equal(t, int64(99), spare(a))
	})
	t.Run("with names made up for every answer the books stay bounded", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 500, "")
		for i, l := range ls {
			d.settle(100*ms, l, Report{Figures: figure(fmt.Sprint("made-up-", i), 99, mins)})
			if ap := d.o.scopes[""].unattributed; ap != nil {
				require.LessOrEqual(t, len(ap.created), 2*maxPolicies)
			}
		}
		assert.Nil(t, d.o.scopes[""].unattributed)
		for _, a := range d.o.all {
			assert.False(t, a.busy(), "%q", a.policy.name)
		}
	})
	t.Run("a policy without a service limit counts them, too", func(t *testing.T) {
		d := newDesk(t)
		ls := wave(d, 50, "")
		d.settle(100*ms, ls[0], Report{Terms: terms("api", 100, mins)})
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
		for _, l := range ls[1:] {
			d.settle(200*ms, l, Report{Terms: terms("api", 100, mins)})
		}
		assert.Zero(t, d.more(200*ms, "", api(1)))
	})
}

// A policy belongs to the partitions that the answer has figures for, else to
// the account that the request was charged to, else to the scope (the draft,
// Sections 2.1.4 and 3.1.3).
func TestTermsJoin(t *testing.T) {
	quotaOf := func(d *desk, c Claim, scope string) int64 {
		if a := d.o.find(c.id(scope)); a != nil {
			return a.Quota
		}
		return -2 // no account
	}
	t.Run("the partition of a figure, without a key of its own", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{Terms: terms("api", 7, sec), Figures: keyedFigure("api", "alice", 3, sec)})
		assert.Equal(t, int64(7), quotaOf(d, keyed("api", "alice"), ""))
		assert.Equal(t, int64(-2), quotaOf(d, api(1), "s"))
	})
	t.Run("several partitions of one name", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{
			Terms:   terms("api", 7, sec),
			Figures: append(keyedFigure("api", "alice", 3, sec), keyedFigure("api", "bob", 3, sec)...),
		})
		assert.Equal(t, int64(7), quotaOf(d, keyed("api", "alice"), ""))
		assert.Equal(t, int64(7), quotaOf(d, keyed("api", "bob"), ""))
	})
	t.Run("with a key, only that partition", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{
			Terms:   []Terms{{Policy: Policy{Name: "api", Quota: 7, Window: sec, Keyed: true}, Key: "alice"}},
			Figures: append(keyedFigure("api", "alice", 3, sec), keyedFigure("api", "bob", 3, sec)...),
		})
		assert.Equal(t, int64(7), quotaOf(d, keyed("api", "alice"), ""))
		assert.Equal(t, int64(None), quotaOf(d, keyed("api", "bob"), ""))
	})
	t.Run("without a figure, the account that it was charged to", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s", keyed("api", "alice")), Report{Terms: terms("api", 7, mins)})
		assert.Equal(t, int64(7), quotaOf(d, keyed("api", "alice"), ""))
		assert.Equal(t, int64(-2), quotaOf(d, api(1), "s"))
		for range 6 {
			d.send(ms, "s", keyed("api", "alice"))
		}
		d.refused(ms, "s", keyed("api", "alice"))
	})
	t.Run("else the scope, and no other", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{Terms: terms("api", 2, mins)})
		assert.Equal(t, 1, d.more(ms, "s", api(1)), "one of two was spent on finding out")
		assert.Equal(t, 2, d.more(ms, "other", api(1)), "its policy is known, its own count is its own")
	})
	t.Run("a policy known to be keyed opens no account of the scope", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{Figures: keyedFigure("api", "alice", 3, sec)})
		d.settle(ms, d.send(0, "s"), Report{Terms: terms("api", 2, mins)})
		assert.Equal(t, int64(-2), quotaOf(d, api(1), "s"))
		assert.Equal(t, int64(2), d.o.Policies()[0].Quota)
		assert.True(t, d.o.Policies()[0].Keyed)
	})
	t.Run("the unnamed policy is the scope's", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{Figures: figure("", 2, mins)})
		assert.Equal(t, 2, d.more(ms, "s"))
		assert.Equal(t, 1000, d.more(ms, "other"))
	})
	t.Run("an empty key is a key", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{Figures: keyedFigure("api", "", 1, mins)})
		assert.Equal(t, 1, d.more(ms, "s", keyed("api", "")))
		assert.Equal(t, 1000, d.more(ms, "s", api(1)))
	})
	t.Run("a partition without a figure does not take over another's", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), Report{Figures: keyedFigure("api", "alice", 0, mins)})
		d.refused(ms, "s", keyed("api", "alice"))
		d.send(ms, "s", keyed("api", "bob"))
	})
}

// A key that the server gives to requests of two scopes is one partition; what
// has no key is of one scope only.
func TestKeysJoinScopes(t *testing.T) {
	d := newDesk(t)
	d.settle(ms, d.send(0, "one"), Report{Figures: keyedFigure("api", "team", 1, mins)})
	assert.Equal(t, 1, d.more(ms, "two", keyed("api", "team")))
	assert.Equal(t, 0, d.more(ms, "one", keyed("api", "team")))
}

// Who backs off after a refusal that does not say when to come back.
func TestBlameOfRefusals(t *testing.T) {
	a, b := Claim{Policy: "a", Units: 1}, Claim{Policy: "b", Units: 1}
	tests := []struct {
		name            string
		report          Report
		a, b, scope     time.Duration // how long each waits
		causeA, causeB2 Reason
	}{
		{
			name:   "nothing at all: the scope",
			report: Report{},
			a:      sec, b: sec, scope: sec,
		},
		{
			name:   "something left in spite of it: all that are named",
			report: Report{Figures: append(figure("a", 5, mins), figure("b", 7, mins)...)},
			a:      sec, b: sec,
		},
		{
			name:   "the exhausted one of several",
			report: Report{Figures: append(figure("a", 0, 0), figure("b", 7, mins)...)},
			a:      sec,
		},
		{
			name:   "exhausted without a window",
			report: Report{Figures: figure("a", 0, -1)},
			a:      sec,
		},
		{
			name:   "exhausted with a window: its own word holds, and no back-off",
			report: Report{Figures: figure("a", 0, 10*sec)},
			a:      10*sec + ms - 0,
		},
		{
			name:   "a figure that is no figure blames the scope",
			report: Report{Figures: figure("a", None, 10*sec)},
			a:      sec, b: sec, scope: sec,
		},
		{
			name:   "Retry-After says when to come back",
			report: Report{Pause: 5 * sec},
			a:      5 * sec, b: 5 * sec, scope: 5 * sec,
		},
		{
			name:   "a Retry-After of 0 says nothing",
			report: Report{Pause: 0},
			a:      sec, b: sec, scope: sec,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			tt.report.Refused = true
			d.settle(0, d.send(0, "s", a, b), tt.report)
			assert.Equal(t, tt.a, d.wait(0, "s", a), "a")
			assert.Equal(t, tt.b, d.wait(0, "s", b), "b")
			assert.Equal(t, tt.scope, d.wait(0, "s"), "the scope")
			assert.Zero(t, d.wait(0, "other"), "another scope")
		})
	}
}

// A refusal always costs time, also where the words of an account that does
// not wait for them (a unit that is not enforced, or concurrency, which has
// no window) seem to say when to come back.
func TestRefusalsCostTimeInEveryUnit(t *testing.T) {
	for _, unit := range []string{UnitRequests, UnitContentBytes, UnitConcurrentRequests, "tokens"} {
		t.Run(unit, func(t *testing.T) {
			d := newDesk(t)
			p := []Terms{{Policy: Policy{Name: "api", Quota: 100, Unit: unit}}}
			l := d.send(0, "", api(1))
			d.settle(ms, l, Report{Terms: p, Figures: figure("api", 50, -1)})
			l.Release()
			for i := range 3 {
				now := time.Duration(i) * mins
				l, r := d.try(now, "", api(1))
				require.Nil(t, r)
				d.settle(now+ms, l, Report{Refused: true, Terms: p, Figures: figure("api", 0, 10*sec)})
				l.Release()
				assert.GreaterOrEqual(t, d.wait(now+ms, "", api(1)), sec, "refusal %d", i)
			}
		})
	}
}

// The back-off of an account doubles, is reset by a served answer, and bursts
// count once; jitter only adds.
func TestBackOffOfAnOrigin(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 48, 48} {
		l := d.send(now, "", api(1))
		d.settle(now, l, Report{Refused: true})
		require.Equal(t, want*sec, d.wait(now, "", api(1)), "refusal %d", i)
		r := d.refused(now, "", api(1))
		assert.Equal(t, ReasonBackOff, r.Reason)
		now += want * sec
	}
	d.settle(now, d.send(now, "", api(1)), Report{})
	one, two := d.send(now, "", api(1)), d.send(now, "", api(1))
	d.settle(now+10*ms, one, Report{Refused: true})
	assert.Equal(t, sec, d.wait(now+10*ms, "", api(1)), "served, so it begins anew")
	d.settle(now+20*ms, two, Report{Refused: true})
	assert.Equal(t, 990*ms, d.wait(now+20*ms, "", api(1)), "one burst, one refusal")

	d = newDesk(t)
	d.o.accounts.Jitter = func() float64 { return 0.5 }
	d.settle(0, d.send(0, ""), Report{Refused: true})
	assert.Equal(t, 1125*ms, d.wait(0, ""))
}

// A refusal of a request that was out when the window closed does not undo a
// window that is in force.
func TestRefusalKeepsTheWindow(t *testing.T) {
	d := newDesk(t)
	one, two := d.send(0, ""), d.send(0, "")
	d.settle(40*ms, one, Report{Figures: figure("", 0, mins)})
	d.settle(41*ms, two, Report{Refused: true})
	assert.Greater(t, d.wait(2*sec, ""), 50*sec, "a=0;w=60 stands")
}

// Whom Retry-After concerns (RFC 9110, Section 10.2.3, does not say).
func TestReachOfPauses(t *testing.T) {
	a, b := Claim{Policy: "a", Units: 1}, Claim{Policy: "b", Units: 1}
	tests := []struct {
		name               string
		report             Report
		a, b, scope, other time.Duration
	}{
		{"named by figures", Report{Pause: 5 * sec, Figures: figure("a", 9, mins)}, 5 * sec, 0, 0, 0},
		{"named by policies", Report{Pause: 5 * sec, Terms: terms("a", 9, mins)}, 5 * sec, 0, 0, 0},
		{
			"figures name more closely than policies",
			Report{Pause: 5 * sec, Terms: append(terms("a", 9, mins), terms("b", 9, mins)...), Figures: figure("a", 8, mins)},
			5 * sec, 0, 0, 0,
		},
		{"nothing named: the scope", Report{Pause: 5 * sec}, 5 * sec, 5 * sec, 5 * sec, 0},
		{"the origin", Report{Pause: 5 * sec, Reach: ReachOrigin, Figures: figure("a", 9, mins)}, 5 * sec, 5 * sec, 5 * sec, 5 * sec},
		{"none", Report{Pause: -5 * sec}, 0, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.settle(0, d.send(0, "s", a, b), tt.report)
			assert.Equal(t, tt.a, d.wait(0, "s", a), "a")
			assert.Equal(t, tt.b, d.wait(0, "s", b), "b")
			assert.Equal(t, tt.scope, d.wait(0, "s"), "the scope")
			assert.Equal(t, tt.other, d.wait(0, "other"), "another scope")
		})
	}
}

// Appendix A.3 of the draft: wait 20 s, then 15 units in the remaining 20 s.
func TestAppendixA3(t *testing.T) {
	d := newDesk(t)
	d.settle(0, d.send(0, "", api(1)), Report{
		Refused: true, Pause: 20 * sec,
		Terms: terms("api", 100, mins), Figures: figure("api", 15, 40*sec),
	})
	assert.Equal(t, ReasonRetryAfter, d.refused(20*sec-1, "", api(1)).Reason)
	assert.Equal(t, 15, d.more(20*sec, "", api(1)))
	r := d.refused(20*sec, "", api(1))
	assert.Equal(t, Refusal{Policy: "api", Cause: ReasonExhausted, Reason: ReasonExhausted, Wait: 20*sec + ms, RetryAfter: 20*sec + ms}, r)
}

// Draft -09, Appendix B.3.1: "quota;t=1" beside "quota;q=10": our own count
// against q, renewed when t has passed.
func TestServiceLimitWithoutFigure(t *testing.T) {
	const trip = 64 * ms
	d := newDesk(t)
	claim := Claim{Policy: "quota", Units: 1}
	report := func(left time.Duration) Report {
		return Report{Terms: []Terms{{Policy: Policy{Name: "quota", Quota: 10}}}, Figures: figure("quota", None, left)}
	}
	d.done(trip, d.send(0, ""), report(sec))
	for range 9 {
		l := d.send(trip, "", claim)
		d.done(trip, l, Report{})
	}
	end := sec + 2*ms // the guard is a 32nd of the trip
	assert.Equal(t, end-trip, d.wait(trip, "", claim), "ten in the first second, the one that told included")
	d.refused(end-1, "", claim)
	assert.Equal(t, 10, d.more(end, "", claim), "renewed, to ten")
}

// Settling is done once, and by the origin of the lease.
func TestSettleOnce(t *testing.T) {
	d, e := newDesk(t), newDesk(t)
	one, two := d.send(0, "", api(1)), d.send(0, "", api(1))
	a := d.o.find(accountID{policyID: policyID{name: "api"}})
	e.settle(0, one, Report{})
	assert.Equal(t, int64(2), a.InFlight, "another origin's")
	d.settle(0, one, Report{})
	d.settle(0, one, Report{})
	one.Release()
	one.Cancel()
	assert.Equal(t, int64(1), a.InFlight)
	assert.Equal(t, int64(1), d.o.scopes[""].out)
	two.Release() // as lost
	two.Release()
	assert.Zero(t, a.InFlight)
	assert.Zero(t, d.o.scopes[""].out)
	new(Lease).Release()
	new(Lease).Cancel()
	d.settle(0, new(Lease), Report{})
}

// A lease that is released without being settled counts as lost: the request
// may have arrived. One that is cancelled costs nothing.
func TestReleaseAndCancelOfUnsettled(t *testing.T) {
	d := newDesk(t)
	d.settle(0, d.send(0, "", api(1)), Report{Figures: figure("api", 3, mins)})
	a := d.o.find(accountID{policyID: policyID{name: "api"}})
	d.send(0, "", api(1)).Cancel()
	assert.Equal(t, int64(3), spare(a))
	d.send(0, "", api(1)).Release()
	assert.Equal(t, int64(2), spare(a))
}

// concurrent-requests are held until Release, and come back on Cancel.
func TestHeldUntilReleased(t *testing.T) {
	conc := []Terms{{Policy: Policy{Name: "c", Quota: 1, Unit: UnitConcurrentRequests}}}
	claim := Claim{Policy: "c", Units: 1}
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Terms: conc})

	l := d.send(0, "", claim)
	assert.Equal(t, d.at(0), l.Sent())
	d.settle(0, l, Report{})
	assert.True(t, l.retains())
	d.refused(0, "", claim)
	moved := l.Retained()
	l.Release()
	d.refused(0, "", claim)
	moved.Release()
	moved.Release()

	l = d.send(0, "", claim)
	l.Cancel()
	l = d.send(0, "", claim)
	d.settle(0, l, Report{Outcome: Unsent})
	assert.False(t, l.retains())
	l = d.send(0, "", claim)
	l.Release()
	assert.Zero(t, d.o.find(accountID{policyID: policyID{name: "c"}}).Retained)
	assert.False(t, d.o.find(accountID{policyID: policyID{name: "c"}}).busy())
}

// A lease that is cancelled after it was settled holds nothing either.
func TestCancelAfterSettling(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Terms: []Terms{{Policy: Policy{Name: "c", Quota: 1, Unit: UnitConcurrentRequests}}}})
	l := d.send(0, "", Claim{Policy: "c", Units: 1})
	d.settle(0, l, Report{})
	l.Cancel()
	assert.Zero(t, d.o.find(accountID{policyID: policyID{name: "c"}}).Retained)
}

// A server may call a policy by another unit from one answer to the next.
// What is held then comes back all the same.
func TestUnitChangesWhileHeld(t *testing.T) {
	unit := func(u string) []Terms { return []Terms{{Policy: Policy{Name: "c", Quota: 2, Unit: u}}} }
	claim := Claim{Policy: "c", Units: 1}
	t.Run("from concurrent requests", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), Report{Terms: unit(UnitConcurrentRequests)})
		l := d.send(0, "", claim)
		d.settle(0, l, Report{Terms: unit(UnitRequests)})
		l.Release()
		a := d.o.find(accountID{policyID: policyID{name: "c"}})
		assert.Zero(t, a.Retained)
		assert.False(t, a.busy(), "nobody holds anything: it may be dropped")
	})
	t.Run("to concurrent requests", func(t *testing.T) {
		d := newDesk(t)
		d.settle(0, d.send(0, ""), Report{Terms: unit(UnitRequests)})
		old := d.send(0, "", claim)
		d.done(0, d.send(0, ""), Report{Terms: unit(UnitConcurrentRequests)})
		d.send(0, "", claim)
		d.send(0, "", claim)
		d.settle(0, old, Report{})
		old.Release()
		d.refused(0, "", claim)
	})
}

// When the last of the requests that were out has turned out to be of another
// partition, those in line for the first are let go.
func TestEarlyRequestsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		var out [3]*came
		for i := range out {
			out[i] = c.come(t.Context(), "out", Ask{})
		}
		c.o.Settle(time.Now(), &out[0].lease, &Report{Figures: keyedFigure("api", "alice", 5, mins)})
		alice := keyed("api", "alice")
		alice.Units = 5
		waits := c.come(t.Context(), "alice", Ask{Claims: []Claim{alice}})
		assert.False(t, waits.done.Load(), "any of the two may be alice's")
		time.Sleep(ms)
		for _, o := range out[1:] {
			assert.False(t, waits.done.Load())
			c.o.Settle(time.Now(), &o.lease, &Report{Figures: keyedFigure("api", "bob", 1, mins)})
			synctest.Wait()
		}
		require.True(t, waits.done.Load(), "alice's turn")
		assert.NoError(t, waits.err)
		assert.Equal(t, ms, waits.after)
	})
}

// What the server says that the work did cost takes the place of what it was
// charged: in flight, and in our own count.
func TestCostIsCorrected(t *testing.T) {
	terms := []Terms{{Policy: Policy{Name: "api", Quota: 100, Window: mins}}}
	cost := func(n int64) []Figure { return []Figure{{Policy: "api", Available: None, Window: -1, Cost: n}} }
	for _, tt := range []struct {
		name          string
		charged, cost int64
		left          int64
	}{
		{"more", 1, 25, 75},
		{"less", 25, 1, 99},
		{"not said", 25, 0, 75},
		{"above all measure", 1, 1 << 60, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.done(0, d.send(0, ""), Report{Terms: terms}) // which costs 1
			d.settle(2*mins, d.send(2*mins, "", Claim{Policy: "api", Units: tt.charged}), Report{Figures: cost(tt.cost)})
			a := d.o.find(accountID{policyID: policyID{name: "api"}})
			assert.Equal(t, tt.left, spare(a))
			assert.Zero(t, a.InFlight)
		})
	}
	t.Run("of the request that tells of the policy", func(t *testing.T) {
		d := newDesk(t)
		d.settle(0, d.send(0, ""), Report{Terms: terms, Figures: cost(25)})
		assert.Equal(t, int64(75), spare(d.o.find(accountID{policyID: policyID{name: "api"}})))
	})
	t.Run("of a window that is over", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), Report{Figures: figure("api", 9, sec)})
		l := d.send(0, "", api(2))
		d.more(sec, "", api(1))
		d.settle(sec, l, Report{Figures: cost(5)})
		assert.Equal(t, d.o.find(accountID{policyID: policyID{name: "api"}}).InFlight, d.o.find(accountID{policyID: policyID{name: "api"}}).Unanswered(), "none of the last window")
	})
}

// The first to tell of a limit on concurrency counts among those that are held
// until it is released, and so do those that were out when it told.
func TestWhoTellsOfConcurrencyIsHeld(t *testing.T) {
	conc := Report{Terms: []Terms{{Policy: Policy{Name: "c", Quota: 3, Unit: UnitConcurrentRequests}}}}
	claim := Claim{Policy: "c", Units: 1}
	d := newDesk(t)
	one, two, lost := d.send(0, ""), d.send(0, ""), d.send(0, "")
	d.settle(0, one, conc)
	a := d.o.find(accountID{policyID: policyID{name: "c"}})
	assert.True(t, one.retains())
	assert.Equal(t, int64(3), a.Retained)
	d.refused(0, "", claim)
	d.settle(0, two, Report{})
	assert.True(t, two.retains())
	assert.Equal(t, int64(3), a.Retained)
	d.settle(0, lost, Report{Outcome: Lost})
	assert.False(t, lost.retains())
	assert.Equal(t, int64(2), a.Retained)

	d.done(0, d.send(0, "", claim), conc)
	assert.Equal(t, int64(2), a.Retained, "held twice")
	one.Release()
	one.Release()
	two.Release()
	assert.Zero(t, a.Retained)
	assert.False(t, a.busy())
}

// Those that were out belong to the partition that the server names.
func TestHeldInOnePartition(t *testing.T) {
	conc := func(key string) Report {
		return Report{
			Terms:   []Terms{{Policy: Policy{Name: "c", Quota: 3, Unit: UnitConcurrentRequests, Keyed: true}, Key: key}},
			Figures: []Figure{{Policy: "c", Key: key, Keyed: true, Available: 2, Window: -1}},
		}
	}
	d := newDesk(t)
	one, two := d.send(0, ""), d.send(0, "")
	d.settle(0, one, conc("alice"))
	d.settle(0, two, conc("bob"))
	held := func(key string) int64 { return d.o.find(accountID{policyID{"c", true}, key}).Retained }
	assert.Equal(t, int64(1), held("alice"))
	assert.Equal(t, int64(1), held("bob"))
	one.Release()
	two.Release()
	assert.Zero(t, held("alice")+held("bob"))
}

// Requests that were out are not held for ever where nobody waits for them any
// more: there are too many accounts, or their windows are over.
func TestEarlyOnesAreForgotten(t *testing.T) {
	d := newDesk(t)
	slow := d.send(0, "")
	for i := range 3 * maxPolicies {
		d.done(0, d.send(0, ""), Report{Figures: keyedFigure("api", fmt.Sprint(i), 9, mins)})
	}
	held := int64(0)
	for _, a := range d.o.all {
		held += a.Retained
	}
	assert.Equal(t, int64(2*maxPolicies), held)
	d.settle(time.Hour, slow, Report{})
	for _, a := range d.o.all {
		assert.Zero(t, a.Retained)
	}
}

// Who waits for a policy that turns out not to concern them makes their claims
// again, wherever they stand in line.
func TestLeftOutLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: append(figure("api", 0, mins), figure("other", 9, mins)...)})
		out := c.come(t.Context(), "out", Ask{})
		claimed := []Claim{api(1)}
		first := c.come(t.Context(), "first", claimOf("api"))
		ask := claimOf("api")
		ask.Again = func() []Claim { return claimed }
		second := c.come(t.Context(), "second", ask)
		someone := c.come(t.Context(), "someone", claimOf("api"))
		bobs := claimOf("api")
		bobs.Scope = "bob"
		bob := c.come(t.Context(), "bob", bobs)
		time.Sleep(sec)
		claimed = nil
		c.o.Settle(time.Now(), &out.lease, &Report{LeftOut: []string{"other"}})
		synctest.Wait()
		assert.False(t, second.done.Load(), "it waits for another")
		out = c.come(t.Context(), "out again", Ask{})
		synctest.Wait()
		c.o.Settle(time.Now(), &out.lease, &Report{LeftOut: []string{"api"}})
		c.wg.Wait()
		assert.Equal(t, sec, second.after)
		assert.Zero(t, bob.after)
		assert.Greater(t, first.after, sec)
		assert.Greater(t, someone.after, sec)
	})
}

// What somebody in line claims may change while they wait: the line goes by what
// they claim now.
func TestClaimsChangeInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 5, mins)})
		out := c.come(t.Context(), "out", Ask{Claims: []Claim{api(5)}})
		units := int64(3)
		ask := Ask{Claims: []Claim{api(3)}, Again: func() []Claim { return []Claim{api(units)} }}
		waits := c.come(t.Context(), "waits", ask)
		units = 6
		c.o.Settle(time.Now(), &out.lease, &Report{Outcome: Unsent})
		synctest.Wait()
		assert.False(t, waits.done.Load(), "it claims six of five")
		assert.Equal(t, int64(6), c.account("api").line.Units())
		units = 2
		c.o.Settle(time.Now(), &c.come(t.Context(), "out", Ask{Force: true}).lease, &Report{LeftOut: []string{"api"}})
		c.wg.Wait()
		assert.Zero(t, waits.after)
	})
}

// What turns out not to concern the work was charged in vain. The account of the
// scope is everybody's: an answer is news of it all the same.
func TestLeftOutIsNotCharged(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Figures: figure("api", 3, mins)})
	d.done(0, d.send(0, "", api(2)), Report{LeftOut: []string{"api"}})
	assert.Equal(t, 3, d.more(0, "", api(1)))

	d = newDesk(t)
	conc := Terms{Policy: Policy{Name: "c", Quota: 1, Unit: UnitConcurrentRequests}}
	l := d.send(0, "")
	d.settle(0, l, Report{Terms: []Terms{conc}, LeftOut: []string{"c"}})
	assert.False(t, l.retains(), "a report that contradicts itself")
	assert.Zero(t, d.o.find(accountID{policyID: policyID{name: "c"}}).Retained)

	d = newDesk(t)
	d.done(0, d.send(0, ""), Report{Pause: sec})
	d.done(sec, d.send(sec, ""), Report{LeftOut: []string{""}})
	assert.Equal(t, 2, d.more(sec, ""), "as after any news")
}

// Nor is it held of what is said not to concern it, whatever else is said of that.
func TestLeftOutIsNotHeld(t *testing.T) {
	terms := []Terms{{Policy: Policy{Name: "c", Quota: 5, Unit: UnitConcurrentRequests}}}
	for name, r := range map[string]Report{
		"opened meanwhile":   {LeftOut: []string{"c"}},
		"named all the same": {LeftOut: []string{"c"}, Terms: terms},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			l := d.send(0, "")
			d.done(0, d.send(0, ""), Report{Terms: terms})
			d.done(0, l, r)
			assert.Zero(t, d.o.find(accountID{policyID: policyID{name: "c"}}).Retained)
			assert.Zero(t, d.o.retained)
		})
	}
}
