package quota

import "time"

// trips say how long an origin takes to answer. Work that waits needs that time before its
// deadline: see needs. The zero trips know nothing.
type trips struct {
	of   [lastTrips]time.Duration // of the last work: a round trip, plus 1; negative: it was given up after so long; 0: none
	next uint8                    // the one to replace
}

const (
	lastTrips = 16
	fewTrips  = 2 // of these may be an accident

	// maxTrip keeps sums from overflowing. Work has less time than that.
	maxTrip = 24 * time.Hour
)

// observe takes over the round trip of work that was served.
func (p *trips) observe(d time.Duration) { p.note(min(max(d, 0), maxTrip) + 1) }

// observeLost takes over that the deadline of work has passed without an answer, so long
// after it departed: a round trip takes longer. Without that, an origin that becomes slower
// than what is known of it would be sent work that cannot be answered, and nothing learned.
func (p *trips) observeLost(after time.Duration) { p.note(min(-after, -1)) }

func (p *trips) note(d time.Duration) {
	p.of[p.next] = max(d, -maxTrip)
	p.next = (p.next + 1) % lastTrips
}

// needs returns how long before its deadline work that waits has to depart, if it had so much
// time when it came: as long as the slowest of the last answers that took less than that time. What took longer, or was given up
// after a longer time, is other work, such as uploads. If no such answer is known, or several requests were given up after as
// long as the slowest answer took, work may wait for a quarter of its time; and not at all if hardly any was answered.
func (p *trips) needs(had time.Duration) time.Duration {
	var longest time.Duration
	served, lost, known := 0, 0, false
	for _, d := range p.of {
		if known = known || d != 0; d > 0 && d-1 < had {
			longest = max(longest, d-1)
			served++
		}
	}
	for _, d := range p.of {
		if d < 0 && -d >= longest && -d <= had {
			lost++
		}
	}
	most := had - had/4
	switch {
	case !known:
		return 0
	case lost > fewTrips && served <= fewTrips:
		return had
	case served == 0, lost > fewTrips:
		return most
	}
	return min(longest+longest/16, most)
}
