package quota

import "time"

// trips say how long an origin takes to answer. Work that waits needs that time before its
// deadline: see needs. The zero trips know nothing.
type trips struct {
	mean   time.Duration // of recent round trips; 0: none is known
	spread time.Duration // their mean distance from the mean
}

// maxTrip keeps sums from overflowing. Work has less time than that.
const maxTrip = 24 * time.Hour

// observe takes over the round trip of work that was served. One that is much longer than
// usual counts as twice as long: a single slow answer is not a slow origin.
func (p *trips) observe(d time.Duration) {
	if d = min(max(d, 0), maxTrip); p.mean == 0 {
		p.mean, p.spread = d, d/2
		return
	}
	off := min(d, 2*p.usual()) - p.mean
	p.mean += off / 8
	p.spread += (max(off, -off) - p.spread) / 4
}

// observeLost takes over that the deadline of work has passed without an answer, so long
// after it departed: a round trip takes longer. Without that, an origin that becomes slower
// than what is known of it would be sent work that cannot be answered, and nothing learned.
func (p *trips) observeLost(after time.Duration) {
	if after >= p.mean {
		p.observe(2 * min(after, maxTrip))
	}
}

// usual is what most round trips take at most.
func (p *trips) usual() time.Duration { return p.mean + p.mean/16 + 2*p.spread }

// needs returns how long before its deadline work that waits has to depart, if it had so much
// time when it came: as long as an answer usually takes. That may be known of other, slower
// work. So it may wait for a quarter of its time in any case, unless hardly any answer comes
// within the rest.
func (p *trips) needs(had time.Duration) time.Duration {
	return min(p.usual(), max(had-had/4, p.mean-2*p.spread))
}
