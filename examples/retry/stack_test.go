package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
)

// scripted is a Base that returns the answers in order, then repeats the last one. It
// records the bodies and the times of the requests.
type scripted struct {
	answers []answer
	bodies  []string
	sent    []time.Time
}

type answer struct {
	status     int
	retryAfter string
}

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := req.Body.Close(); err != nil {
		return nil, err
	}
	a := s.answers[min(len(s.sent), len(s.answers)-1)]
	s.sent, s.bodies = append(s.sent, time.Now()), append(s.bodies, string(body))
	h := make(http.Header)
	if a.retryAfter != "" {
		h.Set("Retry-After", a.retryAfter)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: http.NoBody, Request: req}, nil
}

func upload1(ctx context.Context, s *scripted) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://api.example/documents/1", strings.NewReader("document"))
	if err != nil {
		return nil, err
	}
	return retryAboveShaper(s).Do(req)
}

// The Shaper or go-retryablehttp waits before a retry, depending on the answer. Each
// request has the whole body.
func TestStack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []answer
		pauses  []time.Duration // between requests
		status  int             // of the response that the caller gets
	}{
		{"served", []answer{{200, ""}}, nil, 200},
		{"the Shaper waits after 429", []answer{{429, "3"}, {200, ""}}, []time.Duration{3 * time.Second}, 200},
		{"the Shaper waits after 503", []answer{{503, "5"}, {200, ""}}, []time.Duration{5 * time.Second}, 200},
		{"retryablehttp waits after 502", []answer{{502, ""}, {502, ""}, {200, ""}},
			[]time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, 200},
		{"429, then 502", []answer{{429, "1"}, {502, ""}, {200, ""}},
			[]time.Duration{time.Second, 200 * time.Millisecond}, 200},
		{"given up", []answer{{502, ""}}, []time.Duration{
			100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond}, 502},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{answers: tt.answers}
				resp, err := upload1(t.Context(), s)
				require.NoError(t, err)
				assert.Equal(t, tt.status, resp.StatusCode)
				var pauses []time.Duration
				for i := range s.sent[1:] {
					pauses = append(pauses, s.sent[i+1].Sub(s.sent[i]))
				}
				assert.Equal(t, tt.pauses, pauses)
				for _, body := range s.bodies {
					assert.Equal(t, "document", body)
				}
			})
		})
	}
}

// A request that the Shaper refuses is not retried, and the caller gets the Shaper's error.
func TestRejected(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{answers: []answer{{429, "3600"}}}
			ctx := t.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			began := time.Now()
			_, err := upload1(ctx, s)
			var rejected *transport.RejectedError
			require.ErrorAs(t, err, &rejected)
			assert.Equal(t, time.Hour, rejected.RetryAfter)
			assert.Equal(t, timeout > 0, errors.Is(err, context.DeadlineExceeded))
			assert.Len(t, s.sent, 1)
			assert.Zero(t, time.Since(began))
		})
	}
}

// After a refusal the Shaper waits, so the retry enters its line at once.
func TestBackoff(t *testing.T) {
	const minWait, maxWait = 100 * time.Millisecond, 2 * time.Second
	for _, tt := range []struct {
		answer
		want time.Duration
	}{
		{answer{429, ""}, 0},
		{answer{429, "3"}, 0},
		{answer{503, "3"}, 0},
		{answer{503, "soon"}, minWait},
		{answer{503, ""}, minWait},
		{answer{502, ""}, minWait},
	} {
		resp := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.retryAfter}}}
		assert.Equal(t, tt.want, backoff(minWait, maxWait, 0, resp), "%+v", tt)
	}
	assert.Equal(t, minWait, backoff(minWait, maxWait, 0, nil), "no response")
	assert.Equal(t, maxWait, backoff(minWait, maxWait, 9, nil))
}
