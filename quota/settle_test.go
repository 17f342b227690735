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

// The first wave: requests that are out when the first answer comes have been
// or will be charged to what it tells of (the draft, Section 7).
func TestFirstWave(t *testing.T) {
	t.Run("fifty are out, the first answer says 99: fifty more may go", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(50, 0, "")
		d.settle(100*ms, ls[0], quota.Report{Figures: figure("api", 99, mins)})
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("as the others are answered it stays at what the server says", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(50, 0, "")
		for i, l := range ls {
			d.settle(100*ms, l, quota.Report{Figures: figure("api", 99-int64(i), mins)})
		}
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("answered out of order", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(50, 0, "")
		for i, l := range ls {
			d.settle(100*ms, l, quota.Report{Figures: figure("api", 50+int64((i*7)%50), mins)})
			require.LessOrEqual(t, d.known("", api(0)).Available, int64(50), "after %d answers", i+1)
		}
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("requests that are answered without figures cost a unit each", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(50, 0, "")
		d.settle(100*ms, ls[0], quota.Report{Figures: figure("api", 99, mins)})
		for _, l := range ls[1:] {
			d.settle(100*ms, l, quota.Report{})
		}
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
	})
	t.Run("requests that were not sent cost nothing", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(50, 0, "")
		d.settle(100*ms, ls[0], quota.Report{Figures: figure("api", 99, mins)})
		for _, l := range ls[1:] {
			l.Cancel()
		}
		assert.Equal(t, 99, d.more(100*ms, "", api(1)))
	})
	t.Run("requests that depart later count by their claims only", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(2, 0, "")
		d.settle(100*ms, ls[0], quota.Report{Figures: figure("api", 10, mins)})
		late := d.send(100*ms, "", api(1))
		d.settle(200*ms, late, quota.Report{Figures: figure("api", 8, mins)})
		d.settle(200*ms, ls[1], quota.Report{Figures: figure("api", 9, mins)})
		assert.Equal(t, 8, d.more(200*ms, "", api(1)))
	})
	t.Run("requests of another scope do not count", func(t *testing.T) {
		d := newDesk(t)
		d.sendAll(40, 0, "bob")
		ls := d.sendAll(10, 0, "alice")
		d.settle(100*ms, ls[0], quota.Report{Figures: figure("api", 99, mins)})
		assert.Equal(t, 90, d.more(100*ms, "alice", api(1)))
	})
	t.Run("requests that turn out to be of another scope count in both until they are answered", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(6, 0, "")
		available := func(scope string) int64 { return d.known(scope, api(0)).Available }
		d.settle(100*ms, ls[0], quota.Report{Figures: figure("api", 99, mins)})
		assert.Equal(t, int64(94), available(""))
		late := d.send(100*ms, "", api(1)) // told apart
		d.settle(100*ms, ls[1], quota.Report{Scope: "b", Figures: figure("api", 50, mins)})
		assert.Equal(t, int64(46), available("b"))
		assert.Equal(t, int64(94), available(""))
		d.settle(100*ms, ls[2], quota.Report{Scope: "b", Figures: figure("api", 49, mins)})
		d.settle(100*ms, ls[3], quota.Report{Figures: figure("api", 97, mins)})
		assert.Equal(t, int64(47), available("b"))
		assert.Equal(t, int64(94), available(""))
		d.settle(100*ms, ls[4], quota.Report{Scope: "b", Figures: figure("api", 0, mins), Refused: true, Pause: mins})
		d.settle(100*ms, ls[5], quota.Report{Scope: "b", Figures: figure("api", 48, mins)})
		d.settle(100*ms, late, quota.Report{Figures: figure("api", 96, mins)})
		assert.Equal(t, 0, d.more(100*ms, "b", api(1)))
		assert.Equal(t, 96, d.more(100*ms, "", api(1)))
	})
	t.Run("requests that turn out to be of another partition do not count", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(10, 0, "")
		d.settle(100*ms, ls[0], quota.Report{Figures: keyedFigure("api", "alice", 99, mins)})
		alice := func() int64 { return d.known("", keyed("api", "alice")).Available }
		assert.Equal(t, int64(90), alice(), "any of the nine may be of the partition")
		for _, l := range ls[1:] {
			d.settle(100*ms, l, quota.Report{Figures: keyedFigure("api", "bob", 50, mins)})
		}
		assert.Equal(t, int64(99), alice())
	})
	t.Run("the accounts that they may draw on are bounded", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(500, 0, "")
		for i, l := range ls {
			d.settle(100*ms, l, quota.Report{Figures: figure(fmt.Sprint("made-up-", i), 99, mins)})
			drawn := 0
			for _, a := range d.snapshot().Accounts {
				if a.Name != "" && a.InFlight > 0 {
					drawn++
				}
			}
			if i+1 < len(ls) {
				require.Equal(t, min(i+1, 2*quota.MaxPolicies), drawn, "after %d answers", i+1)
			} else {
				require.Zero(t, drawn, "after all answers")
			}
		}
		for _, l := range ls {
			l.Release()
		}
		assert.Empty(t, d.o.Leftovers())
	})
	t.Run("a policy without a service limit counts them too", func(t *testing.T) {
		d := newDesk(t)
		ls := d.sendAll(50, 0, "")
		d.settle(100*ms, ls[0], quota.Report{Terms: terms("api", 100, mins)})
		assert.Equal(t, 50, d.more(100*ms, "", api(1)))
		for _, l := range ls[1:] {
			d.settle(200*ms, l, quota.Report{Terms: terms("api", 100, mins)})
		}
		assert.Zero(t, d.more(200*ms, "", api(1)))
	})
}

