package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const wire = "../../parse/testdata/wire/"

// A recorded is a response in the folder wire.
type recorded struct {
	I          int         `json:"i"`
	SentAt     float64     `json:"sent_at_unix"`
	StatusLine string      `json:"status_line"`
	Status     int         `json:"status"`
	Headers    [][2]string `json:"headers"`
	Body       string      `json:"body"`

	ID string `json:"id"` // of an anomaly
}

// raw returns the response as curl -i prints it. If it has no Date, raw adds one, so that
// the explanation does not depend on the current time.
func (r recorded) raw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\r\n", r.StatusLine)
	dated := false
	for _, field := range r.Headers {
		fmt.Fprintf(&b, "%s: %s\r\n", field[0], field[1])
		dated = dated || strings.EqualFold(field[0], "Date")
	}
	if !dated {
		at := time.Unix(int64(r.SentAt), 0).UTC()
		fmt.Fprintf(&b, "Date: %s\r\n", at.Format(http.TimeFormat))
	}
	fmt.Fprintf(&b, "\r\n%s", r.Body)
	return b.String()
}

// explains is explained in simulated time: the program looks at the clock several times.
func explains(t *testing.T, raw string, args ...string) (out string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { out = explained(t, raw, args...) })
	return out
}

// explained returns what the program prints for a raw response.
func explained(t *testing.T, raw string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(args, strings.NewReader(raw), &out))
	return out.String()
}

// golden compares text with a golden file, or writes it with -update.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run go test with -update")
	assert.Equal(t, string(want), text)
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}

// TestRecordings explains of each recording the first response, the last one before a
// refusal or the end, and the first one with each error status.
func TestRecordings(t *testing.T) {
	files, err := filepath.Glob(wire + "recordings/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			var recording struct {
				Responses []recorded `json:"responses"`
			}
			readJSON(t, file, &recording)
			var b strings.Builder
			for _, r := range samples(recording.Responses) {
				fmt.Fprintf(&b, "Response %d: %s\n", r.I, explains(t, r.raw()))
			}
			golden(t, name, b.String())
		})
	}
}

func samples(all []recorded) []recorded {
	chosen := all[:1:1]
	seen := map[int]bool{}
	for i, r := range all {
		refused := r.Status >= 400
		last := !refused && (i+1 == len(all) || all[i+1].Status >= 400)
		if i > 0 && last || refused && !seen[r.Status] {
			chosen = append(chosen, r)
		}
		seen[r.Status] = true
	}
	return chosen
}

func TestAnomalies(t *testing.T) {
	var anomalies []recorded
	readJSON(t, wire+"anomalies.json", &anomalies)
	require.NotEmpty(t, anomalies)
	var b strings.Builder
	for _, r := range anomalies {
		r.StatusLine = fmt.Sprintf("HTTP/1.1 %d", r.Status)
		r.SentAt = float64(time.Date(2026, time.November, 21, 4, 48, 0, 0, time.UTC).Unix())
		fmt.Fprintf(&b, "%s: %s\n", r.ID, explains(t, r.raw()))
	}
	golden(t, "anomalies", b.String())
}

// TestCases explains responses for cases that the recordings lack.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			golden(t, name, explains(t, "", file))
		})
	}
}

func TestSample(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	for _, stdin := range []io.Reader{null, strings.NewReader(""), strings.NewReader("\n")} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, run(nil, stdin, &out))
			golden(t, "sample", out.String())
		})
	}
}

func TestURL(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		assert.Equal(t, http.MethodGet, r.Method)
		w.Header().Set("Retry-After", "20")
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer server.Close()

	got := explained(t, "", server.URL+"/?key=secret")
	assert.Equal(t, 1, asked)
	assert.Equal(t, `302 Found
  Retry-After: 20 s; it applies only to the request that follows the redirect.
  The request that follows the redirect to the same server: in 20 s, because the server says when to retry.
  The next request: at once.
`, got)
}

func TestErrors(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for _, args := range [][]string{
		{"-"},
		{"testdata/no-such-file"},
		{"one", "two"},
		{"-unknown"},
		{"http://%zz/secret"},
		{"ftp://user:secret@example.com/"},
		{server.URL + "/?key=secret"},
	} {
		var out bytes.Buffer
		err := run(args, strings.NewReader(""), &out)
		if assert.Error(t, err, args) {
			assert.NotContains(t, err.Error(), "secret")
		}
		assert.Empty(t, out.String())
	}
	assert.ErrorIs(t, run(nil, strings.NewReader("<html>\n"), io.Discard), errNotResponse)
}

