package transport

import (
	"io"
	"net/http"
	"runtime"
	"sync"

	"github.com/headway-go/headway/quota"
)

// hold takes over the lease, if it keeps something until the request is over,
// and releases it when the body of the response is read to its end, closed, or
// garbage. The body stays what it was otherwise: one of a 101 response keeps its
// Write.
func hold(resp *http.Response, lease *quota.Lease) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return // over already
	}
	retained := lease.Retained()
	if retained == nil {
		return
	}
	b := &body{ReadCloser: resp.Body, lease: retained}
	b.lost = runtime.AddCleanup(b, (*quota.Lease).Release, b.lease)
	w, writes := resp.Body.(io.Writer)
	half, halves := resp.Body.(closeWriter)
	switch {
	case writes && halves:
		resp.Body = &halfClosingBody{writableBody{body: b, Writer: w}, half}
	case writes:
		resp.Body = &writableBody{body: b, Writer: w}
	default:
		resp.Body = b
	}
}

// body releases a lease at its end. One that is neither read to its end nor
// closed, as it must be, does so when it is garbage.
type body struct {
	io.ReadCloser
	lease *quota.Lease
	over  sync.Once
	lost  runtime.Cleanup // does what end does
}

// Read reads from the body of Base's response.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.over.Do(b.end)
	}
	return n, err
}

// Close closes the body of Base's response.
func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.over.Do(b.end)
	return err
}

func (b *body) end() {
	b.lost.Stop()
	b.lease.Release()
}

// writableBody is the body of a connection that was upgraded. It is over when
// it is closed: the end of what the server writes is not the end of it.
type writableBody struct {
	*body
	io.Writer
}

// Read reads from the connection.
func (b *writableBody) Read(p []byte) (int, error) {
	defer runtime.KeepAlive(b.body) // it is not garbage while it is read
	return b.ReadCloser.Read(p)
}

// closeWriter is what the body of an upgraded connection may be able to do.
type closeWriter interface{ CloseWrite() error }

// halfClosingBody is a writableBody of which one half can be closed.
type halfClosingBody struct {
	writableBody
	closeWriter
}
