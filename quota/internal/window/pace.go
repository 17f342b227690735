package window

import (
	"math"
	"time"
)

// A pace is what is inferred where a window is not: of a bucket that fills many times in a hold of a
// second, and of a quota of so few that one hold after another is for a request or two. Units depart
// one after another, as many as were served in the time of the windows before, and then twice as many, as
// long as none is refused. From then on the pace is between the quickest that was served and the
// slowest that was refused. A try that is refused costs a hold, so the next one is made when four times
// as many were served, or after four minutes: if it is served, others follow until one is refused.
//
// A bucket may hold more than what comes back in a hold. So after a rest there are as many units at once
// as were served in any window, or before the first refusal; half as many if some of these are refused.
//
// A quota that is spread over windows has a pace, too, with tries of its own: see spread.go.
//
// Beside other clients no pace is without refusals. One that has more served than the
// slower one goes on in spite of them; and the pace is given up when less is served than before it.
type pace struct {
	few    uint8         // windows in a row in which few were served
	took   time.Duration // by these
	served int64         // in these
	most   int64         // in one of these
	burst  int64         // in any window, or before the first refusal

	first time.Duration // between two units in those windows
	unit  time.Duration // between two now; 0: there is no pace
	slow  time.Duration // the quickest pace that was kept
	fast  time.Duration // the slowest that was refused; 0: none was
	since Instant       // departures from then on count
	last  Instant       // departure of the last one that was served
	run   int64         // served since the last refusal

	now, before, all progress // of this pace, of the slow one, and of any

	failed uint8 // tries that were refused
	lost   uint8 // refusals at the slow pace
	gaveUp uint8
	looked bool // it began with a look

	quota  int64         // units that the bucket holds
	window time.Duration // over which a quota is spread, see spread.go; 0: it is not
	kept   uint8         // tries in a row, of such a pace
}

// progress is how long some units took, holds included.
type progress struct {
	units int64
	took  time.Duration
}

// each is how long one of them took.
func (p progress) each() time.Duration { return p.took / time.Duration(max(p.units, 1)) }

func (p *progress) add(units int64, took time.Duration) {
	p.units, p.took = p.units+units, p.took+took
}

const (
	fewWindows  = 3   // in a row; twice as many where the holds are our own
	maxFew      = 192 // and eight times as many for each pace that was given up, but no more than that
	triedUnits  = 6   // that are served show that a pace is kept
	maxTries    = 4   // that are refused and make the next one later
	closePace   = 16  // a try is this part quicker, if no more is to be won
	judgedUnits = 256 // after which a pace is judged anew
	lostUnits   = 3   // before it is judged
	maxGivenUp  = 2

	untilTry = 4 * time.Minute      // at a pace that is kept
	quickest = 4 * time.Millisecond // is no pace
)

// isFew takes over a window in which few units were served. It reports whether there is a pace now, after
// enough of these windows. told says that the server has told its end, at which the next request departed.
func (p *pace) isFew(opened, end Instant, served int64, told bool) bool {
	if p.few == 0 {
		p.took, p.served, p.most = 0, 0, 0
	}
	p.few++
	p.took, p.served, p.most = p.took+time.Duration(end-opened), p.served+served, max(p.most, served)
	enough := fewWindows << (3 * p.gaveUp)
	if !told {
		enough *= 2
	}
	if int(p.few) < min(enough, maxFew) {
		return false
	}
	p.begin(p.took/time.Duration(p.served), p.most, end)
	return true
}

// begin tries a pace that is twice as quick as the first, after a request that departed at sent.
func (p *pace) begin(first time.Duration, most int64, sent Instant) {
	*p = pace{first: max(first, 1), most: most, burst: p.burst, since: sent, last: sent, gaveUp: p.gaveUp}
	p.quota = max(p.most, p.burst)
	p.slow, p.before = p.first, progress{1, p.first}
	p.try(sent)
}

// try makes the pace quicker from t on.
func (p *pace) try(t Instant) {
	switch {
	case p.fast == 0 && p.window > 0:
		p.unit = p.slow - p.slow>>(3-p.kept/sameTries)
	case p.fast == 0:
		p.unit = p.slow / 2
	case p.slow-p.fast < p.slow/closePace:
		p.unit = p.slow - p.slow/closePace
	default:
		p.unit = time.Duration(math.Sqrt(float64(p.slow) * float64(p.fast)))
	}
	p.unit, p.since, p.now = max(p.unit, 1), t, progress{}
}

// trying reports whether the pace is quicker than any that was kept.
func (p *pace) trying() bool { return p.unit < p.slow }

// servedAt takes over at t that a request which departed at sent was served. hold is the longest
// Retry-After. kept is false if there is no pace any more.
func (p *pace) servedAt(w *Window, t, sent Instant, hold time.Duration) (kept bool) {
	gap := time.Duration(max(sent-p.last, 0))
	p.last = max(p.last, sent)
	p.all.add(1, min(gap, 2*p.unit))
	if p.all.units >= judgedUnits {
		p.all, p.lost = progress{}, 0
	}
	if sent < p.since || gap > 2*p.unit {
		return true // it would have been served at a slower pace, too
	}
	p.run++
	p.now.add(1, gap)
	if p.trying() {
		enough := triedUnits + 2*(p.most-1)
		if p.run < p.now.units {
			enough *= 3
		}
		if p.now.units < enough || p.now.took < 2*p.window {
			return true
		}
		p.slow, p.before, p.now = p.unit, p.now, progress{}
		p.kept = min(p.kept+1, 2*sameTries)
		if p.slow <= p.fast {
			p.fast, p.failed = 0, 0 // the limit has gone, or is another
		}
		if p.slow < quickest {
			p.unit, p.few = 0, 0
			return false
		}
	} else if p.window > 0 {
		if p.fast > 0 && p.now.took < rareTry*p.window {
			return true
		}
	} else if p.fast > 0 && p.now.took < untilTry && p.now.units < (triedUnits+int64(hold/p.unit))<<(2*p.failed-2) {
		return true
	}
	p.try(t)
	p.goOn(w, t)
	return true
}

