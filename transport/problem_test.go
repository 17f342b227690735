package transport_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
)

// problem answers with a problem details object (RFC 9457).
func problem(status int, body string, fields ...string) answer {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := says(status, append(fields, "Content-Type", "application/problem+json; charset=utf-8")...)(req)
		resp.Body = io.NopCloser(strings.NewReader(body))
		return resp, err
	}
}

const exceeded = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":["writes"]}`

// A Retry-After without RateLimit fields holds all requests of the scope, until the
// caller reads a body with a problem type that names policies (the draft, Section 8).
// If all of these are known, it then holds only their requests.
func TestProblemRestrictsRetryAfter(t *testing.T) {
	const declared = `"reads";method=GET, "writes";method=POST`
	all := []string{
		"RateLimit", `"reads";a=99;w=600;pk=:R0VU:, "writes";a=99;w=600;pk=:UE9TVA==:`,
		"RateLimit-Partition", declared,
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		read   func(*http.Response)
		reads  time.Duration // how long a GET waits after the body was read: 1 s until it looks whether it is held, too
	}{
		"read to its end": {status: 429, body: exceeded, read: func(r *http.Response) { _, _ = io.ReadAll(r.Body) }},
		"read and closed": {status: 429, body: exceeded + " ", read: func(r *http.Response) {
			_, _ = io.ReadFull(r.Body, make([]byte, len(exceeded)))
			_ = r.Body.Close()
		}},
		"of the whole origin": {status: 503, body: exceeded, read: func(r *http.Response) { _, _ = io.ReadAll(r.Body) }},
		"not read":            {status: 429, body: exceeded, read: func(r *http.Response) { _ = r.Body.Close() }, reads: time.Second},
		"cut off": {status: 429, body: exceeded[:len(exceeded)-3], reads: time.Second,
			read: func(r *http.Response) { _, _ = io.ReadAll(r.Body) }},
		"an unknown policy": {status: 429, body: strings.Replace(exceeded, `"writes"`, `"writes","others"`, 1), reads: time.Second,
			read: func(r *http.Response) { _, _ = io.ReadAll(r.Body) }},
		"too long": {status: 429, body: strings.Repeat(" ", 20<<10) + exceeded, reads: time.Second,
			read: func(r *http.Response) { _, _ = io.ReadAll(r.Body) }},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(says(200, all...), problem(tt.status, tt.body, "Retry-After", "30"), says(200))
			s := &transport.Shaper{Base: srv}
			pass(t, s, newRequest(t.Context(), "POST", items))
			resp, err := s.RoundTrip(newRequest(t.Context(), "POST", items))
			require.NoError(t, err)
			tt.read(resp)
			assert.Equal(t, tt.reads, s.Check(getItems(t.Context())).Wait)
			assert.Equal(t, 30*time.Second, s.Check(newRequest(t.Context(), "POST", items)).Wait)
			assert.Equal(t, tt.reads, delay(t, s, getItems(t.Context())))
		})
	}
}

// A problem may name the policy whose name is empty. It is a policy like another, and
// unknown if no List of the server has named it.
func TestProblemNamesEmptyName(t *testing.T) {
	violated := strings.Replace(exceeded, "writes", "", 1)
	for name, tt := range map[string]struct {
		policy string
		reads  time.Duration // how long a GET waits after the body was read
	}{
		"known":   {"", 0},
		"unknown": {"writes", time.Second}, // a look of another kind
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200,
				"RateLimit", `"reads";a=99;w=600;pk=:R0VU:, "`+tt.policy+`";a=99;w=600;pk=:UE9TVA==:`,
				"RateLimit-Partition", `"reads";method=GET, "`+tt.policy+`";method=POST`,
			), problem(429, violated, "Retry-After", "30"), says(200))}
			post := func() *http.Request { return newRequest(t.Context(), "POST", items) }
			pass(t, s, post())
			resp, err := s.RoundTrip(post())
			require.NoError(t, err)
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.reads, s.Check(getItems(t.Context())).Wait)
			assert.Equal(t, 30*time.Second, s.Check(post()).Wait)
			assert.Equal(t, tt.reads, delay(t, s, getItems(t.Context())))
		})
	}
}

// The caller reads every byte of a problem, and the errors of its body.
func TestProblemBodyIsUnchanged(t *testing.T) {
	for name, body := range map[string]string{
		"short": exceeded, "long": strings.Repeat("x", 100_000), "empty": "",
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(problem(429, body, "Retry-After", "30"))}
			resp, err := s.RoundTrip(getItems(t.Context()))
			require.NoError(t, err)
			got, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.True(t, bytes.Equal([]byte(body), got))
			assert.NoError(t, resp.Body.Close())
			assert.NoError(t, resp.Body.Close())
		})
	}
}

// Requests that are held by a Retry-After go at once when the problem says that it
// concerns other policies.
func TestProblemLetsGo(t *testing.T) {
	bubble(t, "in line", func(t *testing.T) {
		srv := newServer(
			says(200, "RateLimit", `"writes";a=9;w=600;pk=:UE9TVA==:`, "RateLimit-Partition", `"writes";method=POST`),
			problem(429, exceeded, "Retry-After", "30"), says(200))
		s := &transport.Shaper{Base: srv, Like: func(*http.Request) string { return "" }} // so that the GET does not look
		pass(t, s, newRequest(t.Context(), "POST", items))
		resp, err := s.RoundTrip(newRequest(t.Context(), "POST", items))
		require.NoError(t, err)
		waited := make(chan time.Duration)
		go func() { waited <- delay(t, s, getItems(t.Context())) }()
		time.Sleep(5 * time.Second)
		_, err = io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, 5*time.Second, <-waited)
	})
}
