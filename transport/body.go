package transport

import (
	"io"
	"net/http"
	"runtime"
	"sync"

	"github.com/headway-go/headway/quota"
)

// retainUntilClosed moves the lease to the body of the response if it retains
// permits. They are released when the body is read to its end, closed, or garbage.
// The body keeps Write and CloseWrite: that of a 101 response can still be written to.
func (x *exchange) retainUntilClosed(resp *http.Response) {
	if !x.hasContent(resp) {
		return // the end of RoundTrip releases the lease
	}
	if retained := x.lease.Retained(); retained != nil {
		retain(resp, retained)
	}
}

// hasContent reports whether there may be something to read from the body of the response (RFC 9110,
// Section 6.4.1). Callers often do not close an empty body. In HTTP/1.1 it is http.NoBody, which needs no Close; in
// HTTP/2 it is not.
func (x *exchange) hasContent(resp *http.Response) bool {
	switch {
	case resp.Body == nil || resp.Body == http.NoBody:
		return false
	case x.req.Method == http.MethodHead, resp.StatusCode == http.StatusNotModified:
		return false
	}
	return resp.ContentLength != 0 || resp.ProtoMajor < 2 // a Base that is no http.Transport may leave both 0
}

// retain has the body of the response release the lease.
func retain(resp *http.Response, retained *quota.Lease) {
	b := &leasedBody{ReadCloser: resp.Body, lease: retained}
	b.cleanup = runtime.AddCleanup(b, (*quota.Lease).Release, b.lease)
	w, writes := resp.Body.(io.Writer)
	cw, closesWrite := resp.Body.(closeWriter)
	switch {
	case writes && closesWrite:
		resp.Body = &halfClosingBody{writableBody{leasedBody: b, Writer: w}, cw}
	case writes:
		resp.Body = &writableBody{leasedBody: b, Writer: w}
	default:
		resp.Body = b
	}
}

// A leasedBody releases a lease when it ends. If the caller neither reads it to
// its end nor closes it, which is a mistake, the garbage collector does so.
type leasedBody struct {
	io.ReadCloser
	lease   *quota.Lease
	once    sync.Once // calls end
	cleanup runtime.Cleanup
}

// Read reads from the body of Base's response.
func (b *leasedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.once.Do(b.end)
	}
	return n, err
}

// Close closes the body of Base's response.
func (b *leasedBody) Close() error {
	defer b.once.Do(b.end) // also if it panics
	return b.ReadCloser.Close()
}

func (b *leasedBody) end() {
	b.cleanup.Stop()
	b.lease.Release()
}

// A writableBody is the body of a connection that was upgraded. It ends when it is
// closed: after the server has sent all it has to send, the client may still write.
type writableBody struct {
	*leasedBody
	io.Writer
}

// Read reads from the connection.
func (b *writableBody) Read(p []byte) (int, error) {
	defer runtime.KeepAlive(b.leasedBody) // a body that is being read is not garbage
	return b.ReadCloser.Read(p)
}

// closeWriter is implemented by the bodies of some upgraded connections.
type closeWriter interface{ CloseWrite() error }

// A halfClosingBody is a writableBody that can be closed for writing alone.
type halfClosingBody struct {
	writableBody
	closeWriter
}
