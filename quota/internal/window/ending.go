package window

import "time"

// This file is how a window of an inferred quota ends after a refusal, and what that shows.
//
// Its quota is what was served in it, and its length the time from its first request to the one that was served after the hold.
// That is not taken over
//
//   - where most of that time passed before the first refusal, because then the quota was not used up;
//   - where a Retry-After was more than twice as long, because then it began in the middle of the server's window: one whose hold
//     ended at 10 s, and which then was not called until 19 s, says what is left of a window, and not how much there is in a
//     second;
//   - where requests may have been refused by chance: one alone was, and as much was not served before.
//
// If a window was used up, and a refusal early in the next one has a Retry-After of less than half a window, the two are parts of
// one window of the server: the count began too early. A sliding log gives back a few at a time: a short Retry-After after much
// was served, then another, and in the end one that is nearly as long as its window. So windows that shorter ones ended are
// kept in mind (stretches.go). If there are two or more, and they took no longer than the Retry-After, they were one window. If
// they took longer, and the Retry-After is more than twice as long as an inferred window, a longer quota was used up, and the
// inferred one stays.
//
// A request may be refused although the window that we count should be over, and all of it was used up: then the server's takes longer.
// It takes more than that, and at most until the Retry-After is over, which in whole seconds is half a second too long on average. A
// later window that seems to be shorter than that was only counted from later on than the server's.
//
// Without Retry-After, a window that was used up within a second, and was over within two, is taken for one of a second. It is
// not if a request was refused after a second, or if no more was served than twice what seems to be allowed in flight.

// An ending is a window that ended after a refusal, and what it shows.
type ending struct {
	inferredWindow               // with the windows before that it is joined to
	end            Instant       // of the server's window: of the Retry-After, or when a request was served again
	length         time.Duration // of the window that is shown
	told           bool          // a Retry-After told the end
	joined         bool          // windows before were parts of the same one
	sure           bool          // a quota was used up, and requests were not refused by chance
	rest           bool          // it is the first window, which may be the rest of one of the server's
	longer         bool          // a second quota, of longer windows, was used up
	brief          time.Duration // see Inferred
	before         int64         // served in the window before; 0: not known
}

// hold is the time from when nothing was left until the end.
func (e *ending) hold() time.Duration { return time.Duration(e.end - e.dry) }

// close ends a window that ended with a refusal, with a request that was served after it.
func (g *Inferred) close(w *Window, t, sent Instant) {
	e := g.ending(w, sent)
	if part := e.told && e.hold() < w.Length/2; !e.sure && !part && w.Quota >= 0 {
		w.DropInferred(Requests, None, 0)
	}
	if e.longer = g.endsLonger(w, &e); e.longer {
		g.longer.ends(sent)
	} else {
		g.tooSoon = max(g.tooSoon, e.over)
	}
	g.inferredWindow = inferredWindow{opened: sent, served: 1, until: Never, more: 1}
	g.last, g.brief = e.served, e.brief
	few := g.pace.few > 0
	if g.isFew(w, &e, sent) || e.told && e.sure && g.spreads(w, &e, sent) {
		g.pace.start(w, sent.Add(g.pace.unit))
		return
	}
	if e.told {
		g.spread.ended, g.spread.longest = e.until, g.longest
	}
	usedUp := e.served >= minInferred && (e.merged || time.Duration(e.dry-e.opened) <= e.hold())
	switch {
	case e.opened == 0, e.longer && w.Quota < 0, !usedUp, !e.sure:
	case e.length < g.longest/2:
		g.longest /= 2 // the server may have changed
	default:
		if !e.isRest(w) {
			g.infer(w, &e)
		}
		w.forget()
		w.Count(sent, 1)
		w.Timed(t, sent)
		w.logInferred(t, sent)
		g.slides(w, &e, few)
		g.plan(w)
	}
	if w.Quota >= 0 && max(e.served, e.before) < w.Quota/2 {
		w.DropInferred(Requests, None, 0) // two windows in a row showed much less, such as a bucket after its burst
		w.forget()
		w.slow = w.habits().slowStart()
	}
	if w.State == Unknown && w.slow > 0 && e.opened > 0 {
		w.slow = max(w.slow, uint8(min(e.served, int64(e.out))/2))
	}
	g.epoch = w.epoch
}