// refusedAtPace is Refused where there is a pace.
func (g *Inferred) refusedAtPace(w *Window, t, sent Instant, retryAfter time.Duration) {
	g.longest = max(g.longest, retryAfter)
	p, untrue := &g.pace, g.isUntrue(sent, retryAfter)
	if g.until = Never; retryAfter > 0 {
		g.until = sent.Add(retryAfter)
	}
	switch {
	case p.isMistaken(sent):
		p.unit = 0
		w.noBucket()
		w.Quota, w.Length = p.most, p.first*time.Duration(p.most)
		w.distrust(t)
		g.leaveOut()
	case untrue, !p.refusedAt(w, t, sent, g.longest):
		p.unit, p.few, p.gaveUp = 0, 0, min(p.gaveUp+1, maxGivenUp)
		anew := NewInferred(g.longest)
		anew.Ceiling, anew.pace, anew.rest = g.Ceiling, *p, 1<<maxFailed
		*g = *anew
		w.DropInferred(Requests, None, 0)
		w.distrust(t)
	}
}

// refusedAt takes over a refusal at t of a request that departed at sent. longest is the longest
// Retry-After; 0: there was none. kept is false if there is no pace any more.
func (p *pace) refusedAt(w *Window, t, sent Instant, longest time.Duration) (kept bool) {
	end := max(t, w.Hold, w.BackOff)
	if sent >= p.since {
		if !p.trying() {
			p.lost++
		}
		hold := time.Duration(end - t)
		p.all.add(0, hold)
		p.now.add(0, hold)
		if sent.Since(w.ownRare().told) > p.length() { // it had rested
			p.quota = max(p.quota/2, p.most)
		}
		switch {
		case p.lost >= lostUnits && p.all.each() > p.first+p.first/8:
			return false
		case !p.trying():
			p.slowDown()
		case p.now.units > 0 && p.now.each() < p.before.each():
			// It wins in spite of that.
		default:
			p.failed, p.kept = min(p.failed+1, maxTries), 0
			p.byHolds(w, longest)
			p.fast, p.unit, p.now = p.unit, p.slow, progress{}
		}
		p.since, p.run = t, 0
	}
	p.start(w, end)
	return true
}

// byHolds takes over that a try was refused soon. If the windows before the pace took no longer than the longest
// Retry-After and their round trips, so many units are served in that time, and the slow pace need be no slower.
// If not even those of one window were served, there is no quicker one, and the next try is late.
func (p *pace) byHolds(w *Window, longest time.Duration) {
	most := time.Duration(p.most)
	if longest <= 0 || p.looked || p.now.units > p.most || 2*p.unit*most < longest {
		return
	}
	trips := (most + 3) * w.rtt // one for each unit, for two refusals, and for the hold
	whole := p.first*most <= longest+trips
	if most == 1 {
		whole = p.now.units == 0
	}
	if !whole {
		return
	}
	p.slow = min(p.slow, (longest+w.guard(w.rtt))/most)
	if p.now.units < p.most {
		p.failed = maxTries
	}
}

// slowDown makes the slow pace slower after a refusal, but not slower than units come with such refusals.
func (p *pace) slowDown() {
	by := p.slow / 8
	if p.run < 2 {
		by = p.slow / 2
	}
	if p.now.units >= triedUnits {
		p.before = p.now
	}
	p.slow = max(min(p.slow+by, p.before.each(), p.first), p.slow)
	p.unit = p.slow
}

// isMistaken reports whether the refusal of a request that departed at sent shows that the look that began
// the pace found what was left of a window. Only the first try does, as long as no pace was kept or refused.
func (p *pace) isMistaken(sent Instant) bool {
	first := p.slow == p.first && p.fast == 0
	return p.looked && first && sent >= p.since && p.all.units < p.most/2
}

// IsPaced reports whether units depart one after another.
func (w *Window) IsPaced() bool { return w.is(spaced) && w.State == Counting }

// start has the window count units at the pace. The first may depart at t.
func (p *pace) start(w *Window, t Instant) {
	w.forgetInferredLog()
	w.Quota, w.Length = p.quota, p.length()
	w.State, w.slow, w.probing = Counting, 0, false
	w.set(spaced, true)
	r := w.ownRare()
	r.fill, r.told = w.Length, max(t, 1)
	w.ends(t.Add(w.timeOf(w.Quota-1)), 0, Never)
	w.available = w.level(t)
}

// goOn has the window count units at a pace that has changed at t.
func (p *pace) goOn(w *Window, t Instant) {
	if w.State != Counting || w.Quota != p.quota {
		p.start(w, t.Add(p.unit))
		return
	}
	w.setFill(t, p.length())
	w.Length = p.length()
}

// length is the time of the whole quota.
func (p *pace) length() time.Duration {
	return min(p.unit, MaxSavedTime/time.Duration(p.quota)) * time.Duration(p.quota)
}
