package parse_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Drafts -06 and -07: policies without names.
func TestReadUnnamedPolicies(t *testing.T) {
	const field = "RateLimit-Policy"
	tests := []struct{ name, policy, want string }{
		{"the account's policy", `100;w=10`, `policy '' 100/10s`},
		{"Section 3.2: several", `10;w=1, 50;w=60, 100;w=3600, 5000;w=86400`,
			`policy '10;w=1' 10/1s; policy '50;w=60' 50/1m0s; policy '' 100/1h0m0s; policy '5000;w=86400' 5000/24h0m0s`},
		{"Section 3.2: parameters", `10;w=1;burst=1000, 100;w=3600;comment="sliding window"`, `policy '10;w=1' 10/1s; policy '' 100/1h0m0s`},
		{"another policy", `1000;w=3600`, `policy '1000;w=3600' 1000/1h0m0s; policy '' 100`},
		{"a quota of 0 is none", `0;w=1`, `policy '' 100`},
		{"leading zeros", `0100;w=010`, `policy '' 100/10s`},
		{"Section 3.2: invalid, two of one quota", `10;w=1, 10;w=60`, `policy '' 100; parse: contradicts another item (RateLimit-Policy)`},
		{"w is REQUIRED", `100, 10;w=1`, `policy '10;w=1' 10/1s; policy '' 100; parse: required parameter missing (RateLimit-Policy, item 0, parameter w)`},
		{"w=0", `100;w=0, 10;w=1`, `policy '10;w=1' 10/1s; policy '' 100; parse: value out of range (RateLimit-Policy, item 0, parameter w)`},
		{"w negative", `10;w=-1`, `policy '' 100; parse: value out of range (RateLimit-Policy, item 0, parameter w)`},
		{"w String", `10;w="1"`, `policy '' 100; parse: value of a wrong type (RateLimit-Policy, item 0, parameter w)`},
		{"w above its cap", `10;w=31622401`,
			`policy '' 100; parse: above a safety cap (RateLimit-Policy, item 0, parameter w); parse: required parameter missing (RateLimit-Policy, item 0, parameter w)`},
		{"a negative quota", `-10;w=1, 5;w=1`, `policy '5;w=1' 5/1s; policy '' 100; parse: value out of range (RateLimit-Policy, item 0)`},
		{"a quota above its cap", `1000000000001;w=1`,
			`policy '' 100; parse: above a safety cap (RateLimit-Policy, item 0); parse: required parameter missing (RateLimit-Policy, item 0)`},
		{"a Decimal", `10.0;w=1, 5;w=1`, `policy '5;w=1' 5/1s; policy '' 100; parse: value of a wrong type (RateLimit-Policy, item 0)`},
		{"an Inner List", `(10);w=1, 5;w=1`, `policy '5;w=1' 5/1s; policy '' 100; parse: value of a wrong type (RateLimit-Policy, item 0)`},
		{"a name among them", `10;w=1, "api";q=7`, `policy 'api' 7; policy '' 100; parse: value of a wrong type (RateLimit-Policy, item 0)`},
	}
	var r parse.Reader
	for _, tt := range tests {
		for figures, h := range map[string][]string{
			"draft -07": {"RateLimit: limit=100, remaining=50, reset=5"},
			"draft -06": {"RateLimit-Limit: 100", "RateLimit-Remaining: 50", "RateLimit-Reset: 5"},
		} {
			policies, complaints, complained := strings.Cut(tt.want, "; parse: ")
			want := figures + "; " + policies + "; limit '' 50/5s"
			if complained {
				want += "; parse: " + complaints
			}
			got := r.Read("", 200, fields(append(h, field+": "+tt.policy)...), saturday)
			assert.Equal(t, want, tell(got), "%s, %s", figures, tt.name)
		}
	}
}

// There is one account, whatever its limit (Appendix B.2.2 and B.2.3 of draft -07: 100,
// then 10, then 0).
func TestReadOneAccount(t *testing.T) {
	var r parse.Reader
	for _, limit := range []int{100, 10, 0} {
		for _, h := range [][]string{
			{fmt.Sprintf("RateLimit: limit=%d, remaining=0, reset=20", limit)},
			{fmt.Sprintf("RateLimit-Limit: %d", limit), "RateLimit-Remaining: 0", "RateLimit-Reset: 20"},
		} {
			got := r.Read("", 429, fields(append(h, "RateLimit-Policy: 100;w=60")...), saturday)
			assert.Equal(t, []parse.Limit{{Window: 20 * time.Second, Cost: parse.None}}, got.Limits)
		}
	}
}

