package parse_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// X-RateLimit in all its spellings.
func TestReadXRateLimit(t *testing.T) {
	tests := []struct {
		name   string
		fields []string
		want   string
	}{
		{"the commonest", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 2"}, `policy '' 5; limit '' 4/2s`},
		{"another spelling", []string{"X-Rate-Limit-Limit: 5", "X-Rate-Limit-Remaining: 4", "X-Rate-Limit-Reset: 2"}, `policy '' 5; limit '' 4/2s`},
		{"both spellings: the first", []string{"X-Rate-Limit-Limit: 6", "X-RateLimit-Limit: 5", "X-Rate-Limit-Remaining: 4"}, `policy '' 5; limit '' 4`},
		{"both, one malformed", []string{"X-RateLimit-Reset: soon", "X-Rate-Limit-Reset: 5"},
			`limit '' ?/5s; parse: value of a wrong type (X-RateLimit-Reset, item 0)`},
		{"the bare name", []string{"X-RateLimit: 5", "X-RateLimit-Remaining: 4"}, `policy '' 5; limit '' 4`},
		{"the window in the name", []string{"x-ratelimit-limit-minute: 5", "x-ratelimit-remaining-minute: 4", "x-ratelimit-limit-day: 50", "x-ratelimit-remaining-day: 40"},
			`policy 'day' 50/24h0m0s; policy 'minute' 5/1m0s; limit 'day' 40; limit 'minute' 4`},
		{"more windows", []string{"X-RateLimit-Limit-Second: 1", "X-RateLimit-Limit-Hour: 2", "X-RateLimit-Limit-Week: 3", "X-RateLimit-Limit-Month: 4", "X-RateLimit-Limit-Year: 5"},
			`policy 'hour' 2/1h0m0s; policy 'month' 4/744h0m0s; policy 'second' 1/1s; policy 'week' 3/168h0m0s; policy 'year' 5/8784h0m0s`},
		{"the account last", []string{"X-RateLimit-Limit-Short: 5", "X-RateLimit-Remaining-Short: 4", "X-RateLimit-Reset-Short: 2"}, `policy 'short' 5; limit 'short' 4/2s`},
		{"the account first", []string{"X-RateLimit-Search-Limit: 5", "X-RateLimit-Search-Remaining: 4", "X-RateLimit-Search-Reset: 2"}, `policy 'search' 5; limit 'search' 4/2s`},
		{"a long account", []string{"X-RateLimit-Limit-" + strings.Repeat("a", 60) + ": 5"}, `policy '` + strings.Repeat("a", 60) + `' 5`},
		{"tokens", []string{"X-RateLimit-Remaining-Tokens: 5", "X-RateLimit-Used-Tokens: 1"}, `policy 'tokens' 6 tokens; limit 'tokens' 5`},
		{"used and left", []string{"X-RateLimit-Used: 14", "X-RateLimit-Remaining: 586.0"}, `policy '' 600; limit '' 586`},
		{"used and limit", []string{"X-RateLimit-Used: 14", "X-RateLimit-Limit: 10"}, `policy '' 10; limit '' 0`},
		{"used alone", []string{"X-RateLimit-Used: 14"}, ``},
		{"reset after before reset", []string{"X-RateLimit-Reset: 1795236500", "X-RateLimit-Reset-After: 1.5"}, `limit '' ?/1.5s`},
		{"a window", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Window-Size: 600s"}, `policy '' 5/10m0s`},
		{"a window of 0", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Window: 0"}, `policy '' 5; parse: value out of range (X-RateLimit-Window)`},
		{"a decimal", []string{"X-RateLimit-Limit: 5.00"}, `policy '' 5`},
		{"a quota that repeats, by window", []string{"X-RateLimit-Limit: 10, 10;w=1, 10;w=60"}, `policy '' 10/1m0s`},
		{"policies that repeat", []string{"X-RateLimit-Limit: 5, 10;w=1, 10;w=1"}, `policy '10;w=1' 10/1s; policy '' 5`},
		{"a policy and an account of one name", []string{`X-RateLimit-Limit: 5, 10;w=60;name="minute"`, "X-RateLimit-Limit-Minute: 7"}, `policy 'minute' 7/1m0s; policy '' 5`},
		{"Decimals in a List", []string{"X-RateLimit-Remaining: 5.5, 3.75;x", "X-RateLimit-Reset: 1.25, 2.5, -3.5"},
			`limit '1' 5/1.25s; limit '2' 3/2.5s; parse: value out of range (X-RateLimit-Reset, item 2)`},
		{"a name that is none", []string{`X-RateLimit-Limit: 10, 10;w=1;name=5`}, `policy '' 10/1s`},
		{"the quota is not first", []string{`X-RateLimit-Limit: a, 10;w=1`}, `policy '10;w=1' 10/1s; parse: value of a wrong type (X-RateLimit-Limit, item 0)`},
		{"measures are no accounts", []string{"X-RateLimit-Limit-Date: 5", "X-RateLimit-Used-Date: 5", "X-RateLimit-Last-Reset: 5", "X-RateLimit-Remaining-Limit: 1"}, ``},
		{"the reset of all, beside a cost", []string{"X-RateLimit-Remaining-User: 0", "X-RateLimit-Remaining-Minute: 4", "X-RateLimit-Reset: 30", "X-RateLimit-Cost: 2"},
			`limit 'minute' 4/30s cost 2; limit 'user' 0/30s`},
		{"forms are no accounts", []string{"X-RateLimit-Remaining: 4", "X-Rate-Limit-Reset-In-Milliseconds: 5000"}, `limit '' 4/5s`},
		{"a form beside the reset", []string{"X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 6", "X-RateLimit-Reset-In: 5"}, `limit '' 4/6s`},
		{"an instant, and the time until it", []string{"X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 1795236485", "X-RateLimit-Reset-In: 5"}, `limit '' 4/5s`},
		{"an instant, and a time that is a little later", []string{"X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 2026-11-21T04:48:05Z", "X-RateLimit-Reset-In: 6.5s"}, `limit '' 4/6.5s`},
		{"an instant, and a time that is earlier", []string{"X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 1795236485", "X-RateLimit-Reset-In: 4"}, `limit '' 4/6s`},
		{"an instant, and another time", []string{"X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 1795236485", "X-RateLimit-Reset-In: 50"}, `limit '' 4/6s`},
		{"a day's, in milliseconds", []string{"X-RateLimit-Daily-Remaining: 199779", "X-RateLimit-Daily-Reset: 49013000"}, `limit 'daily' 199779/13h36m53s`},
		{"two days, in seconds", []string{"X-RateLimit-Daily-Remaining: 199779", "X-RateLimit-Daily-Reset: 172800"}, `limit 'daily' 199779/48h0m0s`},
		{"a day's, in milliseconds, little", []string{"X-RateLimit-Remaining-Day: 0", "X-RateLimit-Reset-Day: 613000"}, `limit 'day' 0/10m13s`},
		{"a day's, in seconds", []string{"X-RateLimit-Remaining-Day: 0", "X-RateLimit-Reset-Day: 90000"}, `limit 'day' 0/25h0m0s`},
		{"a day's, in neither", []string{"X-RateLimit-Remaining-Day: 0", "X-RateLimit-Reset-Day: 90000000"}, `policy 'day' ?/24h0m0s; limit 'day' 0; parse: above a safety cap (X-RateLimit-Reset-*, item 0)`},
		{"an hour's, in seconds, perhaps of a day", []string{"X-RateLimit-Remaining-Hour: 0", "X-RateLimit-Reset-Hour: 86400"}, `limit 'hour' 0/24h0m0s`},
		{"an instant that is now, and nothing", []string{"X-RateLimit-Remaining: 4", "X-RateLimit-Reset: 1795236480", "X-RateLimit-Reset-In: 0"}, `limit '' 4/1s`},
		{"a form, and an account", []string{"X-RateLimit-Remaining-Sign-In: 4", "X-RateLimit-Reset-Sign-In: 5"}, `limit 'sign-in' 4/5s`},
		{"the reset of all, in two forms", []string{"X-RateLimit-Remaining-A: 4", "X-RateLimit-Remaining-B: 3", "X-RateLimit-Reset-Time: later", "X-RateLimit-Reset-Seconds: 5"},
			`limit 'a' 4/5s; limit 'b' 3/5s`},
		{"the reset of the longest window", []string{"X-RateLimit-Remaining-Minute: 0", "X-RateLimit-Remaining-Day: 3", "X-RateLimit-Reset: 40000"},
			`policy 'minute' ?/1m0s; limit 'day' 3/11h6m40s; limit 'minute' 0`},
		{"the reset of a window that has just begun", []string{"X-RateLimit-Remaining-Minute: 0", "X-RateLimit-Reset: 61"}, `limit 'minute' 0/1m1s`},
		{"words for what is left", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Left: 4", "X-RateLimit-Limit-Day: 50/day", "X-RateLimit-Available-Day: 0"},
			`policy '' 5; policy 'day' 50/24h0m0s; limit '' 4; limit 'day' 0`},

		// Negative numbers.
		{"not known", []string{"X-RateLimit-Limit: -1", "X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 0"}, `; parse: value out of range (X-RateLimit-Limit, item 0)`},
		{"not known, no limit", []string{"X-RateLimit-Remaining: -1"}, ``},
		{"overdrawn by one", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: -1"}, `policy '' 5; limit '' 0`},
		{"overdrawn", []string{"X-RateLimit-Remaining: -27689"}, `limit '' 0`},
		{"used less than nothing", []string{"X-RateLimit-Used: -1", "X-RateLimit-Remaining: 5"}, `limit '' 5; parse: value out of range (X-RateLimit-Used, item 0)`},

		// Caps.
		{"left above its cap", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 99999999999999999999"}, `policy '' 5; parse: above a safety cap (X-RateLimit-Remaining, item 0)`},
		{"the sum above its cap", []string{"X-RateLimit-Used: 1000000000000", "X-RateLimit-Remaining: 1"}, `limit '' 1`},
		{"an account's name at its cap", []string{"X-RateLimit-Remaining-" + strings.Repeat("n", 256) + ": 5"}, `limit '` + strings.Repeat("n", 256) + `' 5`},
		{"an account's name above its cap", []string{"X-RateLimit-Remaining-" + strings.Repeat("n", 257) + ": 5"}, `; parse: above a safety cap (X-RateLimit-Remaining-*)`},
	}
	var r parse.Reader
	for _, tt := range tests {
		want := "X-RateLimit; " + tt.want
		if tt.want == "" || tt.want[0] == ';' {
			want = "none" + tt.want
		}
		assert.Equal(t, want, tell(r.Read("", 200, fields(tt.fields...), saturday)), tt.name)
	}
}

// Caps.Items bounds the number of accounts.
func TestReadManyAccounts(t *testing.T) {
	h := http.Header{}
	for i := range 100 {
		h.Set(fmt.Sprintf("X-RateLimit-Remaining-N%03d", i), "5")
	}
	var r parse.Reader
	got := r.Read("", 200, h, saturday)
	require.Len(t, got.Limits, parse.DefaultCaps().Items)
	assert.Equal(t, "n000", got.Limits[0].Policy)
	assert.Equal(t, "n063", got.Limits[63].Policy)
	assert.Equal(t, []parse.Ignored{{Field: "X-RateLimit-Remaining-*", Item: 64, Err: parse.ErrCap}}, got.Ignored)
}

func TestReadVendors(t *testing.T) {
	tests := []struct {
		name, host string
		fields     []string
		want       string
	}{
		{"GitHub, no resource", "", []string{"X-RateLimit-Resource: ", "X-RateLimit-Limit: 5"}, `GitHub; policy '' 5`},
		{"GitHub, a key above its cap", "", []string{"X-RateLimit-Resource: " + strings.Repeat("x", 1025), "X-RateLimit-Limit: 5"},
			`GitHub; policy '' 5; parse: above a safety cap (X-RateLimit-Resource)`},
		{"a sign without figures", "", []string{"X-RateLimit-Resource: core"}, `none`},
		{"OpenAI, when the next token comes", "", []string{"x-ratelimit-limit-tokens: 100", "x-ratelimit-remaining-tokens: 70", "x-ratelimit-reset-tokens: 10s"},
			`OpenAI; policy 'tokens' 100 tokens; limit 'tokens' 70/333.333334ms (full in 10s)`},
		{"OpenAI, full", "", []string{"x-ratelimit-limit-tokens: 100", "x-ratelimit-remaining-tokens: 100", "x-ratelimit-reset-tokens: 0s"},
			`OpenAI; policy 'tokens' 100 tokens; limit 'tokens' 100/0s`},
		{"Shopify", "", []string{"X-Shopify-Shop-Api-Call-Limit: 32/40"}, `Shopify; policy '' 40/20s; limit '' 8/500ms (full in 16s)`},
		{"Shopify, blanks", "", []string{"X-Shopify-Shop-Api-Call-Limit: 32 / 40"}, `Shopify; policy '' 40/20s; limit '' 8/500ms (full in 16s)`},
		{"Shopify, overdrawn", "", []string{"X-Shopify-Shop-Api-Call-Limit: 41/40"}, `Shopify; policy '' 40/20s; limit '' 0/500ms (full in 20s)`},
		{"Shopify, malformed", "", []string{"X-Shopify-Shop-Api-Call-Limit: 32/many"}, `none; parse: malformed field value (X-Shopify-Shop-Api-Call-Limit)`},
		{"Shopify, negative", "", []string{"X-Shopify-Shop-Api-Call-Limit: -1/40"}, `Shopify; policy '' 40/20s; parse: value out of range (X-Shopify-Shop-Api-Call-Limit)`},
		{"Shopify, too long", "", []string{"X-Shopify-Shop-Api-Call-Limit: 1/" + strings.Repeat("0", 8192)}, `none; parse: above a safety cap (X-Shopify-Shop-Api-Call-Limit)`},
		{"Zendesk, an endpoint alone", "", []string{"Zendesk-RateLimit-Search: total=100; remaining=99; resets=41"}, `Zendesk; policy 'search' 100; limit 'search' 99/41s`},
		{"Zendesk, as members", "", []string{"Zendesk-RateLimit-Search: limit=100, used=1, remaining=x, y=(1)"},
			`Zendesk; policy 'search' 100; limit 'search' 99; parse: value of a wrong type (Zendesk-RateLimit-*, item 2)`},
		{"Zendesk, malformed", "", []string{"Zendesk-RateLimit-Search: total="}, `none`},
		{"Zendesk without an endpoint is draft -06", "", []string{"X-Rate-Limit: 700", "RateLimit-Limit: 700", "RateLimit-Remaining: 699"}, `draft -06; policy '' 700; limit '' 699`},
		{"Azure, malformed counts", "", []string{"x-ms-ratelimit-remaining-resource: A;1, B, ;2, C;-3, D;x, A;0"},
			"Azure Resource Manager; limit 'A' 0; parse: malformed field value (X-Ms-RateLimit-Remaining-Resource, item 1); " +
				"parse: malformed field value (X-Ms-RateLimit-Remaining-Resource, item 2); parse: value out of range (X-Ms-RateLimit-Remaining-Resource, item 3); " +
				"parse: malformed field value (X-Ms-RateLimit-Remaining-Resource, item 4)"},
		{"Azure, too long a name", "", []string{"x-ms-ratelimit-remaining-resource: " + strings.Repeat("x", 257) + ";1,A;1"},
			"Azure Resource Manager; limit 'A' 1; parse: above a safety cap (X-Ms-RateLimit-Remaining-Resource, item 0)"},
		{"Azure, too long", "", []string{"x-ms-ratelimit-remaining-resource: " + strings.Repeat("x", 9000)}, "none; parse: above a safety cap (X-Ms-RateLimit-Remaining-Resource)"},
		{"Reddit by its host", "oauth.reddit.com", []string{"X-RateLimit-Used: 14", "X-RateLimit-Remaining: 586.0", "X-RateLimit-Reset: 111"}, `Reddit; policy '' 600/10m0s; limit '' 586/1m51s`},
		{"Linear by its host", "API.linear.app:443", []string{"X-RateLimit-Requests-Limit: 2500", "X-RateLimit-Requests-Reset: 1795236540000"}, `Linear; policy 'requests' 2500; limit 'requests' ?/1m0s`},
		{"X by its host, long ago", "api.x.com", []string{"X-Rate-Limit-Remaining: 5", "X-Rate-Limit-Reset: 1705420800"}, `X; limit '' 5/0s`},
		{"Okta by its host", "acme.okta.com", []string{"X-Rate-Limit-Limit: 5"}, `Okta; policy '' 5/1m0s`},
		{"not Okta", "notokta.com", []string{"X-Rate-Limit-Limit: 5"}, `X-RateLimit; policy '' 5`},
		{"a host with its own row, a draft", "acme.okta.com", []string{"X-Rate-Limit-Limit: 5", `RateLimit: "a";r=4`}, `draft -08; limit 'a' 4`},
		{"lemlist on a success", "api.lemlist.com", []string{"Retry-After: 2", "X-RateLimit-Remaining: 7"}, `lemlist; policy '' ?/2s; limit '' 7; retry after 2s`},
		{"agent.ai on a success", "agent.ai", []string{"Retry-After: 60", "RateLimit-Remaining: 7"}, `draft -06; limit '' 7; retry after 1m0s`},
	}
	var r parse.Reader
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read(tt.host, 200, fields(tt.fields...), saturday)), tt.name)
	}
}

func TestReadManyCounts(t *testing.T) {
	h := fields("x-ms-ratelimit-remaining-resource: " + strings.Repeat("A;1,", 63) + "B;1,C;1")
	var r parse.Reader
	got := r.Read("", 200, h, saturday)
	assert.Equal(t, "Azure Resource Manager; limit 'A' 1; limit 'B' 1; parse: above a safety cap (X-Ms-RateLimit-Remaining-Resource, item 64)", tell(got))
}

// The user's rows are tried before the built-in ones; those with hosts before the drafts.
func TestReaderVendors(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{
		{Name: "acme", Limit: []string{"acme-*-quota"}, Remaining: []string{"ACME-*-LEFT", "acme-all-left"}, Window: []string{"acme-*-window"}, Units: map[string]string{"": "request"}, Every: map[string]time.Duration{"": time.Hour}},
		{Name: "own github", Sign: "X-RateLimit-Resource", Remaining: []string{"X-RateLimit-Remaining"}, Partition: []string{"X-RateLimit-Resource", "X-Team"}},
		{Name: "by hand", Hosts: []string{"hand.example", "127.0.0.1", "::1"}, Remaining: []string{"X-Left"}},
		{Name: "one host", Hosts: []string{"one.example"}, Remaining: []string{"X-Left"}},
		{Name: "summary", Hosts: []string{"sum.example"}, Summary: []string{"X-Sum"}},
		{Name: "old", Hosts: []string{"old.example"}, Dialect: parse.Draft06, ResetUnix: true},
		{Name: "dictionary", Hosts: []string{"seven.example"}, Dialect: parse.Draft07},
		{Name: "fields", Hosts: []string{"x.example"}, Dialect: parse.VendorFields, ResetIn: time.Millisecond},
		{Name: "eight", Hosts: []string{"eight.example"}, Dialect: parse.Draft08},
		{Name: "chatty", Hosts: []string{"chatty.example"}, RetryAfterOnRefusals: true},
		{Name: "own names", Limit: []string{"X-Own-*-Most"}, Remaining: []string{"X-Own-*-Left"}},
		{Name: "both forms", Limit: []string{"X-Both-Limit-*"}, Remaining: []string{"X-Both-*-Left"}},
		{Name: "milliseconds", Hosts: []string{"ms.example"}, ResetIn: time.Millisecond},
		{Name: "seconds", Hosts: []string{"s.example"}, ResetIn: time.Second},
		{Name: "short", Remaining: []string{"q-*"}},
		{Name: "any name", Remaining: []string{"*"}},
	}}
	const draft = `RateLimit: "api";a=9`
	tests := []struct {
		host   string
		fields []string
		want   string
	}{
		{"", []string{"Acme-Read-Quota: 5", "Acme-Read-Left: 4", "Acme-Write-Left: 3", "Acme-Read-Window: 30"}, `acme; policy 'read' 5/30s; policy 'write' ?/1h0m0s; limit 'read' 4; limit 'write' 3`},
		{"", []string{"Acme-Read-Quota: 5"}, `acme; policy 'read' 5/1h0m0s`},
		{"", []string{"Acme-Read-Quota: 5", "Acme-All-Left: 7"}, `acme; policy '' ?/1h0m0s; policy 'read' 5/1h0m0s; limit '' 7`},
		{"", []string{"Acme-Read-Quota: 5", draft}, `editor's draft; limit 'api' 9`},
		{"", []string{"Acme-Read-Quota: many", "X-RateLimit-Remaining: 5"}, `X-RateLimit; limit '' 5; parse: value of a wrong type (acme-*-quota, item 0)`},
		{"", []string{"X-RateLimit-Resource: core", "X-RateLimit-Remaining: 5", "X-Team: a"}, `own github; limit ''@"core\x1fa" 5`},
		{"", []string{"X-RateLimit-Resource: core", "X-RateLimit-Remaining: 5"}, `own github; limit '' 5`},
		{"", []string{"X-Own-Soft-Limit-Most: 10", "X-Own-Soft-Limit-Left: 0", "X-Own-Limit-Soft-Left: 1"}, `own names; policy 'soft-limit' 10; limit 'limit-soft' 1; limit 'soft-limit' 0`},
		{"", []string{"X-Both-Limit-Reset-Codes: 10", "X-Both-Reset-Codes-Left: 0"}, `both forms; policy 'reset-codes' 10; limit 'reset-codes' 0`},
		{"ms.example", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 19100"}, `X-RateLimit; limit '' 0/19.1s`},
		{"ms.example", []string{"X-RateLimit-Remaining-A: 0", "X-RateLimit-Reset-A: 19100"}, `X-RateLimit; limit 'a' 0/19.1s`},
		{"ms.example", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: " + strconv.FormatInt(saturday.Unix()+60, 10)}, `X-RateLimit; limit '' 0/1m1s`},
		{"ms.example", []string{"RateLimit-Remaining: 0", "RateLimit-Reset: 30"}, `draft -06; limit '' 0/30s`},
		{"ms.example", []string{"RateLimit: limit=5, remaining=0, reset=30"}, `draft -07; policy '' 5; limit '' 0/30s`},
		{"s.example", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 2000", "X-RateLimit-Window: 60"}, `X-RateLimit; limit '' 0/33m20s`},
		{"s.example", []string{"X-RateLimit-Remaining: 0", "X-RateLimit-Reset: " + strconv.FormatInt(saturday.Unix()+60, 10)}, `X-RateLimit; limit '' 0/1m1s`},
		{"", []string{"Q-A: 5"}, `short; limit 'a' 5`},
		{"", []string{"Q-: 5"}, `none`},
		{"hand.example", []string{"X-Left: 5", draft}, `by hand; limit '' 5`},
		{"127.0.0.1:8080", []string{"X-Left: 5", draft}, `by hand; limit '' 5`},
		{"a.hand.example", []string{"X-Left: 5", draft}, `by hand; limit '' 5`},
		{"one.example", []string{"X-Left: 5", draft}, `one host; limit '' 5`},
		{"sum.example", []string{"X-Sum: used=3;max=20;ends=1795236490"}, `summary; policy '' 20; limit '' 17/11s`},
		{"sum.example", []string{"X-Sum: a-limit=5; a-remaining=4; bc-limit=7; bc-remaining=6"}, `summary; policy 'a' 5; policy 'bc' 7; limit 'a' 4; limit 'bc' 6`},
		{"x.example", []string{"RateLimit: ?", "X-RateLimit-Remaining: 5"}, `X-RateLimit; limit '' 5`},
		{"hand.example", []string{"X-Left: many", draft}, `editor's draft; limit 'api' 9; parse: value of a wrong type (X-Left, item 0)`},
		{"other.example", []string{"X-Left: 5", draft}, `editor's draft; limit 'api' 9`},
		{"other.example", []string{"X-Left: 5"}, `none`},
		{"old.example", []string{draft, "RateLimit-Remaining: 5", "RateLimit-Reset: 1695236480"}, `draft -06; limit '' 5/0s`},
		{"old.example", []string{draft, "X-RateLimit-Remaining: 5", `RateLimit-Partition: "a"`}, `none`},
		{"seven.example", []string{`RateLimit: limit=5, reset=1`, "RateLimit-Remaining: 5"}, `draft -07; policy '' 5; limit '' ?/1s`},
		{"seven.example", []string{draft, "RateLimit-Remaining: 5"}, `none`},
		{"eight.example", []string{`RateLimit: limit=5, reset=1`}, `none; parse: malformed field value (RateLimit)`},
		{"eight.example", []string{`RateLimit: "api";r=9`, `RateLimit-Policy: "api";q=10`}, `draft -08; policy 'api' 10; limit 'api' 9`},
		{"x.example", []string{draft, `RateLimit-Policy: "api";q=10`, "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: 1500"}, `X-RateLimit; limit '' 5/1.5s`},
		{"chatty.example", []string{draft, "Retry-After: 5"}, `editor's draft; limit 'api' 9; retry after 5s`},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read(tt.host, 200, fields(tt.fields...), saturday)), "%s %v", tt.host, tt.fields)
	}
	assert.Equal(t, `editor's draft; limit 'api' 9; retry after 5s!`, tell(r.Read("chatty.example", 429, fields(draft, "Retry-After: 5"), saturday)))
}

// A table may have any number of rows.
func TestReaderManyVendors(t *testing.T) {
	var r parse.Reader
	for i := range 200 {
		r.Vendors = append(r.Vendors, parse.Vendor{Name: fmt.Sprint(i), Remaining: []string{fmt.Sprintf("Acme-%d", i)}})
	}
	for _, i := range []int{0, 1, 54, 55, 56, 199} {
		got := r.Read("", 200, fields(fmt.Sprintf("Acme-%d: 5", i)), saturday)
		assert.Equal(t, fmt.Sprint(i), got.Vendor)
	}
	assert.Equal(t, "Shopify", r.Read("", 200, fields("X-Shopify-Shop-Api-Call-Limit: 32/40"), saturday).Vendor)
}

// Several rows may name one host. Those without their Sign do not apply; of the others, the first that says something valid
// is read, and what it says of numbers holds. A row without its Sign leaves the host to a built-in row.
func TestRowsOfOneHost(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{
		{Name: "minutes", Hosts: []string{"api.example"}, Sign: "X-Limit-Minutes", Limit: []string{"X-Limit-Minutes"}, Remaining: []string{"X-Limit-Remaining"}, Every: map[string]time.Duration{"": time.Minute}},
		{Name: "hours", Hosts: []string{"api.example"}, Sign: "X-Limit-Hours", Limit: []string{"X-Limit-Hours"}, Remaining: []string{"X-Limit-Remaining"}, Every: map[string]time.Duration{"": time.Hour}},
		{Name: "seconds", Hosts: []string{"api.example"}, Remaining: []string{"X-Left"}, Reset: []string{"X-Ends"}, ResetIn: time.Second},
		{Name: "milliseconds", Hosts: []string{"api.example"}, Remaining: []string{"X-Rest"}, Reset: []string{"X-Comes"}, ResetIn: time.Millisecond},
		{Name: "a gateway", Hosts: []string{"gate.example"}, Remaining: []string{"X-Gate-Left"}, ResetIn: time.Millisecond},
		{Name: "behind it", Hosts: []string{"gate.example"}, Remaining: []string{"X-App-Left"}},
		{Name: "Linear's other", Hosts: []string{"linear.app"}, Sign: "X-Other", Remaining: []string{"X-RateLimit-Other-Remaining"}},
	}}
	for _, tt := range []struct{ host, fields, want string }{
		{"api.example", "X-Limit-Minutes: 3|X-Limit-Remaining: 2", "minutes; policy '' 3/1m0s; limit '' 2"},
		{"api.example", "X-Limit-Hours: 30|X-Limit-Remaining: 2", "hours; policy '' 30/1h0m0s; limit '' 2"},
		{"api.example", "X-Limit-Minutes: many|X-Limit-Hours: 30", "hours; policy '' 30/1h0m0s"},
		{"api.example", "X-Limit-Remaining: 2", "none"},
		{"api.example", "X-Left: 5|X-Ends: 9000", "seconds; limit '' 5/2h30m0s"},
		{"api.example", "X-Left: few|X-Rest: 5|X-Ends: 9000", "seconds; limit '' ?/2h30m0s; parse: value of a wrong type (X-Left, item 0)"},
		{"api.example", "X-Rest: 5|X-Limit-Minutes: many|X-Comes: 9000", "milliseconds; limit '' 5/9s"},
		{"gate.example", "X-RateLimit-Remaining: 5|X-RateLimit-Reset: 5000", "X-RateLimit; limit '' 5/5s"},
		{"api.linear.app", "X-Other: 1|X-RateLimit-Other-Remaining: 7", "Linear's other; limit '' 7"},
		{"api.linear.app", "X-RateLimit-Requests-Limit: 100|X-RateLimit-Requests-Remaining: 7|X-RateLimit-Requests-Reset: 1776938460000", "Linear; policy 'requests' 100; limit 'requests' 7/1m0s"},
	} {
		h := http.Header{"Date": {"Thu, 23 Apr 2026 10:00:00 GMT"}}
		for _, field := range strings.Split(tt.fields, "|") {
			name, value, _ := strings.Cut(field, ": ")
			h.Add(name, value)
		}
		assert.Equal(t, tt.want, tell(r.Read(tt.host, 200, h, time.Time{})), tt.fields)
	}
}

// Vendors returns a copy.
func TestVendorsIsACopy(t *testing.T) {
	rows := parse.Vendors()
	names := map[string]bool{}
	for i := range rows {
		assert.NotEmpty(t, rows[i].Name)
		assert.False(t, names[rows[i].Name], "one row each: %s", rows[i].Name)
		names[rows[i].Name] = true
		if rows[i].Units != nil {
			rows[i].Units["tokens"] = "x"
		}
		rows[i] = parse.Vendor{}
	}
	assert.Equal(t, "X-RateLimit", parse.Vendors()[len(rows)-1].Name)
	var r parse.Reader
	assert.Contains(t, tell(r.Read("", 200, fields("X-RateLimit-Limit-Tokens: 5"), saturday)), "5 tokens")
}

// Fields with several values describe several policies, paired by position.
func TestReadSeveralValues(t *testing.T) {
	tests := []struct {
		name, host string
		fields     []string
		want       string
	}{
		{"Brave Search", "", []string{"X-RateLimit-Limit: 1, 15000", "X-RateLimit-Policy: 1;w=1, 15000;w=2592000", "X-RateLimit-Remaining: 0, 1000", "X-RateLimit-Reset: 1, 1419704"},
			`X-RateLimit; policy '1;w=1' 1/1s; policy '15000;w=2592000' 15000/720h0m0s; limit '1;w=1' 0/1s; limit '15000;w=2592000' 1000/394h21m44s`},
		{"in several lines", "", []string{"X-RateLimit-Limit: 1", "X-RateLimit-Limit: 15000", "X-RateLimit-Remaining: 0", "X-RateLimit-Remaining: 1000", "X-RateLimit-Reset: 1", "X-RateLimit-Reset: 1419704"},
			`X-RateLimit; policy '1' 1; policy '15000' 15000; limit '1' 0/1s; limit '15000' 1000/394h21m44s`},
		{"draft -06", "", []string{"RateLimit-Limit: 1, 15000", "RateLimit-Remaining: 0, 1000", "RateLimit-Reset: 1, 1419704"},
			`draft -06; policy '1' 1; policy '15000' 15000; limit '1' 0/1s; limit '15000' 1000/394h21m44s`},
		{"equal quotas by position", "", []string{"X-RateLimit-Limit: 5, 5", "X-RateLimit-Policy: 5;w=1, 5;w=60", "X-RateLimit-Remaining: 0, 4"},
			`X-RateLimit; policy '5;w=1' 5/1s; policy '5;w=60' 5/1m0s; limit '5;w=1' 0; limit '5;w=60' 4`},
		{"policies in another order", "", []string{"X-RateLimit-Limit: 1, 15000", "X-RateLimit-Policy: 15000;w=2592000, 1;w=1", "X-RateLimit-Remaining: 0, 1000"},
			`X-RateLimit; policy '1;w=1' 1/1s; policy '15000;w=2592000' 15000/720h0m0s; limit '1;w=1' 0; limit '15000;w=2592000' 1000`},
		{"windows in the limit", "", []string{"X-RateLimit-Limit: 10;w=1, 100;w=60", "X-RateLimit-Remaining: 9, 0"},
			`X-RateLimit; policy '10;w=1' 10/1s; policy '100;w=60' 100/1m0s; limit '10;w=1' 9; limit '100;w=60' 0`},
		{"a window field", "", []string{"X-RateLimit-Limit: 10, 100", "X-RateLimit-Window: 1, 60", "X-RateLimit-Remaining: 9, 0"},
			`X-RateLimit; policy '10;w=1' 10/1s; policy '100;w=60' 100/1m0s; limit '10;w=1' 9; limit '100;w=60' 0`},
		{"one reset for all", "", []string{"X-RateLimit-Limit: 10, 100", "X-RateLimit-Remaining: 9, 0", "X-RateLimit-Reset: 7"},
			`X-RateLimit; policy '10' 10; policy '100' 100; limit '10' 9/7s; limit '100' 0/7s`},
		{"without a limit", "", []string{"X-RateLimit-Remaining: 0, 1000", "X-RateLimit-Reset: 1, 1419704"},
			`X-RateLimit; limit '1' 0/1s; limit '2' 1000/394h21m44s`},
		{"the same twice", "", []string{"X-RateLimit-Limit: 5, 5", "X-RateLimit-Remaining: 4, 3", "X-RateLimit-Reset: 2, 3"},
			`X-RateLimit; policy '1' 5; policy '2' 5; limit '1' 4/2s; limit '2' 3/3s`},
		{"equal quotas without windows", "", []string{"X-RateLimit-Limit: 100, 100", "X-RateLimit-Remaining: 0, 90", "X-RateLimit-Reset: 1, 3600"},
			`X-RateLimit; policy '1' 100; policy '2' 100; limit '1' 0/1s; limit '2' 90/1h0m0s`},
		{"two of three quotas are equal", "", []string{"X-RateLimit-Limit: 100, 1000, 100", "X-RateLimit-Remaining: 0, 500, 90", "X-RateLimit-Reset: 1, 60, 3600"},
			`X-RateLimit; policy '1' 100; policy '2' 1000; policy '3' 100; limit '1' 0/1s; limit '2' 500/1m0s; limit '3' 90/1h0m0s`},
		{"figures that may be what is used", "", []string{"X-RateLimit: 10, 40", "X-RateLimit-Remaining: 90, 960", "X-RateLimit-Reset: 1, 60"},
			`X-RateLimit; policy '1' 10; policy '2' 40; limit '1' 90/1s; limit '2' 960/1m0s`},
		{"what may be used, with windows", "", []string{"X-RateLimit: 100;w=1, 1000;w=60", "X-RateLimit-Remaining: 90, 960"},
			`X-RateLimit; policy '100;w=1' 100/1s; policy '1000;w=60' 1000/1m0s; limit '100;w=1' 90; limit '1000;w=60' 960`},
		{"equal quotas, draft -06", "", []string{"RateLimit-Limit: 100, 100", "RateLimit-Remaining: 0, 90", "RateLimit-Reset: 1, 3600"},
			`draft -06; policy '1' 100; policy '2' 100; limit '1' 0/1s; limit '2' 90/1h0m0s`},
		{"several of one field only: the most cautious", "", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 4, 3", "X-RateLimit-Reset: 2"},
			`X-RateLimit; policy '' 5; limit '' 3/2s`},
		{"a malformed value keeps its position", "", []string{"X-RateLimit-Remaining: 0, 1000", "X-RateLimit-Limit: 1, 15000", "X-RateLimit-Reset: soon, 1419704"},
			`X-RateLimit; policy '1' 1; policy '15000' 15000; limit '1' 0; limit '15000' 1000/394h21m44s; parse: value of a wrong type (X-RateLimit-Reset, item 0)`},
		{"dates", "", []string{"X-RateLimit-Limit: 1, 2", "X-RateLimit-Remaining: 0, 1", "X-RateLimit-Reset: 2026-11-21T04:48:05.5Z, 2026-11-21T04:49:00.5Z"},
			`X-RateLimit; policy '1' 1; policy '2' 2; limit '1' 0/5.5s; limit '2' 1/1m0.5s`},
		{"Riot Games", "", []string{"X-App-Rate-Limit: 20:1,100:120", "X-App-Rate-Limit-Count: 20:1,30:120", "X-Method-Rate-Limit: 2000:60", "X-Method-Rate-Limit-Count: 3:60"},
			`Riot Games; policy 'app 20;w=1' 20/1s; policy 'app 100;w=120' 100/2m0s; policy 'method' 2000/1m0s; limit 'app 20;w=1' 0; limit 'app 100;w=120' 70; limit 'method' 1997`},
		{"Riot Games, in another order", "", []string{"X-App-Rate-Limit: 20:1,100:120", "X-App-Rate-Limit-Count: 30:120,20:1"},
			`Riot Games; policy 'app 20;w=1' 20/1s; policy 'app 100;w=120' 100/2m0s; limit 'app 20;w=1' 0; limit 'app 100;w=120' 70`},
		{"Strava, also for reading", "www.strava.com", []string{"X-RateLimit-Limit: 200,2000", "X-RateLimit-Usage: 20,2000", "X-ReadRateLimit-Limit: 100,1000", "X-ReadRateLimit-Usage: 100,300"},
			`Strava; policy '15-minute' 200/15m0s; policy 'day' 2000/24h0m0s; policy 'read 15-minute' 100/15m0s; policy 'read day' 1000/24h0m0s; ` +
				`limit '15-minute' 180; limit 'day' 0; limit 'read 15-minute' 0; limit 'read day' 700`},
	}
	var r parse.Reader
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read(tt.host, 200, fields(tt.fields...), saturday)), tt.name)
	}
}

