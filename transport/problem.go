package transport

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// A restriction is what quota.Origin.Settle returns.
type restriction = func(now time.Time, policies []string) []quota.Change

// watchProblem reads the policies that a pause concerns from the body of a refusal
// (the draft, Section 8), as the caller reads it, never ahead of the caller. If the
// caller does not read the body, nothing is learned from it.
func watchProblem(resp *http.Response, restrict restriction, changed func([]quota.Change), caps parse.Caps) {
	status, mediaType := resp.StatusCode, resp.Header.Get("Content-Type")
	if status < 400 || resp.Body == nil || resp.Body == http.NoBody || !isProblem(mediaType) {
		return
	}
	watchBody(resp, caps, func(body []byte) {
		if _, violated := parse.ReadProblem(status, mediaType, body, caps); len(violated) > 0 {
			for i, name := range violated {
				violated[i] = listName(name)
			}
			changed(restrict(time.Now(), violated))
		}
	})
}

// watchBody calls done with the body of the response once the caller has read or closed
// it, unless it is larger than a problem may be: twice Caps.FieldBytes.
func watchBody(resp *http.Response, caps parse.Caps, done func([]byte)) {
	fieldBytes := caps.FieldBytes
	if fieldBytes == 0 {
		fieldBytes = parse.DefaultCaps().FieldBytes
	}
	resp.Body = &problemBody{ReadCloser: resp.Body, maxBytes: 2 * fieldBytes, done: done}
}

// isProblem reports whether a media type may be that of a problem (RFC 9457).
func isProblem(mediaType string) bool {
	const problem = "application/problem+json"
	return len(mediaType) >= len(problem) && strings.EqualFold(mediaType[:len(problem)], problem)
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
