package window

import (
	"math"
	"time"
)

// Inferred is habit 5 of Adaptive: the quota of a server that says nothing of its
// quotas and refuses now and then. It is what the server served between two of the
// instants at which it began to serve again, in the time between them. It is not
// taken over where most of that time passed before the first refusal, because then
// the quota was not used up; nor where a Retry-After was more than twice as long, because
// then it began in the middle of the server's window: one whose hold ended at 10 s, and
// which then was not called until 19 s, says what is left of a window, and not how much
// there is in a second. It is counted like a policy without a service limit. If a window
// was used up, and a refusal early in the next one has a Retry-After of less than half a
// window, the two are parts of one window of the server: the count began too early.
//
// A sliding log gives back a few at a time: a short Retry-After after much was served, then
// another, and in the end one that is nearly as long as its window. So windows that shorter ones
// ended are kept in mind. If there are two or more, and they took no longer than the Retry-After,
// they were one window. If they took longer, and the Retry-After is more than twice as long as an
// inferred window, a longer quota was used up, and the inferred one stays.
//
// The time between two such instants may also be longer than a window, or the quota may be
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
// A sliding log gives back units as they were spent, so a window of our own count that has just begun may find none. Our own
// log is kept of an inferred quota, too. Where it had no room for a refused request, and windows take less than 4 s, requests wait
// for its room from then on, and the quota stays. A later refusal of a request that it had room for shows how many units there
// are. If that is one less than fifteen sixteenths of the inferred quota, or even fewer, units do not come back as they were
// spent. A quota of fewer than ten with a Retry-After may be that of a bucket, so our own log explains no refusal of it, unless
// a look has shown that windows take whole seconds.
//
// A Retry-After in whole seconds is up to a second longer than what is left of a window. So in a window of less than 4 s, one
// request looks when the whole seconds are over: after 1.0 s of 1.8 s. If it is served, windows are that long. If not, they are
// as long as the Retry-After said. A quota of fewer than ten has no such look, because so few may be served between two
// refusals by chance.
//
// Without Retry-After, a window that was used up within a second, and was over within two, is taken for one of a second. It is
// not if a request was refused after a second, or if no more was served than twice what seems to be allowed in flight.
//
// Where refusals have no Retry-After, the end of a window is found by back-off, and may be half as far away. So
// looks go on, window by window, half-way between the latest time that was too soon and what windows seem to
// be; later at least once in five minutes. One that is served is followed by a slow start. A window of more than two minutes has its look after one, and the
// refusals after it wait for an eighth of the time since it began, up to a minute, or for a thirty-second part, if that is
// longer: what was inferred may have gone.
type Inferred struct {
	inferredWindow // that is counted now

	Looks  bool  // one request may look before a window is over
	failed uint8 // looks in a row that were refused
	skip   uint8 // windows without one
	rest   uint8 // short windows without one

	guessed bool          // back-off has found how long windows are: they may be half as long
	tooSoon time.Duration // the longest time after a window began at which a request without Retry-After was refused; 0: none was

	before  stretches     // which may be parts of a window with this one
	longer  longer        // a second quota
	last    int64         // served in the window before
	kept    int64         // the quota that the last window with a refusal has shown; less than w.Quota while more is tried
	tried   uint8         // how many tries of more were refused in a row
	refuted bool          // a refusal has shown that units do not come back as they were spent
	seconds int8          // a look showed that windows take whole seconds: 1, or that they do not: -1
	brief   time.Duration // how long the window before, of which last were served, was at most; 0: not known

	longest time.Duration // Retry-After; half of it once a window seemed shorter

	Ceiling // of requests in flight
	pace    pace
	spread  spreading
}

