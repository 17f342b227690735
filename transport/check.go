package transport

import (
	"net/http"
	"time"

	"github.com/headway-go/headway/partition"
)

// A Verdict is what would happen to a request now. See Shaper.Check.
type Verdict struct {
	Wait      time.Duration  // how long the request would wait, unless an answer that is on its way lets it go before; 0: not at all, or nothing is known
	Reason    Reason         // what stands in its way; 0: nothing
	Policy    string         // the policy that does; "" where the server named none
	Partition partition.Key  // the key of its partition; "" where none is known
	Rejected  *RejectedError // what it would be refused with; nil: it would leave or wait
}

// Check says what would happen to the request now, and how long it would wait,
// without sending or charging anything. It neither changes nor closes the
// request's body.
func (s *Shaper) Check(req *http.Request) Verdict {
	if req.URL == nil || req.Header == nil {
		return Verdict{}
	}
	x := s.begin(req)
	x.sent = true // the body is the caller's
	defer x.end()
	x.route()
	r, waits := x.origin.Check(req.Context(), time.Now(), &x.ask)
	if pause, vain := x.redirected(); pause != nil && (r == nil || pause.Wait > r.Wait) {
		r, waits = pause, !vain
	}
	if r == nil || x.forced() {
		return Verdict{}
	}
	v := Verdict{
		Wait:      r.Wait,
		Reason:    r.Cause,
		Policy:    r.Policy,
		Partition: partition.Key(r.Key),
	}
	if !waits {
		v.Rejected = rejected(r)
	}
	return v
}
