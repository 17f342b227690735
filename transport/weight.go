package transport

import (
	"net/http"
)

// weight is how many bytes of content a request of the kind and its response
// are expected to have: its own, if that is known, and what others had.
func (k *kind) weight(req *http.Request) int64 {
	n, known := lengthOf(req)
	if k != nil {
		if !known {
			n = k.sent.Load()
		}
		n += k.received.Load()
	}
	return max(n, 1)
}

// lengthOf is the length of a request's content, if that is known.
func lengthOf(req *http.Request) (n int64, known bool) {
	if req.ContentLength == 0 && req.Body != nil && req.Body != http.NoBody {
		return 0, false
	}
	return max(req.ContentLength, 0), req.ContentLength >= 0
}
