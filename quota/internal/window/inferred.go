package window

import "time"

// Inferred is habit 5 of Adaptive: the quota of a server that says nothing of its
// quotas and refuses now and then. It is what the server served between two of the
// instants at which it began to serve again, in the time between them; see ending.go.
// It is counted like a policy without a service limit. Then
//
//   - requests look now and then whether windows are shorter (inferredlook.go),
//   - our own log says whether units come back as they were spent (inferredlog.go),
//   - more units are tried after some windows that were used up (next, below).
//
// A second quota of longer windows may be used up, too: see longer.go. If more requests in
// flight than some bound are refused, no quota is inferred from that: see ceiling.go. Where few units are
// served in a window, or a quota is spread over windows, units have a pace: see pace.go and spread.go.
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
	joins   uint8         // windows in a row that windows before were parts of
	seconds int8          // a look showed that windows take whole seconds: 1, or that they do not: -1
	least   time.Duration // after which a window that was used up was not over, by a Retry-After; 0: none was
	atMost  time.Duration // and the shortest after which one was over
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
	ranOver  bool    // the first was after it should have been over: it takes longer
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
	cleanWindows = 10              // used up before more is tried
	growth       = 4               // times as many more are tried in the next window
	fewSlide     = 10              // units of a quota with Retry-After: a small bucket, or chance, is likelier than a sliding log or a whole second
	minInferred  = 4               // served in a window, or nothing can be told
	sureJoins    = 2               // see Inferred.slides
	sureRow      = 3               // refusals in a row are of a quota
	lookWithin   = 5 * time.Minute // of the last one
	shortBackOff = 8               // of the time since such a window began, the part that a refusal is waited after, up to a minute
	longBackOff  = 32              // and the part that is waited if that is longer
)

// NewInferred returns what is known after the first refusal, with its Retry-After; 0 or
// less: none.
func NewInferred(retryAfter time.Duration) *Inferred {
	return &Inferred{inferredWindow: inferredWindow{refused: true, until: Never}, longest: retryAfter}
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
	switch {
	case sent < g.opened:
		return
	case tooMany && w.State == Counting:
		w.slow = w.habits().slowStart() // our own count is as right as before
		return
	case !g.refused && !w.IsLook(sent) && g.slid(w, sent, retryAfter):
		return
	}
	bare, dry := retryAfter <= 0, sent
	if bare {
		if g.wasTooSoon(w, sent); g.over > 0 && g.served >= w.Quota && !w.isShort() {
			dry = g.opened // all was used up, and windows are longer
		}
	} else if !g.refused && g.runsOver(w, sent) && retryAfter < w.Length {
		g.ranOver = true
	}
	if w.IsLook(sent) {
		if g.lookRefused(w, sent, retryAfter) {
			return
		}
		dry = g.opened // all was used up before it
	}
	if others := sent <= g.came; g.refused && others {
		g.several = true
		g.balance++
	}
	g.several = g.several || w.Refusals >= sureRow
	g.first.several = g.first.several || sent <= g.first.came
	g.untrue = g.untrue || g.isUntrue(sent, retryAfter)
	if !g.refused {
		g.runOut(w, t, sent, dry, retryAfter)
	}
	if w.State == Counting {
		w.distrust(t) // the count was too high: one request asks first
	}
	if since := time.Duration(t - g.opened); g.guessed && g.opened > 0 && bare {
		w.BackOff = max(w.BackOff, t.Add(min(since/shortBackOff, max(since/longBackOff, maxBackOff))))
	}
	if !bare {
		g.nothing = g.nothing || g.isNext(g.until, sent.Add(retryAfter))
		g.longest = max(g.longest, retryAfter)
		g.until = min(g.until, sent.Add(retryAfter))
	}
}

// Told takes over that a refusal of a request that departed at sent, which was taken over without a Retry-After, asks to wait for so long.
func (g *Inferred) Told(sent Instant, wait time.Duration) {
	g.longest = max(g.longest, wait)
	if g.refused {
		g.until = min(g.until, sent.Add(wait))
	}
}

// runOut takes over the first refusal of a window, at t, of a request that departed at sent. Nothing was left from dry on. If the
// window before was used up, too, this one may be a part of it: a look found what was left, or the Retry-After is less than half a
// window.
func (g *Inferred) runOut(w *Window, t, sent, dry Instant, retryAfter time.Duration) {
	g.refused, g.dry, g.came = true, dry, t
	g.out = uint8(min(w.Unanswered()+1, mostCeiling))
	bare, counts := retryAfter <= 0, w.State == Counting
	found := g.early && g.served < w.Quota/2 && (counts || bare)
	if g.usedUp == 0 || g.ranOver || g.clean >= shortWindows || !found && (bare || !counts || retryAfter >= w.Length/2) {
		return
	}
	if g.opened, g.served, g.merged = g.usedOpened, g.served+g.usedUp, true; bare {
		g.wasTooSoon(w, sent)
	}
}

// Hasten ends the back-off after a refusal at t sooner, if the next window of a longer quota is expected before. If a request is
// refused then, too, the back-off after that is as long as this one was.
func (g *Inferred) Hasten(w *Window, t Instant) {
	if again := max(g.longer.again(w), t.Add(minBackOff)); g.over > 0 && again < w.BackOff {
		w.BackOff, w.Refusals = again, max(w.Refusals, 2)-1
	}
}

// runsOver reports whether a request that departed at sent was refused although the window should have been over, in which all was
// used up.
func (g *Inferred) runsOver(w *Window, sent Instant) bool {
	return w.State == Counting && g.opened > 0 && g.served >= w.Quota && time.Duration(sent-g.opened) >= w.Length && !w.isShort()
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
	defer g.Ceiling.Served(w, t, sent)
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

// Spent takes over that a request which departed at sent was refused, but not for the quota: its unit is used up.
func (g *Inferred) Spent(sent Instant) {
	if sent >= g.opened && g.opened > 0 && !g.refused && g.pace.unit == 0 {
		g.served++
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

// found takes over the quota that a refusal has shown. If that refusal was of a try of more, it is counted: see untilTry.
func (g *Inferred) found(w *Window, quota int64) {
	if w.Quota > g.kept && quota < w.Quota && quota >= g.kept-g.kept/16 {
		g.tried = min(g.tried+1, maxTries)
	} else {
		g.tried = 0
	}
}

// untilTry is how many windows in a row must be used up before more is tried. It is ten at first, and twice as many after each
// try that was refused, as long as they take no more than five minutes.
func (g *Inferred) untilTry(w *Window) uint8 {
	return uint8(max(cleanWindows, min(cleanWindows<<g.tried, lookWithin/max(w.Length, 1))))
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