// A policy belongs to the partitions that the answer has figures for, else to
// the account that the request was charged to, else to the scope (the draft,
// Sections 2.1.4 and 3.1.3).
func TestAccountsOfTerms(t *testing.T) {
	t.Run("the partition of a figure, without a key of its own", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{Terms: terms("api", 7, sec), Figures: keyedFigure("api", "alice", 3, sec)})
		assert.Equal(t, int64(7), d.known("", keyed("api", "alice")).Quota)
		assert.Nil(t, d.account("s", api(1)))
	})
	t.Run("several partitions of one name", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{
			Terms:   terms("api", 7, sec),
			Figures: append(keyedFigure("api", "alice", 3, sec), keyedFigure("api", "bob", 3, sec)...),
		})
		assert.Equal(t, int64(7), d.known("", keyed("api", "alice")).Quota)
		assert.Equal(t, int64(7), d.known("", keyed("api", "bob")).Quota)
	})
	t.Run("with a key, only that partition", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{
			Terms:   []quota.Policy{{Name: "api", Quota: 7, Window: sec, Keyed: true, Key: "alice"}},
			Figures: append(keyedFigure("api", "alice", 3, sec), keyedFigure("api", "bob", 3, sec)...),
		})
		assert.Equal(t, int64(7), d.known("", keyed("api", "alice")).Quota)
		assert.Equal(t, int64(quota.None), d.known("", keyed("api", "bob")).Quota)
	})
	t.Run("without a figure, the account that the request was charged to", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s", keyed("api", "alice")), quota.Report{Terms: terms("api", 7, mins)})
		assert.Equal(t, int64(7), d.known("", keyed("api", "alice")).Quota)
		assert.Nil(t, d.account("s", api(1)))
		for range 6 {
			d.send(ms, "s", keyed("api", "alice"))
		}
		d.refused(ms, "s", keyed("api", "alice"))
	})
	t.Run("else the scope, and no other", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{Terms: terms("api", 2, mins)})
		assert.Equal(t, 1, d.more(ms, "s", api(1)), "the request that learned of the policy counts")
		assert.Equal(t, 2, d.more(ms, "other", api(1)), "its policy is known, and it has a count of its own")
	})
	t.Run("terms of a policy known to be keyed create no account of the scope", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{Figures: keyedFigure("api", "alice", 3, sec)})
		d.settle(ms, d.send(0, "s"), quota.Report{Terms: terms("api", 2, mins)})
		assert.Nil(t, d.account("s", api(1)))
		assert.Equal(t, int64(2), d.o.Policies()[0].Quota)
		assert.True(t, d.o.Policies()[0].Keyed)
	})
	t.Run("the unnamed policy is the scope's", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{Figures: figure("", 2, mins)})
		assert.Equal(t, 2, d.more(ms, "s", unnamed))
		assert.Equal(t, 1000, d.more(ms, "other", unnamed))
		assert.Equal(t, 1000, d.more(ms, "s"), "of what no policy concerns")
	})
	t.Run("an empty key is a key", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{Figures: keyedFigure("api", "", 1, mins)})
		assert.Equal(t, 1, d.more(ms, "s", keyed("api", "")))
		assert.Equal(t, 1000, d.more(ms, "s", api(1)))
	})
	t.Run("a partition without a figure does not get that of another one", func(t *testing.T) {
		d := newDesk(t)
		d.settle(ms, d.send(0, "s"), quota.Report{Figures: keyedFigure("api", "alice", 0, mins)})
		d.refused(ms, "s", keyed("api", "alice"))
		d.send(ms, "s", keyed("api", "bob"))
	})
}

