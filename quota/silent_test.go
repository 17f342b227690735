package quota

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/headway-go/headway/quota/internal/window"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lease that was settled without the clock is over.
func TestSettleNothing(t *testing.T) {
	d := newDesk(t)
	l := d.send(0, "alice")
	require.False(t, d.learnsNothing(l), "that the origin answers")
	d.done(0, l, Report{})
	l = d.send(0, "alice")
	other := newDesk(t)
	other.o.Settle(time.Time{}, l, &Report{})
	require.EqualValues(t, 1, d.o.out, "it is not of that origin")
	require.True(t, d.learnsNothing(l))
	d.o.Settle(time.Time{}, l, &Report{})
	assert.Zero(t, d.o.out)
	d.o.Settle(time.Time{}, l, &Report{})
	assert.Zero(t, d.o.out, "it was settled")
	assert.False(t, l.retains())
	assert.Equal(t, d.at(0), l.Sent())
	s := d.o.scopes["alice"]
	assert.Zero(t, d.o.out+s.out+s.base.InFlight)
	l.Release()
	l.Cancel()
	d.done(0, l, Report{Refused: true})
	assert.Zero(t, d.o.out+s.out+s.base.InFlight)
	assert.Zero(t, d.o.refusals)
	assert.Nil(t, new(Origin).Settle(time.Time{}, new(Lease), &Report{}))
}

// An answer that says nothing is settled with the clock where it teaches something, or a
// request may have to be woken.
func TestSilenceThatTeaches(t *testing.T) {
	const sec = time.Second
	refuse := func(d *desk, pause time.Duration) {
		d.done(0, d.send(0, ""), Report{Refused: true, Pause: pause})
	}
	for name, before := range map[string]func(*desk) *Lease{
		"a policy": func(d *desk) *Lease {
			d.done(0, d.send(0, ""), Report{Terms: []Policy{{Name: "api", Quota: 5, Window: sec}}})
			return d.send(0, "", api(1))
		},
		"a policy that was named while it was out": func(d *desk) *Lease {
			l := d.send(0, "")
			d.done(0, d.send(0, ""), Report{Figures: []Figure{{Policy: "api", Available: 5, Window: sec}}})
			return l
		},
		"a policy without a name": func(d *desk) *Lease {
			l := d.send(0, "")
			d.done(0, d.send(0, ""), Report{Figures: []Figure{{Available: 5, Window: sec}}})
			return l
		},
		"a pause": func(d *desk) *Lease {
			l := d.send(0, "")
			refuse(d, sec)
			return l
		},
		"after a pause": func(d *desk) *Lease {
			refuse(d, sec)
			return d.send(2*sec, "")
		},
		"a pause of the origin": func(d *desk) *Lease {
			d.done(0, d.send(0, ""), Report{Pause: sec, WholeOrigin: true})
			return d.send(2*sec, "")
		},
		"after a refusal that says nothing": func(d *desk) *Lease {
			refuse(d, 0)
			return d.send(sec, "")
		},
		"a slow start": func(d *desk) *Lease {
			refuse(d, 0)
			d.done(sec, d.send(sec, ""), Report{})
			require.False(d.t, d.o.scopes[""].base.Blank())
			return d.send(sec, "")
		},
		"a policy without a name, of which there are no figures": func(d *desk) *Lease {
			terms := []Policy{{Quota: 5, Unit: UnitConcurrentRequests}}
			d.done(0, d.send(0, ""), Report{Terms: terms})
			return d.send(0, "", Claim{Units: 1})
		},
		"a policy of others": func(d *desk) *Lease {
			terms := []Policy{{Name: "api", Quota: 5, Unit: UnitContentBytes, Keyed: true, Key: "alice"}}
			d.done(0, d.send(0, ""), Report{Terms: terms})
			return d.send(0, "")
		},
		"a scope whose requests are retained": func(d *desk) *Lease {
			d.o.scope(0, "").base.SetPolicy(window.Concurrent, None, 0)
			return d.send(0, "")
		},
		"refusals that a pause has lasted longer than": func(d *desk) *Lease {
			d.done(0, d.send(0, "bob", api(1)), Report{Figures: figure("api", 50, mins)})
			d.o.policies.Store(new([]Policy))
			a, b := d.send(0, ""), d.send(0, "")
			d.o.create(0, accountID{policyID: policyID{name: "api"}})
			hear := d.o.Settle(d.at(0), a, &Report{Refused: true, Pause: sec})
			d.settle(0, b, Report{Refused: true})
			hear(d.at(0), []string{"api"}, 0)
			s := d.o.scopes[""]
			s.learned.inferred = nil
			require.Equal(d.t, window.Unknown, s.base.State)
			require.NotZero(d.t, s.base.Refusals)
			return d.send(2*sec, "")
		},
		"an inferred quota": func(d *desk) *Lease {
			refuse(d, 0)
			for range 130 {
				d.done(sec, d.send(sec, ""), Report{})
			}
			s := d.o.scopes[""]
			require.NotNil(d.t, s.learned.inferred)
			require.True(d.t, s.base.Blank())
			return d.send(sec, "")
		},
		"a request in line": func(d *desk) *Lease {
			l := d.send(0, "")
			inLine(d, &d.o.scopes[""].base)
			return l
		},
		"a request in line for the origin": func(d *desk) *Lease {
			l := d.send(0, "")
			inLine(d, &d.o.root)
			return l
		},
		"a limit of the client's own": func(d *desk) *Lease {
			l := new(Lease)
			require.NoError(d.t, d.o.Admit(d.t.Context(), d.at(0), &Ask{Limiter: concurrencyOf(d.t, 1)}, l))
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			l := before(d)
			out := d.o.out
			assert.False(t, d.learnsNothing(l))
			d.settle(2*sec, l, Report{})
			assert.Equal(t, out-1, d.o.out)
			l.Release()
		})
	}
}

