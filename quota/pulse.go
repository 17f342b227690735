package quota

import "time"

// A pulse is what is known of a quota that is renewed unit by unit, more often
// than whole seconds can say: such a server says that nothing is left for 1 s
// when the next unit comes in 50 ms.
//
// Where hardly anything was there in a window, one request tries again after
// the time that the policy takes for one unit. If it is served, so are the
// next ones; after a few of them they no longer wait for each other's answers,
// where these take longer than that.
// If it is refused, it was somebody else who has used the quota, and the next
// trials are left out, twice as many after each.
type pulse struct {
	trying bool  // the window in force was cut short
	beats  uint8 // trials in a row that were served
	doubt  uint8 // and that were refused
	skip   uint8 // trials to be left out
	slack  uint8 // of the pace, in halves of the jitter
}

const (
	steadyBeats  = 3
	patientBeats = 250 // after which the pace is quicker again
	mostDoubt    = 6
)

// steady reports whether requests need not wait for each other's answers.
func (p *pulse) steady() bool { return p.beats >= steadyBeats }

// every is the time between two requests.
func (p *pulse) every(a *account) time.Duration {
	d := a.perUnit()
	return d + min(a.jitter*time.Duration(4+p.slack)/2, d)
}

// perUnit is the time in which the policy gives one unit, if that is less than
// whole seconds can say; else 0.
func (a *account) perUnit() time.Duration {
	if a.quota <= 1 || a.window <= 0 || a.unit != countsRequests {
		return 0
	}
	d := a.window / time.Duration(a.quota)
	if d >= time.Second {
		return 0
	}
	return d
}

// see takes over a figure of nothing, for w, of an answer to a request that
// departed at sent. The account has learned the rest of it.
func (p *pulse) see(a *account, sent instant, w time.Duration, refused bool) {
	switch {
	case a.plain || w < 0 || w > time.Second || a.perUnit() == 0:
		return
	case refused && p.trying:
		p.fail()
		return
	case refused:
		return
	case p.trying:
		p.beats++
		p.doubt = 0
		if p.beats == patientBeats {
			p.beats, p.slack = steadyBeats, max(p.slack, 1)-1
		}
	}
	if p.trying = 2*a.share.peak < a.quota && p.skip == 0; p.trying {
		a.due = min(a.due, sent.add(p.every(a)))
	}
	p.skip = max(p.skip, 1) - 1
}

// fail ends a trial that was refused.
func (p *pulse) fail() {
	if p.steady() {
		p.slack = min(p.slack+1, 60)
	} else {
		p.doubt = min(p.doubt+1, mostDoubt)
		p.skip = 1 << p.doubt
	}
	p.trying, p.beats = false, 0
}