// A partition key is one account for the requests of all scopes.
func TestPartitionsAreSharedByScopes(t *testing.T) {
	d := newDesk(t)
	d.settle(ms, d.send(0, "one"), quota.Report{Figures: keyedFigure("api", "team", 1, mins)})
	assert.Equal(t, 1, d.more(ms, "two", keyed("api", "team")))
	assert.Equal(t, 0, d.more(ms, "one", keyed("api", "team")))
}

// After a refusal without Retry-After, the accounts that may have caused it back off.
func TestBackOffOfWhatARefusalNames(t *testing.T) {
	a, b := quota.Claim{Policy: "a", Units: 1}, quota.Claim{Policy: "b", Units: 1}
	tests := []struct {
		name        string
		report      quota.Report
		a, b, scope time.Duration // how long a request waits that claims it
	}{
		{
			name:   "nothing at all: the scope",
			report: quota.Report{},
			a:      sec, b: sec, scope: sec,
		},
		{
			name:   "units left all the same: all that are named",
			report: quota.Report{Figures: append(figure("a", 5, mins), figure("b", 7, mins)...)},
			a:      sec, b: sec,
		},
		{
			name:   "the exhausted one of several",
			report: quota.Report{Figures: append(figure("a", 0, 0), figure("b", 7, mins)...)},
			a:      sec,
		},
		{
			name:   "exhausted without a window",
			report: quota.Report{Figures: figure("a", 0, -1)},
			a:      sec,
		},
		{
			name:   "exhausted with a window: until the window ends, and no back-off",
			report: quota.Report{Figures: figure("a", 0, 10*sec)},
			a:      10*sec + ms,
		},
		{
			name:   "a figure without available units: the scope",
			report: quota.Report{Figures: figure("a", quota.None, 10*sec)},
			a:      sec, b: sec, scope: sec,
		},
		{
			name:   "Retry-After: until it has passed",
			report: quota.Report{Pause: 5 * sec},
			a:      5 * sec, b: 5 * sec, scope: 5 * sec,
		},
		{
			name:   "a Retry-After of 0: the scope",
			report: quota.Report{Pause: 0},
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

// Every refusal makes the next request wait, in every unit. The end of a window does
// so in the units that are renewed with time; else the account backs off.
func TestEveryRefusalMakesRequestsWait(t *testing.T) {
	backOffs := []time.Duration{sec, 2 * sec, 4 * sec}
	window := []time.Duration{sec, 10 * sec, 10 * sec} // the first departed before a figure without a window came
	for unit, want := range map[string][]time.Duration{
		"requests": window, quota.UnitContentBytes: window, "tokens": window,
		quota.UnitConcurrentRequests: backOffs,
	} {
		t.Run(unit, func(t *testing.T) {
			d := newDesk(t)
			p := unitTerms("api", 100, unit)
			l := d.send(0, "", api(1))
			d.settle(ms, l, quota.Report{Terms: p, Figures: figure("api", 50, -1)})
			l.Release()
			for i := range 3 {
				now := time.Duration(i) * mins
				l, r := d.try(now, "", api(1))
				require.Nil(t, r)
				d.settle(now+ms, l, quota.Report{Refused: true, Terms: p, Figures: figure("api", 0, 10*sec)})
				l.Release()
				assert.Equal(t, want[i], d.wait(now+ms, "", api(1)), "refusal %d", i)
			}
		})
	}
}

// The back-off doubles up to 48 s. An answer that serves resets it, and refusals of
// requests that departed together count once. Jitter makes it longer.
func TestBackOffDoubles(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 32, 48, 48} {
		l := d.send(now, "", api(1))
		d.settle(now, l, quota.Report{Refused: true})
		require.Equal(t, want*sec, d.wait(now, "", api(1)), "refusal %d", i)
		r := d.refused(now, "", api(1))
		assert.Equal(t, quota.ReasonBackOff, r.Reason)
		now += want * sec
	}
	d.settle(now, d.send(now, "", api(1)), quota.Report{})
	one, two := d.send(now, "", api(1)), d.send(now, "", api(1))
	d.settle(now+10*ms, one, quota.Report{Refused: true})
	assert.Equal(t, sec, d.wait(now+10*ms, "", api(1)), "it was served, so the back-off begins anew")
	d.settle(now+20*ms, two, quota.Report{Refused: true})
	assert.Equal(t, 990*ms, d.wait(now+20*ms, "", api(1)), "the two departed together")

	d = deskOf(t, &quota.Accounts{Jitter: func() float64 { return 0.5 }}, testOrigin)
	d.settle(0, d.send(0, ""), quota.Report{Refused: true})
	assert.Equal(t, 1125*ms, d.wait(0, ""))
}

// Where nothing is left of a bucket of tokens, its figures do not say when there are a few: one request
// asks after each back-off. Where they let more of them go only after a second, these wait for that.
func TestBackOffOfAnEmptyBucket(t *testing.T) {
	for _, tt := range []struct {
		name  string
		units int64
		want  []time.Duration
		alone bool // one request asks
	}{
		{"a few tokens", 1, []time.Duration{sec, 2 * sec, 4 * sec}, true},
		{"many tokens", 500, []time.Duration{10 * sec, 10 * sec, 10 * sec}, false},
	} {
		d := newDesk(t)
		terms, empty := unitTerms("api", 3000, "tokens"), figure("api", 0, mins)
		empty[0].Full = mins
		ask := quota.Claim{Policy: "api", Units: tt.units}
		now := time.Duration(0)
		l := d.send(now, "", ask)
		d.settle(now, l, quota.Report{Terms: terms, Figures: []quota.Figure{{Policy: "api", Available: 2990, Window: sec / 5, Full: sec / 5}}})
		for i, want := range tt.want {
			now += mins
			l := d.send(now, "", ask)
			d.settle(now, l, quota.Report{Refused: true, Terms: terms, Figures: empty})
			assert.InDelta(t, want, d.wait(now, "", ask), float64(5*ms), "%s, refusal %d", tt.name, i)
		}
		now += mins
		d.send(now, "", ask)
		assert.Equal(t, tt.alone, d.wait(now, "", ask) > 0, tt.name)
	}
}

// A refusal without figures does not end a window that is in force.
func TestRefusalKeepsTheWindow(t *testing.T) {
	d := newDesk(t)
	one, two := d.send(0, "", unnamed), d.send(0, "", unnamed)
	d.settle(40*ms, one, quota.Report{Figures: figure("", 0, mins)})
	d.settle(41*ms, two, quota.Report{Refused: true})
	assert.Equal(t, mins+1250*time.Microsecond-2*sec, d.wait(2*sec, "", unnamed), "a=0;w=60 stands")
}

// What a Retry-After concerns (RFC 9110, Section 10.2.3, does not say).
func TestReachOfPauses(t *testing.T) {
	a, b := quota.Claim{Policy: "a", Units: 1}, quota.Claim{Policy: "b", Units: 1}
	tests := []struct {
		name               string
		report             quota.Report
		a, b, scope, other time.Duration
	}{
		{"named by figures", quota.Report{Pause: 5 * sec, Figures: figure("a", 9, mins)}, 5 * sec, 0, 0, 0},
		{"named by policies", quota.Report{Pause: 5 * sec, Terms: terms("a", 9, mins)}, 5 * sec, 0, 0, 0},
		{
			"figures name accounts more precisely than policies",
			quota.Report{Pause: 5 * sec, Terms: append(terms("a", 9, mins), terms("b", 9, mins)...), Figures: figure("a", 8, mins)},
			5 * sec, 0, 0, 0,
		},
		{"nothing named: the scope", quota.Report{Pause: 5 * sec}, 5 * sec, 5 * sec, 5 * sec, 0},
		{"the origin", quota.Report{Pause: 5 * sec, WholeOrigin: true, Figures: figure("a", 9, mins)}, 5 * sec, 5 * sec, 5 * sec, 5 * sec},
		{"none", quota.Report{Pause: -5 * sec}, 0, 0, 0, 0},
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
	d.settle(0, d.send(0, "", api(1)), quota.Report{
		Refused: true, Pause: 20 * sec,
		Terms: terms("api", 100, mins), Figures: figure("api", 15, 40*sec),
	})
	assert.Equal(t, quota.ReasonRetryAfter, d.refused(20*sec-1, "", api(1)).Reason)
	assert.Equal(t, 15, d.more(20*sec, "", api(1)))
	r := d.refused(20*sec, "", api(1))
	assert.Equal(t, quota.Refusal{Policy: "api", Cause: quota.ReasonExhausted, Reason: quota.ReasonExhausted, Wait: 20*sec + ms, RetryAfter: 20*sec + ms}, r)
}

// Draft -09, Appendix B.3.1: "quota;t=1" beside "quota;q=10": our own count
// against q, renewed when t has passed.
func TestServiceLimitWithoutFigure(t *testing.T) {
	const trip = 64 * ms
	d := newDesk(t)
	claim := quota.Claim{Policy: "quota", Units: 1}
	report := func(left time.Duration) quota.Report {
		return quota.Report{Terms: []quota.Policy{{Name: "quota", Quota: 10}}, Figures: figure("quota", quota.None, left)}
	}
	d.done(trip, d.send(0, ""), report(sec))
	for range 9 {
		l := d.send(trip, "", claim)
		d.done(trip, l, quota.Report{})
	}
	end := sec + 2*ms // the guard is a 32nd of the trip
	assert.Equal(t, end-trip, d.wait(trip, "", claim), "ten in the first second, with the request that learned of it")
	d.refused(end-1, "", claim)
	assert.Equal(t, 10, d.more(end, "", claim), "renewed, to ten")
}

// Settling is done once, and by the origin of the lease.
func TestSettleOnce(t *testing.T) {
	d, e := newDesk(t), newDesk(t)
	one, two := d.send(0, "", api(1)), d.send(0, "", api(1))
	inFlight := func() int64 { return d.known("", api(0)).InFlight }
	e.settle(0, one, quota.Report{})
	assert.Equal(t, int64(2), inFlight(), "the lease is of another origin")
	d.settle(0, one, quota.Report{})
	d.settle(0, one, quota.Report{})
	one.Release()
	one.Cancel()
	assert.Equal(t, int64(1), inFlight())
	assert.Equal(t, int64(1), d.snapshot().Out)
	two.Release() // as lost
	two.Release()
	assert.Zero(t, inFlight())
	assert.Zero(t, d.snapshot().Out)
	assert.Empty(t, d.o.Leftovers())
	new(quota.Lease).Release()
	new(quota.Lease).Cancel()
	d.settle(0, new(quota.Lease), quota.Report{})
}

// A lease that is released and was not settled counts as Lost: the request may have
// arrived. One that is cancelled costs nothing.
func TestReleaseAndCancelOfUnsettled(t *testing.T) {
	d := newDesk(t)
	d.settle(0, d.send(0, "", api(1)), quota.Report{Figures: figure("api", 3, mins)})
	d.send(0, "", api(1)).Cancel()
	assert.Equal(t, int64(3), d.known("", api(0)).Available)
	d.send(0, "", api(1)).Release()
	assert.Equal(t, int64(2), d.known("", api(0)).Available)
}

// Concurrent requests count until Release, and come back on Cancel.
func TestConcurrentRequestsCountUntilReleased(t *testing.T) {
	conc := concurrentTerms("c", 1)
	claim := quota.Claim{Policy: "c", Units: 1}
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Terms: conc})

	l := d.send(0, "", claim)
	assert.Equal(t, d.at(0), l.Sent())
	d.settle(0, l, quota.Report{})
	d.refused(0, "", claim)
	moved := l.Retained()
	require.NotNil(t, moved)
	l.Release()
	d.refused(0, "", claim)
	moved.Release()
	moved.Release()

	l = d.send(0, "", claim)
	l.Cancel()
	l = d.send(0, "", claim)
	d.settle(0, l, quota.Report{Unsent: true})
	assert.Nil(t, l.Retained())
	l = d.send(0, "", claim)
	l.Release()
	assert.Zero(t, d.known("", claim).Concurrent)
	assert.Empty(t, d.o.Leftovers())
}

// A lease that is cancelled after it was settled retains nothing.
func TestCancelAfterSettling(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Terms: concurrentTerms("c", 1)})
	l := d.send(0, "", quota.Claim{Policy: "c", Units: 1})
	d.settle(0, l, quota.Report{})
	l.Cancel()
	assert.Zero(t, d.known("", quota.Claim{Policy: "c"}).Concurrent)
}

