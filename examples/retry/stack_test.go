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

// scripted is a Base that answers one thing after the other, and the last again. It
// keeps what it was sent, and when.
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

// Who waits, and for how long, after what; and the whole body is sent each time.
func TestStack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []answer
		pauses  []time.Duration // between what is sent
		status  int             // of the answer that the caller gets
	}{
		{"served", []answer{{200, ""}}, nil, 200},
		{"the Shaper waits after 429", []answer{{429, "3"}, {200, ""}}, []time.Duration{3 * time.Second}, 200},
		{"the Shaper waits after 503", []answer{{503, "5"}, {200, ""}}, []time.Duration{5 * time.Second}, 200},
		{"retryablehttp waits after 502", []answer{{502, ""}, {502, ""}, {200, ""}},
			[]time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, 200},
		{"one after the other", []answer{{429, "1"}, {502, ""}, {200, ""}},
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

// What the Shaper refuses is not tried again, and the error can be had.
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

// After a refusal the pause is the Shaper's: the retry goes into its line at once.
func TestBackoff(t *testing.T) {
	const least, most = 100 * time.Millisecond, 2 * time.Second
	for _, tt := range []struct {
		answer
		want time.Duration
	}{
		{answer{429, ""}, 0},
		{answer{429, "3"}, 0},
		{answer{503, "3"}, 0},
		{answer{503, "soon"}, least},
		{answer{503, ""}, least},
		{answer{502, ""}, least},
	} {
		resp := &http.Response{StatusCode: tt.status, Header: http.Header{"Retry-After": {tt.retryAfter}}}
		assert.Equal(t, tt.want, backoff(least, most, 0, resp), "%+v", tt)
	}
	assert.Equal(t, least, backoff(least, most, 0, nil), "no answer")
	assert.Equal(t, most, backoff(least, most, 9, nil))
}
