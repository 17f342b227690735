package window

import "time"

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