// inferredWindow is what is counted from one hold to the next, or from one window of our own count to the next.
type inferredWindow struct {
	opened   Instant // departure of the first request that was served in this window; 0: none was
	served   int64   // since then
	epoch    uint32  // of the window, in which that was
	refused  bool    // a request was, since then
	several  bool    // and others that departed before that was heard
	balance  int64   // of the requests that were out when the first refusal came, how many more were refused than served
	nothing  bool    // the window after it began with a refusal, see spread.go
	untrue   bool    // a Retry-After was over, and the window was not: see isUntrue
	dry      Instant // departure of the first that was refused
	came     Instant // arrival of its refusal
	until    Instant // when the window is over, by the refusals, in the clock of departures
	lookedIn Instant // when this window began, if a look ended it
	out      uint8   // requests in flight when the first refusal came, with the refused one
	first    firstWindow

	over time.Duration // as tooSoon, when the window should have been over: there may be a longer quota

	usedUp     int64   // served in the window before, if its count was used up; else 0
	usedOpened Instant // when that window began
	merged     bool    // it was not over: this window is a part of it

	early   bool // this window began with a look
	partial bool // the quota is what was served in the first window, and that may be the rest of a server's window

	clean uint8 // windows in a row that were used up and ended without a refusal
	more  int64 // units to try next
}

const (
	maxStretches = 6               // of holds that are each half as long
	cleanWindows = 10              // used up before more is tried
	growth       = 4               // times as many more are tried in the next window
	fewSlide     = 10              // units of a quota with Retry-After: a small bucket, or chance, is likelier than a sliding log or a whole second
	minInferred  = 4               // served in a window, or nothing can be told
	shortWindows = 3               // used up before one of them has a look
	sureRow      = 3               // refusals in a row are of a quota
	narrow       = 16              // windows are known to this part
	firstLook    = time.Minute     // after a long window began whose end was found by back-off
	lookWithin   = 5 * time.Minute // of the last one
	lookShare    = 200             // requests, in which no more than one looks, where the end was not found by back-off
	shortBackOff = 8               // of the time since such a window began, the part that a refusal is waited after, up to a minute
	longBackOff  = 32              // and the part that is waited if that is longer
	minLook      = 2 * time.Second // that a look may win: one that is refused costs about a second
	restLook     = 32              // the part of the second window before its look, in which other processes use up their first quota
)

// NewInferred returns what is known after the first refusal, with its Retry-After; 0 or
// less: none.
func NewInferred(retryAfter time.Duration) *Inferred {
	return &Inferred{inferredWindow: inferredWindow{refused: true, until: Never}, longest: retryAfter}
}

// firstWindow is what departed before the first refusal of a server that had told nothing.
type firstWindow struct {
	began, dry, came Instant // departures of the first request and of the refused one, and its arrival
	served           int64   // of what departed until then, and of what is answered since; 0: not known
	several          bool    // requests that departed before it came were refused, too
	until            Instant // when it is over, by the Retry-After; Never: it had none
}

// Began takes over the first refusal, at t, of a request that departed at sent, of a server that
// has told nothing since it was first called: all that it has served departed from an instant on.
func (g *Inferred) Began(w *Window, began, t, sent Instant) {
	served := int64(w.departed) - w.Unanswered() - 1
	g.spread = spreading{progress{served, time.Duration(sent - began)}, sent.Add(g.longest), g.longest}
	if w.epoch != 1 || w.Quota >= 0 || served <= 0 {
		return
	}
	g.first = firstWindow{began: began, dry: sent, came: t, served: served, until: Never}
	if g.longest > 0 {
		g.first.until = sent.Add(g.longest)
	}
}

// shows reports whether the first window, which a request ends that departed at an instant, shows a
// quota of all that departed in it, and when it ended: it was used up soon, several requests were
// refused, nothing was in flight after those, and its end was told, or found by one back-off.
func (f *firstWindow) shows(g *Inferred, sent Instant) (end Instant, ok bool) {
	end = min(sent, f.until, g.until)
	wait := end - f.dry
	ok = f.served > 0 && f.several && f.dry-f.began <= wait/4
	return end, ok && (f.until < Never || wait < 2*Instant(minBackOff))
}

// A stretch is windows in a row that may be parts of a longer one.
type stretch struct {
	windows int64
	began   Instant
	served  int64
	hold    time.Duration // the longest that ended one of them; 0: none did
}

// stretches are those before a window: the hold of each is less than half of that before it.
type stretches struct {
	of [maxStretches]stretch
	n  int
}

