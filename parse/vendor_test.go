package parse_test

import (
	"fmt"
	"net/http"
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
			`limit '' 3/2.5s; parse: value out of range (X-RateLimit-Reset, item 0)`},
		{"a name that is none", []string{`X-RateLimit-Limit: 10, 10;w=1;name=5`}, `policy '' 10/1s`},
		{"the quota is not first", []string{`X-RateLimit-Limit: a, 10;w=1`}, `policy '10;w=1' 10/1s; parse: value of a wrong type (X-RateLimit-Limit, item 0)`},
		{"measures are no accounts", []string{"X-RateLimit-Limit-Reset: 5", "X-RateLimit-Reset-Date: 5", "X-RateLimit-Remaining-Limit: 1"}, ``},

		// Negative numbers.
		{"not known", []string{"X-RateLimit-Limit: -1", "X-RateLimit-Remaining: -1", "X-RateLimit-Reset: 0"}, `; parse: value out of range (X-RateLimit-Limit, item 0)`},
		{"not known, no limit", []string{"X-RateLimit-Remaining: -1"}, ``},
		{"overdrawn by one", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: -1"}, `policy '' 5; limit '' 0`},
		{"overdrawn", []string{"X-RateLimit-Remaining: -27689"}, `limit '' 0`},
		{"used less than nothing", []string{"X-RateLimit-Used: -1", "X-RateLimit-Remaining: 5"}, `limit '' 5; parse: value out of range (X-RateLimit-Used, item 0)`},

		// Caps.
		{"left above its cap", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 99999999999999999999"}, `policy '' 5; parse: above a safety cap (X-RateLimit-Remaining, item 0)`},
		{"the sum above its cap", []string{"X-RateLimit-Used: 1000000000000", "X-RateLimit-Remaining: 1"}, `limit '' 1`},
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
			`OpenAI; policy 'tokens' 100 tokens; limit 'tokens' 70/333.333334ms`},
		{"OpenAI, full", "", []string{"x-ratelimit-limit-tokens: 100", "x-ratelimit-remaining-tokens: 100", "x-ratelimit-reset-tokens: 0s"},
			`OpenAI; policy 'tokens' 100 tokens; limit 'tokens' 100/0s`},
		{"Shopify", "", []string{"X-Shopify-Shop-Api-Call-Limit: 32/40"}, `Shopify; policy '' 40; limit '' 8`},
		{"Shopify, blanks", "", []string{"X-Shopify-Shop-Api-Call-Limit: 32 / 40"}, `Shopify; policy '' 40; limit '' 8`},
		{"Shopify, overdrawn", "", []string{"X-Shopify-Shop-Api-Call-Limit: 41/40"}, `Shopify; policy '' 40; limit '' 0`},
		{"Shopify, malformed", "", []string{"X-Shopify-Shop-Api-Call-Limit: 32/many"}, `none; parse: malformed field value (X-Shopify-Shop-Api-Call-Limit)`},
		{"Shopify, negative", "", []string{"X-Shopify-Shop-Api-Call-Limit: -1/40"}, `Shopify; policy '' 40; parse: value out of range (X-Shopify-Shop-Api-Call-Limit)`},
		{"Shopify, too long", "", []string{"X-Shopify-Shop-Api-Call-Limit: 1/" + strings.Repeat("0", 8192)}, `none; parse: above a safety cap (X-Shopify-Shop-Api-Call-Limit)`},
		{"Zendesk, an endpoint alone", "", []string{"Zendesk-RateLimit-Search: total=100; remaining=99; resets=41"}, `Zendesk; policy 'search' 100; limit 'search' 99/41s`},
		{"Zendesk, as members", "", []string{"Zendesk-RateLimit-Search: limit=100, used=1, remaining=x, y=(1)"},
			`Zendesk; policy 'search' 100; limit 'search' 99; parse: value of a wrong type (Zendesk-RateLimit-*)`},
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
		{"lemlist on a success", "api.lemlist.com", []string{"Retry-After: 2", "X-RateLimit-Remaining: 7"}, `lemlist; limit '' 7; retry after 2s`},
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
		{Name: "acme", Limit: []string{"acme-*-quota"}, Remaining: []string{"ACME-*-LEFT", "acme-all-left"}, Window: []string{"acme-*-window"}, Unit: "request", Every: time.Hour},
		{Name: "own github", Sign: "X-RateLimit-Resource", Remaining: []string{"X-RateLimit-Remaining"}, Partition: []string{"X-RateLimit-Resource", "X-Team"}},
		{Name: "by hand", Hosts: []string{"hand.example", "127.0.0.1", "::1"}, Remaining: []string{"X-Left"}},
		{Name: "old", Hosts: []string{"old.example"}, Dialect: parse.Draft06, ResetIn: parse.UnixSeconds},
		{Name: "dictionary", Hosts: []string{"seven.example"}, Dialect: parse.Draft07},
		{Name: "fields", Hosts: []string{"x.example"}, Dialect: parse.VendorFields, ResetIn: parse.DeltaMillis},
		{Name: "eight", Hosts: []string{"eight.example"}, Dialect: parse.Draft08},
		{Name: "chatty", Hosts: []string{"chatty.example"}, RetryAfter: parse.AdviceOnRefusals},
		{Name: "short", Remaining: []string{"q-*"}},
		{Name: "any name", Remaining: []string{"*"}},
	}}
	const draft = `RateLimit: "api";a=9`
	tests := []struct {
		host   string
		fields []string
		want   string
	}{
		{"", []string{"Acme-Read-Quota: 5", "Acme-Read-Left: 4", "Acme-Write-Left: 3", "Acme-Read-Window: 30"}, `acme; policy 'read' 5/30s; limit 'read' 4; limit 'write' 3`},
		{"", []string{"Acme-Read-Quota: 5"}, `acme; policy 'read' 5/1h0m0s`},
		{"", []string{"Acme-Read-Quota: 5", "Acme-All-Left: 7"}, `acme; policy 'read' 5/1h0m0s; limit '' 7`},
		{"", []string{"Acme-Read-Quota: 5", draft}, `editor's draft; limit 'api' 9`},
		{"", []string{"Acme-Read-Quota: many", "X-RateLimit-Remaining: 5"}, `X-RateLimit; limit '' 5; parse: value of a wrong type (acme-*-quota, item 0)`},
		{"", []string{"X-RateLimit-Resource: core", "X-RateLimit-Remaining: 5", "X-Team: a"}, `own github; limit ''@"core\x1fa" 5`},
		{"", []string{"X-RateLimit-Resource: core", "X-RateLimit-Remaining: 5"}, `own github; limit '' 5`},
		{"", []string{"Q-A: 5"}, `short; limit 'a' 5`},
		{"", []string{"Q-: 5"}, `none`},
		{"hand.example", []string{"X-Left: 5", draft}, `by hand; limit '' 5`},
		{"127.0.0.1:8080", []string{"X-Left: 5", draft}, `by hand; limit '' 5`},
		{"a.hand.example", []string{"X-Left: 5", draft}, `by hand; limit '' 5`},
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
