package window

import "time"

// This file is the end of a window that the server names as an instant (see resets.go) where processes share the
// quota. Others begin most windows, so what this one was told first says little of the end. The earliest end that any of
// them tells counts for all, so each would have to be refused once to learn that windows end later. So this process
// tells the earliest of the ends that are surely not too early:
//
//   - the instant by the clock of the server. Each Date says within a second how far that clock is ahead, and all together
//     say it more closely. If seconds are rounded down, or may be, a second more;
//   - a length after the departure of the request that began the window, or after the first answer of one that
//     another process began, unless windows end at multiples of their length: those begin by the clock;
//   - what it was told of the same instant before.
//
// The most seconds that an instant was ahead of Date are those of a window, or one more if they are rounded up. The length
// is the rounder of the two; or the longer one, if no two ends are closer together than that. What one answer alone says may
// be an error: see farthest.

// namedEnds is what the instants of a server say of its clock, and of the length of its windows.
type namedEnds struct {
	base        int64    // the Date from which the next two count, in Unix seconds
	least, most int64    // how many nanoseconds the clock of the server is ahead of ours, since base; equal: not known
	first, last int64    // ends, in Unix seconds; 0: none was named
	ahead       farthest // how many seconds one was ahead of Date
	apart       int64    // the fewest seconds from one to the next; 0: there was one only
	windows     int8     // how often the next one was another, up to enoughWindows
	down        bool     // one had passed in its window: seconds are rounded down
}

const (
	enoughWindows = 4
	slowWindow    = 5 // seconds; of shorter windows the ends of a sliding log are not told from those of a window
)

// observe takes over an instant that an answer has named which arrived at t, to a request that departed at sent. part
// says that it left less than the quota.
func (e *namedEnds) observe(t, sent Instant, f *Figure, part bool) {
	date := f.Resets - f.Ahead
	if far := date - e.base; far < -1<<31 || far > 1<<31 {
		e.base, e.least, e.most = date, 0, 0
	}
	now := (date - e.base) * int64(time.Second)
	least, most := now-int64(t), now+int64(time.Second)-int64(sent)
	if e.least == e.most || least >= e.most || most <= e.least { // a clock was set
		e.least, e.most = least, most
	}
	e.least, e.most = max(e.least, least), min(e.most, most)
	e.down = e.down || part && f.Ahead <= 0
	e.ahead.observe(t, time.Duration(f.ahead())*time.Second)
	if e.first == 0 {
		e.first, e.last = f.Resets, f.Resets
	}
	if d := f.Resets - e.last; d > 0 {
		if e.apart == 0 || d < e.apart {
			e.apart = d
		}
		e.windows = min(e.windows+1, enoughWindows)
		e.last = f.Resets
	}
}

// furthest is the most seconds that an instant was ahead of Date; 0: none was.
func (e *namedEnds) furthest() int64 { return int64(e.ahead.value() / time.Second) }

// length is how many seconds a window lasts; 0: not known.
func (e *namedEnds) length() int64 { return e.lengthBy(e.furthest()) }

// lengthBy is the same, if an instant was so many seconds ahead of Date at most.
func (e *namedEnds) lengthBy(most int64) int64 {
	switch {
	case most == 0:
		return 0
	case e.windows == enoughWindows && e.apart >= most:
		return most
	}
	n := roundest(time.Duration(most-2)*time.Second, time.Duration(most)*time.Second)
	return max(int64(n/time.Second), 1)
}

// aligned reports whether windows end at multiples of their length.
func (e *namedEnds) aligned() bool {
	n := e.length()
	return n > 0 && n == e.furthest() && e.last%n == 0 && !e.down
}

// latest is when an end has passed for sure that an answer has named whose Date was so many seconds before.
func (e *namedEnds) latest(f *Figure) Instant {
	ahead := int64(f.ahead())
	if n := e.length(); !e.aligned() && (e.down || n >= slowWindow && e.apart >= n) { // or it may be rounded down
		ahead++
	}
	return Instant((f.Resets-f.Ahead-e.base+ahead)*int64(time.Second) - e.least)
}

// Longest is how long windows are at most, as other processes should count with it; 0: not known.
func (s *Server) Longest() time.Duration {
	if most := s.ends.ahead.forOthers(); most > 0 {
		return time.Duration(s.ends.lengthBy(int64(most/time.Second))) * time.Second
	}
	return s.farthest.forOthers()
}

// namedEnd is when the window of a figure is over for sure, before the guard, and the round trip that the guard depends
// on; 0: there is none. all says that the request found all.
func (w *Window) namedEnd(t, sent Instant, f *Figure, all bool, s *Server) (due Instant, trip time.Duration) {
	e := &s.ends
	due = max(e.latest(f), sent+1)
	switch length := time.Duration(e.length()) * time.Second; {
	case f.Ahead != e.furthest():
	case all && !e.aligned(): // the request has begun it
		due, trip = min(due, sent.Add(length)), w.rtt
	case e.first < f.Resets || e.length()%slowWindow == 0: // or ahead may be that of a part of a window
		due = min(due, t.Add(length))
	}
	r := w.ownRare()
	if f.Resets == r.resets && w.State == Reported && w.due < due && !e.aligned() {
		due, trip = w.due, w.trip
	}
	if f.Resets != r.resets || sent < r.told {
		r.resets, r.told, r.ahead = f.Resets, sent, f.ahead()
	}
	return due, trip
}
