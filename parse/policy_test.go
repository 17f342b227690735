package parse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// ofPolicy is an Ignored of RateLimit-Policy.
func ofPolicy(item int, param string, err error) parse.Ignored {
	return parse.Ignored{Field: "RateLimit-Policy", Item: item, Param: param, Err: err}
}

func TestPolicies(t *testing.T) {
	// api is what `"api";q=100` says.
	api := parse.Policy{Name: "api", Quota: 100, Unit: "requests"}
	minute := parse.Policy{Name: "api", Quota: 100, Unit: "requests", Window: time.Minute}
	other := parse.Policy{Name: "other", Quota: 7, Unit: "requests"}
	name256, name257 := strings.Repeat("n", 256), strings.Repeat("n", 257)

	tests := []struct {
		name    string
		lines   []string
		want    []parse.Policy
		ignored []parse.Ignored
	}{
		// Section 2: a List; field lines make one (RFC 9651, Section 4.2).
		{"absent", nil, nil, nil},
		{"empty", []string{""}, nil, nil},
		{"one", []string{`"api";q=100`}, []parse.Policy{api}, nil},
		{"two in a line", []string{`"api";q=100, "other";q=7`}, []parse.Policy{api, other}, nil},
		{"two in two lines", []string{`"api";q=100`, `"other";q=7`}, []parse.Policy{api, other}, nil},
		{"blanks", []string{"  \"api\"; q=100\t,\t\"other\"; q=7 "}, []parse.Policy{api, other}, nil},
		{"no List", []string{`"api";q=100,`}, nil, []parse.Ignored{ofPolicy(parse.None, "", parse.ErrSyntax)}},
		{"one bad line spoils all", []string{`"api";q=100`, `"`}, nil, []parse.Ignored{ofPolicy(parse.None, "", parse.ErrSyntax)}},
		{"an Integer too long for RFC 9651", []string{`"api";q=1000000000000000`}, nil, []parse.Ignored{ofPolicy(parse.None, "", parse.ErrSyntax)}},

		// Section 2.1: identified by a String; a Token in draft -09, Appendix B.3.1.
		{"Token", []string{`api;q=100`}, []parse.Policy{api}, nil},
		{"String and Token are one name", []string{`api;q=100, "api";q=100`}, []parse.Policy{api}, nil},
		{"empty name", []string{`"";q=100`}, []parse.Policy{{Quota: 100, Unit: "requests"}}, nil},
		{"Integer as name", []string{`100;w=10, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "", parse.ErrType)}},
		{"Boolean as name", []string{`?1;q=1, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "", parse.ErrType)}},
		{"Byte Sequence as name", []string{`:YXBp:;q=1`}, nil, []parse.Ignored{ofPolicy(0, "", parse.ErrType)}},
		{"Display String as name", []string{`%"api";q=1`}, nil, []parse.Ignored{ofPolicy(0, "", parse.ErrType)}},
		{"Inner List", []string{`("api");q=1, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "", parse.ErrType)}},
		{"a parameter key in upper case", []string{`"api";q=100;Q="x"`}, nil, []parse.Ignored{ofPolicy(parse.None, "", parse.ErrSyntax)}},
		{"unknown parameters are ignored", []string{`"api";q=100;burst=-5;comment="sliding";a=-1;r;t=x;c=?0`}, []parse.Policy{api}, nil},
		{"the last of a repeated parameter counts", []string{`"api";q=x;q=100`}, []parse.Policy{api}, nil},
		{"the longest name", []string{`"` + name256 + `";q=7`}, []parse.Policy{{Name: name256, Quota: 7, Unit: "requests"}}, nil},
		{"a name too long", []string{`"` + name257 + `";q=7, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "", parse.ErrCap)}},
		{"a Token too long", []string{name257 + `;q=7`}, nil, []parse.Ignored{ofPolicy(0, "", parse.ErrCap)}},

		// Section 2.1.1: q is REQUIRED and a non-negative Integer.
		{"q=0", []string{`"api";q=0`}, []parse.Policy{{Name: "api", Unit: "requests"}}, nil},
		{"no q", []string{`"api";w=60, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "q", parse.ErrMissing)}},
		{"q negative", []string{`"api";q=-1, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "q", parse.ErrRange)}},
		{"q Decimal", []string{`"api";q=100.0`}, nil, []parse.Ignored{ofPolicy(0, "q", parse.ErrType)}},
		{"q String", []string{`"api";q="100"`}, nil, []parse.Ignored{ofPolicy(0, "q", parse.ErrType)}},
		{"q Boolean", []string{`"api";q`}, nil, []parse.Ignored{ofPolicy(0, "q", parse.ErrType)}},
		{"q Date", []string{`"api";q=@100`}, nil, []parse.Ignored{ofPolicy(0, "q", parse.ErrType)}},
		{"q at its cap", []string{`"api";q=1000000000000`}, []parse.Policy{{Name: "api", Quota: 1e12, Unit: "requests"}}, nil},
		{"q above its cap", []string{`"api";q=1000000000001, "other";q=7`}, []parse.Policy{other},
			[]parse.Ignored{ofPolicy(0, "q", parse.ErrCap), ofPolicy(0, "q", parse.ErrMissing)}},

		// Section 2.1.2: qu is a String, "requests" by default; "request" in the registry.
		{"qu", []string{`"api";q=7;qu="content-bytes"`}, []parse.Policy{{Name: "api", Quota: 7, Unit: "content-bytes"}}, nil},
		{"qu unknown", []string{`"api";q=7;qu="bytes"`}, []parse.Policy{{Name: "api", Quota: 7, Unit: "bytes"}}, nil},
		{"qu Token", []string{`"api";q=7;qu=concurrent-requests`}, []parse.Policy{{Name: "api", Quota: 7, Unit: "concurrent-requests"}}, nil},
		{"qu requests", []string{`"api";q=100;qu="requests"`}, []parse.Policy{api}, nil},
		{"qu request", []string{`"api";q=100;qu="request"`}, []parse.Policy{api}, nil},
		{"qu empty", []string{`"api";q=100;qu=""`}, []parse.Policy{api}, nil},
		{"qu Integer", []string{`"api";q=7;qu=1`}, nil, []parse.Ignored{ofPolicy(0, "qu", parse.ErrType)}},
		{"qu too long", []string{`"api";q=7;qu="` + name257 + `"`}, nil,
			[]parse.Ignored{ofPolicy(0, "qu", parse.ErrCap), ofPolicy(0, "qu", parse.ErrMissing)}},

		// Section 2.1.3: w is a non-negative, non-zero Integer of seconds.
		{"w", []string{`"api";q=100;w=60`}, []parse.Policy{minute}, nil},
		{"w=0", []string{`"api";q=100;w=0, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{ofPolicy(0, "w", parse.ErrRange)}},
		{"w negative", []string{`"api";q=100;w=-60`}, nil, []parse.Ignored{ofPolicy(0, "w", parse.ErrRange)}},
		{"w Decimal", []string{`"api";q=100;w=0.5`}, nil, []parse.Ignored{ofPolicy(0, "w", parse.ErrType)}},
		{"w at its cap", []string{`"api";q=100;w=31622400`}, []parse.Policy{{Name: "api", Quota: 100, Unit: "requests", Window: 366 * 24 * time.Hour}}, nil},
		{"w above its cap", []string{`"api";q=100;w=31622401`}, []parse.Policy{api}, []parse.Ignored{ofPolicy(0, "w", parse.ErrCap)}},
		{"w longer than a Duration", []string{`"api";q=100;w=999999999999999`}, []parse.Policy{api}, []parse.Ignored{ofPolicy(0, "w", parse.ErrCap)}},
		{"t is no parameter of a policy", []string{`"api";q=100;t=60`}, []parse.Policy{api}, nil},

		// Section 2.1.4: pk is a Byte Sequence.
		{"pk", []string{`"api";q=7;pk=:R0VUH2FsaWNl:`}, []parse.Policy{{Name: "api", Quota: 7, Unit: "requests", Key: "GET\x1falice", HasKey: true}}, nil},
		{"pk empty", []string{`"api";q=7;pk=::`}, []parse.Policy{{Name: "api", Quota: 7, Unit: "requests", HasKey: true}}, nil},
		{"pk String", []string{`"api";q=7;pk="alice"`}, nil, []parse.Ignored{ofPolicy(0, "pk", parse.ErrType)}},
		{"pk Token", []string{`"api";q=7;pk=alice`}, nil, []parse.Ignored{ofPolicy(0, "pk", parse.ErrType)}},

		// Every fault of an item is recorded; the item is dropped once.
		{"several faults", []string{`"api";q=-1;w=0;pk=x;qu=1, "other";q=7`}, []parse.Policy{other}, []parse.Ignored{
			ofPolicy(0, "q", parse.ErrRange), ofPolicy(0, "qu", parse.ErrType), ofPolicy(0, "w", parse.ErrRange), ofPolicy(0, "pk", parse.ErrType)}},
		{"items are counted over field lines", []string{`"api";q=100, "x"`, `1, "other";q=7;w=0`}, []parse.Policy{api}, []parse.Ignored{
			ofPolicy(1, "q", parse.ErrMissing), ofPolicy(2, "", parse.ErrType), ofPolicy(3, "w", parse.ErrRange)}},

		// Repeated name and key: the lowest quota, the longest window.
		{"lowest quota", []string{`"api";q=200;w=60, "other";q=7, "api";q=100;w=10`}, []parse.Policy{minute, other}, nil},
		{"longest window", []string{`"api";q=100;w=10, "api";q=200;w=60`}, []parse.Policy{minute}, nil},
		{"no window loses", []string{`"api";q=100, "api";q=100;w=60`}, []parse.Policy{minute}, nil},
		{"the unit goes with the quota", []string{`"api";q=9;qu="x", "api";q=100`, `"api";q=200;qu="a"`},
			[]parse.Policy{{Name: "api", Quota: 9, Unit: "x"}}, nil},
		{"of equal quotas the first unit", []string{`"api";q=9;qu="x", "api";q=9;qu="b"`, `"api";q=9;qu="c"`},
			[]parse.Policy{{Name: "api", Quota: 9, Unit: "b"}}, nil},
		{"another key is another item", []string{`"api";q=1;pk=:YQ==:, "api";q=2;pk=:Yg==:, "api";q=3;pk=::, "api";q=4`}, []parse.Policy{
			{Name: "api", Quota: 1, Unit: "requests", Key: "a", HasKey: true},
			{Name: "api", Quota: 2, Unit: "requests", Key: "b", HasKey: true},
			{Name: "api", Quota: 3, Unit: "requests", HasKey: true},
			{Name: "api", Quota: 4, Unit: "requests"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			policies, ignored := parse.Policies(header("RateLimit-Policy", tt.lines...), parse.Caps{})
			assertValues(t, tt.want, policies)
			assertValues(t, tt.ignored, ignored)
		})
	}
}

// header has one field, under the key that net/http stores it by.
func header(field string, lines ...string) http.Header {
	return http.Header{http.CanonicalHeaderKey(field): lines}
}

// assertValues compares slices. A nil slice equals an empty one.
func assertValues[T any](t *testing.T, want, got []T) {
	t.Helper()
	if len(want) == 0 {
		assert.Empty(t, got)
		return
	}
	assert.Equal(t, want, got)
}