func TestParseResponses(t *testing.T) {
	const body = "{}\n"
	for name, raw := range map[string]string{
		"LF":           "HTTP/1.1 429 Too Many Requests\nRetry-After: 1\nRetry-After: 2\n\n" + body,
		"CRLF":         "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nRetry-After: 2\r\n\r\n" + body,
		"HTTP/2":       "HTTP/2 429 \r\nretry-after: 1\r\nretry-after: 2\r\n\r\n" + body,
		"blank before": "\ufeff\r\n\nHTTP/3 429\nretry-after: 1\nRETRY-AFTER:2\n\n" + body,
		"not a field":  "HTTP/1.1 429\n* curl says\nRetry-After: 1\nRetry-After: 2\nnonsense\n\n" + body,
		"wrong length": "HTTP/1.1 429\nRetry-After: 1\nRetry-After: 2\nContent-Length: 999\n\n" + body,
		"not chunked":  "HTTP/1.1 429\nRetry-After: 1\nRetry-After: 2\nTransfer-Encoding: chunked\n\n" + body,
	} {
		t.Run(name, func(t *testing.T) {
			responses, err := parseResponses([]byte(raw), "")
			require.NoError(t, err)
			require.Len(t, responses, 1)
			assert.Equal(t, 429, responses[0].StatusCode)
			assert.Equal(t, []string{"1", "2"}, responses[0].Header["Retry-After"])
			got, err := io.ReadAll(responses[0].Body)
			require.NoError(t, err)
			assert.Equal(t, body, string(got))
		})
	}
}

func TestParseWithoutStatusLine(t *testing.T) {
	responses, err := parseResponses([]byte("RateLimit: \"a\";a=1"), "api.example.com")
	require.NoError(t, err)
	require.Len(t, responses, 1)
	assert.Equal(t, http.StatusOK, responses[0].StatusCode)
	assert.Equal(t, "api.example.com", responses[0].Request.URL.Host)
}

func TestParseSeveral(t *testing.T) {
	responses, err := parseResponses([]byte(
		"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\nHTTP/2 103\r\n\r\nHTTP/2 200\r\n\r\none\ntwo\nHTTP/1.1 404 Not Found\n"), "")
	require.NoError(t, err)
	var statuses []int
	for _, resp := range responses {
		statuses = append(statuses, resp.StatusCode)
	}
	assert.Equal(t, []int{301, 103, 200, 404}, statuses)
	body, err := io.ReadAll(responses[2].Body)
	require.NoError(t, err)
	assert.Equal(t, "one\ntwo\n", string(body))
}

// TestHost uses a row of the vendor table that is for one host only.
func TestHost(t *testing.T) {
	const raw = "HTTP/2 200\nX-RateLimit-Remaining: 99.0\nX-RateLimit-Used: 1\nX-RateLimit-Reset: 300\n"
	assert.Contains(t, explained(t, raw, "-host", "www.reddit.com"), `(row "Reddit" of`)
	assert.Contains(t, explained(t, raw), `(row "X-RateLimit" of`)
}

// TestPercent: what is used of a quota in per cent is said, although a Shaper leaves it out until all is used.
func TestPercent(t *testing.T) {
	const status, usage = "HTTP/2 %d\nX-App-Usage: {\"call_count\":%d,\"total_time\":15}\n", `Used under "app call_count": 28 %.`
	text := explained(t, fmt.Sprintf(status, 200, 28), "-host", "graph.facebook.com")
	assert.Contains(t, text, usage)
	assert.Contains(t, text, `Used under "app total_time": 15 %.`)
	assert.NotContains(t, text, "Available under")
	text = explained(t, fmt.Sprintf(status, 400, 100), "-host", "graph.facebook.com")
	assert.Contains(t, text, `Available under "app call_count": 0 of "percent"`)
	assert.NotContains(t, text, `Used under "app call_count"`)
	assert.NotContains(t, explained(t, fmt.Sprintf(status, 200, 100), "-host", "graph.facebook.com"), `Used under "app call_count"`)
}

// If there is no Date, absolute times are relative to the local clock.
func TestClock(t *testing.T) {
	const said = "There is no Date"
	soon := time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
	assert.Contains(t, explained(t, "HTTP/2 429\nRetry-After: "+soon), said)
	assert.NotContains(t, explained(t, "HTTP/2 429\nDate: "+soon+"\nRetry-After: "+soon), said)
	assert.NotContains(t, explained(t, "HTTP/2 429\nRetry-After: 10"), said)
}

