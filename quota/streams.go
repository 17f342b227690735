package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// streams finds out how many answers a server streams at a time, where it bounds that and does not say so. Such a server
// counts a request until the body of its answer has ended. So after each wave of its refusals as many requests are at work, in
// flight or with an open body, and none is served while more are. Where a server counts those in flight, they
// are as many after each wave, and those at work are not: see ceiling.go of internal/window. Where it counts requests in a time,
// neither are, unless by chance.
//
// Two waves in a row with as many at work show a bound; 3, 5, 9, … up to 33 after bounds that were none. If in one of them nothing
// else waited or was refused, all callers may have been at work when one was refused by chance: then 20 have to be served as well since the
// first of these waves, and not more be at work then. The refusals up to then hold as any others do, and nothing departs in a hold. From then on one departs whenever a body ends, and
// nothing that is inferred of a quota holds it. If it is refused, the Retry-After holds all. The server may free its place a little later, so
// from then on a body counts for 100 ms after its end. If one is refused again before eight times as many as the bound were served, there
// is no bound, and what was inferred meanwhile is forgotten.
//
// One more than the bound is tried after 32 were served while it was reached, or twice as many as it, if that is more; then after as many
// again as had been served by then, up to 128 times as many as the bound. Another one departs if nothing departs, is answered or ends for 1 s, 2 s,
// … 64 s. If it is refused, that holds no other one, because the next one may depart as soon as a body ends. If fewer than 32 were served by
// then, it holds all: it may be a rate limit. If it is served although no body had ended when the server decided, the bound is one
// more. If it has risen by more than an eighth and one, there is none.
type streams struct {
	since  uint64 // Lease.ticket: what departed before is counted, too
	flight int64  // requests
	bodies int64  // that are open

	wave         instant // arrival of the first refusal of the last wave, or of the last one below the bound
	left, before atWork  // after the last wave, and after the one before; of a bound, when it was found
	compared     bool    // these two are
	same         int     // waves in a row with as many
	crowded      bool    // in the last wave something else waited or was refused,
	chance       bool    // but not in one of these
	doubt        int     // bounds that were none

	most   int64         // at work; 0: no bound is known
	served int64         // since it is, while as many were at work; before that, since the first of these waves
	next   int64         // one more may depart when so many were
	more   bool          // it may
	freed  bool          // a body has ended since one departed beyond the bound
	trip   time.Duration // of the last refusal

	lag    time.Duration // for which a body counts after its end
	failed int64         // served before the last refusal below the bound
	ended  []instant     // bodies, in the lag
	newly  int           // bodies since ready was called
	last   instant       // when one departed, was answered or ended
	waits  int           // for one to end, that were too long
}

// atWork is how many requests of ours a server works on.
type atWork struct{ all, flight int64 }

// departure says how a request departed that streams counts.
type departure uint8

const (
	unbounded   departure = iota
	withinBound           // fewer were at work
	beyondBound           // one more is tried
)

const (
	fewStreams  = 2                      // at work show nothing, if fewer are
	endLag      = 100 * time.Millisecond // after a body has ended here, it has there
	leastServed = 32
	noChance    = 20  // are served at first if waves may be by chance
	forgives    = 8   // times as many as the bound are served for each refusal below it
	rareMore    = 128 // times as many are served before one more is tried, at most
	mostDoubt   = 5
	mostWaits   = 6
)

func (st *streams) all() int64 { return st.flight + st.bodies }

// known reports whether a bound is known.
func (st *streams) known() bool { return st != nil && st.most > 0 }

// unsure is by how many two counts of n may differ, because some have ended at one end only.
func unsure(n int64) int64 { return 1 + n/8 }

// enough is how many are served at a bound before one more is tried.
func (st *streams) enough() int64 { return max(2*st.most, leastServed) }

func apart(a, b int64) int64 { return max(a-b, b-a) }

// refused takes over a refusal at t of a request that departed at sent, while others waited or not. It reports whether it is of one too many.
func (st *streams) refused(t, sent instant, how departure, waiting bool) (oneTooMany bool) {
	now := atWork{st.all(), st.flight}
	st.trip = t.Since(sent)
	switch {
	case st.known() && (how == beyondBound || how == withinBound && now.all >= st.most):
		return st.served >= st.enough()
	case st.known() && how == withinBound && sent >= st.wave:
		st.wave, st.left = t, now
		if st.lag > 0 && st.served-st.failed < forgives*st.most {
			st.end()
			break
		}
		st.lag, st.failed = endLag, st.served
	case st.known():
	case sent < st.wave:
		st.left.all, st.left.flight = min(st.left.all, now.all), min(st.left.flight, now.flight)
		st.crowded = true
	default:
		st.wave, st.left, st.compared, st.crowded = t, now, false, waiting
	}
	return false
}

// answered takes over at t that a request was served, which departed at sent.
func (st *streams) answered(t, sent instant, how departure) {
	switch {
	case st.known() && how == beyondBound && !st.freed:
		st.most++
		st.next = st.served + st.enough()
		if st.most > st.before.all+unsure(st.before.all) {
			st.end()
		}
	case st.known():
		if st.all() >= st.most {
			st.served++
		}
		if st.served >= st.next {
			st.more, st.next = true, st.served+min(st.served, rareMore*st.most)
		}
	case sent >= st.wave:
		st.served++
		if !st.compared {
			st.compare()
		}
		work := st.bodies
		if t.Since(sent) > 2*st.trip { // what departed with it and is refused has been
			work = st.all()
		}
		if work > st.before.all {
			st.before, st.same = atWork{}, 0
		}
		if st.same > 1<<st.doubt && (!st.chance || st.served >= noChance) {
			st.most, st.served, st.failed, st.waits = st.before.all, 0, 0, 0
			st.next = st.enough()
		}
	}
}

