package fleet

import (
	"slices"

	"github.com/headway-go/headway/quota/exchange"
)

// This file is how units come back. A window gives all of them back at its end. A log
// gives each unit back a window after it was spent, and two weighed windows give back what
// was spent in the one before, evenly. Both look like a window that is still used up when
// it should be over: the request that looks finds only the first units.
//
// So what was spent is noted, with when it departed. If a figure says that more is used
// than the present window can have used, as much as a log or weighed windows would have,
// one request looks again when these would have given something back, long before the
// server's own words allow it. If they have, the units are presumed as they come back from
// then on; if not, the next such figures are left out, twice as many after each.
//
// A bucket gets unit by unit, and says when it gets the next one, or when it will be full. Of
// that a window would be over now, and few are there: each request that looks finds some, and
// may cost more than that. So if the figures of half a window say no other time, and what was
// spent meanwhile is what comes back at the quota in its window, the units are presumed to come
// back like that, up to the most that was ever there.
//
// What is presumed becomes less when a request is refused, and more as others are served. Until it is
// all again, a few units of what comes back evenly or steadily are left: see margin.

// back is how the units of a record come back.
type back = int64

const (
	atOnce       back   = iota // at the end of the window, as far as it is known; with a trial, one request looks before
	perhapsLog                 // one request looks when a log would have given back all
	asSpent                    // a log
	perhapsEven                // one request looks when weighed windows would have given back some
	evenly                     // weighed windows
	steadily                   // a bucket
	singly                     // one that has one unit at a time
	sureOf       = 1000        // of 1000: all that should be back is presumed
	doubtful     = 500         // below that, nothing is
	marginStep   = 75          // for so much less of trust, one unit more is left to others
	marginPart   = 16          // but no more than a sixteenth of the quota
	maxSpendings = 16
	longestModel = 24 * 3600 * sec
	largestModel = int64(1e8)
	parts        = int64(1e6) // of a window
	justNow      = 40 * msec  // see steady
	lateBy       = 10 * msec  // see lag
	punctual     = 2 * msec   // see late
)

// A spending is units that were spent.
type spending struct{ at, n int64 }

// renewal is what is known of how the units of a record come back.
type renewal struct {
	quota    int64 // of the policy; none: not known
	window   int64 // of the policy; if it does not tell one, the longest that was seen
	how      back
	trust    int64 // of 1000, how much of what should be back is presumed; atOnce: 1 if others used the window before
	fails    int64 // looks that found nothing
	skip     int64 // figures to be left out
	trial    int64 // when one request looks
	said     int64 // when a figure was heard last
	from     int64 // since when units that come back evenly or steadily, or might, are counted; or when the next comes singly
	counted  int64 // how many were; before it is known: how many were spent, less the first figure; singly: 1 if the last figure left many
	most     int64 // the highest figure
	spent    int64 // in this window
	before   int64 // in the one before
	spending []spending
}

// modelled reports whether it is known how units come back before the end of a window.
func (r *renewal) modelled() bool { return r.how == asSpent || r.how >= evenly }

// policy takes over the quota and the window of the policy, and reports whether that was another quota
// before. Of windows that the policy does not tell, the longest counts that any process has seen: so it is
// the same in whatever order they come. It counts until a process has told of a longer one in error.
func (r *renewal) policy(a *exchange.Account) (others bool) {
	w := a.Window.Microseconds()
	seen := w <= 0
	w = max(w, -w)
	switch {
	case a.Quota == none && !a.Concurrent: // this process does not know it yet
		return false
	case seen && !a.Shorter && !a.Concurrent && r.quota == a.Quota && w <= r.window:
		return false
	case a.Concurrent || a.Quota < 1 || a.Quota > largestModel || w < sec || w > longestModel:
		*r = renewal{quota: none}
		return false
	case r.quota == a.Quota && r.window != w: // what was spent in this window and in the one before does not change
		*r = renewal{quota: a.Quota, window: w, spending: r.spending, most: r.most, spent: r.spent, before: r.before}
	case r.quota != a.Quota:
		others = r.quota != none
		*r = renewal{quota: a.Quota, window: w, spending: r.spending}
	}
	return others
}

