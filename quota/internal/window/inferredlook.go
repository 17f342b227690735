package window

import (
	"math"
	"time"
)

// This file is how a request looks whether the windows of an inferred quota are shorter.
//
// The time between two holds may be longer than a window, or the quota may be
// a bucket. So one request looks when half of a window is over, if all was used up before.
// If it is served, the next window begins with it, and windows are that long: but if less
// than half of the quota is served in it before a refusal, the look found
// what was left of the window before, which was not over. If it is refused, the next 2, 4,
// 8, … up to 64 windows have no look, but one in five minutes or 200 requests has, whichever
// takes longer: windows may have become shorter.
//
// The server's window may have been used in part before our first request. Then the first window shows only the rest of
// it. The Retry-After says when the next one begins. So in that one, a request looks once as many have departed as
// were served in the first. If the look is served, nothing is inferred until a refusal ends that window. All that was served in
// it is counted by then.
//
// A Retry-After in whole seconds is up to a second longer than what is left of a window. So in a window of less than 4 s, one
// request looks when the whole seconds are over: after 1.0 s of 1.8 s. If it is served, windows are that long. If not, they are
// as long as the Retry-After said. A quota of fewer than ten has no such look, because so few may be served between two
// refusals by chance.
//
// Where refusals have no Retry-After, the end of a window is found by back-off, and may be half as far away. So
// looks go on, window by window, half-way between the latest time that was too soon and what windows seem to
// be; later at least once in five minutes. One that is served is followed by a slow start. A window of more than two minutes has
// its look after one, and the refusals after it wait for an eighth of the time since it began, up to a minute, or for a
// thirty-second part, if that is longer: what was inferred may have gone.

const (
	shortWindows = 3               // used up before one of them has a look
	narrow       = 16              // windows are known to this part
	firstLook    = time.Minute     // after a long window began whose end was found by back-off
	lookShare    = 200             // requests, in which no more than one looks, where the end was not found by back-off
	minLook      = 2 * time.Second // that a look may win: one that is refused costs about a second
	restLook     = 32              // the part of the second window before its look, in which other processes use up their first quota
)

// A look is that one request departs before an inferred window is over: so many 256ths of the window
// before its end, if it is planned.
type look uint8

const (
	noLook   look = 0
	halfway  look = 128
	lookLast look = 254
	lookOut  look = 255 // it departed at Window.asked
)

// planned reports whether the look is to depart.
func (l look) planned() bool { return l != noLook && l != lookOut }

// lookAfter is the look that departs when so much of a window of a length is over.
func lookAfter(d, length time.Duration) look {
	return look(min(max((length-d)/(length/256), 1), time.Duration(lookLast)))
}

// lookAt is when the look of this window departs.
func (w *Window) lookAt() Instant {
	if w.State != Counting || w.end == Never {
		return Never
	}
	at := w.due - Instant(w.Length/256*time.Duration(w.rare.look))
	if w.rare.look == lookLast { // or sooner, after a minute
		at = min(at, (w.due - Instant(w.Length)).Add(firstLook))
	}
	return at
}

// Looks reports whether one request is to depart before the end of an inferred window.
func (w *Window) Looks() bool { return w.State == Counting && w.rarely().look.planned() }

// IsGuessed reports whether the window is an inferred one whose end was found by back-off, or whose quota may be the rest
// of a window: a look into it may find much.
func (w *Window) IsGuessed() bool { return w.is(guessed) && w.State == Counting }

// IsLook reports whether a request that departed at sent is the look that is out.
func (w *Window) IsLook(sent Instant) bool {
	return w.rare != nil && w.rare.look == lookOut && sent == w.asked
}

// isShort reports whether a look that is refused costs more than it may win, unless units come back one by one.
func (w *Window) isShort() bool { return w.Length/2 < minLook }

// isRoundedUp reports whether windows may be shorter by the part of a second than a Retry-After has said.
func (g *Inferred) isRoundedUp(w *Window) bool {
	whole := w.Length.Truncate(time.Second)
	return !g.guessed && g.seconds >= 0 && w.Quota >= fewSlide && whole > 0 && w.Length-whole > w.Length/narrow
}

// narrows reports whether windows may be much shorter than they seem, because back-off has found their end, but
// not so short as the time at which a look was refused.
func (g *Inferred) narrows(w *Window) bool {
	return g.guessed && w.Length >= 2*minBackOff && g.tooSoon < w.Length-w.Length/narrow
}