// ending returns what the window has shown that ends with a request which departed at sent.
func (g *Inferred) ending(w *Window, sent Instant) ending {
	e, f := ending{inferredWindow: g.inferredWindow, before: g.last}, &g.first
	if e.ranOver = e.ranOver && e.balance >= 0; e.ranOver { // else requests were refused by chance
		g.least = max(g.least, time.Duration(e.dry-e.opened))
		e.dry = e.opened
	}
	first, shows := f.shows(g, sent)
	ceiling := g.most >= leastCeiling
	if e.rest = shows; shows && !ceiling {
		e.opened, e.served, e.dry, e.came, e.several, e.until = max(f.began, 1), f.served, f.dry, f.came, true, min(f.until, g.until)
	}
	g.pace.burst = max(g.pace.burst, e.served, f.served)
	if e.end, e.told = min(sent, e.until), e.until != Never; e.told && e.opened > 0 {
		opened := e.opened
		e.opened, e.served = g.before.join(opened, e.dry, e.served, e.hold())
		e.joined = e.opened != opened
	}
	alike := max(e.before-e.served, e.served-e.before) <= e.served/16
	e.sure = e.several || e.joined || e.before > 0 && alike || w.Quota >= 0 && e.served+e.more >= w.Quota-w.Quota/16
	e.length = time.Duration(e.end - e.opened)
	if !e.told && e.length < 2*minBackOff && g.tooSoon < minBackOff && e.dry-e.opened < Instant(minBackOff) && e.served > 2*int64(g.most) {
		e.length = min(e.length, minBackOff) // the rest is the jitter of the back-off
	}
	if g.brief > 0 && alike {
		e.length = min(e.length, g.brief) // in a slow start, the last window had the same quota and was used up sooner
	}
	if shows && ceiling {
		e.served, e.brief = f.served, time.Duration(first-f.began)
	}
	return e
}

// isRest reports whether a window showed less than half of the quota, and the one before did not: two windows weighed give back
// little after one that was used up at once, and a window of ours may begin late in the server's. Two in a row show a quota.
func (e *ending) isRest(w *Window) bool {
	return e.told && !e.joined && w.Quota > 0 && e.served < w.Quota/2 && e.before >= w.Quota/2
}

// endsLonger reports whether a hold without Retry-After is of a longer quota.
func (g *Inferred) endsLonger(w *Window, e *ending) bool {
	known := e.opened > 0 || e.lookedIn > 0
	return !e.told && known && e.hold() > max(2*w.Length, longPause) &&
		g.longer.contradicts(max(e.served, e.before, w.Quota), e.length, e.dry)
}

// isFew reports whether a pace has begun, because few units are served in one window after another.
func (g *Inferred) isFew(w *Window, e *ending, sent Instant) bool {
	prompt := time.Duration(sent-max(w.Hold, w.BackOff)) <= e.hold()
	if e.longer || e.opened == 0 || e.served >= minInferred || !prompt || e.untrue || g.most >= leastCeiling {
		g.pace.few = 0
		return false
	}
	return g.pace.isFew(e.opened, sent, e.served, e.told)
}

// between returns how long windows are, if the Retry-After of the last one shows a length. The server's window may have begun before
// ours, so that is less than it was when a request was refused too soon.
func (g *Inferred) between(length time.Duration) time.Duration {
	switch {
	case g.atMost <= g.least:
		g.atMost = length
	case length > g.least:
		g.atMost = min(g.atMost, length)
	}
	if between := g.atMost - g.least; between > g.atMost/narrow {
		return g.least + between/2
	}
	return g.atMost
}

// infer takes over the quota that a window shows, unless that window was ended by a longer one.
func (g *Inferred) infer(w *Window, e *ending) {
	known, alone, before := w.Quota >= 0, e.told && !e.joined, g.guessed
	g.guessed = !e.told
	switch {
	case known && !e.told && e.length >= w.Length && g.tooSoon < w.Length:
		g.guessed, e.length = before, w.Length // back-off has only taken longer
	case known && alone && g.least > 0 && (e.ranOver || e.length < w.Length):
		e.length = g.between(e.length)
	case known && alone && e.length > w.Length && e.length < w.Length+time.Second:
		e.length = w.Length // a Retry-After is up to a second longer than what is left of its window
	}
	g.partial = e.rest && e.length >= 2*minLook
	if e.longer || known && alone && e.hold() > 2*w.Length {
		return
	}
	g.found(w, e.served)
	g.kept = e.served
	w.SetPolicy(Requests, e.served, e.length)
	g.bound(e.length)
}
