package transport

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/headway-go/headway/quota"
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

// move moves the estimate of a weight to what was seen.
func move(weight *atomic.Int64, seen int64) {
	for {
		old := weight.Load()
		if weight.CompareAndSwap(old, estimate(old, seen)) {
			return
		}
	}
}

// weigh remembers what the contents of the request and of the response weigh,
// where a policy counts them. The response's is counted as the caller reads it,
// where nothing says its length; never ahead of them.
func (x *exchange) weigh() {
	k := x.weighed()
	if k == nil {
		return
	}
	if n, known := lengthOf(x.req); known {
		move(&k.sent, n)
	}
	resp := x.resp
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
	case resp.Body == nil || resp.Body == http.NoBody || x.req.Method == http.MethodHead:
		move(&k.received, 0)
	case resp.ContentLength >= 0:
		move(&k.received, resp.ContentLength)
	default:
		resp.Body = &weighedBody{ReadCloser: resp.Body, kind: k}
	}
}

// weighed is the kind of the request, if a policy in content-bytes concerns it.
func (x *exchange) weighed() *kind {
	for _, p := range x.origin.Policies() {
		if p.Unit != quota.UnitContentBytes {
			continue
		}
		k := x.remember().kind
		if k == nil {
			return nil
		}
		if _, concerned := k.trait(p.Name); concerned {
			return k
		}
	}
	return nil
}

// weighedBody counts what is read of a body, and tells it at the end. Of one that
// is not read to its end nobody knows what it weighs, but that it is no less.
type weighedBody struct {
	io.ReadCloser
	kind *kind
	read atomic.Int64 // Close may run beside Read
	told sync.Once
}

// Read reads from the body of Base's response.
func (b *weighedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	read := b.read.Add(int64(n))
	if err == io.EOF {
		b.told.Do(func() { move(&b.kind.received, read) })
	}
	return n, err
}

// Close closes the body of Base's response.
func (b *weighedBody) Close() error {
	err := b.ReadCloser.Close()
	b.told.Do(func() { move(&b.kind.received, max(b.read.Load(), b.kind.received.Load())) })
	return err
}