// A server may change the unit of a policy from one answer to the next. What is
// retained then comes back all the same.
func TestUnitChangesWhileRetained(t *testing.T) {
	unit := func(u string) []quota.Policy { return unitTerms("c", 2, u) }
	claim := quota.Claim{Policy: "c", Units: 1}
	t.Run("from concurrent requests", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), quota.Report{Terms: unit(quota.UnitConcurrentRequests)})
		l := d.send(0, "", claim)
		d.settle(0, l, quota.Report{Terms: unit("requests")})
		l.Release()
		assert.Zero(t, d.known("", claim).Concurrent)
		assert.Empty(t, d.o.Leftovers(), "the account can be evicted")
	})
	t.Run("to concurrent requests", func(t *testing.T) {
		d := newDesk(t)
		d.settle(0, d.send(0, ""), quota.Report{Terms: unit("requests")})
		old := d.send(0, "", claim)
		d.done(0, d.send(0, ""), quota.Report{Terms: unit(quota.UnitConcurrentRequests)})
		d.send(0, "", claim)
		d.send(0, "", claim)
		d.settle(0, old, quota.Report{})
		old.Release()
		d.refused(0, "", claim)
	})
}

// When the last of the requests that were out turns out to be of another partition,
// a request in line for the first one goes.
func TestAttributionWakesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		var out [3]*request
		for i := range out {
			out[i] = c.come(t.Context(), "out", quota.Ask{})
		}
		c.settle(out[0], quota.Report{Figures: keyedFigure("api", "alice", 5, mins)})
		alice := keyed("api", "alice")
		alice.Units = 5
		waits := c.come(t.Context(), "alice", quota.Ask{Claims: []quota.Claim{alice}})
		assert.False(t, waits.done.Load(), "any of the two may be of the partition")
		time.Sleep(ms)
		for _, o := range out[1:] {
			assert.False(t, waits.done.Load())
			c.settle(o, quota.Report{Figures: keyedFigure("api", "bob", 1, mins)})
			synctest.Wait()
		}
		require.True(t, waits.done.Load(), "none of them was")
		assert.NoError(t, waits.err)
		assert.Equal(t, ms, waits.after)
	})
}

