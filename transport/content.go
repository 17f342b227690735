package transport

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/headway-go/headway/quota"
)

// contentBytes returns the expected bytes of content in a request of the kind and
// in its response, at least 1. What is not known is estimated from other requests
// of the kind.
func (k *kind) contentBytes(req *http.Request) int64 {
	n, known := requestBytes(req)
	if k != nil {
		if !known {
			n = k.sent.Load()
		}
		n += k.received.Load()
	}
	return max(n, 1)
}

// requestBytes returns the length of a request's content, if it is known.
func requestBytes(req *http.Request) (n int64, known bool) {
	if req.ContentLength == 0 && req.Body != nil && req.Body != http.NoBody {
		return 0, false
	}
	return max(req.ContentLength, 0), req.ContentLength >= 0
}

// observe updates an estimate of content bytes.
func observe(bytes *atomic.Int64, seen int64) {
	for {
		old := bytes.Load()
		if bytes.CompareAndSwap(old, estimate(old, seen)) {
			return
		}
	}
}

// observeContent records the length of the contents of the request and of the
// response, if a policy counts them. If the length of the response is not given, its
// body is counted as the caller reads it, never ahead of the caller.
func (x *exchange) observeContent() {
	k := x.meteredKind()
	if k == nil {
		return
	}
	if n, known := requestBytes(x.req); known {
		observe(&k.sent, n)
	}
	resp := x.resp
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
	case !x.hasContent(resp):
		observe(&k.received, 0)
	case resp.ContentLength >= 0:
		observe(&k.received, resp.ContentLength)
	default:
		resp.Body = &countedBody{ReadCloser: resp.Body, kind: k}
	}
}

// meteredKind returns the kind of the request if a policy in content-bytes
// concerns it, else nil.
func (x *exchange) meteredKind() *kind {
	policies := x.origin.Policies()
	for i := range policies {
		p := &policies[i]
		if p.Unit != quota.UnitContentBytes {
			continue
		}
		k := x.lookUp().kind
		if k == nil {
			return nil
		}
		if k.stats(p.Name) != nil {
			return k
		}
	}
	return nil
}

// A countedBody counts the bytes that are read of a body, and records them when it
// ends. If it is closed before its end, the count is a lower bound.
type countedBody struct {
	io.ReadCloser
	kind *kind
	read atomic.Int64 // Close may run beside Read
	once sync.Once    // records the count
}

// Read reads from the body of Base's response.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	read := b.read.Add(int64(n))
	if err == io.EOF {
		b.once.Do(func() { observe(&b.kind.received, read) })
	}
	return n, err
}

// Close closes the body of Base's response.
func (b *countedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(func() { observe(&b.kind.received, max(b.read.Load(), b.kind.received.Load())) })
	return err
}
