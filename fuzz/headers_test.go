package fuzz

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// header returns the header of a text with one field per line.
func header(text string) http.Header {
	h := http.Header{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && name != "" {
			h.Add(name, strings.Trim(value, " \t\r"))
		}
	}
	return h
}

// recorded returns headers that real servers sent.
func recorded(f *testing.F) (texts []string) {
	f.Helper()
	names, err := filepath.Glob("../parse/testdata/wire/recordings/*.json")
	require.NoError(f, err)
	add := func(headers [][2]string) {
		var b strings.Builder
		for _, h := range headers {
			b.WriteString(h[0] + ": " + h[1] + "\n")
		}
		texts = append(texts, b.String())
	}
	for _, name := range names {
		var file struct {
			Responses []struct{ Headers [][2]string }
		}
		read(f, name, &file)
		if n := len(file.Responses); n > 0 {
			add(file.Responses[0].Headers)
			add(file.Responses[n-1].Headers)
		}
	}
	var odd []struct{ Headers [][2]string }
	read(f, "../parse/testdata/wire/anomalies.json", &odd)
	for _, o := range odd {
		add(o.Headers)
	}
	var vendors []struct{ Headers map[string]string }
	read(f, "../parse/testdata/wire/vendors.json", &vendors)
	for _, v := range vendors {
		var headers [][2]string
		for name, value := range v.Headers {
			headers = append(headers, [2]string{name, value})
		}
		slices.SortFunc(headers, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		add(headers)
	}
	return texts
}

func read(f *testing.F, name string, into any) {
	f.Helper()
	text, err := os.ReadFile(name)
	require.NoError(f, err)
	require.NoError(f, json.Unmarshal(text, into))
}

// FuzzHeaders reads whole headers, for hosts with and without a row.
func FuzzHeaders(f *testing.F) {
	hosts := []string{"", "api.example:443", "reddit.com", "api.linear.app", "acme.okta.com", "api.lemlist.com", "own.example"}
	for i, text := range recorded(f) {
		f.Add(text, 200+229*(i%2), uint8(i))
	}
	for _, text := range []string{
		"X-RateLimit-Limit: name=a,10;name=b,20;\nX-RateLimit-Remaining: name=b,3;name=a,0;",
		`X-RateLimit: {"name":"all","period":10,"limit":50,"remaining":49,"until":"2026-11-21T04:48:10Z"}`,
		`X-RateLimit-Limit: {'minute': 10, "hour": 20}` + "\nX-RateLimit-Remaining: {'minute': 9}\nX-RateLimit-Reset: 41250",
		"X-RateLimit-Limit: 300/3000/12000\nX-RateLimit-Remaining: 0/1/2\nX-RateLimit-Reset: 9/8/7",
		"X-RateLimit-Replenish-Rate: 0.5\nX-RateLimit-Burst-Capacity: 20\nX-RateLimit-Remaining: 3",
		"Req-Limit-Short: Remaining: 394 Time until reset: 3589\nRetry-After: 00:01:30",
		"Remaining-Req: group=market; min=600; sec=9\nRetry-After: 13 seconds",
		"x_ratelimit_limit: 100;w=60, 5000;w=3600\nx_ratelimit_remaining: 4321\nX-RateLimit-Reset: PT45S\nretry_after: 1.776938445e+09",
		"X-RateLimit: limit=100, remaining=7, reset=45\nX-Quota-Limit: 10\nX-Quota-Used: 9/10\nX-RateLimit-Wait: in 45 s",
		"X-Foo-Max: 100\nX-Foo-Left: 7\nX-Foo-ResetsOn: 2026-11-21T04:49:00Z\nX-Foo-Window: 60\nX-RateLimit-Table: 5\nX-RateLimit-Table-Used: 4",
		"X-RateLimit-Limit: burst:100;rate:10/s\nX-RateLimit-Remaining: 87\nX-RateLimit-Reset: 2\nX-RateLimit-Policy: per-client",
		"RateLimit-Limit: 100\nRateLimit-Remaining: 7\nRateLimit-Window: 60000",
		"RateLimit-Limit: 600\nRateLimit-Remaining: 0\nX-Concurrency-Limit: 5\nX-Concurrency-Current: 5\nRetry-After: 1",
		"X-RateLimit-LimitMinute: 60\nX-RateLimit-RemainingMinute: 0\nX-RateLimit-Limit-CPM: 1.00\nX-Requests-Left-Day: 3",
		"Bitvavo-RateLimit-Remaining: 0\nX-1m-RateLimit-Limit: 5\nX-Foo-RateLimit-Reset: 1795236480000\nRetry-After: 4",
	} {
		f.Add(text, 429, uint8(0))
	}
	for _, text := range []string{
		`X-App-Usage: {"call_count":28,"total_time":25,"total_cputime":100}`,
		`X-Business-Use-Case-Usage: {"1":[{"type":"pages","call_count":97.5,"estimated_time_to_regain_access":19}],"2":[{"type":"a"}]}`,
		`X-Ad-Account-Usage: {"acc_id_util_pct":9.67,"reset_time_duration":100}` + "\nX-Page-Usage: 87%",
	} {
		f.Add(text, 200, uint8(len(hosts)+1)) // for the last of hosts
	}
	r := parse.Reader{Caps: caps, Vendors: []parse.Vendor{{
		Name: "own", Hosts: []string{"own.example"},
		Limit:     []string{"Acme-*-Quota", "X-RateLimit-Limit"},
		Remaining: []string{"Acme-*-Left", "X-RateLimit-Remaining"},
		Reset:     []string{"Acme-*-Reset", "X-RateLimit-Reset"}, ResetIn: time.Millisecond,
		Summary: []string{"Acme-Counts", "Acme-Summary"}, Window: []string{"Acme-Window"},
	}, {Name: "older", Hosts: []string{"old.example"}, Dialect: parse.Draft06, ResetUnix: true}}}
	hosts = append(hosts, "old.example", "graph.facebook.com")
	now := time.Date(2026, 11, 21, 4, 48, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string, status int, which uint8) {
		h := header(text)
		host := hosts[int(which)%len(hosts)]
		got := r.Clone().Read(host, status, h, now)
		checkReading(t, got)
		require.Equal(t, got, r.Read(host, status, h, now), "after other headers")
		require.Equal(t, got, r.Read(host, status, h, now), "again")
		if r.Silent(h) {
			require.Equal(t, parse.Reading{RetryAfter: parse.None}, got)
		}
	})
}
