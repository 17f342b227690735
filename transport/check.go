package transport

import (
	"net/http"
	"time"

	"github.com/headway-go/headway/partition"
)

// A Verdict says what would happen to a request now. See Shaper.Check.
type Verdict struct {
	Wait      time.Duration  // how long the request would wait, or less if a response that arrives before then lets it go; 0: it would not wait, or the time is not known
	Reason    Reason         // why the request cannot go now; 0: it can
	Policy    string         // the policy that has too little left; "" if the server named none
	Partition partition.Key  // the key of its partition; "" if none is known
	Rejected  *RejectedError // the error of RoundTrip; nil: the request would go now or wait
}

// Check says what would happen to the request now, and how long it would wait,
// without sending or charging anything. It neither changes the request nor closes
// its body.
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
	v := Verdict{
		Wait:      r.Wait,
		Reason:    r.Cause,
		Policy:    r.Policy,
		Partition: partitionKey(r.Key),
	}
	if !waits {
		v.Rejected = rejected(r)
	}
	return v
}
