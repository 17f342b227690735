package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
)

// A told is a process that talks to a store, and is told holds of the account of its policy.
type told struct{ *talk }

func toldHolds(t *testing.T, test func(k told)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := told{&talk{t: t, now: time.Now(), grant: exchange.Granted{
			Version: 1, State: exchange.Open, Left: exchange.None, Again: 10 * sec, Peers: 3,
		}}}
		k.o = (&quota.Accounts{Peers: &k.peers}).Origin(testOrigin)
		l := k.queue(new(quota.Lease))
		k.heard(ms, k.turn())
		k.o.Unqueue(l)
		k.answer(k.departs(), &quota.Report{})
		k.tells()
		k.now = k.now.Add(sec)
		test(k)
	})
}

// hears has the process hear of a hold, and of the processes that look.
func (k told) hears(hold time.Duration, looks ...string) {
	k.peers.shared.Load().Wake(k.now, "me", &exchange.Word{Account: k.id, Hold: hold, Processes: looks})
}

// departs lets a request depart, if one may.
func (k told) departs() *quota.Lease {
	l := new(quota.Lease)
	if k.o.Try(k.now, k.ask(), l) != nil {
		return nil
	}
	return l
}

// answer answers a request after 100 ms.
func (k told) answer(l *quota.Lease, r *quota.Report) {
	k.t.Helper()
	require.NotNil(k.t, l)
	k.now = k.now.Add(100 * ms)
	k.o.Settle(k.now, l, r)
}

// refusal is of the policy.
func refusal(pause time.Duration) *quota.Report {
	return &quota.Report{Refused: true, Pause: pause, Terms: []quota.Policy{{Name: "api", Quota: quota.None}}}
}

// tells returns what hold of the account the process tells, within a second.
func (k told) tells() (hold time.Duration) {
	for until := k.now.Add(sec); k.now.Before(until); k.now = k.now.Add(10 * ms) {
		if turn, _ := k.peers.shared.Load().Turn(k.now); turn != nil {
			for _, a := range turn.Accounts {
				if a.ID == k.id && a.Hold != 0 {
					hold = a.Hold
				}
			}
			k.heard(ms, turn)
		}
	}
	return hold
}

// free is after what time a request may depart.
func (k told) free(within time.Duration) time.Duration {
	for d := time.Duration(0); d < within; d += 10 * ms {
		if l := new(quota.Lease); k.o.Try(k.now.Add(d), k.ask(), l) == nil {
			k.o.Settle(k.now.Add(d), l, &quota.Report{Unsent: true})
			return d
		}
	}
	return within
}

// One request looks a second after a hold was told to another process, if the store names this one.
func TestLooksAtHold(t *testing.T) {
	toldHolds(t, func(k told) {
		k.hears(mins, "you", "me")
		k.now = k.now.Add(sec - 1)
		assert.Nil(t, k.departs())
		k.now = k.now.Add(1)
		look := k.departs()
		assert.Nil(t, k.departs())
		k.answer(look, &quota.Report{})
		assert.NotNil(t, k.departs())
		assert.Equal(t, -time.Microsecond, k.tells())
	})
	for name, tt := range map[string]struct {
		hold  time.Duration
		looks string
		after time.Duration
	}{
		"another":  {mins, "you", mins},
		"short":    {2 * sec, "me", 2 * sec},
		"long":     {2*sec + 1, "me", sec},
		"no name":  {mins, "", mins},
		"this one": {mins, "me", sec},
	} {
		toldHolds(t, func(k told) {
			k.hears(tt.hold, tt.looks)
			assert.InDelta(t, tt.after, k.free(2*mins), float64(10*ms), name)
		})
	}
}

// What the server has told this process holds it, whatever others find out.
func TestOwnHoldStays(t *testing.T) {
	for _, looks := range []bool{false, true} {
		toldHolds(t, func(k told) {
			one, other := k.departs(), k.departs()
			k.hears(mins, "me")
			var look *quota.Lease
			if looks {
				k.now = k.now.Add(sec)
				look = k.departs()
			}
			k.answer(one, refusal(30*sec))
			if looks {
				k.answer(look, &quota.Report{})
			} else {
				k.hears(-time.Microsecond)
			}
			assert.InDelta(t, 30*sec, k.free(2*mins), float64(110*ms), looks)
			k.answer(other, &quota.Report{})
		})
	}
}

// A look that is not answered is followed by another.
func TestLooksAgain(t *testing.T) {
	for _, r := range []quota.Report{{Lost: true}, {Unsent: true}} {
		toldHolds(t, func(k told) {
			k.hears(mins, "me")
			k.now = k.now.Add(sec)
			k.answer(k.departs(), &r)
			assert.Equal(t, sec, k.free(mins))
			k.now = k.now.Add(5 * sec)
			k.answer(k.departs(), &quota.Report{})
			assert.NotNil(t, k.departs())
		})
	}
}

