package fuzz

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// FuzzProblem reads bodies of refusals that may be cut off.
func FuzzProblem(f *testing.F) {
	const media = "application/problem+json"
	for _, body := range []string{
		`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Too Many Requests","status":429,"violated-policies":["default"]}`,
		`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":["daily","bandwidth"]}`,
		`{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","violated-policies":["hourly", 1, null, "hourly"]}`,
		`{"type":"https://www.iana.org/assignments/http-problem-types#abnormal-usage-detected","policy-violations":["hourly"]}`,
		`{ "type": "https://iana.org/assignments/http-problem-types#quota-exceeded" "title": "Too Many Requests" }`,
		`{"type":["a"],"violated-policies":{"a":1}}`, `null`, `[]`, ``,
	} {
		f.Add(429, media+"; charset=utf-8", []byte(body), len(body))
		f.Add(503, media+"; =", []byte(body), len(body)/2)
	}
	for _, body := range []string{
		`{"parameters":{"retry_after":35},"x":[{"retryDelay":"34.07s"}]}`, `{"reset":1796032860,"retry_after_ms":2500.5}`,
		`{"error":{"message":"Please try again in 7m12s."}}`, `"wait '5' minutes"`, `try again in 99999999999999999999h`,
	} {
		f.Add(429, "application/json", []byte(body), len(body)-1)
		f.Add(429, "text/plain", []byte(body), len(body))
	}
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte, cut int) {
		h := http.Header{"Content-Type": {contentType}, "Date": {"Mon, 30 Nov 2026 10:00:00 GMT"}}
		kind, violated, wait := parse.ReadBody(status, h, body, time.Time{}, caps)
		checkProblem(t, kind, violated)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.LessOrEqual(t, wait, caps.RetryAfter)
		if kind != "" {
			require.True(t, json.Valid(body))
		}
		if cut < 0 || cut > len(body) {
			return
		}
		kind, violated, wait = parse.ReadBody(status, h, body[:cut], time.Time{}, caps)
		checkProblem(t, kind, violated)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.LessOrEqual(t, wait, caps.RetryAfter)
		if kind != "" {
			require.True(t, json.Valid(body[:cut]), "a body that is cut off is not read")
		}
	})
}

func checkProblem(t *testing.T, kind string, violated []string) {
	t.Helper()
	require.True(t, kind != "" || len(violated) == 0)
	require.LessOrEqual(t, len(violated), caps.Items)
	seen := map[string]bool{}
	for _, name := range violated {
		require.LessOrEqual(t, len(name), caps.NameBytes)
		require.False(t, seen[name], "twice")
		seen[name] = true
	}
}
