package transport

import (
	"net/http"
	"time"
)

// A Verdict says what would happen to a request now. See Shaper.Check.
type Verdict struct {
	// HeldInfo says why the request cannot go now, and how long it would wait. If it
	// can go now, HeldInfo is zero: its Reason is 0.
	HeldInfo

	// Rejected is the error of RoundTrip; nil: the request would go now or wait.
	Rejected *RejectedError
}

// Check says what would happen to the request now, and how long it would wait,
// without sending or charging anything. It neither changes the request nor closes
// its body, and calls no hook. The deadline of the request's context counts; whether the
// context has ended does not. Of a quota.Custom in Limits, Check calls Take, and Undo if
// Take has granted.
func (s *Shaper) Check(req *http.Request) Verdict {
	if req.URL == nil || req.Header == nil {
		return Verdict{}
	}
	x := s.begin(req)
	x.sent = true // so that end leaves the body alone
	defer x.end()
	x.route()
	r, waits := x.origin.Check(req.Context(), time.Now(), &x.ask)
	if r == nil || x.unconditional() {
		return Verdict{}
	}
	v := Verdict{HeldInfo: x.held(r, nil, WaitInfo{RequestInfo: x.info()})}
	v.Reason = r.Cause
	if !waits {
		v.Rejected = rejected(r)
	}
	return v
}