func TestNoSecrets(t *testing.T) {
	got := explained(t, strings.Join([]string{
		"HTTP/1.1 200 OK",
		"RateLimit: \"api\";a=1;w=10;pk=:c2VjcmV0:",
		"RateLimit-Partition: \"api\";user_id=\"secret\"",
		"X-Quota: secret",
		"Set-Cookie: secret",
		"Authorization: Bearer secret",
		"Location: https://secret@example.com/",
	}, "\n"))
	assert.Contains(t, got, "present (6 bytes)")
	assert.NotContains(t, got, "secret")
	assert.NotContains(t, got, "c2VjcmV0")
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0 s",
		time.Microsecond:                      "less than 0.001 s",
		1840 * time.Millisecond:               "1.84 s",
		90 * time.Second:                      "90 s",
		2 * time.Minute:                       "2 min",
		10*time.Minute + 500*time.Millisecond: "10 min 1 s",
		time.Hour + 30*time.Second:            "60 min 30 s",
		26*time.Hour + 5*time.Minute:          "26 h 5 min",
		49 * time.Hour:                        "2 days 1 h",
	} {
		assert.Equal(t, want, words(d))
	}
	assert.Equal(t, "6 s", about(6001*time.Millisecond))
	assert.Equal(t, "less than 0.1 s", about(12*time.Millisecond))
	assert.Equal(t, "4th", ordinal(4))
}

// A time to wait, of which all fields that look like quota have the name, is not suggested as the limit of a quota.
func TestNoLimitOfRetryAfter(t *testing.T) {
	text := explained(t, "HTTP/2 429\nX-Retry-After: 4406000000000\n", "-host", "api.example.com")
	assert.Contains(t, text, "suggest a quota: X-Retry-After")
	assert.NotContains(t, text, "Limit:")
}

// The row that is suggested has each field where it belongs, and those that are told only by the names beside them.
func TestSuggestedRow(t *testing.T) {
	for fields, want := range map[string][]string{
		"X-Scans-Limit: 10\nX-Scans-Count: 3\nX-Scans-Remaining: 7": {
			`Limit:     []string{"X-Scans-Limit"}`, `Remaining: []string{"X-Scans-Remaining"}`, `Used:      []string{"X-Scans-Count"}`,
		},
		"X-Chat-Token-Limit: 80\nX-Chat-Token-Remaining: 7\nX-Chat-Token-Reset: 60\nX-Chat-Id: 4\nX-Reset: 5": {
			`Remaining: []string{"X-Chat-Token-Remaining"}`, `Reset:     []string{"X-Chat-Token-Reset"}`,
		},
		"X-Remaining: 7\nX-Count: 31\nX-Page-Count: 9\nQuota: 7\nCount: 31": {`"X-Remaining"`},
		"X-Limit-Minutes: 3\nX-Limit-Remaining: 2": {
			`Limit:     []string{"X-Limit-Minutes"}`, `Remaining: []string{"X-Limit-Remaining"}`,
		},
		"X-Chat-Words-Limit: 3\nX-Chat-Pages-Limit-Remaining: 2": {
			`Limit:     []string{"X-Chat-<Words>-Limit"}`, `Remaining: []string{"X-Chat-<Pages>-Limit-Remaining"}`,
		},
		"Acme-Quota-Limit: 100\nAcme-Quota-Left: 7\nAcme-Quota-Plan: free\nAcme-Quota-Cost: 2\nAcme-Quota-Interval: 1\n" +
			"Acme-Quota-Time-Unit: month\nAcme-Quota-Reset-UTC: 2030-01-01T00:00:00Z": {
			`Limit:     []string{"Acme-Quota-Limit"}`, `Remaining: []string{"Acme-Quota-Left"}`, `Cost:      []string{"Acme-Quota-Cost"}`,
			`Reset:     []string{"Acme-Quota-Reset-Utc"}`, `Window:    []string{"Acme-Quota-Time-Unit", "Acme-Quota-Interval"}`,
		},
	} {
		text := explained(t, "HTTP/2 200\n"+fields+"\n", "-host", "api.example.com")
		for _, line := range want {
			assert.Contains(t, text, line)
		}
		assert.NotContains(t, text, "X-Chat-Id")
		for _, other := range []string{`"X-Count`, `"X-Page`, `"Count`} {
			assert.NotContains(t, text, other)
		}
		assert.NotContains(t, text, `"X-Reset"`)
	}
	assert.NotContains(t, explained(t, "HTTP/2 200\nAcme-Quota-Weight: 5000\n", "-host", "api.example.com"), "This row")
}

// Fields that say the same in two ways are named, too: a limit, what is left of it, and what is used.
func TestReadFromFieldsThatRepeat(t *testing.T) {
	text := explained(t, "HTTP/2 200\nX-Rate-Limit-Daily: 2000\nX-Daily-Requests-Left: 1950\nX-Daily-Usage: 50\nAge: 0\n")
	assert.Contains(t, text, "Read from: X-Daily-Requests-Left, X-Daily-Usage.")
	assert.Contains(t, text, "Adds nothing: X-Rate-Limit-Daily.")
}

// A server may ask for a back-off with a success.
func TestBackoff(t *testing.T) {
	text := explains(t, "HTTP/2 200\nBackoff: 10\n")
	assert.Contains(t, text, "Retry-After: 10 s; obeyed, because a back-off is asked for whatever the status.")
	assert.Contains(t, text, "The next request: in 10 s")
}