// Drafts -06 and older: three fields.
func TestReadLegacy(t *testing.T) {
	const none = "none; parse: "
	tests := []struct {
		name   string
		fields []string
		want   string
	}{
		{"all", []string{"RateLimit-Limit: 100", "RateLimit-Remaining: 99", "RateLimit-Reset: 50"}, `policy '' 100; limit '' 99/50s`},
		{"B.3.1: no remaining", []string{"RateLimit-Limit: 10", "RateLimit-Reset: 1"}, `policy '' 10; limit '' ?/1s`},
		{"a limit alone", []string{"RateLimit-Limit: 10"}, `policy '' 10`},
		{"what is left alone", []string{"RateLimit-Remaining: 10"}, `limit '' 10`},
		{"a reset alone", []string{"RateLimit-Reset: 10"}, `limit '' ?/10s`},
		{"parameters MUST be ignored", []string{"RateLimit-Limit: 100;x=1", "RateLimit-Remaining: 99;w=60", "RateLimit-Reset: 50;y"}, `policy '' 100; limit '' 99/50s`},
		{"-03: a List", []string{"RateLimit-Limit: 100, 100;w=60", "RateLimit-Remaining: 99"}, `policy '' 100/1m0s; limit '' 99`},
		{"-03: several policies", []string{"RateLimit-Limit: 10, 10;w=1, 50;w=60", "RateLimit-Remaining: 9"}, `policy '' 10/1s; policy '50;w=60' 50/1m0s; limit '' 9`},
		{"-03: another policy", []string{"RateLimit-Limit: 15, 100;w=60"}, `policy '100;w=60' 100/1m0s; policy '' 15`},
		{"-03: in lines", []string{"RateLimit-Limit: 100", "RateLimit-Limit: 100;w=60"}, `policy '' 100/1m0s`},
		{"-03: two of one quota", []string{"RateLimit-Limit: 10, 10;w=1, 10;w=60"}, `policy '' 10; parse: contradicts another item (RateLimit-Limit)`},
		{"-03: a name means nothing", []string{`RateLimit-Limit: 10, 10;w=1;name="x"`}, `policy '' 10/1s`},
		{"Docker, without its sign", []string{"RateLimit-Limit: 100;w=21600", "RateLimit-Remaining: 20;w=21600"}, `policy '' 100/6h0m0s; limit '' 20`},
		{"RateLimit-Policy wins", []string{"RateLimit-Limit: 10, 10;w=1", "RateLimit-Policy: 10;w=60"}, `policy '' 10/1m0s`},
		{"a Unix time", []string{"RateLimit-Limit: 5", "RateLimit-Remaining: 0", "RateLimit-Reset: 1795236530"}, `policy '' 5; limit '' 0/51s`},
		{"a date", []string{"RateLimit-Remaining: 0", "RateLimit-Reset: Sat, 21 Nov 2026 04:48:19 GMT"}, `limit '' 0/20s`},
		{"sent twice", []string{"RateLimit-Remaining: 5", "RateLimit-Remaining: 3", "RateLimit-Reset: 2", "RateLimit-Reset: 9"}, `limit '1' 5/2s; limit '2' 3/9s`},
		{"sent twice, joined", []string{"RateLimit-Remaining: 5, 3", "RateLimit-Reset: 2, 9"}, `limit '1' 5/2s; limit '2' 3/9s`},
		{"reset above its cap", []string{"RateLimit-Remaining: 0", "RateLimit-Reset: 31622401"}, `limit '' 0; parse: above a safety cap (RateLimit-Reset, item 0)`},
		{"limit above its cap", []string{"RateLimit-Remaining: 0", "RateLimit-Limit: 1000000000001"}, `limit '' 0; parse: above a safety cap (RateLimit-Limit, item 0)`},
		{"limit negative", []string{"RateLimit-Remaining: 5", "RateLimit-Limit: -1"}, `limit '' 5; parse: value out of range (RateLimit-Limit, item 0)`},
		{"remaining negative", []string{"RateLimit-Remaining: -5", "RateLimit-Limit: 1"}, `policy '' 1; parse: value out of range (RateLimit-Remaining, item 0)`},
		{"remaining Decimal", []string{"RateLimit-Remaining: 5.0", "RateLimit-Limit: 1"}, `policy '' 1; parse: value of a wrong type (RateLimit-Remaining, item 0)`},
		{"reset negative", []string{"RateLimit-Remaining: 5", "RateLimit-Reset: -1"}, `limit '' 5; parse: value out of range (RateLimit-Reset, item 0)`},
		{"reset malformed", []string{"RateLimit-Remaining: 5", "RateLimit-Reset: \""}, `limit '' 5; parse: value of a wrong type (RateLimit-Reset, item 0)`},
	}
	var r parse.Reader
	for _, tt := range tests {
		assert.Equal(t, "draft -06; "+tt.want, tell(r.Read("", 200, fields(tt.fields...), saturday)), tt.name)
	}
	assert.Equal(t, none+"above a safety cap (RateLimit-Remaining)",
		tell(r.Read("", 200, fields("RateLimit-Remaining: "+strings.Repeat("0", 8193)), saturday)))
	assert.Equal(t, none+"above a safety cap (RateLimit-Reset)",
		tell(r.Read("", 200, fields("RateLimit-Reset: "+strings.Repeat("0", 8193)), saturday)))
}
