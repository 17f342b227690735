package transport_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// withJSON answers as a does, with another body, which is JSON.
func withJSON(a answer, body string) answer {
	return withBody(func(req *http.Request) (*http.Response, error) {
		resp, err := a(req)
		resp.Header.Set("Content-Type", "application/json; charset=utf-8")
		return resp, err
	}, body)
}

// noCredit is a 429 with the reason that no credit is left, as language models send it.
func noCredit(fields ...string) answer {
	return withJSON(says(429, fields...), `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`)
}

// A refusal for lack of credit, or of a request that is larger than the quota, holds no
// other request.
func TestRefusalsUnrelatedToQuota(t *testing.T) {
	left := []string{
		"X-RateLimit-Limit-Tokens", "30000", "X-RateLimit-Remaining-Tokens", "29000", "X-RateLimit-Reset-Tokens", "2s",
		"X-RateLimit-Limit-Requests", "500", "X-RateLimit-Remaining-Requests", "499", "X-RateLimit-Reset-Requests", "120ms",
	}
	for name, refusal := range map[string]answer{
		"no credit":       noCredit(),
		"other code":      withJSON(says(429), `{"error":{"code":"credit_balance_exhausted"}}`),
		"cap on spending": withJSON(says(429), `{"type":"error","error":{"type":"rate_limit_error","error_code":"enforced_spend_limit_reached"}}`),
		"too large": withJSON(says(429, left...), `{"error":{"message":"Request too large for gpt-4o in organization org on tokens per min (TPM): `+
			`Limit 30000, Requested 34954.","type":"tokens","code":"rate_limit_exceeded"}}`),
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(refusal)}
			for range 20 {
				assert.Zero(t, delay(t, s, getItems(t.Context())))
			}
		})
		bubble(t, name+", and nothing was learned", func(t *testing.T) {
			s := &transport.Shaper{Base: newChooser(func(n int, _ *http.Request) answer {
				if n%100 >= 90 {
					return refusal
				}
				return says(200)
			})}
			for n := range 1000 {
				assert.Zero(t, delay(t, s, getItems(t.Context())), n)
				if n%100 >= 90 {
					time.Sleep(10 * time.Second)
				} else {
					time.Sleep(10 * time.Millisecond)
				}
			}
		})
	}
}

// Until the caller reads the body the refusal is one like any other; with a Retry-After it
// stays one.
func TestUnrelatedRefusalBeforeItIsRead(t *testing.T) {
	bubble(t, "not read", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(noCredit(), says(200)), MaxDelay: transport.NoDelay}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, refusal(t, s, getItems(t.Context())).RetryAfter, time.Second)
		drop(resp)
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
	bubble(t, "who waits goes", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(noCredit(), says(200))}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		waited := make(chan time.Duration)
		go func() { waited <- delay(t, s, getItems(t.Context())) }()
		time.Sleep(200 * time.Millisecond)
		drop(resp)
		assert.Equal(t, 200*time.Millisecond, <-waited)
	})
	bubble(t, "Retry-After", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(noCredit("Retry-After", "7"), says(200))}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, 7*time.Second, delay(t, s, getItems(t.Context())))
	})
	bubble(t, "another refusal meanwhile", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(noCredit(), says(429), says(200))}
		resp, err := s.RoundTrip(getItems(transport.WithBypass(t.Context())))
		require.NoError(t, err)
		time.Sleep(time.Millisecond)
		pass(t, s, getItems(transport.WithBypass(t.Context())))
		drop(resp)
		assert.GreaterOrEqual(t, delay(t, s, getItems(t.Context())), time.Second)
	})
	bubble(t, "a problem that names no policy", func(t *testing.T) {
		body := `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"}`
		s := &transport.Shaper{Base: newServer(withBody(says(429, "Content-Type", "application/problem+json"), body), says(200))}
		pass(t, s, getItems(t.Context()))
		assert.GreaterOrEqual(t, delay(t, s, getItems(t.Context())), time.Second)
	})
	bubble(t, "other words", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(withJSON(says(429), `{"error":"slow down"}`), says(200))}
		pass(t, s, getItems(t.Context()))
		assert.GreaterOrEqual(t, delay(t, s, getItems(t.Context())), time.Second)
	})
}

// A row can name such signs, in a field, too.
func TestUnrelatedSignsOfRows(t *testing.T) {
	rows := []parse.Vendor{{Refusals: []parse.Refusal{
		{Status: 429, Field: "X-Reason", Text: "blocked", Unrelated: true},
		{Status: 429, Text: "blocked", Unrelated: true},
		{Status: 403, Text: "blocked", Unrelated: true},
	}}}
	for name, tt := range map[string]struct {
		first answer
		held  bool
	}{
		"a field":        {says(429, "X-Reason", "blocked"), false},
		"another reason": {says(429, "X-Reason", "busy"), true},
		"the body":       {withJSON(says(429), `["blocked"]`), false},
		"not JSON":       {withBody(says(429), "blocked"), true},
		"other status":   {withBody(says(403), "blocked"), false},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(tt.first, says(200)), Vendors: rows}
			pass(t, s, getItems(t.Context()))
			assert.Equal(t, tt.held, delay(t, s, getItems(t.Context())) > 0)
		})
	}
}