// join adds a window in which nothing was left from dry on. If at least two before it were ended by
// holds of less than half as long as its own, and all of these were in that time, they are parts of it: a
// sliding log gives back some units at a time. Then it returns them all as one.
func (ss *stretches) join(opened, dry Instant, served int64, hold time.Duration) (began Instant, all int64) {
	s := stretch{1, opened, served, hold}
	for ; ss.n > 0 && 2*ss.of[ss.n-1].hold <= hold; ss.n-- {
		p := &ss.of[ss.n-1]
		s.windows, s.began, s.served = s.windows+p.windows, p.began, s.served+p.served
	}
	if s.windows > 2 && time.Duration(dry-s.began) <= hold {
		opened, served = s.began, s.served
	}
	switch {
	case ss.n > 0 && ss.of[ss.n-1].hold <= 2*hold:
		p := &ss.of[ss.n-1]
		p.windows, p.served = p.windows+s.windows, p.served+s.served
	case ss.n < maxStretches:
		ss.of[ss.n] = s
		ss.n++
	}
	return opened, served
}

// Anew returns what is still known once it has turned out that g counted what the quota
// does not concern.
func (g *Inferred) Anew() *Inferred { return NewInferred(g.longest) }

// Infers reports whether a quota is inferred from refusals.
func (w *Window) Infers() bool { return w.Strategy == Adaptive }

// Refused takes over a refusal at t of a request that departed at sent, with its
// Retry-After; 0 or less: none.
func (g *Inferred) Refused(w *Window, t, sent Instant, retryAfter time.Duration) {
	if g.pace.unit > 0 {
		g.refusedAtPace(w, t, sent, retryAfter)
		return
	}
	tooMany := g.Ceiling.Refused(w, t, sent)
	if sent < g.opened {
		return
	}
	if tooMany && w.State == Counting {
		w.slow = w.habits().slowStart() // our own count is as right as before
		return
	}
	if !g.refused && !w.IsLook(sent) && g.slid(w, sent, retryAfter) {
		return
	}
	bare, dry := retryAfter <= 0, sent
	if bare {
		if g.wasTooSoon(w, sent); g.over > 0 && g.served >= w.Quota && !w.isShort() {
			dry = g.opened // all was used up, and windows are longer
		}
	}
	if w.IsLook(sent) {
		w.rare.look, dry = noLook, g.opened // all was used up before it
		g.partial = false                   // the first window was a whole one
		if opened := g.opened; w.isShort() && !g.narrows(w) {
			if g.isRoundedUp(w) {
				g.seconds = -1
			}
			if retryAfter > 0 { // the window is over then, at the latest
				w.SetPolicy(Requests, w.Quota, min(w.Length, time.Duration(sent.Add(retryAfter)-g.opened)))
			}
			g.leaveOut()
			if bare {
				g.dry, g.lookedIn = sent, opened
			}
			return
		}
		g.failed = min(g.failed+1, maxFailed)
		if g.skip = 1 << g.failed; g.narrows(w) {
			g.skip = 0
		}
		if w.State == Counting && w.epoch == g.epoch {
			return // our own count is as right as before
		}
	}
	if g.refused && sent <= g.came {
		g.balance++
	}
	g.several = g.several || g.refused && sent <= g.came || w.Refusals >= sureRow
	g.first.several = g.first.several || sent <= g.first.came
	g.untrue = g.untrue || g.isUntrue(sent, retryAfter)
	if !g.refused {
		g.refused, g.dry, g.came = true, dry, t
		g.out = uint8(min(w.Unanswered()+1, mostCeiling))
		left := g.early && g.served < w.Quota/2 // the look found what was left
		counts := w.State == Counting
		if g.usedUp > 0 && (left && (counts || bare) || counts && !bare && retryAfter < w.Length/2) {
			if g.opened, g.served, g.merged = g.usedOpened, g.served+g.usedUp, true; bare {
				g.wasTooSoon(w, sent)
			}
		}
	}
	if w.State == Counting {
		w.distrust(t) // the count was too high: one request asks first
	}
	if since := time.Duration(t - g.opened); g.guessed && g.opened > 0 && bare {
		w.BackOff = max(w.BackOff, t.Add(min(since/shortBackOff, max(since/longBackOff, maxBackOff))))
	}
	if retryAfter > 0 {
		g.nothing = g.nothing || g.isNext(g.until, sent.Add(retryAfter))
		g.longest = max(g.longest, retryAfter)
		g.until = min(g.until, sent.Add(retryAfter))
	}
}

