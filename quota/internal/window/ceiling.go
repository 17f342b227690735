package window

import "time"

// A Ceiling is how many requests may be in flight to a server that does not tell what refuses requests, and
// seems to bound that. Such a server refuses what is too much at once, and goes on with what it has
// begun: so it is what is in flight after a wave of refusals, if that is two or more. Where a
// server counts requests, nearly nothing is in flight then, because the last ones are refused.
//
// A refusal while less than half of that is in flight has another reason, and so has one if none was served
// that departed after the wave before: a rate limit refuses what comes next, too. Any other is of one too many. It says
// nothing of when the others may depart, because the next one may as soon as an answer comes.
//
// After a refusal the slow start goes up to the ceiling. One more is tried after as many were
// served as the ceiling, or twice, four times, … up to 128 times as many: twice as many
// after each refusal, which also takes back one, and half as many once more than ever are served. A refusal after
// four times as many as the ceiling were served takes back none: of what is in flight a part is on its way, so now and then
// more than usual is at the server.
//
// If answers take long, one more departs after a while without any. If that is served while more are in flight than
// the ceiling, the server works on as many: what was in flight after the refusals was only slow.
//
// A ceiling that cannot go up further is given up after eight times as many were served. If that was wrong, the next one
// is given up later: after as many as it would need to go up, if that is more.
//
// Where answers take so long that nearly all that is in flight is at work, a server with such a bound refuses a request soon after one
// more is tried, and none else. A server that counts requests in a time has as many in flight after its refusals, but it refuses
// one now and then although no more than before are in flight. After two such refusals in a row the ceiling is forgotten, and the next
// wave of refusals shows none; the second time that this happens the next three do not, then seven, … up to 63.
//
// And when it refuses more than half as many in a row as it seems to work on, others are at work: if nearly none is, the ceiling is
// forgotten, too.
//
// A server that bounds what is in flight refuses none below its bound. One that sheds load at random refuses as often
// however few are in flight, so each refusal takes back one. A ceiling that has come down to half of what it
// was is none, and is forgotten.
type Ceiling struct {
	most  uint8   // 0, 1, 2: it is not known
	kept  uint8   // the highest that it was since it was learned
	lost  uint8   // what it was when one was too many
	rare  uint8   // one more is tried after most<<rare were served
	tried uint16  // served since then, while as many as the ceiling were in flight
	heard bool    // one was served since the last refusal
	one   bool    // the last refusal was of one too many
	wave  Instant // arrival of the first refusal of the last wave
	all   uint8   // refusals in that

	trip  time.Duration // how long answers of served requests take, on average
	odd   bool          // the ceiling did not explain the last refusal
	wrong uint8         // ceilings that were forgotten for that
	skip  uint8         // waves that show none
}

const (
	leastCeiling = 2
	mostCeiling  = 120 // slow starts end above it
	rarest       = 7
	often        = 4 // times as many as the ceiling are served: one refused after that does not lower it
	mostWrong    = 6
	gone         = 8 // times as many as the highest ceiling are served: there is none
)

// Refused takes over a refusal at t of a request that departed at sent. It reports whether the
// request was one too many.
func (c *Ceiling) Refused(w *Window, t, sent Instant) bool {
	left := uint8(min(w.Unanswered(), mostCeiling))
	if c.inWave(sent) {
		switch c.all++; {
		case !c.one:
			c.most = min(c.most, left)
			c.kept = c.most
		case !c.heard && left < leastCeiling && c.all >= leastCeiling && c.all > c.most/2:
			c.contradicted(t)
		}
		return c.one
	}
	c.all = 1
	switch c.one = c.tooMany(w, sent); {
	case c.one:
		if left+1 == c.most && c.isSlow(t, sent) {
			explained := c.most == c.kept && c.tried < uint16(c.most) // one more was tried
			if c.odd && !explained {
				c.contradicted(t)
				return false
			}
			c.odd = !explained
		}
		if c.tried < often*uint16(c.most) {
			c.lost = c.most
			c.most, c.rare = c.most-1, min(c.rare+1, rarest)
			if c.most <= c.kept/2 {
				*c = Ceiling{wave: t}
				return false
			}
		}
		c.tried = 0
	case c.skip > 0:
		c.skip--
	case c.most <= leastCeiling, c.heard:
		if c.most == 0 && c.lost == mostCeiling {
			c.rare = min(c.rare+1, rarest) // it was given up in error
		}
		c.most, c.kept, c.tried = left, left, 0
	}
	c.wave, c.heard = t, false
	return c.one
}