// The cost that the server reports replaces the charge, in flight and in our own
// count.
func TestReportedCostReplacesTheCharge(t *testing.T) {
	terms := terms("api", 100, mins)
	cost := func(n int64) []quota.Figure {
		return []quota.Figure{{Policy: "api", Available: quota.None, Window: -1, Cost: n}}
	}
	for _, tt := range []struct {
		name          string
		charged, cost int64
		left          int64
	}{
		{"more", 1, 25, 75},
		{"less", 25, 1, 99},
		{"not said", 25, 0, 75},
		{"more than there can be", 1, 1 << 60, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.done(0, d.send(0, ""), quota.Report{Terms: terms}) // which costs 1
			d.settle(2*mins, d.send(2*mins, "", quota.Claim{Policy: "api", Units: tt.charged}), quota.Report{Figures: cost(tt.cost)})
			assert.Equal(t, tt.left, d.known("", api(0)).Available)
			assert.Zero(t, d.known("", api(0)).InFlight)
		})
	}
	t.Run("of the request that learns of the policy", func(t *testing.T) {
		d := newDesk(t)
		d.settle(0, d.send(0, ""), quota.Report{Terms: terms, Figures: cost(25)})
		assert.Equal(t, int64(75), d.known("", api(0)).Available)
	})
	t.Run("of a window that is over", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), quota.Report{Figures: figure("api", 9, sec)})
		l := d.send(0, "", api(2))
		n := d.more(sec, "", api(1))
		d.settle(sec, l, quota.Report{Figures: cost(5)})
		assert.Equal(t, int64(n), d.known("", api(0)).InFlight, "none of the last window")
	})
}