// Vendors' units, windows, names and costs.
func TestReadMoreVendors(t *testing.T) {
	tests := []struct {
		name, host string
		fields     []string
		want       string
	}{
		{"HubSpot", "", []string{"X-HubSpot-RateLimit-Daily: 250000", "X-HubSpot-RateLimit-Daily-Remaining: 249999", "X-HubSpot-RateLimit-Interval-Milliseconds: 10000",
			"X-HubSpot-RateLimit-Max: 100", "X-HubSpot-RateLimit-Remaining: 0", "X-HubSpot-RateLimit-Secondly: 10", "X-HubSpot-RateLimit-Secondly-Remaining: 9"},
			`HubSpot; policy '' 100/10s; policy 'daily' 250000/24h0m0s; policy 'secondly' 10/1s; limit '' 0; limit 'daily' 249999; limit 'secondly' 9`},
		{"BigCommerce", "", []string{"X-Rate-Limit-Requests-Left: 6", "X-Rate-Limit-Requests-Quota: 25", "X-Rate-Limit-Time-Reset-Ms: 3000", "X-Rate-Limit-Time-Window-Ms: 5000"},
			`BigCommerce; policy '' 25/5s; limit '' 6/3s`},
		{"Brevo", "", []string{"x-sib-ratelimit-limit: 10", "x-sib-ratelimit-remaining: 0", "x-sib-ratelimit-reset: 3"}, `Brevo; policy '' 10; limit '' 0/3s`},
		{"Fastly", "", []string{"Fastly-RateLimit-Remaining: 0", "Fastly-RateLimit-Reset: 1795236485"}, `Fastly; limit '' 0/6s`},
		{"Hugging Face", "", []string{`RateLimit: "api";r=0;t=189`, `RateLimit-Policy: "fixed window";"api";q=500;w=300`}, `draft -08; policy 'api' 500/5m0s; limit 'api' 0/3m9s`},
		{"a kind that does not help", "", []string{`RateLimit-Policy: "fixed window";"api";q=`}, `none; parse: malformed field value (RateLimit-Policy)`},
		{"Hetzner", "api.hetzner.cloud", []string{"RateLimit-Limit: 3600", "RateLimit-Remaining: 3597", "RateLimit-Reset: 1795236482", "Date: Sat, 21 Nov 2026 04:48:00 GMT"},
			`Hetzner; policy '' 3600; limit '' 3597/1s (full in 3s)`},
		{"Anthropic, partly used", "", []string{"anthropic-ratelimit-requests-limit: 50", "anthropic-ratelimit-requests-remaining: 0", "anthropic-ratelimit-requests-reset: 2026-11-21T04:48:59Z"},
			`Anthropic; policy 'requests' 50; limit 'requests' 0/1.2s (full in 1m0s)`},
		{"OpenAI, plain seconds are a window", "", []string{"x-ratelimit-limit-tokens: 100", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 45"},
			`OpenAI; policy 'tokens' 100 tokens; limit 'tokens' 0/45s`},
		{"Groq", "", []string{"x-ratelimit-limit-tokens: 6000", "x-ratelimit-remaining-tokens: 5000", "x-ratelimit-reset-tokens: 7.66s", "x-ratelimit-limit-requests: 14400", "x-ratelimit-remaining-requests: 14398", "x-ratelimit-reset-requests: 12s"},
			`OpenAI; policy 'requests' 14400; policy 'tokens' 6000 tokens; limit 'requests' 14398/6s (full in 12s); limit 'tokens' 5000/7.66ms (full in 7.66s)`},
		{"a rate that is not whole", "", []string{"x-amzn-RateLimit-Limit: 2.5"}, `Amazon SP-API; policy '' 2/800ms`},
		{"a rate that is whole", "", []string{"x-amzn-RateLimit-Limit: 10.0"}, `Amazon SP-API; policy '' 10/1s`},
		{"a rate that is too low", "", []string{"x-amzn-RateLimit-Limit: 0.00000001"}, `none`},
		{"a quota in words", "", []string{"X-RateLimit-Limit: 100/minute", "X-RateLimit-Remaining: 0"}, `X-RateLimit; policy '' 100/1m0s; limit '' 0`},
		{"a quota in more words", "", []string{"X-RateLimit-Limit: 100 requests per 60 seconds, 1000 Per hour", "X-RateLimit-Remaining: 0"},
			`X-RateLimit; policy '' 100/1m0s; policy '1000;w=3600' 1000/1h0m0s; limit '' 0`},
		{"thousands in words", "", []string{"X-RateLimit-Limit: 1,000 per minute, 10,000,000 requests/day, 20/1s,30/10s", "X-RateLimit-Remaining: 0"}, `X-RateLimit; policy '' 1000/1m0s; policy '10000000;w=86400' 10000000/24h0m0s; policy '20;w=1' 20/1s; policy '30;w=10' 30/10s; limit '' 0`},
		{"a quota of what is no request", "", []string{"X-RateLimit-Limit: 100 tokens per minute", "X-RateLimit-Remaining: 0"}, `X-RateLimit; limit '' 0; parse: malformed field value (X-RateLimit-Limit)`},
		{"a quota per what is no time", "", []string{"X-RateLimit-Limit: 100 per user", "X-RateLimit-Remaining: 0"}, `X-RateLimit; limit '' 0; parse: malformed field value (X-RateLimit-Limit)`},
		{"a quota and a number of seconds", "", []string{"X-RateLimit-Limit: 100:60", "X-RateLimit-Remaining: 0"}, `X-RateLimit; policy '' 100/1m0s; limit '' 0`},
		{"a quota and what is no window", "", []string{"X-RateLimit-Limit: 100/x", "X-RateLimit-Remaining: 0"}, `X-RateLimit; limit '' 0; parse: malformed field value (X-RateLimit-Limit)`},
		{"windows in names", "", []string{"X-RateLimit-Limit-10s: 5", "X-RateLimit-Limit-15-min: 6", "X-RateLimit-Limit-24hour: 7", "X-RateLimit-Limit-Per_Hour: 8", "X-RateLimit-Limit-1d: 9", "X-RateLimit-Limit-V2: 1", "X-RateLimit-Limit-5: 2"},
			`X-RateLimit; policy '10s' 5/10s; policy '15-min' 6/15m0s; policy '1d' 9/24h0m0s; policy '24hour' 7/24h0m0s; policy '5' 2; policy 'per_hour' 8/1h0m0s; policy 'v2' 1`},
		{"a window in milliseconds", "", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Interval-Ms: 1500", "X-RateLimit-Reset-Ms: 500"}, `X-RateLimit; policy '' 5/1.5s; limit '' ?/500ms`},
		{"a window in a word", "", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Period: hour"}, `X-RateLimit; policy '' 5/1h0m0s`},
		{"a cost", "", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 3", "X-RateLimit-Cost: 2"}, `X-RateLimit; policy '' 5; limit '' 3 cost 2`},
		{"Contentful", "", []string{"X-Contentful-RateLimit-Hour-Limit: 36000", "X-Contentful-RateLimit-Hour-Remaining: 35000", "X-Contentful-RateLimit-Second-Limit: 10", "X-Contentful-RateLimit-Second-Remaining: 0", "X-Contentful-RateLimit-Reset: 1"},
			`Contentful; policy 'hour' 36000/1h0m0s; policy 'second' 10/1s; limit 'hour' 35000; limit 'second' 0/1s; retry after 1s`},
		{"Etsy", "", []string{"X-Limit-Per-Second: 10", "X-Remaining-This-Second: 9", "X-Limit-Per-Day: 10000", "X-Remaining-Today: 0"},
			`Etsy; policy 'day' 10000/24h0m0s; policy 'second' 10/1s; limit 'day' 0; limit 'second' 9`},
		{"Salesforce, an application", "", []string{"Sforce-Limit-Info: api-usage=18/5000; per-app-api-usage=17/250(appName=sample-connected-app)"},
			`Salesforce; policy 'api-usage' 5000/24h0m0s; policy 'per-app-api-usage' 250/24h0m0s; limit 'api-usage' 4982; limit 'per-app-api-usage' 233`},
		{"Atlassian Data Center", "", []string{"X-RateLimit-Limit: 50", "X-RateLimit-Remaining: 0", "X-RateLimit-Interval-Seconds: 1", "X-RateLimit-FillRate: 5"}, `Atlassian Data Center; policy '' 50; limit '' 0`},
	}
	var r parse.Reader
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read(tt.host, 200, fields(tt.fields...), saturday)), tt.name)
	}
}

// Aliases of Retry-After, and refusals that do not say what is left.
func TestReadRefusals(t *testing.T) {
	tests := []struct {
		name   string
		status int
		fields []string
		want   string
	}{
		{"Symfony", 429, []string{"X-RateLimit-Retry-After: 1795236490", "X-RateLimit-Remaining: 0", "X-RateLimit-Limit: 5"}, `X-RateLimit; policy '' 5; limit '' 0; retry after 10s!`},
		{"in seconds, by name", 429, []string{"X-Rate-Limit-Retry-After-Seconds: 7"}, `none; retry after 7s!`},
		{"in milliseconds, by name", 429, []string{"X-Rate-Limit-Retry-After-Ms: 1500"}, `none; retry after 1.5s!`},
		{"in milliseconds, an instant", 429, []string{"X-RateLimit-Retry-After: 1795236490500"}, `none; retry after 10.5s!`},
		{"a duration", 429, []string{"X-Retry-In: 500ms"}, `none; retry after 500ms!`},
		{"of named quotas, the longest", 429, []string{"Retry-After-short: 2", "Retry-After-long: 9"}, `none; retry after 9s!`},
		{"Retry-After comes first", 429, []string{"Retry-After: 3", "Retry-After-long: 9", "X-Retry-After: 8"}, `none; retry after 3s!`},
		{"unless it is malformed", 429, []string{"Retry-After: soon", "X-RetryAfter: 8"}, `none; retry after 8s!; parse: malformed field value (Retry-After, item 0)`},
		{"on a success", 200, []string{"X-RateLimit-Retry-After: 8"}, `none; retry after 8s`},
		{"above its cap", 429, []string{"X-Retry-After: 86401"}, `none; parse: above a safety cap (X-Retry-After, item 0)`},
		{"Oracle", 429, []string{"RequestLimit-Write-RetryAfter: 30000"}, `none; retry after 30s!`},

		{"X-RateLimit, a reset alone", 429, []string{"X-RateLimit-Limit: 5", "X-RateLimit-Reset: 9"}, `X-RateLimit; policy '' 5; limit '' 0/9s`},
		{"-06, a reset alone", 429, []string{"RateLimit-Limit: 5", "RateLimit-Reset: 9"}, `draft -06; policy '' 5; limit '' 0/9s`},
		{"-08, a reset alone", 429, []string{`RateLimit: "x";t=15`}, `draft -08; limit 'x' 0/15s`},
		{"-08, another one is exceeded", 429, []string{`RateLimit: "x";t=15, "y";r=0;t=1`}, `draft -08; limit 'x' ?/15s; limit 'y' 0/1s`},
		{"-08, another one is left", 429, []string{`RateLimit: "x";t=15, "y";r=1`}, `draft -08; limit 'x' 0/15s; limit 'y' 1`},
		{"-08, a success", 200, []string{`RateLimit: "x";t=15`}, `draft -08; limit 'x' ?/15s`},
		{"-08, no reset", 429, []string{`RateLimit: "x"`}, `editor's draft; limit 'x' ?`},

		{"overdrawn on a success", 200, []string{"Retry-After: 4", "X-RateLimit-Remaining-Tokens: -27689"}, `X-RateLimit; limit 'tokens' 0; retry after 4s!`},
		{"nothing left on a success", 200, []string{"Retry-After: 4", "X-RateLimit-Remaining-Tokens: 0"}, `X-RateLimit; limit 'tokens' 0/4s; retry after 4s`},
	}
	var r parse.Reader
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read("", tt.status, fields(tt.fields...), saturday)), tt.name)
	}
}