// A look that is answered after the hold says nothing, and none departs then, although nothing is left.
func TestLooksOnlyDuringTheHold(t *testing.T) {
	toldHolds(t, func(k told) {
		k.hears(5*sec, "me")
		k.now = k.now.Add(4950 * ms)
		k.answer(k.departs(), &quota.Report{})
		assert.Zero(t, k.tells())
	})
	toldHolds(t, func(k told) {
		k.hears(5*sec, "me")
		k.now = k.now.Add(5 * sec)
		k.answer(k.departs(), &quota.Report{Figures: []quota.Figure{{Policy: "api", Window: mins}}})
		assert.GreaterOrEqual(t, k.free(2*mins), mins-sec)
	})
}

// To be named for one hold does not last until the next.
func TestNamedForOneHold(t *testing.T) {
	toldHolds(t, func(k told) {
		k.hears(5*sec, "me")
		k.now = k.now.Add(5 * sec)
		k.hears(mins)
		assert.Equal(t, mins, k.free(2*mins))
	})
}

// If the server has told this process to wait, it does not look. After a back-off it does.
func TestDoesNotLookIfRefused(t *testing.T) {
	for _, before := range []bool{false, true} { // it heard of the hold
		bare := refusal(0)
		bare.Wait = 5 * sec
		for r, looks := range map[*quota.Report][2]time.Duration{refusal(5 * sec): {mins - 210*ms, mins}, bare: {4900 * ms, 10 * sec}} {
			toldHolds(t, func(k told) {
				refused := k.departs()
				if before {
					k.hears(mins-100*ms, "me")
				}
				k.answer(refused, r)
				if !before {
					k.hears(mins-100*ms, "me")
				}
				after := k.free(mins)
				assert.GreaterOrEqual(t, after, looks[0], "%v %v", before, r.Pause)
				assert.LessOrEqual(t, after, looks[1], "%v %v: a back-off has jitter", before, r.Pause)
			})
		}
	}
}

// A process whose look was refused does not look for ten minutes. So does one that could not be served.
func TestBelievesHolds(t *testing.T) {
	for _, r := range []*quota.Report{refusal(5 * sec), {Refused: true}, {Failed: true}, {Pause: sec}} {
		toldHolds(t, func(k told) {
			k.hears(mins, "me")
			k.now = k.now.Add(sec)
			k.answer(k.departs(), r)
			assert.InDelta(t, mins-1100*ms, k.free(2*mins), float64(10*ms))
			k.now = k.now.Add(10*mins - 1)
			k.hears(mins, "me")
			assert.Equal(t, mins, k.free(2*mins))
			k.now = k.now.Add(mins)
			k.hears(mins, "me")
			assert.Equal(t, sec, k.free(2*mins))
		})
	}
}

// What holds a process that others contradict is its own: it does not tell it for ten minutes, and asks with one
// request at a time until it is served.
func TestHoldOfItsOwn(t *testing.T) {
	toldHolds(t, func(k told) {
		refused := k.departs()
		k.answer(refused, refusal(5*sec))
		assert.InDelta(t, 5*sec, k.tells(), float64(20*ms))
		k.hears(-time.Microsecond)
		assert.InDelta(t, 4*sec, k.free(mins), float64(20*ms))
		k.now = k.now.Add(5 * sec)
		k.answer(k.departs(), refusal(5*sec))
		assert.Zero(t, k.tells())
		k.now = k.now.Add(5 * sec)
		one := k.departs()
		assert.Nil(t, k.departs(), "one at a time")
		for _, r := range []quota.Report{{Failed: true}, {Lost: true}} {
			k.answer(one, &r)
			one = k.departs()
			assert.Nil(t, k.departs(), "that says nothing: %+v", r)
		}
		k.answer(one, &quota.Report{})
		one = k.departs()
		k.answer(k.departs(), &quota.Report{})
		k.now = k.now.Add(10 * mins)
		k.answer(one, refusal(5*sec))
		assert.InDelta(t, 5*sec, k.tells(), float64(20*ms))
	})
}

// After a hold that others contradict, what the server tells this process is told to them, however short.
func TestTellsHoldAfterContradiction(t *testing.T) {
	toldHolds(t, func(k told) {
		k.hears(mins)
		k.hears(-time.Microsecond)
		k.answer(k.departs(), refusal(5*sec))
		assert.InDelta(t, 5*sec, k.tells(), float64(20*ms))
	})
}
