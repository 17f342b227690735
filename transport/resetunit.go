package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/parse"
)

// A resetUnit finds out whether an origin means milliseconds by the numbers of
// X-RateLimit-Reset. Most servers mean seconds, several gateways (MuleSoft's, for one) mean
// milliseconds, and one response does not tell. So numbers are read as milliseconds from the first
// that is a thousand or more, until they turn out to be seconds, for good:
//
//   - by two numbers that fell too little for milliseconds within so many of them, or as seconds do;
//   - by a Retry-After that says the same;
//   - by the refusal of a request that departed when nothing was left and so many milliseconds had
//     passed. This is what the question costs, once, where a quota of more than a quarter of an hour
//     is used up within the first half second; rarely two, where requests overtake each other,
//     and three, where the numbers fall in neither unit.
//
// Windows of less than a second have no such numbers. There they are milliseconds if they fall as
// those do, in two pairs of responses. Three pairs in a row are nearly sure: then others may have used up the
// window of a request that is refused, up to twelve times.
//
// Nothing is asked where a window or a row says what the number means (parse.Limit.Bare).
type resetUnit struct {
	seconds atomic.Bool
	asked   atomic.Bool // there was a number that may be of milliseconds

	mu     sync.Mutex // guards following
	slow   int        // samples that fell too little for milliseconds
	odd    int        // looks that were refused, with numbers that tell nothing
	served int        // looks that were served
	fast   int        // pairs of samples, in a row, that fell as milliseconds do
	steady int        // pairs of samples, in a row, that fell as seconds do
	last   resetSample
}

// A resetSample is what a response has said.
type resetSample struct {
	scope string
	kind  kindKey
	at    time.Time     // of its arrival; zero: there is none
	reset time.Duration // the number in seconds
	look  time.Time     // when the next request may depart, if nothing was left; else zero
}

const (
	leastAsked = 1000 * time.Second // a second in milliseconds, read as seconds

	sureSlow    = 2
	sureOdd     = 3
	sureFast    = 3
	sureSteady  = 2
	leastSteady = 4 * time.Second // between small numbers that are compared; a hundred seconds, between others
	oddIfFast   = 12
	sureServed  = 2                       // looks that were served: refusals show nothing any more
	leastApart  = 200 * time.Millisecond  // two responses that are compared
	roughly     = 1200 * time.Millisecond // that a number of whole seconds is right
	oldSample   = 30 * time.Second        // it may be replaced by one of another kind
)

// resetInMillis reads the number that says when the only limit of a response is renewed as
// milliseconds, if the origin may mean those. now is when it arrived; zero: just now.
func (x *exchange) resetInMillis(got *parse.Reading, now time.Time) {
	u, l := &x.directory.unit, &got.Limits[0]
	if l.Window == 0 || u.seconds.Load() || got.Vendor != commonFields && got.Vendor != countedFields {
		return
	}
	if now.IsZero() {
		now = time.Now()
	}
	refused := refused(x.resp.StatusCode, got.Limits)
	this := resetSample{scope: x.ask.Scope, kind: x.kind().key(), at: now, reset: l.Window}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.comparePace(&this)
	if u.steady >= sureSteady {
		u.seconds.Store(true)
	} else if !u.asked.Load() && l.Window < leastAsked && u.fast < sureFast-1 {
		if u.replacesSmall(&this) {
			u.last = this
		}
		return
	}
	if !u.seconds.Load() && u.showsSeconds(&this, x.lease.Sent(), refused) || got.RetryAfter > 0 && (got.RetryAfter-this.reset).Abs() <= roughly {
		u.seconds.Store(true)
	}
	if u.seconds.Load() {
		return // another response may have shown it
	}
	if l.Window /= 1000; refused || l.Available == 0 {
		this.look = now.Add(l.Window)
	}
	if u.replaces(&this) {
		u.last = this
		u.asked.Store(true)
	}
}

// comparePace compares a sample with the last one: within a window, milliseconds fall a
// thousand times as fast as seconds.
func (u *resetUnit) comparePace(this *resetSample) {
	last := &u.last
	passed, fall := this.at.Sub(last.at), last.reset-this.reset
	switch {
	case !last.like(this) || last.at.IsZero() || fall < 0:
	case fall >= 3*time.Second && (fall-1000*passed).Abs() <= 250*passed+2*time.Second:
		u.fast, u.steady = u.fast+1, 0
	case passed >= leastSteady && (last.reset < leastAsked || passed >= leastAsked/10) && fall >= time.Second && (fall-passed).Abs() <= roughly:
		u.fast, u.steady = 0, u.steady+1
	case passed < last.reset/1000 && passed >= leastApart/10: // in neither unit
		u.fast, u.steady = 0, 0
	}
}

// replacesSmall is replaces where there was no number that is a thousand or more.
func (u *resetUnit) replacesSmall(this *resetSample) bool {
	last := &u.last
	return last.at.IsZero() || last.like(this) && this.reset > last.reset ||
		this.at.Sub(last.at) >= leastSteady && (last.like(this) || this.at.Sub(last.at) >= oldSample)
}

// showsSeconds compares a sample, of a response to a request that departed at sent, with the last
// one, and reports whether the numbers turn out to be seconds.
func (u *resetUnit) showsSeconds(this *resetSample, sent time.Time, refused bool) bool {
	last, like := &u.last, u.last.like(this)
	apart, passed, fall := sent.Sub(last.at), this.at.Sub(last.at), last.reset-this.reset
	switch {
	case last.at.IsZero():
	case !last.look.IsZero():
		return apart >= last.look.Sub(last.at)/2 && u.looked(like, refused, passed, fall)
	case like && apart >= leastApart && passed < last.reset/1000 && -roughly <= fall && fall < 100*apart:
		u.slow++
		return u.slow >= sureSlow
	}
	return false
}

// looked is showsSeconds of a request that departed when so many milliseconds had passed. If it is
// refused and the number has not fallen as it would in seconds, others may have used up the next
// window.
func (u *resetUnit) looked(like, refused bool, passed, fall time.Duration) bool {
	switch {
	case u.served >= sureServed:
	case !refused:
		if like { // another kind may have a limit of its own
			u.served++
		}
	case u.fast >= sureFast:
		u.odd++
		return u.odd >= oddIfFast
	case like && u.last.reset < leastAsked && min((fall-passed).Abs(), fall.Abs()) <= roughly:
		return true
	case like && (fall-1000*passed).Abs() <= 1000*roughly: // it was early
	case !like, min((fall-passed).Abs(), fall.Abs()) <= roughly:
		return true
	default:
		u.odd++
		return u.odd >= sureOdd
	}
	return false
}

func (s *resetSample) like(other *resetSample) bool {
	return s.kind == other.kind && s.scope == other.scope
}

// replaces reports whether a sample is the one to compare the next ones with.
func (u *resetUnit) replaces(this *resetSample) bool {
	last := &u.last
	switch {
	case last.at.IsZero(), !this.look.IsZero():
		return true
	case !last.look.IsZero():
		return this.at.After(last.look)
	case !last.like(this):
		return this.at.Sub(last.at) >= oldSample
	}
	return this.reset > last.reset || this.at.Sub(last.at) >= 2*leastApart
}

// commonFields is the name of the row of the fields in common use, and countedFields that of the row with X-RateLimit-Current
// beside them. Other rows are of certain servers, most of which mean seconds.
const (
	commonFields  = "X-RateLimit"
	countedFields = "X-RateLimit-Current"
)
