package window

// A ceiling is how many requests may be in flight to a server that says nothing of its quotas and
// seems to bound that. Such a server refuses what is too much at once, and goes on with what it has
// begun: so it is what is in flight after a wave of refusals, if that is two or more. Where a
// server counts requests, nearly nothing is in flight then, because the last ones are refused.
//
// A refusal while less is in flight has another reason.
//
// After a refusal the slow start goes up to the ceiling. One more is tried after as many were
// served as the ceiling, or twice, four times, … up to 128 times as many: twice as many
// after each refusal, which also takes back one, and half as many once more than ever are served.
type ceiling struct {
	most  uint8   // 0, 1, 2: it is not known
	lost  uint8   // what it was when one was too many
	rare  uint8   // one more is tried after most<<rare were served
	tried uint16  // served since then, as many as the ceiling in flight
	heard bool    // one was served since the last refusal
	one   bool    // the last refusal was of one too many
	wave  Instant // arrival of the first refusal of the last wave
}

const (
	leastCeiling = 2
	mostCeiling  = 120 // slow starts end above it
	rarest       = 7
)

// refused takes over a refusal at t of a request that departed at sent. It reports whether the
// request was one too many.
func (c *ceiling) refused(w *Window, t, sent Instant) bool {
	left := uint8(min(w.Unanswered(), mostCeiling))
	if sent < c.wave {
		if !c.one {
			c.most = min(c.most, left)
		}
		return c.one
	}
	switch c.one = c.most > leastCeiling && c.heard && left+1 >= c.most; {
	case c.one:
		c.lost = c.most
		c.most, c.rare, c.tried = c.most-1, min(c.rare+1, rarest), 0
	case c.most <= leastCeiling, c.heard:
		c.most, c.tried = left, 0
	}
	c.wave, c.heard = t, false
	return c.one
}

// served takes over that a request which departed at sent was served. The slow start has counted
// it.
func (c *ceiling) served(w *Window, sent Instant) {
	if sent < c.wave {
		if c.most >= leastCeiling && w.slow > c.most {
			w.slow = c.most
		}
		return
	}
	c.heard = true
	if c.most < leastCeiling {
		c.most = 0
	}
	w.set(bounded, c.most > 0)
	if c.most == 0 || w.slow > 0 && w.slow <= c.most {
		return
	}
	w.slow = c.most
	if c.tried++; int(c.tried) >= int(c.most)<<c.rare {
		if c.most > c.lost {
			c.rare = max(c.rare, 1) - 1
		}
		c.most, c.tried = min(c.most+1, mostCeiling), 0
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