// spend notes that n units were spent at an instant, in a window that began at another.
func (r *renewal) spend(at, n, began int64) {
	if r.quota == none || n < 1 {
		return
	}
	n = min(n, largestModel)
	if at >= began {
		r.spent = min(r.spent+n, largestModel)
	} else {
		r.before = min(r.before+n, largestModel)
	}
	if r.modelled() {
		r.trust = min(r.trust+n, sureOf)
	} else if r.from > 0 && at > r.from {
		r.counted = min(r.counted+n, largestModel)
	}
	i := len(r.spending)
	for i > 0 && r.spending[i-1].at > at {
		i--
	}
	r.spending = slices.Insert(r.spending, i, spending{at, n})
	if len(r.spending) <= maxSpendings {
		return
	}
	// The two that are closest become one, of the later instant.
	i = 1
	for j := 2; j < len(r.spending); j++ {
		if r.spending[j].at-r.spending[j-1].at < r.spending[i].at-r.spending[i-1].at {
			i = j
		}
	}
	r.spending[i].n = min(r.spending[i].n+r.spending[i-1].n, largestModel)
	r.spending = slices.Delete(r.spending, i-1, i)
}

// out is how many units a log has not given back at t.
func (r *renewal) out(t int64) (n int64) {
	for _, s := range r.spending {
		if s.at+r.window > t {
			n += s.n
		}
	}
	return n
}

// part is how much of the window that ends then is over at t, of parts.
func (r *renewal) part(t, end int64) int64 {
	over := min(max(t-(end-r.window), 0), r.window)
	return over / msec * parts / (r.window / msec)
}

// even is how many units have come back evenly between two instants of the window that
// ends then.
func (r *renewal) even(from, to, end int64) int64 {
	return r.before * r.trust / sureOf * max(r.part(to, end)-r.part(from, end), 0) / parts
}

// steady is how many units a bucket gets in so much time, if it gets so many in a window.
// Those that came a moment ago are left out: a request may reach the server as much earlier.
func (r *renewal) steady(d, rate int64) int64 {
	d = min(max(d-justNow, 0), 2*r.window)
	return d / msec * parts / (r.window / msec) * rate / parts
}

// size is how many units there are at most. A bucket may hold much less than the quota: no figure
// comes near it, although a window has ended, and it is full long before the window of the policy is over.
func (r *record) size() int64 {
	if r.began != 0 && r.most > 0 && 2*r.most <= r.quota && 2*(r.end-r.began) <= r.window {
		return r.most
	}
	return r.quota
}

// soon reports whether a unit comes back so soon that it would gain nothing, and cost exchanges, to come at the
// instant when one that comes back evenly is there.
func (r *renewal) soon() bool { return r.window/r.quota < behind }

// rate is how many units a bucket is presumed to get in a window.
func (r *renewal) rate() int64 { return r.quota * r.trust / sureOf }

// doubt takes over that a request was refused.
func (r *renewal) doubt() {
	if r.how == atOnce && r.trial > 0 {
		r.fail()
	}
	if !r.modelled() {
		return
	}
	if r.trust = r.trust * 17 / 20; r.trust < doubtful {
		r.fail()
	}
}

// fail ends a presumption that was wrong.
func (r *renewal) fail() {
	r.fails = min(r.fails+1, 10)
	r.how, r.trial, r.trust, r.skip, r.from, r.counted = atOnce, 0, 0, 4<<r.fails, 0, 0
}

// turned begins a new window, at once after the one before or later.
func (r *record) turned(now int64, adjacent bool) {
	r.age(now)
	if r.how == atOnce {
		r.trust, r.trial = 0, 0
		// What departed in the first window before the policy was known is not counted.
		if r.began > 0 && r.quota != none && r.state == exchange.Reported && r.size()-r.available-r.spent-r.has() > 1+r.size()/8 {
			r.trust = 1
		}
	}
	r.before, r.spent = r.spent, 0
	if !adjacent {
		r.before = 0
	}
}

// has is how many units all processes have.
func (r *record) has() (n int64) {
	for _, m := range r.members {
		n += m.has
	}
	return n
}