// The request that learns of a limit on concurrent requests counts until it is
// released, and so do those that were out at that moment.
func TestFirstConcurrentRequestsCount(t *testing.T) {
	conc := quota.Report{Terms: concurrentTerms("c", 3)}
	claim := quota.Claim{Policy: "c", Units: 1}
	d := newDesk(t)
	one, two, lost := d.send(0, ""), d.send(0, ""), d.send(0, "")
	d.settle(0, one, conc)
	concurrent := func() int64 { return d.known("", claim).Concurrent }
	assert.Equal(t, int64(3), concurrent())
	d.refused(0, "", claim)
	d.settle(0, two, quota.Report{})
	assert.Equal(t, int64(3), concurrent())
	d.settle(0, lost, quota.Report{Lost: true})
	assert.Nil(t, lost.Retained())
	assert.Equal(t, int64(2), concurrent())

	d.done(0, d.send(0, "", claim), conc)
	assert.Equal(t, int64(2), concurrent(), "retained once, and released")
	one, two = one.Retained(), two.Retained()
	require.NotNil(t, one)
	require.NotNil(t, two)
	one.Release()
	one.Release()
	assert.Equal(t, int64(1), concurrent())
	two.Release()
	assert.Zero(t, concurrent())
	assert.Empty(t, d.o.Leftovers())
}

// A limit on concurrent requests that refuses some of ours goes on with the others: as many go as are in
// progress, at once, and their answers tell when there is more. A request that is refused while none is in progress
// backs off.
func TestRefusedConcurrentRequests(t *testing.T) {
	claim := quota.Claim{Policy: "c", Units: 1}
	says := func(available int64, refused bool) quota.Report {
		return quota.Report{Refused: refused, Terms: concurrentTerms("c", 20), Figures: figure("c", available, quota.None)}
	}
	d := newDesk(t)
	d.done(0, d.send(0, "", claim), says(19, false))
	ls := d.sendAll(9, sec, "", claim)
	d.settle(sec+ms, ls[7], says(0, true))
	d.settle(sec+ms, ls[8], says(0, true))
	assert.EqualValues(t, 7, d.known("", claim).Concurrent, "what was refused is over before its body is read")
	assert.Equal(t, quota.ReasonExhausted, d.refused(sec+ms, "", claim).Cause)
	d.done(sec+2*ms, ls[0], says(3, false))
	ls = append(ls[1:7], d.send(sec+2*ms, "", claim))
	d.refused(sec+2*ms, "", claim)

	d.done(3*sec, ls[6], says(5, false)) // it departed after the refusals
	ls = append(ls[:6], d.sendAll(2, 3*sec, "", claim)...)
	d.refused(3*sec, "", claim)
	now := 3 * sec
	for range 15 { // the last unit may be free for a moment only
		now += sec
		d.done(now, ls[7], says(1, false))
		ls = append(ls[:7], d.send(now, "", claim))
		d.refused(now, "", claim)
	}
	now += sec
	d.done(now, ls[7], says(1, false)) // it stays free
	ls = append(ls[:7], d.sendAll(2, now, "", claim)...)
	d.refused(now, "", claim)

	for _, l := range ls[1:] {
		d.settle(now+sec, l, says(0, true))
	}
	d.done(now+sec, ls[0], says(9, false))
	d.settle(now+2*sec, d.send(now+2*sec, "", claim), says(0, true))
	assert.Equal(t, sec, d.wait(now+2*sec, "", claim), "none of ours is in progress")
	assert.Equal(t, quota.ReasonBackOff, d.refused(now+2*sec, "", claim).Cause)
}