// plan plans a look into a window that has begun, or that there is none.
func (g *Inferred) plan(w *Window) {
	w.set(guessed, g.guessed || g.partial)
	planned := noLook
	if g.guessed {
		g.skip = uint8(min(time.Duration(g.skip), lookWithin/w.Length)) // an outage makes windows longer
	} else {
		g.skip = min(g.skip, looksEach(w.Quota, w.Length)-1)
	}
	switch short := w.isShort() && !g.narrows(w); {
	case g.partial:
		planned = lookAfter(min(w.Length/restLook, firstLook), w.Length)
	case short && g.rest > 0:
		g.rest--
	case !short && g.skip > 0:
		g.skip--
	case short && g.Looks && g.isRoundedUp(w):
		planned = lookAfter(w.Length.Truncate(time.Second)+w.guard(w.rtt), w.Length)
	case g.Looks && (!short || g.clean >= shortWindows && (g.longest > 0 || g.clean >= 2*shortWindows)):
		planned = halfway
		switch {
		case g.guessed && w.Length > 2*firstLook:
			planned = lookAfter(firstLook, w.Length)
		case g.narrows(w):
			planned = lookAfter((g.tooSoon+w.Length)/2, w.Length)
		}
	}
	w.setLook(planned)
}

// looksEach returns n so that one of n windows of such a quota and length has a look, because they may have become
// shorter: one in five minutes, or in 200 requests if these take longer.
func looksEach(quota int64, length time.Duration) uint8 {
	return uint8(min(max(int64(lookWithin/max(length, 1)), lookShare/max(quota, 1), 1), math.MaxUint8))
}

func (w *Window) setLook(l look) {
	if w.rarely().look != l {
		w.ownRare().look = l
	}
}

// looked takes over that a look was served: the next window has begun, so windows are
// shorter. A short one shows a pace; not if a Retry-After was that of one request too many, because nothing bounds the
// burst that a pace begins with.
func (g *Inferred) looked(w *Window, sent Instant) {
	if g.partial {
		g.foundMore(w)
		return
	}
	length := time.Duration(sent - g.opened)
	if w.isShort() && g.isRoundedUp(w) {
		g.seconds, length = 1, w.Length.Truncate(time.Second)
	} else if w.isShort() && !g.narrows(w) && (!g.one || g.guessed) {
		w.setLook(noLook)
		g.pace.begin(w.Length/time.Duration(w.Quota), w.Quota, sent)
		g.pace.looked = true
		g.pace.start(w, sent.Add(g.pace.unit))
		return
	} else {
		g.seconds = -1 // they are as long as the look says
	}
	g.least, g.atMost = 0, 0
	w.SetPolicy(Requests, w.Quota, length)
	w.logInferred(sent, sent)
	g.bound(length)
	w.close(sent)
	w.count(1)
	if g.guessed {
		w.slow = w.habits().slowStart() // it may have found what was left
	}
	w.ends(sent.Add(length), w.rtt, Never)
	g.before.join(g.opened, sent, g.served, 0)
	g.usedUp, g.usedOpened, g.early = g.served, g.opened, true
	g.opened, g.served, g.epoch, g.failed = sent, 1, w.epoch, 0
	g.plan(w)
}

// foundMore takes over that the look of the second window was served: the first was not a whole one. Others follow as in
// a slow start, until a refusal ends the window.
func (g *Inferred) foundMore(w *Window) {
	g.partial, g.brief = false, w.Length
	w.DropInferred(Requests, None, 0)
	w.slow = w.habits().slowStart()
	if g.served++; g.usedOpened > 0 {
		g.opened = 0 // this is a later window than the second: when the server's began is not known
	}
}

// lookRefused takes over that the look that departed at sent was refused. done is false if the refusal says more than that.
func (g *Inferred) lookRefused(w *Window, sent Instant, retryAfter time.Duration) (done bool) {
	w.rare.look, g.partial = noLook, false // the first window was a whole one
	if opened := g.opened; w.isShort() && !g.narrows(w) {
		if g.isRoundedUp(w) {
			g.seconds = -1
		}
		if retryAfter > 0 { // the window is over then, at the latest
			w.SetPolicy(Requests, w.Quota, min(w.Length, time.Duration(sent.Add(retryAfter)-opened)))
		}
		if g.leaveOut(); retryAfter <= 0 {
			g.dry, g.lookedIn = sent, opened
		}
		return true
	}
	g.failed = min(g.failed+1, maxFailed)
	if g.skip = 1 << g.failed; g.narrows(w) {
		g.skip = 0
	}
	return w.State == Counting && w.epoch == g.epoch // our own count is as right as before
}

// leaveOut takes over that a look into a short window was in vain. It has ended the window before its time, so
// that says nothing of the quota.
func (g *Inferred) leaveOut() {
	g.rest, g.opened, g.refused = 1<<maxFailed, 0, true
}

// wasTooSoon takes over that a request without Retry-After was refused that departed at sent.
func (g *Inferred) wasTooSoon(w *Window, sent Instant) {
	switch after := time.Duration(sent - max(g.opened, g.lookedIn)); {
	case g.opened == 0 && g.lookedIn == 0:
	case after > w.Length:
		g.over = max(g.over, after)
		g.longer.refuses(w, sent)
	default:
		g.tooSoon = max(g.tooSoon, after)
	}
}

// bound takes over how long windows are at most: a look that was refused later tells no more.
func (g *Inferred) bound(length time.Duration) {
	if g.tooSoon >= length {
		g.tooSoon = 0
	}
}