// each is the time in which one unit comes back.
func (r *renewal) each() int64 { return r.window / r.quota * sureOf / max(r.trust, 1) }

// lag is the margin between two units that come back singly. They must not overtake each other on
// their way.
func (r *renewal) lag() int64 { return min(max(r.window/r.quota/3, lateBy), justNow) }

// pace is the time between two units that come back singly, where it is not known when the first was taken.
func (r *renewal) pace() int64 { return r.each() + r.lag() }

// taken plans the next of the units that come back singly, after n were granted. If no others are in flight,
// answers come sooner than by the pace, and one that does not is of a slow request: it gets more time.
func (r *record) taken(now, n int64) {
	r.from = now + n*r.pace()
	if r.has() == n {
		r.from += r.lag()
	}
}

// follow has the next of the units that come back singly follow the last one as soon as that was served and none
// is in flight: then it is known when it was taken, and no margin is needed.
func (r *record) follow(a *exchange.Account) {
	if a.Served > 0 && !a.Refused && a.Hold <= 0 && r.has() == 0 {
		r.from = r.spending[len(r.spending)-1].at + r.each()
	}
}

// notSingly takes over a figure of units that come back singly: they do not, if two such figures in a row say that much
// is left. What one says may be an error.
func (r *record) notSingly(figure int64) {
	switch {
	case 2*figure <= r.size():
		r.counted = 0
	case r.counted == 0:
		r.counted = 1
	default:
		r.how, r.trust, r.from = atOnce, 0, 0
	}
}

// rollModelled brings a record whose units come back before the end up to date. It
// reports false if nothing was heard for a window: then nothing is presumed.
func (r *record) rollModelled(now int64) bool {
	if now >= r.said+r.window || r.said > now {
		if r.how == evenly {
			r.trial = r.end // for when it is known again
		}
		return false
	}
	if r.how == asSpent {
		r.available = max(r.quota-r.out(now), 0) * r.trust / sureOf
		r.end, r.length = now+r.window, r.window
		return true
	}
	if r.how == steadily || r.how == singly {
		r.come(now)
		r.end, r.length = 0, 0
		return true
	}
	if r.end <= 0 {
		return false
	}
	if now >= r.end {
		r.come(r.end)
		r.turned(now, true)
		r.from, r.counted, r.end = r.end, 0, r.end+r.window
		r.version++
		if now >= r.end {
			return false
		}
	}
	r.length = r.window
	r.come(now)
	return true
}

// come adds the units that have come back evenly or steadily until t.
func (r *record) come(t int64) {
	if r.how == singly {
		r.available = r.has()
		if t >= r.from {
			most := int64(1)
			for _, m := range r.members {
				most = max(most, m.least)
			}
			r.available += most
		}
		return
	}
	if r.how == steadily {
		n, most := r.steady(t-r.from, r.rate()), r.most
		for _, m := range r.members {
			most = max(most, m.least) // there may be as many: a request finds out
		}
		r.available = max(r.available, min(r.available+n-r.counted, most))
		r.counted = max(n, r.counted)
		if t-r.from-justNow >= r.window {
			r.from += r.window / msec * msec
			r.counted -= r.rate()
		}
		return
	}
	n := r.even(r.from, t, r.end)
	r.available = min(r.available+max(n-r.counted, 0), r.quota)
	r.counted = max(n, r.counted)
}

