package transport

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
)

// attend listens to the body of a refusal, as the caller reads it, for the
// policies that a pause concerns (the draft, Section 8). It is never read ahead
// of the caller, and what is not read teaches nothing.
func attend(resp *http.Response, restrict func(time.Time, []string), caps parse.Caps) {
	status, kind := resp.StatusCode, resp.Header.Get("Content-Type")
	if status < 400 || resp.Body == nil || resp.Body == http.NoBody || !isProblem(kind) {
		return
	}
	most := caps.ProblemBytes
	if most == 0 {
		most = parse.DefaultCaps().ProblemBytes
	}
	resp.Body = &problemBody{
		ReadCloser: resp.Body,
		most:       most,
		tell: func(body []byte) {
			if p, ok := parse.ReadProblem(status, kind, body, caps); ok {
				restrict(time.Now(), p.Violated)
			}
		},
	}
}

// isProblem reports whether a media type may be that of a problem (RFC 9457).
func isProblem(kind string) bool {
	const problem = "application/problem+json"
	return len(kind) >= len(problem) && strings.EqualFold(kind[:len(problem)], problem)
}

// problemBody keeps what is read of a body, up to a bound, and tells it when
// the body is read to its end or closed.
type problemBody struct {
	io.ReadCloser
	most int // bytes; negative: no bound
	tell func([]byte)

	mu   sync.Mutex // guards following; Close may run beside Read
	kept []byte
	over bool // told, or more was read than is kept
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
	if b.over = b.over || b.most >= 0 && len(b.kept)+len(p) > b.most; b.over {
		b.kept = nil
		return
	}
	b.kept = append(b.kept, p...)
}

func (b *problemBody) end() {
	b.mu.Lock()
	kept, over := b.kept, b.over
	b.kept, b.over = nil, true
	b.mu.Unlock()
	if !over && len(kept) > 0 {
		b.tell(kept)
	}
}