// Hasten ends the back-off after a refusal at t sooner, if the next window of a longer quota is expected before. If a request is
// refused then, too, the back-off after that is as long as this one was.
func (g *Inferred) Hasten(w *Window, t Instant) {
	if again := max(g.longer.again(w), t.Add(minBackOff)); g.over > 0 && again < w.BackOff {
		w.BackOff, w.Refusals = again, max(w.Refusals, 2)-1
	}
}

// isUntrue reports whether a Retry-After before this refusal was not true: the refused request departed after it, and is
// to wait for longer than whole seconds explain. A server that refuses at random does so: what it served
// between two refusals is no pace.
func (g *Inferred) isUntrue(sent Instant, retryAfter time.Duration) bool {
	const rounded = 3 * time.Second / 2 // up or down
	return sent >= g.until && sent.Add(retryAfter) > g.until.Add(rounded)
}

// RefusedElsewhere takes over that a server which is down refused a request. That request has begun no window of the
// server's. So if nothing was served in ours, the next request begins it anew.
func (g *Inferred) RefusedElsewhere(w *Window) {
	if w.State == Counting && w.epoch != g.epoch && g.pace.unit == 0 && w.Unanswered() == 0 {
		w.count(0)
	}
}

// Served takes over at t that a request which departed at sent was served.
func (g *Inferred) Served(w *Window, t, sent Instant) {
	if g.pace.unit > 0 {
		if sent >= g.until {
			g.until = Never
		}
		if !g.pace.servedAt(w, t, sent, max(g.longest, minBackOff)) {
			w.DropInferred(Requests, None, 0)
		}
		return
	}
	if w.logsInferred() {
		w.rare.spent.heard(t, sent)
	}
	defer g.Ceiling.Served(w, sent)
	defer g.longer.serves(sent)
	switch {
	case sent < g.opened:
	case g.refused && sent >= max(w.Hold, w.BackOff):
		g.close(w, t, sent)
	case !g.refused && w.State == Counting && w.epoch == g.epoch && w.IsLook(sent):
		g.looked(w, sent)
	case !g.refused && w.State == Counting && w.epoch != g.epoch:
		g.next(w)
	default:
		if g.refused && g.came > 0 {
			g.balance--
		}
		g.served++
		if g.first.served > 0 {
			g.first.served++
		}
	}
}

