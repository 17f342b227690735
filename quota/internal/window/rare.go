package window

import "time"

// rare is what is known of few quotas only: of those that come back as a bucket, whose
// ends are named as instants, that count units such as tokens, or that have refused a
// request without a Retry-After. A Window has one from when it is first set, so that the
// others are smaller.
type rare struct {
	fill   time.Duration // of a bucket, from empty to full; 0: it is none
	marked Instant       // some time ago: see bucket.go
	mark   uint32        // departed at marked

	lastMark   uint32  // of the request whose figure came last; 0: no figure has
	lastFigure uint32  // that figure, modulo 1<<32
	ahead      int32   // by how many seconds resets was after the Date of its answer
	resets     int64   // the instant that the server named last as an end, in Unix seconds by its clock; 0: none
	told       Instant // departure of the first request whose answer named that instant; of a bucket, its latest end by a figure since nothing was in flight; of our own count, arrival of the last refusal that contradicted it
	lastSent   Instant // departure of the request with lastMark
	refused    Instant // arrival of the last refusal

	// How long it takes for one unit, where that is found by trials: see refill.go.
	guess uint32 // in microseconds; 0: the policy tells it
	pace  int8   // it has turned out to be 2^(pace/4) times as long

	look  look   // of an inferred window: see inferred.go
	again uint8  // refusals in a row: see RefuseAgain
	apart uint8  // seconds between the last two refusals
	spent *spent // when units departed, and what answers that took long have told; nil: nothing is known of either
}

// rarely returns what is rarely known, to be read.
func (w *Window) rarely() (r rare) {
	if w.rare != nil {
		r = *w.rare
	}
	return r
}

// ownRare returns the same, to be changed.
func (w *Window) ownRare() *rare {
	if w.rare == nil {
		w.rare = new(rare)
	}
	return w.rare
}

// Copy returns a copy that shares no memory with w.
func (w *Window) Copy() Window {
	c := *w
	if w.rare != nil {
		r := *w.rare
		c.rare = &r
		if r.spent != nil {
			l := *r.spent
			l.slots = append([]slot(nil), l.slots...)
			if l.lumps != nil {
				lumps := *l.lumps
				l.lumps = &lumps
			}
			r.spent = &l
		}
	}
	return c
}