// inWave reports whether a request that departed at sent did so before the last wave of refusals was heard of.
func (c *Ceiling) inWave(sent Instant) bool { return sent < c.wave }

// tooMany reports whether the refusal of a request that departed at sent is of one too many.
func (c *Ceiling) tooMany(w *Window, sent Instant) bool {
	left := uint8(min(w.Unanswered(), mostCeiling))
	if c.inWave(sent) {
		return c.one
	}
	return c.most > leastCeiling && c.heard && left >= leastCeiling && left+1 >= (c.most+1)/2
}

// isSlow reports whether answers take so much longer than the refusal at t of a request that departed at sent that nearly all of what
// is in flight is at work.
func (c *Ceiling) isSlow(t, sent Instant) bool {
	return time.Duration(t-sent)*time.Duration(c.most) < c.trip
}

// contradicted takes over that a refusal at t shows that there is no ceiling.
func (c *Ceiling) contradicted(t Instant) {
	wrong := min(c.wrong+1, mostWrong)
	*c = Ceiling{wave: t, trip: c.trip, wrong: wrong, skip: 1<<wrong - 1}
}

// WasTooMany reports whether the last wave of refusals, in which that of a request which departed at sent was, was of one too many.
func (c *Ceiling) WasTooMany(sent Instant) bool {
	return c.one && c.most > leastCeiling && c.inWave(sent)
}

// TooMany reports whether the refusal of a request that departed at sent is of one too many, and if so takes it over.
func (c *Ceiling) TooMany(w *Window, t, sent Instant) bool {
	return c.tooMany(w, sent) && c.Refused(w, t, sent)
}

// Served takes over at t that a request which departed at sent was served. The slow start has counted
// it.
func (c *Ceiling) Served(w *Window, t, sent Instant) {
	if c.inWave(sent) {
		if c.most >= leastCeiling && w.slow > c.most {
			w.slow = c.most
		}
		return
	}
	c.heard = true
	if trip := time.Duration(t - sent); c.trip == 0 {
		c.trip = trip
	} else {
		c.trip += (trip - c.trip) / 8
	}
	if c.most < leastCeiling {
		c.most = 0
	}
	if n := w.Unanswered() + 1; c.most > 0 && n > int64(c.most) { // it departed because no answer came
		c.most, c.tried = uint8(min(n, mostCeiling)), 0
		c.kept, w.slow = max(c.kept, c.most), c.most
	}
	w.set(bounded, c.most > 0)
	if c.most == 0 || w.slow > 0 && w.slow <= c.most {
		return
	}
	w.slow = c.most
	if w.Unanswered()+1 >= int64(c.most) {
		c.tried++
	}
	switch tried := int(c.tried); {
	case tried < int(c.most)<<c.rare:
	case c.most < mostCeiling:
		if c.most > c.lost {
			c.rare = max(c.rare, 1) - 1
		}
		c.most, c.tried = c.most+1, 0
		c.kept = max(c.kept, c.most)
	case tried >= gone*mostCeiling:
		*c = Ceiling{lost: mostCeiling, rare: c.rare, heard: true, wave: c.wave}
		w.set(bounded, false)
		w.slow = 0
	}
}

// slowly is how many units are in flight that count against w.slow. A window that begins ends a slow
// start, but not a ceiling: what departed before is still worked on.
func (w *Window) slowly() int64 {
	if w.is(bounded) {
		return w.Unanswered()
	}
	return w.InFlight
}