// close ends a window that ended with a refusal, with a request that was served
// after it.
func (g *Inferred) close(w *Window, t, sent Instant) {
	last, f := *g, &g.first
	first, shows := f.shows(g, sent)
	if shows && g.most < leastCeiling {
		last.opened, last.served, last.dry, last.came, last.several, last.until = max(f.began, 1), f.served, f.dry, f.came, true, min(f.until, g.until)
	}
	g.pace.burst = max(g.pace.burst, last.served, f.served)
	end := min(sent, last.until)
	counted := last.opened
	if last.opened > 0 && last.until != Never {
		last.opened, last.served = g.before.join(last.opened, last.dry, last.served, time.Duration(end-last.dry))
	}
	sure := last.several || last.opened != counted || last.last > 0 && max(last.last-last.served, last.served-last.last) <= last.served/16 ||
		w.Quota >= 0 && last.served+last.more >= w.Quota-w.Quota/16
	if part := last.until != Never && time.Duration(end-last.dry) < w.Length/2; !sure && !part && w.Quota >= 0 {
		w.DropInferred(Requests, None, 0)
	}
	length := time.Duration(end - last.opened)
	if last.until == Never && length < 2*minBackOff && last.tooSoon < minBackOff && last.dry-last.opened < Instant(minBackOff) && last.served > 2*int64(g.most) {
		length = min(length, minBackOff) // the rest is the jitter of the back-off
	}
	if g.brief > 0 && max(g.last-last.served, last.served-g.last) <= last.served/16 {
		length = min(length, g.brief) // in a slow start, the last window had the same quota and was used up sooner
	}
	if last.brief = 0; shows && g.most >= leastCeiling {
		last.served, last.brief = f.served, time.Duration(first-f.began)
	}
	told := last.until != Never
	longer := !told && (last.opened > 0 || last.lookedIn > 0) && time.Duration(end-last.dry) > max(2*w.Length, longPause) &&
		g.longer.contradicts(max(last.served, last.last, w.Quota), length, last.dry)
	if longer {
		g.longer.ends(sent)
	} else {
		last.tooSoon = max(last.tooSoon, last.over)
	}
	g.inferredWindow = inferredWindow{opened: sent, served: 1, until: Never, more: 1}
	g.last, g.brief, g.tooSoon = last.served, last.brief, last.tooSoon
	prompt := sent-max(w.Hold, w.BackOff) <= end-last.dry
	if few := !longer && last.opened > 0 && last.served < minInferred && prompt && !last.untrue && g.most < leastCeiling; !few {
		g.pace.few = 0
	} else if g.pace.isFew(last.opened, sent, last.served, told) {
		g.pace.start(w, sent.Add(g.pace.unit))
		return
	}
	if told {
		if sure && g.spreads(w, &last, sent) {
			g.pace.start(w, sent.Add(g.pace.unit))
			return
		}
		g.spread.ended, g.spread.longest = last.until, g.longest
	}
	switch {
	case last.opened == 0, longer && w.Quota < 0:
	case last.served < minInferred || last.dry-last.opened > end-last.dry && !last.merged:
	case !sure:
	case length < last.longest/2:
		g.longest /= 2 // the server may have changed
	default:
		longer = longer || w.Quota >= 0 && told && time.Duration(end-last.dry) > 2*w.Length && last.opened == counted
		if g.guessed = last.until == Never; g.guessed && w.Quota >= 0 && length >= w.Length && last.tooSoon < w.Length {
			g.guessed, length = last.guessed, w.Length // back-off has only taken longer
		}
		if told && w.Quota >= 0 && last.opened == counted && length > w.Length && length < w.Length+time.Second {
			length = w.Length // a Retry-After is up to a second longer than what is left of its window
		}
		g.partial = shows && length >= 2*minLook
		if !longer { // else another quota, of longer windows, was used up
			g.found(w, last.served)
			g.kept = last.served
			w.SetPolicy(Requests, last.served, length)
			g.bound(length)
		}
		w.forget()
		w.Count(sent, 1)
		w.Timed(t, sent)
		w.logInferred(t, sent)
		g.plan(w)
	}
	if w.Quota >= 0 && max(last.served, last.last) < w.Quota/2 {
		w.DropInferred(Requests, None, 0) // two windows in a row showed much less, such as a bucket after its burst
		w.forget()
		w.slow = w.habits().slowStart()
	}
	if w.State == Unknown && w.slow > 0 && last.opened > 0 {
		w.slow = max(w.slow, uint8(min(last.served, int64(last.out))/2))
	}
	g.epoch = w.epoch
}

// slid reports whether the refusal of a request that departed at sent is explained by units that come back as they were
// spent: our own log had no room for it. Once that was seen, a refusal also says how many units there are, if these are nearly
// as many as were inferred. Else they do not come back like that.
func (g *Inferred) slid(w *Window, sent Instant, retryAfter time.Duration) bool {
	if !w.logsInferred() || g.refuted || !w.isShort() || retryAfter > 0 && w.Quota < fewSlide && g.seconds <= 0 {
		return false
	}
	l := w.rare.spent
	switch slot, sure := l.find(sent); {
	case slot == nil:
		return false
	case !sure:
		l.slides = true
		return true
	}
	served := min(w.Quota-w.room(sent), w.Quota) - 1
	if served < max(g.kept-g.kept/16-1, minInferred) {
		g.refuted, l.slides = true, false
	}
	if !l.slides {
		return false
	}
	g.found(w, served)
	w.SetPolicy(Requests, served, w.Length)
	g.clean, g.more = 0, 1
	return true
}

// found takes over the quota that a refusal has shown. If that refusal was of a try of more, it is counted: see untilTry.
func (g *Inferred) found(w *Window, quota int64) {
	if w.Quota > g.kept && quota < w.Quota && quota >= g.kept-g.kept/16 {
		g.tried = min(g.tried+1, maxTries)
	} else {
		g.tried = 0
	}
}

// isRoundedUp reports whether windows may be shorter by the part of a second than a Retry-After has said.
func (g *Inferred) isRoundedUp(w *Window) bool {
	whole := w.Length.Truncate(time.Second)
	return !g.guessed && g.seconds >= 0 && w.Quota >= fewSlide && whole > 0 && w.Length-whole > w.Length/narrow
}

