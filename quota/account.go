package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// instant is an instant of an origin: the time since its accounts began.
type instant = window.Instant

// An account is what is known of one quota: a window, the owner that it belongs
// to, its place among the accounts of its origin, and the line of those who wait
// for it. All of it is protected by the mutex of its origin.
//
// Of a million accounts, each is far away from the processor: an account takes up
// five cache lines of 64 bytes.
type account struct {
	owner  owner
	policy *policyAccounts
	line   *line // of the requests that wait for this account; nil: none does

	place int32 // in Origin.all; evicted: it is not there any more
	pins  int32 // claims of requests that wait

	window.Window
}

// init makes the account one of which nothing is known.
func (a *account) init(p *policyAccounts, w owner) {
	a.policy, a.owner = p, w
	a.Window = window.New(window.Strategy(p.origin.accounts.Strategy))
}

// is reports whether the account is that of the id.
func (a *account) is(id accountID) bool {
	return a.owner.is(id.owner) && a.policy.policyID == id.policyID
}

// setPolicy takes over the policy as it is advertised now.
func (a *account) setPolicy(p Policy) { a.SetPolicy(unitOf(p.Unit), p.Quota, p.Window) }

// busy reports whether a request is out, in line, or not over.
func (a *account) busy() bool { return a.Busy() || a.pins > 0 || a.line != nil }

// The methods of gate. They read the clock of the origin.

func (a *account) guarded() *guard { return &a.policy.origin.guard }
func (a *account) queue() **line   { return &a.line }
func (a *account) holds() bool     { return a.Unit == window.Concurrent }

// look implements gate.
func (a *account) look(now time.Time, n int64) verdict {
	o := a.policy.origin
	t := o.at(now)
	again, why := a.Ready(t, n)
	if again <= t {
		return verdict{ok: true, why: reasonOf(why)}
	}
	v := verdict{why: reasonOf(why), again: o.when(again), hope: a.Hopeful(t, n)}
	if end := a.End(); why == window.Exhausted && again < end && end != window.Never {
		v.back = o.when(end)
	}
	return v
}

func reasonOf(c window.Cause) Reason {
	switch c {
	case window.RetryAfter:
		return ReasonRetryAfter
	case window.BackingOff:
		return ReasonBackOff
	}
	return ReasonExhausted
}

// charge implements gate.
func (a *account) charge(now time.Time, n int64) uint32 {
	return a.take(a.policy.origin.at(now), n)
}

// take charges n units at t, and counts what is retained.
func (a *account) take(t instant, n int64) uint32 {
	if a.holds() {
		a.policy.origin.retained++
	}
	return a.Take(t, n)
}

// release ends a charge that is retained.
func (a *account) release(_ time.Time, n int64) {
	a.Release(n)
	a.policy.origin.retained--
}

// cancel is release: what is not retained was settled before.
func (a *account) cancel(now time.Time, n int64, _ uint32) { a.release(now, n) }

// refusal names the account in an error.
func (a *account) refusal() Refusal {
	r := Refusal{Policy: a.policy.name, Keyed: a.policy.keyed}
	if r.Keyed {
		r.Key = a.owner.String()
	}
	return r
}

// The line of an account is bounded by Ask.MaxQueue alone.
func (a *account) rule() Queue                           { return Queue{} }
func (a *account) behind(time.Time, int64) time.Duration { return 0 }
func (a *account) tally(bool)                            {}