// Requests that last for hours keep the others waiting for no longer than a probe is waited for.
func TestConcurrentRequestsThatLast(t *testing.T) {
	claim := quota.Claim{Policy: "c", Units: 1}
	says := func(available int64, refused bool) quota.Report {
		return quota.Report{Refused: refused, Terms: concurrentTerms("c", 20), Figures: figure("c", available, quota.None)}
	}
	d := newDesk(t)
	d.exchange(0, "", says(19, false), claim)
	d.settle(0, d.send(0, "", claim), says(0, false)) // its body is not read
	now := time.Duration(0)
	for _, want := range []time.Duration{sec, sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 48 * sec} {
		assert.Equal(t, want, d.wait(now, "", claim))
		now += want
		d.settle(now, d.send(now, "", claim), says(0, true))
	}
	now += 48 * sec
	d.settle(now, d.send(now, "", claim), says(3, false))
	d.send(now, "", claim)
	d.refused(now, "", claim)
}

// A request that was out counts in the partition that its answer names.
func TestConcurrentRequestsCountInOnePartition(t *testing.T) {
	conc := func(key string) quota.Report {
		return quota.Report{
			Terms:   []quota.Policy{{Name: "c", Quota: 3, Unit: quota.UnitConcurrentRequests, Keyed: true, Key: key}},
			Figures: []quota.Figure{{Policy: "c", Key: key, Keyed: true, Available: 2, Window: -1}},
		}
	}
	d := newDesk(t)
	one, two := d.send(0, ""), d.send(0, "")
	d.settle(0, one, conc("alice"))
	d.settle(0, two, conc("bob"))
	concurrent := func(key string) int64 { return d.known("", keyed("c", key)).Concurrent }
	assert.Equal(t, int64(1), concurrent("alice"))
	assert.Equal(t, int64(1), concurrent("bob"))
	one.Release()
	two.Release()
	assert.Zero(t, concurrent("alice"))
	assert.Zero(t, concurrent("bob"))
}

// A request that was out counts in the newest accounts only, and in none of them once
// their windows are over.
func TestFirstWaveIsForgotten(t *testing.T) {
	d := newDesk(t)
	slow := d.send(0, "")
	for i := range 3 * quota.MaxPolicies {
		d.done(0, d.send(0, ""), quota.Report{Figures: keyedFigure("api", fmt.Sprint(i), 9, mins)})
	}
	counted := func() (n, inFlight int64) {
		for _, a := range d.snapshot().Accounts {
			if a.Name == "api" {
				n, inFlight = n+a.Concurrent, inFlight+a.InFlight
			}
		}
		return n, inFlight
	}
	n, inFlight := counted()
	assert.Equal(t, int64(2*quota.MaxPolicies), n)
	assert.Equal(t, int64(2*quota.MaxPolicies), inFlight)
	d.done(time.Hour, slow, quota.Report{})
	n, inFlight = counted()
	assert.Zero(t, n)
	assert.Zero(t, inFlight)
	assert.Empty(t, d.o.Leftovers())
}