// figureModelled takes over a figure of a record whose units come back before the end.
func (x *execution) figureModelled(r *record, a *exchange.Account, current bool) {
	now, figure := x.now, min(a.Figure, r.quota)
	date := now - max(a.FigureAgo.Microseconds(), 0)
	first := r.state != exchange.Reported
	before := r.available
	r.state, r.said, r.figured, r.probe = exchange.Reported, now, now, 0
	if figure > 0 {
		r.probes = 0
	}
	if r.how == asSpent {
		// What is missing beyond all that our processes may have spent, others have.
		if others := r.quota - r.out(date-50*msec) - r.has() - figure; others > 0 && others <= r.quota {
			trust := r.trust
			r.spend(date, others, now)
			r.trust = trust
		}
		for current && len(r.spending) > 0 && r.quota-r.out(now) < figure {
			r.spending = r.spending[1:] // it is back
		}
		r.rollModelled(now)
	} else if r.how == singly {
		if current && figure > 0 {
			r.from = min(r.from, now)
		}
		r.follow(a)
		r.come(now)
		r.end = 0
	} else if r.how == steadily {
		r.most = max(r.most, min(a.Figure, largestModel))
		n := r.steady(now-date, r.rate())
		if figure = min(a.Figure+n, r.most); current || first || figure < r.available {
			r.available, r.from, r.counted = figure, date, n
		}
		r.end = 0
	} else {
		end := now + max(a.Left.Microseconds(), 0)
		switch {
		case a.Left < 0:
			return
		case first:
			// If it has ended the window that was known last, or is that one, units come back of it.
			known := r.trial + max(now-r.trial+r.window-1, 0)/r.window*r.window
			near := r.trial > 0 && known < end+sec && end < known+sec
			if !near || now >= r.trial {
				r.turned(now, near && known <= r.trial+r.window)
			}
			r.end = end
			// Seconds are rounded up, so a window that would have ended a little before is it.
			if near && known < end {
				r.end = max(known, now+1)
			}
		case end > r.end+sameWindow:
			r.turned(now, true)
			r.end = end
		case date >= r.end-r.window && end < r.end:
			r.end = max(end, now+1) // whole seconds are rounded up, so the earliest is right
		}
		r.length = r.window
		from := date
		if !r.soon() {
			from += justNow // what came back while the request was on its way is in the figure
		}
		n := r.even(from, now, r.end)
		if figure = min(figure+n, r.quota); current || first || figure < r.available {
			r.available, r.from, r.counted = figure, from, n
		}
	}
	if first || r.available != before {
		r.version++
	}
}

// observe looks whether a figure shows that units come back before the end of a window:
// available is what was known before, and end when the window was to end.
func (r *record) observe(now int64, a *exchange.Account, available, end int64) {
	if r.quota == none || a.Left < 0 || r.how == atOnce && r.trial > 0 {
		return
	}
	date, left := now-max(a.FigureAgo.Microseconds(), 0), a.Left.Microseconds()
	used := r.quota - min(a.Figure, r.quota)
	most := 1 + r.quota/8
	near := func(units int64) bool { return max(units, used)-min(units, used) <= most }
	evens := near(r.spent + r.before - r.before*r.part(now, now+left)/parts)
	if r.how == perhapsLog && date >= r.trial && date < end-lookShort && a.Figure > available+r.quota/4 {
		r.how, r.trust, r.trial = asSpent, sureOf, 0
		return
	}
	if r.how == perhapsEven && date >= r.trial && (a.Figure > 0 || a.Served > 0 && !a.Refused) && evens {
		r.how, r.trust, r.trial, r.from, r.counted = evenly, sureOf, 0, date, 0
		return
	}
	switch {
	case used <= r.spent+r.quota/4: // as a window would
		r.how, r.trial = atOnce, 0
		return
	case used <= r.spent+r.has()+r.quota/4: // what is in flight may be in the figure
		return
	}
	logs := false
	if n := r.out(date); n > 0 && near(n) {
		first := int64(0)
		for _, s := range r.spending {
			if s.at+r.window > date && first == 0 {
				first = s.at + r.window
			}
		}
		logs = max(first, date+left)-min(first, date+left) <= sec+r.window/16
	}
	switch {
	case (r.how == perhapsLog || r.how == perhapsEven) && date < r.trial:
	case r.how == atOnce && r.skip > 0:
		if logs || evens {
			r.skip--
		}
	case logs && r.how == atOnce:
		r.how, r.trial = perhapsLog, 0
		for _, s := range r.spending {
			if s.at < r.began {
				r.trial = max(r.trial, s.at+r.window)
			}
		}
	case evens && r.how != perhapsEven && 2*left >= r.window:
		r.how, r.trial = perhapsEven, now+left-r.window+r.window/8
		if left < 2*sec {
			r.trial = now + r.window/8
		}
		r.trial = max(r.trial, now+r.window/16)
	case r.how != atOnce:
		r.fail()
	}
}

