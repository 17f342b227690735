package parse_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// A record is a response from the wire.
type record struct {
	Status  int
	Headers [][2]string
	SentAt  float64 `json:"sent_at_unix"`
	Body    string
}

func (r record) header() http.Header {
	h := http.Header{}
	for _, field := range r.Headers {
		h.Add(field[0], field[1])
	}
	return h
}

func readJSON(t testing.TB, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

// units writes a figure, which may not be known.
func units(n int64) string {
	if n == parse.None {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

// tell writes a reading on one line: the dialect; policies as name@key quota/window
// unit; limits as name@key available/window (full in), cost; the delay, with ! if it is
// advice.
func tell(r parse.Reading) string {
	var b strings.Builder
	b.WriteString(r.Dialect.String())
	if r.Vendor != "" {
		b.Reset()
		b.WriteString(r.Vendor)
	}
	account := func(name, key string, hasKey bool) string {
		if hasKey {
			return fmt.Sprintf("'%s'@%q", name, key)
		}
		return "'" + name + "'"
	}
	for _, p := range r.Policies {
		fmt.Fprintf(&b, "; policy %s %s", account(p.Name, string(p.Key), p.HasKey), units(p.Quota))
		if p.Window > 0 {
			fmt.Fprintf(&b, "/%v", p.Window)
		}
		if p.Unit != "requests" {
			b.WriteString(" " + p.Unit)
		}
	}
	for _, l := range r.Limits {
		fmt.Fprintf(&b, "; limit %s ", account(l.Policy, string(l.Key), l.HasKey))
		b.WriteString(units(l.Available))
		if l.Window != parse.None {
			fmt.Fprintf(&b, "/%v", l.Window)
		}
		if l.Full > 0 {
			fmt.Fprintf(&b, " (full in %v)", l.Full)
		}
		if l.Cost != parse.None {
			fmt.Fprintf(&b, " cost %d", l.Cost)
		}
	}
	if r.RetryAfter != parse.None {
		fmt.Fprintf(&b, "; retry after %v", r.RetryAfter)
		if r.Advised {
			b.WriteString("!")
		}
	}
	for _, i := range r.Ignored {
		fmt.Fprintf(&b, "; %v", i)
	}
	return b.String()
}

// Each documented dialect, read at the time of its sample.
func TestVendorsOfTheWire(t *testing.T) {
	var records []struct {
		Vendor  string
		Status  int
		Headers map[string]string
	}
	readJSON(t, "testdata/wire/vendors.json", &records)
	now := time.Date(2026, time.November, 21, 4, 48, 0, 0, time.UTC)
	at := map[string]time.Time{
		"GitHub REST":              time.Unix(1666132381-60, 0),
		"X (Twitter)":              time.Unix(1705420800-60, 0),
		"Okta":                     time.Unix(1609459200-60, 0),
		"Discord, per route":       time.Unix(1470173023-64, 0),
		"Atlassian Jira Cloud 429": time.Date(2025, time.October, 8, 14, 29, 13, 0, time.UTC),
		"lemlist":                  time.Date(2021, time.February, 16, 8, 2, 40, 0, time.UTC),
	}
	want := map[string]string{
		"GitHub REST":            `GitHub; policy ''@"core" 5000; limit ''@"core" 4997/1m1s`,
		"GitHub secondary limit": `GitHub; policy ''@"search" 30; limit ''@"search" 14/32s`,
		"OpenAI":                 `OpenAI; policy 'requests' 60; policy 'tokens' 150000 tokens; limit 'requests' 59/1s (full in 1s); limit 'tokens' 149984/22.5s (full in 6m0s)`,
		"OpenAI, third bucket":   `OpenAI; policy 'requests' 5000; policy 'tokens' 160000 tokens; policy 'tokens_usage_based' 160000 tokens; limit 'requests' 4999/12ms (full in 12ms); limit 'tokens' 159976/375µs (full in 9ms); limit 'tokens_usage_based' 159976/375µs (full in 9ms)`,
		"Anthropic":              `Anthropic; policy 'input-tokens' 80000 tokens; policy 'output-tokens' 16000 tokens; policy 'requests' 1000; policy 'tokens' 96000 tokens; limit 'input-tokens' 80000/0s; limit 'output-tokens' 16000/1s (full in 1s); limit 'requests' 999/0s; limit 'tokens' 96000/0s`,
		"Azure Resource Manager": `Azure Resource Manager; limit 'Microsoft.Compute/GetVMScaleSet3Min' 197; limit 'Microsoft.Compute/GetVMScaleSet30Min' 1297; limit 'subscription-reads' 11999`,
		"Azure OpenAI, refusal inside a 200 stream": `X-RateLimit; limit 'tokens' 0/1m4s; retry after 4s!`,
		"Azure OpenAI 429":                          `none; retry after 2s!`,
		"Azure Cosmos DB":                           `none; retry after 100ms!`,
		"Discord, per route":                        `Discord; policy ''@"abcd1234" 10; limit ''@"abcd1234" 0/1m4.57s; retry after 1m5s!`,
		"X (Twitter)":                               `X-RateLimit; policy '' 900; limit '' 847/1m1s`,
		"Reddit":                                    `X-RateLimit; policy '' 600; limit '' 586/1m51s`,
		"Shopify REST":                              `Shopify; policy '' 40/20s; limit '' 0/500ms (full in 20s); retry after 2s!`,
		"Slack":                                     `none; retry after 30s!`,
		"Stripe":                                    `none`,
		"Okta":                                      `X-RateLimit; policy '' 1200; limit '' 1199/1m1s`,
		"Atlassian Jira Cloud 429":                  `Atlassian; policy ''@"jira-quota-global-based" 100000 points; limit ''@"jira-quota-global-based" 0/30m48s; retry after 30m47s!`,
		"Atlassian, two quotas":                     `none`,
		"Atlassian, one enforced":                   `draft -08; policy 'global-app-quota' 65000/1h0m0s; limit 'global-app-quota' ?/3m20s`,
		"Atlassian, live oddity":                    `X-RateLimit; policy '' 400; limit '' 399`,
		"Atlassian Data Center":                     `Atlassian Data Center; policy '' 50; limit '' 48; retry after 0s`,
		"Kong response-ratelimiting":                `X-RateLimit; policy 'videos-minute' 10/1m0s; policy 'videos-second' 5/1s; limit 'videos-minute' 10; limit 'videos-second' 5`,
		"Cloudflare API":                            `draft -08; policy 'burst' 100/1m0s; limit 'default' 50/30s`,
		"Linear":                                    `X-RateLimit; policy 'complexity' 250000 complexity; policy 'requests' 2500; limit 'complexity' 249988/1m0s; limit 'requests' 2499/1m0s`,
		"RapidAPI":                                  `X-RateLimit; policy 'api-units' 60000 api-units; policy 'requests' 240000; limit 'api-units' 15920/601h0m3s; limit 'requests' 205676/601h0m3s`,
		"Vimeo":                                     `X-RateLimit; policy '' 100; limit '' 97/15m1s`,
		"Zendesk":                                   `Zendesk; policy '' 700; policy 'tickets-index' 100; limit '' 699/41s; limit 'tickets-index' 99/41s`,
		"Docker Hub":                                `Docker Hub; policy ''@"192.0.2.1" 100/6h0m0s; limit ''@"192.0.2.1" 20`,
		"Wikimedia APIs":                            `none; retry after 5s!`,
		"Envoy (gateways on it)":                    `X-RateLimit; policy 'per-ip' 10/1s; policy '1000;w=3600' 1000/1h0m0s; limit 'per-ip' 7/1s`,
		"lemlist":                                   `X-RateLimit; policy '' 20; limit '' 7/3s; retry after 2s`,
		"agent.ai":                                  `draft -06; policy '' 1000; limit '' 999/1m1s; retry after 1m0s`,
		"Persona":                                   `draft -06; policy '' 300; limit '' 280/53s`,
		"Oracle Access Governance":                  `Oracle; limit 'default' 179; limit 'write' 59; retry after 30s!`,
		"Composio":                                  `X-RateLimit; policy '' 20000/10m0s; limit '' 19999`,
	}
	var r parse.Reader
	for _, v := range records {
		h := http.Header{}
		for name, value := range v.Headers {
			h.Set(name, value)
		}
		when, ok := at[v.Vendor]
		if !ok {
			when = now
		}
		assert.Equal(t, want[v.Vendor], tell(r.Read("", v.Status, h, when)), v.Vendor)
	}
	assert.Len(t, records, len(want), "each has a stated reading")
}

// How anomalies are read.
func TestAnomaliesOfTheWire(t *testing.T) {
	var records []struct {
		ID string
		record
	}
	readJSON(t, "testdata/wire/anomalies.json", &records)
	now := time.Date(2026, time.November, 21, 4, 48, 0, 0, time.UTC)
	want := map[string]string{
		"retry-after-on-200":            `X-RateLimit; limit '' 4; retry after 2s`,
		"retry-after-zero-on-200":       `X-RateLimit; limit '' 48; retry after 0s`,
		"retry-after-date-utc":          `none; retry after 19s!`,
		"retry-after-too-short":         `X-RateLimit; limit '' 0/0s; retry after 1s!`,
		"reset-floored":                 `X-RateLimit; limit '' 0/16s`,
		"reset-js-date":                 `X-RateLimit; limit '' ?/3s`,
		"ietf-name-epoch":               `draft -06; policy '' 5; limit '' 0/51s`,
		"large-delta":                   `X-RateLimit; limit 'requests' ?/601h0m3s`,
		"limit-decimal":                 `draft -06; policy '' 5; limit '' ?/1s`,
		"negative":                      `none; parse: value out of range (X-RateLimit-Limit-*, item 0)`,
		"list-in-x-limit":               `X-RateLimit; policy 'per-ip' 10/1s; policy '1000;w=3600' 1000/1h0m0s`,
		"policy-mismatch":               `draft -08; policy 'burst' 100/1m0s; limit 'default' 50/30s`,
		"mixed-generations":             `draft -07; policy 'default' 5/2s; policy '' 5; limit '' 4/2s`,
		"spaces":                        `draft -08; policy '5-in-2sec'@"12ca17b49af2" 5/2s; limit '5-in-2sec' 4/2s`,
		"one-policy-vanishes":           `draft -08; limit 'burst' 0/2s`,
		"fields-vanish-on-429":          `none; retry after 2s!`,
		"sliding-and-counting-refusals": `X-RateLimit; limit '' ?/48s; retry after 2s!`,
		"refusal-503-bare":              `none`,
		"suffix-windows":                `X-RateLimit; policy 'long' 15; policy 'short' 5; limit 'long' 14/10s; limit 'short' 4/2s`,
		"gcra-reset":                    `X-RateLimit; policy '' 5; limit '' 0/2s; retry after 1s!`,
		"iso-no-seconds":                `none`,
		"problem-json":                  `draft -08; limit 'default' 0/2s`,
	}
	var r parse.Reader
	for _, a := range records {
		assert.Equal(t, want[a.ID], tell(r.Read("", a.Status, a.header(), now)), a.ID)
	}
	assert.Len(t, records, len(want), "each has a stated reading")
}

// More documented header sets, each read for its host.
func TestMoreAPIsOfTheWire(t *testing.T) {
	var records []struct {
		API  string
		Host string
		record
	}
	readJSON(t, "testdata/wire/more-apis.json", &records)
	want := map[string]string{
		"Mistral (captured names), exhausted": `X-RateLimit; policy 'req-minute' 720/1m0s; policy 'tokens-minute' 5000000/1m0s tokens; limit 'req-minute' 0; limit 'tokens-minute' 4999911 cost 52`,
		"WHOOP window=":                       `X-RateLimit; policy '' 100/1m0s; policy '10000;w=86400' 10000/24h0m0s; limit '' 0/3s`,
		"Strava multi-value":                  `Strava; policy '15-minute' 200/15m0s; policy 'day' 2000/24h0m0s; limit '15-minute' 0; limit 'day' 1500`,
		"Sentry":                              `Sentry; policy '' 40; policy 'concurrent' 25 concurrent-requests; limit '' 0/6s; limit 'concurrent' 24`,
		"Datadog":                             `Datadog; policy ''@"logs_queries" 30/1m0s; limit ''@"logs_queries" 0/17s`,
		"Salesforce exhausted":                `Salesforce; policy 'api-usage' 100000/24h0m0s; policy 'api-bursts' 750; limit 'api-usage' 0; limit 'api-bursts' 749`,
		"GitLab by name":                      `GitLab; policy ''@"throttle_unauthenticated_web" 60; limit ''@"throttle_unauthenticated_web" 0/7s`,
		"Xero exhausted":                      `Xero; policy 'appmin' ?/1m0s; policy 'day' ?/24h0m0s; policy 'min' ?/1m0s; limit 'appmin' 9000; limit 'day' 4900; limit 'min' 0`,
		"Trello":                              `X-RateLimit; policy 'api-key' 300/10s; policy 'api-token' 100/10s; limit 'api-key' 200; limit 'api-token' 0`,
		"Amazon SP-API":                       `Amazon SP-API; policy '' 1/2s`,
		"MailerLite / Wildberries retry-after alias": `X-RateLimit; policy '' 60; limit '' 0; retry after 42s!`,
		"CrowdStrike":           `X-RateLimit; policy '' 6000; limit '' 0; retry after 10s!`,
		"EVE ESI":               `EVE; policy ''@"char" 150/15m0s; limit ''@"char" 0 cost 2`,
		"Traefik":               `none; retry after 1s!`,
		"Netlify date UTC":      `X-RateLimit; policy '' 500; limit '' 0/6s`,
		"DigitalOcean":          `draft -06; policy '' 5000; limit '' 0/11s`,
		"MS Graph / SharePoint": `draft -06; policy '' 1200; limit '' 0/31s; retry after 31s!`,
		"Shopify REST full":     `Shopify; policy '' 40/20s; limit '' 0/500ms (full in 20s)`,
		"Binance":               `none; retry after 12s!`,
		"Okta concurrency":      `Okta; policy '' 0/1m0s; limit '' 0/6s`,
		"Auth0 client quota":    `Auth0; policy 'client per_hour' 100/1h0m0s; policy 'client per_day' 1000/24h0m0s; limit 'client per_hour' 0/5m40s; limit 'client per_day' 900/11h6m40s`,
		"Kubernetes API":        `none; retry after 1s!`,
		"Akamai Next":           `X-RateLimit; policy '' 50; limit '' 0/21s`,
		"koa readme names":      `X-RateLimit; policy '' 5; limit '' 0/5.5s`,
		"GitHub GraphQL":        `GitHub; policy ''@"graphql" 5000; limit ''@"graphql" 0/21s`,
		"Elastic-style suffix":  `X-RateLimit; policy '' 10/1s; limit '' 0`,
	}
	var r parse.Reader
	for _, a := range records {
		assert.Equal(t, want[a.API], tell(r.Read(a.Host, a.Status, a.header(), saturday)), a.API)
	}
	assert.Len(t, records, len(want), "each has a stated reading")
}

// The first answer and the refusal of each recorded server.
func TestRecordingsOfTheWire(t *testing.T) {
	want := map[string][2]string{
		"express-rate-limit.draft-6-legacy": {
			`draft -06; policy '' 5/2s; limit '' 4/2s`,
			`draft -06; policy '' 5/2s; limit '' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.draft-6": {
			`draft -06; policy '' 5/2s; limit '' 4/2s`,
			`draft -06; policy '' 5/2s; limit '' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.draft-7-multi": {
			`draft -07; policy '' 15/10s; limit '' 14/10s`,
			`draft -07; policy '' 5/2s; limit '' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.draft-7": {
			`draft -07; policy '' 5/2s; limit '' 4/2s`,
			`draft -07; policy '' 5/2s; limit '' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.draft-8-multi": {
			`draft -08; policy 'burst'@"12ca17b49af2" 5/2s; policy 'sustained'@"12ca17b49af2" 15/10s; limit 'burst' 4/2s; limit 'sustained' 14/10s`,
			`draft -08; policy 'burst'@"12ca17b49af2" 5/2s; limit 'burst' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.draft-8-problem": {
			`draft -08; policy 'default'@"12ca17b49af2" 5/2s; limit 'default' 4/2s`,
			`draft -08; policy 'default'@"12ca17b49af2" 5/2s; limit 'default' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.draft-8": {
			`draft -08; policy '5-in-2sec'@"12ca17b49af2" 5/2s; limit '5-in-2sec' 4/2s`,
			`draft -08; policy '5-in-2sec'@"12ca17b49af2" 5/2s; limit '5-in-2sec' 0/2s; retry after 2s!`,
		},
		"express-rate-limit.legacy": {
			`X-RateLimit; policy '' 5; limit '' 4/4s`,
			`X-RateLimit; policy '' 5; limit '' 0/4s; retry after 2s!`,
		},
		"fastify-rate-limit.ban": {
			`X-RateLimit; policy '' 5; limit '' 4/2s`,
			`X-RateLimit; policy '' 5; limit '' 0/2s; retry after 2s!`,
		},
		"fastify-rate-limit.default": {
			`X-RateLimit; policy '' 5; limit '' 4/2s`,
			`X-RateLimit; policy '' 5; limit '' 0/2s; retry after 2s!`,
		},
		"fastify-rate-limit.draft": {
			`draft -06; policy '' 5; limit '' 4/2s`,
			`draft -06; policy '' 5; limit '' 0/2s; retry after 2s!`,
		},
		"flask-limiter.default": {
			`X-RateLimit; policy '' 5; limit '' 4/4s; retry after 2s`,
			`X-RateLimit; policy '' 5; limit '' 0/4s; retry after 2s!`,
		},
		"flask-limiter.http-date": {
			`X-RateLimit; policy '' 5; limit '' 4/4s; retry after 3s`,
			`X-RateLimit; policy '' 5; limit '' 0/4s; retry after 3s!`,
		},
		"flask-limiter.multi": {
			`X-RateLimit; policy '' 5; limit '' 4/4s; retry after 2s`,
			`X-RateLimit; policy '' 5; limit '' 0/4s; retry after 2s!`,
		},
		"go-httprate.default": {
			`X-RateLimit; policy '' 5; limit '' 4/3s`,
			`X-RateLimit; policy '' 5; limit '' 0/3s; retry after 2s!`,
		},
		"go-httprate.ietf-names": {
			`draft -06; policy '' 5; limit '' 4/3s`,
			`draft -06; policy '' 5; limit '' 0/3s; retry after 2s!`,
		},
		"go-ulule-limiter": {
			`X-RateLimit; policy '' 5; limit '' 4/3s`,
			`X-RateLimit; policy '' 5; limit '' 0/3s`,
		},
		"haproxy.headers": {
			`X-RateLimit; policy '' 5; limit '' 4/3s`,
			`X-RateLimit; policy '' 5; limit '' 0/3s; retry after 2s!`,
		},
		"koa-ratelimit.default": {
			`X-RateLimit; policy '' 5; limit '' 4/2.194137s`,
			`X-RateLimit; policy '' 5; limit '' 0/2.194137s; retry after 1s!`,
		},
		"nginx.429-notalways": {
			`none`,
			`none`,
		},
		"nginx.429": {
			`none`,
			`none; retry after 2s!`,
		},
		"nginx.503": {
			`none`,
			`none`,
		},
	}
	names, err := filepath.Glob("testdata/wire/recordings/*.json")
	require.NoError(t, err)
	assert.Len(t, names, len(want), "each has a stated reading")
	var r parse.Reader
	for _, name := range names {
		var file struct {
			Responses []record
			Probes    []struct{ Response record }
		}
		readJSON(t, name, &file)
		name = strings.TrimSuffix(filepath.Base(name), ".json")
		first, last := file.Responses[0], file.Responses[len(file.Responses)-1]
		assert.Equal(t, want[name], [2]string{readRecord(&r, first), readRecord(&r, last)}, name)

		// Nothing of the other responses is ignored.
		for _, p := range file.Probes {
			file.Responses = append(file.Responses, p.Response)
		}
		for _, resp := range file.Responses {
			got := r.Read("", resp.Status, resp.header(), time.Unix(int64(resp.SentAt), 0))
			assert.Empty(t, got.Ignored, name)
			assert.Equal(t, !strings.HasPrefix(name, "nginx"), got.Dialect != parse.NoDialect, name)
			for _, l := range got.Limits {
				assert.LessOrEqual(t, l.Window, 12*time.Second, name)
				assert.NotEqual(t, int64(parse.None), l.Available, name)
			}
		}
	}
}

func readRecord(r *parse.Reader, resp record) string {
	return tell(r.Read("", resp.Status, resp.header(), time.Unix(int64(resp.SentAt), 0)))
}

// The one recorded refusal with a problem as its body.
func TestProblemOfTheWire(t *testing.T) {
	var file struct{ Responses []record }
	readJSON(t, "testdata/wire/recordings/express-rate-limit.draft-8-problem.json", &file)
	refusal := file.Responses[len(file.Responses)-1]
	kind, violated := readProblem(refusal.Status, refusal.header().Get("Content-Type"), []byte(refusal.Body), parse.Caps{})
	assert.Equal(t, "quota-exceeded", kind)
	assert.Equal(t, []string{"default"}, violated)
}