// A Limit has the instant at which it resets, if the server sent one.
func TestReadResets(t *testing.T) {
	at := time.Date(2026, time.November, 21, 4, 48, 5, 0, time.UTC)
	const date = "Date: Sat, 21 Nov 2026 04:48:00 GMT"
	tests := []struct {
		name   string
		fields []string
		resets time.Time
		date   time.Time
	}{
		{"a delay", []string{date, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: 5"}, time.Time{}, time.Time{}},
		{"Unix seconds", []string{date, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: 1795236485"}, at, saturday},
		{"Unix seconds with a fraction", []string{date, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: 1795236485.5"}, at.Add(time.Second / 2), saturday},
		{"a date", []string{date, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: Sat, 21 Nov 2026 05:48:05 +0100"}, at, saturday},
		{"no Date", []string{"X-RateLimit-Remaining: 1", "X-RateLimit-Reset: 1795236485"}, at, time.Time{}},
		{"a malformed Date", []string{"Date: today", "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: 1795236485"}, at, time.Time{}},
		{"in the past", []string{date, "X-RateLimit-Remaining: 1", "X-RateLimit-Reset: 1795236475"}, at.Add(-10 * time.Second), saturday},
		{"draft -06", []string{date, "RateLimit-Remaining: 1", "RateLimit-Reset: 1795236485"}, at, saturday},
		{"draft -07", []string{date, "RateLimit: limit=5, remaining=1, reset=1795236485"}, at, saturday},
		{"draft -08", []string{date, `RateLimit: "a";r=1;t=5`}, time.Time{}, time.Time{}},
	}
	var r parse.Reader
	for _, tt := range tests {
		got := r.Read("", 200, fields(tt.fields...), saturday.Add(time.Hour))
		if tt.name == "no Date" || tt.name == "a malformed Date" {
			got = r.Read("", 200, fields(tt.fields...), saturday)
		}
		require.Len(t, got.Limits, 1, tt.name)
		assert.Equal(t, tt.resets, got.Limits[0].Resets, tt.name)
		assert.Equal(t, tt.date, got.Date, tt.name)
	}
}

// A name of a list of counts may be as long as the cap on names.
func TestCountsAreCapped(t *testing.T) {
	r := parse.Reader{Caps: parse.Caps{NameBytes: 4}, Vendors: []parse.Vendor{{Name: "own", Summary: []string{"X-Left"}}}}
	got := r.Read("", 200, http.Header{"X-Left": {"read;90,write;9"}}, saturday)
	if assert.Len(t, got.Limits, 1) {
		assert.Equal(t, "read", got.Limits[0].Policy)
	}
	assert.Equal(t, []parse.Ignored{{Field: "X-Left", Item: 1, Err: parse.ErrCap}}, got.Ignored)
}

// A name is measured as it is kept: in small letters, with the window or the label beside it.
func TestNamesAreCapped(t *testing.T) {
	long := strings.Repeat("\x8c", 22) // 66 bytes in small letters
	vendors := append([]parse.Vendor{{Name: "own", Summary: []string{"X-Left"}}}, parse.Vendors()...)
	for _, tt := range []struct {
		field, value string
		fits         bool // within 64 bytes
	}{
		{"X-Left", "{name:" + long + ",limit:1}", false},
		{"X-Left", "{name:" + long[1:] + ",limit:1}", true},
		{"X-Left", long + "=1/10", false},
		{"X-Left", long[1:] + "=1/10", true},
		{"X-Left", "b=" + long[1:] + ",minute=5", false},
		{"X-Left", "b=" + long[3:] + ",minute=5", true},
		{"X-Left", long + ":id 2/1000 reset=3514s", false},
		{"X-Left", long[1:] + ":id 2/1000 reset=3514s", true},
		{"X-RateLimit-Limit", "name=" + long + ",100;", false},
		{"X-RateLimit-Limit", "name=" + long[1:] + ",100;", true},
		{"X-RateLimit-Limit-" + strings.Repeat("A", 65), "100", false},
		{"X-RateLimit-Limit-" + strings.Repeat("A", 64), "100", true},
		{"X-RateLimit-Limit-" + strings.Repeat("A", 57), "name=default,100;", false},
		{"X-RateLimit-Limit-" + strings.Repeat("A", 56), "name=default,100;", true},
	} {
		r := parse.Reader{Caps: parse.Caps{NameBytes: 64}, Vendors: vendors}
		got := r.Read("", 200, http.Header{textproto.CanonicalMIMEHeaderKey(tt.field): {tt.value}}, saturday)
		assert.Equal(t, tt.fits, len(got.Policies)+len(got.Limits) > 0, "%q: %q", tt.field, tt.value)
		for _, p := range got.Policies {
			assert.LessOrEqual(t, len(p.Name), 64)
		}
		for _, l := range got.Limits {
			assert.LessOrEqual(t, len(l.Policy), 64)
		}
		assert.Equal(t, !tt.fits, slices.ContainsFunc(got.Ignored, func(i parse.Ignored) bool {
			return errors.Is(i.Err, parse.ErrCap)
		}), "%q: %q: %v", tt.field, tt.value, got.Ignored)
	}
}

// So are the names of several policies of one account, which have their quotas in them.
func TestNamesOfSeveralAreCapped(t *testing.T) {
	for n, kept := range map[int]int{50: 2, 64: 0} {
		r := parse.Reader{Caps: parse.Caps{NameBytes: 64}, Vendors: []parse.Vendor{{
			Name: "own", Limit: []string{"X-Max-*"}, Remaining: []string{"X-Left-*"},
		}}}
		account := strings.Repeat("A", n)
		got := r.Read("", 200, fields("X-Max-"+account+": 10, 200", "X-Left-"+account+": 9, 8"), saturday)
		assert.Len(t, got.Policies, kept)
		assert.Len(t, got.Limits, kept)
		assert.Equal(t, kept == 0, len(got.Ignored) > 0, "%v", got.Ignored)
	}
}

// A row that says what all of its quotas count has none of money, whatever its fields are named.
func TestUnitsOfARow(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{
		Name: "a shop", Remaining: []string{"X-Shop-*-Left"}, Units: map[string]string{"": "credits"},
	}}}
	now := time.Date(2026, time.April, 23, 10, 0, 0, 0, time.UTC)
	h := http.Header{"X-Shop-Credits-Left": {"8.5"}}
	assert.Equal(t, `a shop; limit 'credits' 8`, tell(r.Read("x.example", 200, h, now)))
}

// A host may end with a dot, so that no search domain is tried. It is the same host.
func TestVendorOfHostWithDot(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{Name: "Example", Hosts: []string{"api.example"}, Remaining: []string{"X-Left"}}}}
	for _, host := range []string{"api.example", "API.example.", "v2.api.example.:8443", "api.example:443"} {
		assert.Equal(t, `Example; limit '' 4`, tell(r.Read(host, 200, fields("X-Left: 4"), saturday)), host)
	}
	assert.Equal(t, "none", tell(r.Read("api.example.org.", 200, fields("X-Left: 4"), saturday)))
}