// A request that waits for a policy that may not concern it makes its claims again,
// at any place in the line.
func TestLeftOutMakesClaimsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: append(figure("api", 0, mins), figure("other", 9, mins)...)})
		out := c.come(t.Context(), "out", quota.Ask{})
		claimed := []quota.Claim{api(1)}
		first := c.come(t.Context(), "first", claimOf("api"))
		ask := claimOf("api")
		ask.Again = func() []quota.Claim { return claimed }
		second := c.come(t.Context(), "second", ask)
		third := c.come(t.Context(), "third", claimOf("api"))
		bobs := claimOf("api")
		bobs.Scope = "bob"
		bob := c.come(t.Context(), "bob", bobs)
		time.Sleep(sec)
		claimed = nil
		c.settle(out, quota.Report{LeftOut: []string{"other"}})
		synctest.Wait()
		assert.False(t, second.done.Load(), "it waits for another policy")
		out = c.come(t.Context(), "out again", quota.Ask{})
		synctest.Wait()
		c.settle(out, quota.Report{LeftOut: []string{"api"}})
		c.wg.Wait()
		assert.Equal(t, sec, second.after)
		assert.Zero(t, bob.after)
		assert.Equal(t, mins+ms, first.after)
		assert.Equal(t, mins+sec+ms, third.after, "the probe after the first, which was not answered")
	})
}

// The claims of a request may change while it waits. It is admitted by what it claims
// now.
func TestClaimsChangeInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 5, mins)})
		out := c.come(t.Context(), "out", quota.Ask{Claims: []quota.Claim{api(5)}})
		units := int64(3)
		ask := quota.Ask{Claims: []quota.Claim{api(3)}, Again: func() []quota.Claim { return []quota.Claim{api(units)} }}
		waits := c.come(t.Context(), "waits", ask)
		units = 6
		c.settle(out, quota.Report{Unsent: true})
		synctest.Wait()
		assert.False(t, waits.done.Load(), "it claims six of five")
		assert.Equal(t, 1, c.account("api").InLine)
		units = 2
		out = c.come(t.Context(), "out", quota.Ask{Force: true})
		c.settle(out, quota.Report{LeftOut: []string{"api"}})
		c.wg.Wait()
		assert.Zero(t, waits.after)
	})
}

// The charge under a policy that does not concern the request is given back. An answer
// is news of the account of the scope all the same.
func TestLeftOutIsNotCharged(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Figures: figure("api", 3, mins)})
	d.done(0, d.send(0, "", api(2)), quota.Report{LeftOut: []string{"api"}})
	assert.Equal(t, 3, d.more(0, "", api(1)))

	d = newDesk(t)
	l := d.send(0, "")
	d.settle(0, l, quota.Report{Terms: concurrentTerms("c", 1), LeftOut: []string{"c"}})
	assert.Nil(t, l.Retained(), "a report that contradicts itself")
	assert.Zero(t, d.known("", quota.Claim{Policy: "c"}).Concurrent)

	d = newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Pause: sec})
	d.done(sec, d.send(sec, ""), quota.Report{LeftOut: []string{""}})
	assert.Equal(t, 2, d.more(sec, ""), "slow start goes on")
}

// A request does not count as concurrent under a policy that does not concern it.
func TestLeftOutIsNotRetained(t *testing.T) {
	terms := concurrentTerms("c", 5)
	for name, r := range map[string]quota.Report{
		"created meanwhile":  {LeftOut: []string{"c"}},
		"named all the same": {LeftOut: []string{"c"}, Terms: terms},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			l := d.send(0, "")
			d.done(0, d.send(0, ""), quota.Report{Terms: terms})
			d.done(0, l, r)
			assert.Zero(t, d.known("", quota.Claim{Policy: "c"}).Concurrent)
			assert.Empty(t, d.o.Leftovers())
		})
	}
}

// One request looks into a long hold of the whole origin. It is not worth it for the
// others to come back before the hold is over.
func TestLookIntoTheHoldOfAnOrigin(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Refused: true, WholeOrigin: true, Pause: 60 * mins})
	r := d.refused(0, "")
	assert.Equal(t, quota.ProbeInterval, r.Wait)
	assert.Equal(t, 60*mins, r.RetryAfter)
}

// Requests that were out when an account was created are not waited for once its window is
// over. Requests that wait for what they were charged go then.
func TestFirstWaveThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		lost := c.come(t.Context(), "lost", quota.Ask{})
		refusal := quota.Report{Refused: true, Terms: concurrentTerms("a", 1), Figures: figure("a", 1, quota.None)}
		c.tell(refusal)
		time.Sleep(sec)
		c.tell(refusal)
		last := c.come(t.Context(), "last", quota.Ask{})
		time.Sleep(2*sec + ms)
		waits := c.come(t.Context(), "waits", claimOf("a"))
		require.False(t, waits.done.Load())
		time.Sleep(10 * ms)
		c.settle(last, quota.Report{})
		synctest.Wait()
		require.True(t, waits.done.Load())
		require.NoError(t, waits.err)
		assert.Equal(t, 10*ms, waits.after)
		c.settle(waits, quota.Report{})
		waits.lease.Release()
		c.settle(lost, quota.Report{Lost: true})
		assert.Empty(t, c.o.Leftovers())
	})
}