// refill looks whether a figure shows, with those since the first of them, that the quota is a
// bucket: units come back at the quota in its window, and the time that is told is that until
// the next unit, or until the bucket is full.
func (r *record) refill(now int64, a *exchange.Account) {
	figure := min(a.Figure, largestModel)
	r.most = max(r.most, figure)
	if r.quota == none || r.modelled() {
		return
	}
	date, left, each := now-max(a.FigureAgo.Microseconds(), 0), a.Left.Microseconds(), r.window/r.quota
	if r.how == atOnce && r.single(date, a) {
		return
	}
	full := (r.most - figure) * (r.window / msec) / r.quota * msec
	if a.Left < 0 || left > each+sec && max(full, left)-min(full, left) > each+sec {
		r.from, r.counted = 0, 0
		return
	}
	if since := date - r.from; r.from > 0 && since >= 0 && since <= r.window {
		waits := a.Hold.Microseconds() > left+sec // a refused request, for more units than the next one
		if !waits && since < max(r.window/2, 6*each, 2*(each+sec)) {
			return
		}
		come, grown := since/msec*parts/(r.window/msec)*r.quota/parts, r.counted+figure
		switch {
		case max(come, grown)-min(come, grown) > 1+come/8:
		case r.skip > 0:
			r.skip /= 2
		default:
			r.how, r.trial, r.trust, r.from, r.counted = steadily, 0, sureOf, date, 0
			return
		}
	}
	r.from, r.counted = date, -figure
}

// single looks at a figure that says that nothing is left until the next whole second, although
// our processes have not spent half of the quota in a window. A server may give back one unit at
// a time, more often than whole seconds can say: one request looks when the policy gives back
// one. If it is served, so are others, at that pace; if not, the next such figures are left out,
// twice as many after each. A quota of which a figure has left several units does not come back one by one.
func (r *record) single(date int64, a *exchange.Account) bool {
	each := r.window / r.quota
	few := 2*a.Figure <= r.size()
	switch {
	case r.trial > 0 && date >= r.trial && few && a.Served > 0 && !a.Refused && a.Hold <= 0: // that was it
		r.how, r.trial, r.trust, r.counted = singly, 0, sureOf, 0
		r.from = date + r.pace()
		return true
	case r.trial > 0 && few:
		return true
	case r.most > 1 || a.Figure > 0 || a.Refused || each >= sec || a.Left.Microseconds() > each+sec || 2*(r.out(date)+r.has()) >= r.quota:
		return false
	case r.skip > 0:
		r.skip--
		return false
	}
	r.trial = date + each + justNow
	return true
}

// looks reports whether one request looks whether units are back before the end.
func (r *renewal) looks(now int64) bool {
	return r.trial > 0 && now >= r.trial && (r.how == perhapsLog || r.how == perhapsEven || r.how == atOnce)
}

// back is when so many units more than there are should be back; 0: not known.
func (r *record) back(now, units int64) int64 {
	switch {
	case r.how == asSpent:
		for _, s := range r.spending {
			if at := s.at + r.window; at > now {
				if units -= s.n * r.trust / sureOf; units <= 0 {
					return at
				}
			}
		}
	case r.how == singly:
		return r.from + max(units-1, 0)*r.pace()
	case r.how == steadily:
		rate := max(r.rate(), 1)
		windows := (r.counted+min(max(units, 0), rate))*parts/rate + 1
		return r.from + (windows*(r.window/msec)/parts+2)*msec + justNow
	case r.how == evenly && r.end > now:
		rate := r.before * r.trust / sureOf
		if rate < 1 {
			return r.end
		}
		if r.soon() {
			return min(now+min(units, rate)*(r.window/msec)/rate*msec+msec, r.end)
		}
		windows := (r.counted+min(max(units, 0), rate))*parts/rate + 1
		return min(r.from+(windows*(r.window/msec)/parts+2)*msec, r.end)
	case r.trial > now && r.trial < r.end:
		return r.trial
	}
	return 0
}