// learnsNothing reports whether the lease would be settled without the clock by an
// answer that says nothing.
func (d *desk) learnsNothing(l *Lease) bool {
	return l.learnsNothing()
}

// inLine gives an account an empty line, which Settle has to look at.
func inLine(d *desk, a *account) {
	a.OpenLine()
	d.t.Cleanup(func() { assert.Nil(d.t, a.line, "Settle looks at the line") })
}

// An origin whose answers are settled without the clock where that is possible admits
// the same requests as one whose answers never are.
func TestSettleNothingIsSettle(t *testing.T) {
	seed, silent := rand.Uint64(), 0
	for run := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, run))
		a, b := newDesk(t), newDesk(t)
		type pair struct {
			scope string
			a, b  *Lease
		}
		var out []pair
		now := time.Duration(0)
		for range 400 {
			now += time.Duration(random.IntN(300)) * time.Millisecond
			if scope := string('a' + rune(random.IntN(3))); len(out) == 0 || random.IntN(2) == 0 {
				la, ra := a.try(now, scope)
				lb, rb := b.try(now, scope)
				require.Equal(t, ra, rb, "seed %d, run %d, at %v", seed, run, now)
				if ra == nil {
					out = append(out, pair{scope, la, lb})
				}
				continue
			}
			i := random.IntN(len(out))
			p := out[i]
			out = append(out[:i], out[i+1:]...)
			var r Report
			switch random.IntN(20 + int(run)) {
			case 0:
				r.Refused = true
			case 1:
				r.Refused, r.Pause = true, time.Second
			case 2:
				r.Pause, r.WholeOrigin = time.Second, true
			case 3:
				r.Lost = true
			case 4:
				if run%2 == 0 {
					r.Figures = []Figure{{Available: random.Int64N(9), Window: 2 * time.Second}}
				}
			}
			if r.answered() && !r.Refused && r.Pause == 0 && r.Figures == nil && a.learnsNothing(p.a) {
				silent++
				sent := p.a.sent
				a.o.Settle(time.Time{}, p.a, &r)
				b.settle(now, p.b, r)
				// The clock was not read, so the round trip is not known.
				a.o.scopes[p.scope].base.Timed(a.o.at(a.at(now)), sent)
			} else {
				a.settle(now, p.a, r)
				b.settle(now, p.b, r)
			}
			for _, s := range []string{"a", "b", "c"} {
				require.Equal(t, b.wait(now, s), a.wait(now, s), "seed %d, run %d, at %v", seed, run, now)
			}
			require.Equal(t, b.o.out, a.o.out)
		}
		for _, s := range a.o.scopes {
			assert.Equal(t, b.o.scopes[s.base.owner.long].base.InFlight, s.base.InFlight)
		}
	}
	assert.Greater(t, silent, 3000, "seed %d", seed)
}