// untilTry is how many windows in a row must be used up before more is tried. It is ten at first, and twice as many after each
// try that was refused, as long as they take no more than five minutes.
func (g *Inferred) untilTry(w *Window) uint8 {
	return uint8(max(cleanWindows, min(cleanWindows<<g.tried, lookWithin/max(w.Length, 1))))
}

// logsInferred reports whether our own log is that of an inferred quota.
func (w *Window) logsInferred() bool { return w.hasLog() && w.rare.spent.infers }

// logInferred begins our own log of an inferred quota with a request that departed at sent and was answered at t. A log that
// there is goes on with windows of the new length.
func (w *Window) logInferred(t, sent Instant) {
	if w.logsInferred() {
		w.rare.spent.length = w.Length
		return
	}
	l := w.keepLog(ownLog{infers: true, length: w.Length})
	l.slots = append(l.slots, slot{from: sent, at: t, units: uint32(min(1+w.Unanswered(), math.MaxInt32)), sure: true})
}

// forgetInferredLog forgets our own log of an inferred quota, which is given up.
func (w *Window) forgetInferredLog() {
	if w.logsInferred() {
		w.forgetLog()
	}
}

// whenSlid is when n units are back, of our own count, that come back as they were spent; now, if they do not.
func (w *Window) whenSlid(t Instant, n int64) Instant {
	if !w.hasLog() || !w.rare.spent.slides || !w.logsInferred() && !w.unshared() {
		return t
	}
	return w.whenRoom(t, n)
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

// IsGuessed reports whether the window is an inferred one whose end was found by back-off, or whose quota may be the rest
// of a window: a look into it may find much.
func (w *Window) IsGuessed() bool { return w.is(guessed) && w.State == Counting }

// Looks reports whether one request is to depart before the end of an inferred window.
func (w *Window) Looks() bool { return w.State == Counting && w.rarely().look.planned() }

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

// narrows reports whether windows may be much shorter than they seem, because back-off has found their end, but
// not so short as the time at which a look was refused.
func (g *Inferred) narrows(w *Window) bool {
	return g.guessed && w.Length >= 2*minBackOff && g.tooSoon < w.Length-w.Length/narrow
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

// IsLook reports whether a request that departed at sent is the look that is out.
func (w *Window) IsLook(sent Instant) bool {
	return w.rare != nil && w.rare.look == lookOut && sent == w.asked
}

// isShort reports whether a look that is refused costs more than it may win, unless units come back one by one.
func (w *Window) isShort() bool { return w.Length/2 < minLook }

// leaveOut takes over that a look into a short window was in vain. It has ended the window before its time, so
// that says nothing of the quota.
func (g *Inferred) leaveOut() {
	g.rest, g.opened, g.refused = 1<<maxFailed, 0, true
}

// looksEach returns n so that one of n windows of such a quota and length has a look, because they may have become
// shorter: one in five minutes, or in 200 requests if these take longer.
func looksEach(quota int64, length time.Duration) uint8 {
	return uint8(min(max(int64(lookWithin/max(length, 1)), lookShare/max(quota, 1), 1), math.MaxUint8))
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

func (w *Window) setLook(l look) {
	if w.rarely().look != l {
		w.ownRare().look = l
	}
}

// next ends a window that ended without a refusal. After ten such windows in a row, or more as untilTry says,
// that were used up one unit more is tried, then 4, 16, … until one is refused. The first costs one
// refusal. Once it was served, the quota is another, and may be ten times as large.
func (g *Inferred) next(w *Window) {
	g.before.join(g.opened, w.due, g.served, 0)
	g.last, g.brief = g.served, 0
	if g.usedUp, g.usedOpened = g.served, g.opened; g.served < w.Quota {
		g.clean, g.usedUp = 0, 0
	} else if g.clean++; g.clean >= g.untilTry(w) {
		w.SetPolicy(Requests, w.Quota+g.more, w.Length)
		g.clean, g.more = g.clean-1, growth*g.more
	}
	g.opened, g.served, g.epoch, g.early = w.due-Instant(w.Length), 1, w.epoch, false
	g.plan(w)
}

// DropInferred returns to the policy as it is advertised, or to none: a negative
// quota.
func (w *Window) DropInferred(unit Unit, quota int64, length time.Duration) {
	w.SetPolicy(unit, quota, length)
	w.slow = 0
	w.forgetInferredLog()
	w.set(bounded|guessed, false)
	w.setLook(noLook)
}