// compare compares the last two waves.
func (st *streams) compare() {
	now, before := st.left, st.before
	st.compared, st.before = true, now
	all, flight := apart(now.all, before.all), apart(now.flight, before.flight)
	switch {
	case now.all < fewStreams:
		st.before, st.same = atWork{}, 0
	case all > unsure(min(now.all, before.all)): // also if there is none before
		st.same, st.served, st.chance = 1, 0, false
	case now.flight == now.all: // no body is open
	case now.flight == 0, all < flight: // else it may be those in flight that are bounded
		st.same++
	}
	st.chance = st.chance || !st.crowded
}

// end takes over that there is no bound.
func (st *streams) end() {
	st.most, st.before, st.same, st.more, st.ended = 0, atWork{}, 0, false, nil
	st.doubt = min(st.doubt+1, mostDoubt)
}

// ready returns when one more may depart.
func (st *streams) ready(t instant) instant {
	if st.newly > 0 {
		st.last, st.freed = t, true
	}
	for ; st.newly > 0; st.newly-- {
		st.ended = append(st.ended, t)
	}
	for len(st.ended) > 0 && t >= st.ended[0].Add(st.lag) {
		st.ended = st.ended[1:]
	}
	n := st.all()
	switch i := n + int64(len(st.ended)) - st.most; {
	case n < st.most && i >= 0:
		return st.ended[i].Add(st.lag)
	case n < st.most, st.more && n == st.most:
		return t
	}
	return max(t, st.last.Add(time.Second<<st.waits))
}

// departs takes over that a request departs at t.
func (st *streams) departs(t instant) (how departure) {
	switch {
	case !st.known():
	case st.all() < st.most:
		how = withinBound
	default:
		if how, st.freed = beyondBound, false; !st.more {
			st.waits = min(st.waits+1, mostWaits)
		}
		st.more = false
	}
	st.flight, st.last = st.flight+1, t
	return how
}

// departStream counts the lease, which departs at t, if its limit counts streams.
func (l *Lease) departStream(t instant) {
	if l.streams = nil; l.look == nil {
		if l.streams = l.origin.streams[&l.limit.base]; l.streams != nil {
			l.how = l.streams.departs(t)
		}
	}
}

// settleStreams takes over an answer. It reports whether that is a refusal of one too many.
func (s *settlement) settleStreams() (oneTooMany bool) {
	refused := s.r.Refused && s.r.answered() && !s.r.WholeOrigin && len(s.r.Figures)+len(s.r.Terms) == 0
	st := s.l.streams
	if s.l.streams = nil; st == nil {
		st = s.streamsBefore(refused)
	}
	if st == nil {
		return false
	}
	st.flight, st.last = max(st.flight-1, 0), s.t
	switch {
	case refused:
		was := st.known()
		_, waiting := s.demand()
		if oneTooMany = st.refused(s.t, s.sent, s.l.how, waiting > 0); was && !st.known() {
			s.l.limit.dropInferred()
		}
	case s.r.answered() && !s.r.Refused && !s.r.Failed && s.r.Pause <= 0:
		st.bodies++
		st.answered(s.t, s.sent, s.l.how)
		s.l.claims.list = append(s.l.claims.list, wait.Claim{Constraint: &openBody{st: st, among: s.l.among, limit: s.l.limit}, Units: 1, Retained: true})
	}
	return oneTooMany
}

// streamsBefore returns what counts a lease that departed before its limit counted streams; nil: nothing does. The first
// refusal of a limit has it count. Ten minutes after the last one it does not any more, if no bound is known.
func (s *settlement) streamsBefore(refused bool) *streams {
	s.l.how = unbounded
	base := &s.l.limit.base
	st := s.o.streams[base]
	if st != nil && !st.known() && s.t >= st.wave.Add(kindsLast) {
		delete(s.o.streams, base)
		st = nil
	}
	switch {
	case s.l.look != nil || st != nil && s.l.ticket >= st.since:
		return nil
	case st != nil || !refused || !base.Infers() || s.l.among != s.l.scope || s.o.shared != nil:
		return st
	case s.o.streams == nil:
		s.o.streams = make(map[*account]*streams)
	}
	st = &streams{since: s.o.tickets, flight: base.Unanswered() + 1}
	s.o.streams[base] = st
	return st
}

// An openBody is the claim of a request whose answer has come and has not ended. endClaim ends it.
type openBody struct {
	uncharged
	st           *streams
	among, limit *scope // of its lease
}

func (b *openBody) Mutex() *wait.Mutex { return b.limit.base.Mutex() }

func (b *openBody) Look(time.Time, int64) wait.Decision { return wait.Decision{OK: true} }

func (b *openBody) Line() *wait.Line     { return nil }
func (b *openBody) OpenLine() *wait.Line { return nil }
func (b *openBody) Round() *wait.Round   { return nil }
func (b *openBody) CloseLine()           {}

// end takes over that the body has ended, and wakes who may go then: in whatever line of the limit.
func (b *openBody) end(now time.Time) {
	o := b.limit.base.policy.origin
	o.mu.Lock()
	b.st.bodies--
	var woken []*wait.Waiter
	if b.st.known() {
		b.st.newly++
		woken = b.limit.base.line.AppendKicked(woken, now)
		woken = b.among.kinds().kick(now, woken)
	}
	o.mu.Unlock()
	wait.Wake(woken)
}
