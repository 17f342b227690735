package transport

import (
	"io"
	"net/http"
	"sync"

	"github.com/headway-go/headway/parse"
)

// watchBody calls done with the body of the response once the caller has read or closed
// it, unless it is larger than a problem may be: twice Caps.FieldBytes.
func watchBody(resp *http.Response, caps parse.Caps, done func([]byte)) {
	fieldBytes := caps.FieldBytes
	if fieldBytes == 0 {
		fieldBytes = parse.DefaultCaps().FieldBytes
	}
	resp.Body = &problemBody{ReadCloser: resp.Body, maxBytes: 2 * fieldBytes, done: done}
}

// A problemBody keeps what is read of a body, up to a bound, and calls done with it
// when the body is read to its end or closed.
type problemBody struct {
	io.ReadCloser
	maxBytes int // negative: no bound
	done     func([]byte)

	mu       sync.Mutex // guards following; Close may run beside Read
	kept     []byte
	finished bool // done was called, or more than maxBytes were read
}

// Read reads from the body of Base's response.
func (b *problemBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.keep(p[:n])
	if err == io.EOF {
		b.end()
	}
	return n, err
}

// Close closes the body of Base's response.
func (b *problemBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}

func (b *problemBody) keep(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.finished = b.finished || b.maxBytes >= 0 && len(b.kept)+len(p) > b.maxBytes; b.finished {
		b.kept = nil
		return
	}
	b.kept = append(b.kept, p...)
}

func (b *problemBody) end() {
	b.mu.Lock()
	kept, finished := b.kept, b.finished
	b.kept, b.finished = nil, true
	b.mu.Unlock()
	if !finished && len(kept) > 0 {
		b.done(kept)
	}
}
