package parse_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// An example is a field quoted in a draft.
type example struct {
	Field string `json:"field"`
	Value string `json:"value"`
}

// draftExamples reads the collected examples of the drafts, or skips the test.
// They are not part of the module.
func draftExamples(t *testing.T) map[string][]example {
	text, err := os.ReadFile("../../shared/vectors/ratelimit-headers-drafts/examples.json")
	if err != nil {
		t.Skip("the examples of the drafts are not here")
	}
	var file struct {
		Drafts []struct {
			Draft    string    `json:"draft"`
			Examples []example `json:"examples"`
		} `json:"drafts"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	examples := map[string][]example{}
	for _, d := range file.Drafts {
		examples[strings.TrimPrefix(d.Draft, "draft-ietf-httpapi-ratelimit-headers")] = d.Examples
	}
	return examples
}

// Nothing of an example of -08 and newer is ignored. The fields of -03 to -07 with the
// same names have another form and are not read as Lists.
func TestExamplesOfTheDrafts(t *testing.T) {
	older := map[string]bool{"-03": true, "-04": true, "-05": true, "-06": true, "-07": true}
	for draft, examples := range draftExamples(t) {
		require.NotEmpty(t, examples)
		for _, e := range examples {
			t.Run(draft+" "+e.Field+": "+e.Value, func(t *testing.T) {
				h := header(e.Field, e.Value)
				var values int
				var ignored []parse.Ignored
				switch e.Field {
				case "RateLimit-Partition":
					var declarations []parse.Declaration
					declarations, ignored = parse.Declarations(h, parse.Caps{})
					values = len(declarations)
				case "RateLimit-Policy":
					var policies []parse.Policy
					policies, ignored = parse.Policies(h, parse.Caps{})
					values = len(policies)
				case "RateLimit":
					var limits []parse.Limit
					limits, ignored = parse.Limits(h, parse.Caps{})
					values = len(limits)
				case "Retry-After":
					h.Set("Date", "Mon, 05 Aug 2019 09:27:00 GMT")
					_, ok, _ := parse.RetryAfter(h, time.Time{}, parse.Caps{})
					assert.True(t, ok)
					return
				default: // another dialect's field
					return
				}
				if older[draft] {
					assert.Zero(t, values)
					assert.NotEmpty(t, ignored)
				} else {
					assert.NotZero(t, values)
					assert.Empty(t, ignored)
				}
			})
		}
	}
}

// The values of the examples of the editor's draft.
func TestExamplesOfTheEditorsDraft(t *testing.T) {
	policies := []struct {
		section, value string
		want           []parse.Policy
	}{
		{"2", `"burst";q=100;w=60,"daily";q=1000;w=86400`, []parse.Policy{
			{Name: "burst", Quota: 100, Unit: "requests", Window: time.Minute},
			{Name: "daily", Quota: 1000, Unit: "requests", Window: 24 * time.Hour}}},
		{"9.5", `"somepolicy";q=10000;w=1000`, []parse.Policy{{Name: "somepolicy", Quota: 10000, Unit: "requests", Window: 1000 * time.Second}}},
		{"A.1.3", `"basic";q=100;w=60`, []parse.Policy{{Name: "basic", Quota: 100, Unit: "requests", Window: time.Minute}}},
		{"A.2.1", `"fixedwindow";q=100;w=60`, []parse.Policy{{Name: "fixedwindow", Quota: 100, Unit: "requests", Window: time.Minute}}},
		{"A.2.3", `"dynamic";q=15;w=20`, []parse.Policy{{Name: "dynamic", Quota: 15, Unit: "requests", Window: 20 * time.Second}}},
	}
	for _, e := range policies {
		got, ignored := parse.Policies(header("RateLimit-Policy", e.value), parse.Caps{})
		assert.Equal(t, e.want, got, "Section %s", e.section)
		assert.Empty(t, ignored, "Section %s", e.section)
	}

	limits := []struct {
		section, value string
		want           parse.Limit
	}{
		{"3", `"default";a=50;w=30`, parse.Limit{Policy: "default", Available: 50, Window: 30 * time.Second, Cost: parse.None}},
		{"4.2", `"api";a=99;w=60;pk=:R0VUH2FsaWNl:`, keyed(99, time.Minute, "GET\x1falice")},
		{"5", `"problemPolicy";a=0;w=10`, parse.Limit{Policy: "problemPolicy", Window: 10 * time.Second, Cost: parse.None}},
		{"7", `"default";a=1;w=7`, parse.Limit{Policy: "default", Available: 1, Window: 7 * time.Second, Cost: parse.None}},
		{"9.5", `"daily";a=1;w=86400`, parse.Limit{Policy: "daily", Available: 1, Window: 24 * time.Hour, Cost: parse.None}},
		{"9.5", `"somepolicy";a=10000;w=10`, parse.Limit{Policy: "somepolicy", Available: 10000, Window: 10 * time.Second, Cost: parse.None}},
		{"A.1.1", `"default";a=0;w=50`, parse.Limit{Policy: "default", Window: 50 * time.Second, Cost: parse.None}},
		{"A.1.2", `"dayLimit";a=100;w=36000`, parse.Limit{Policy: "dayLimit", Available: 100, Window: 10 * time.Hour, Cost: parse.None}},
		{"A.1.3", `"basic";a=20;w=56`, parse.Limit{Policy: "basic", Available: 20, Window: 56 * time.Second, Cost: parse.None}},
		{"A.3", `"dynamic";a=15;w=40`, parse.Limit{Policy: "dynamic", Available: 15, Window: 40 * time.Second, Cost: parse.None}},
	}
	for _, e := range limits {
		got, ignored := parse.Limits(header("RateLimit", e.value), parse.Caps{})
		assert.Equal(t, []parse.Limit{e.want}, got, "Section %s", e.section)
		assert.Empty(t, ignored, "Section %s", e.section)
	}

	declarations, ignored := parse.Declarations(header("RateLimit-Partition", `"api";user_id;method`, `"reads";user_id;method=GET`), parse.Caps{})
	assert.Empty(t, ignored)
	assert.Equal(t, []parse.Declaration{
		{Policy: "api", Dimensions: []parse.Dimension{{Name: "method", Varies: true}, {Name: "user_id", Varies: true}}},
		{Policy: "reads", Dimensions: []parse.Dimension{{Name: "method", IsLiteral: true, Literal: "GET"}, {Name: "user_id", Varies: true}}},
	}, declarations)
}

// Each example of every draft, alone in a response of Monday, 5 August 2019, 09:27:00.
func TestReadExamplesOfTheDrafts(t *testing.T) {
	want := map[string]string{
		`RateLimit-Limit: 0`:            `draft -06; policy '' 0`,
		`RateLimit-Limit: 0, 15;w=20`:   `draft -06; policy '15;w=20' 15/20s; policy '' 0`,
		`RateLimit-Limit: 10`:           `draft -06; policy '' 10`,
		`RateLimit-Limit: 10, 100;w=60`: `draft -06; policy '100;w=60' 100/1m0s; policy '' 10`,
		`RateLimit-Limit: 10, 10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400`: `draft -06; policy '' 10/1s; policy '50;w=60' 50/1m0s; policy '1000;w=3600' 1000/1h0m0s; policy '5000;w=86400' 5000/24h0m0s`,
		`RateLimit-Limit: 10, 10;w=1;burst=1000, 1000;w=3600`:             `draft -06; policy '' 10/1s; policy '1000;w=3600' 1000/1h0m0s`,
		`RateLimit-Limit: 100`:           `draft -06; policy '' 100`,
		`RateLimit-Limit: 100, 100;w=10`: `draft -06; policy '' 100/10s`,
		`RateLimit-Limit: 100, 100;w=60`: `draft -06; policy '' 100/1m0s`,
		`RateLimit-Limit: 100, 100;w=60;burst=1000;comment="sliding window", 5000;w=3600;burst=0;comment="fixed window"`: `draft -06; policy '' 100/1m0s; policy '5000;w=3600' 5000/1h0m0s`,
		`RateLimit-Limit: 10000`:                                                        `draft -06; policy '' 10000`,
		`RateLimit-Limit: 10000, 10000;w=1000`:                                          `draft -06; policy '' 10000/16m40s`,
		`RateLimit-Limit: 12`:                                                           `draft -06; policy '' 12`,
		`RateLimit-Limit: 12, 12;w=1`:                                                   `draft -06; policy '' 12/1s`,
		`RateLimit-Limit: 15`:                                                           `draft -06; policy '' 15`,
		`RateLimit-Limit: 15, 100;w=60`:                                                 `draft -06; policy '100;w=60' 100/1m0s; policy '' 15`,
		`RateLimit-Limit: 5000`:                                                         `draft -06; policy '' 5000`,
		`RateLimit-Limit: 5000, 1000;w=3600, 5000;w=86400`:                              `draft -06; policy '1000;w=3600' 1000/1h0m0s; policy '' 5000/24h0m0s`,
		`RateLimit-Partition: "api";user_id;method`:                                     `editor's draft`,
		`RateLimit-Partition: "reads";user_id;method=GET`:                               `editor's draft`,
		`RateLimit-Policy: "basic";q=100;w=60`:                                          `editor's draft; policy 'basic' 100/1m0s`,
		`RateLimit-Policy: "burst";q=100;w=60,"daily";q=1000;w=86400`:                   `editor's draft; policy 'burst' 100/1m0s; policy 'daily' 1000/24h0m0s`,
		`RateLimit-Policy: "default";q=100;w=10`:                                        `editor's draft; policy 'default' 100/10s`,
		`RateLimit-Policy: "dynamic";q=100;w=60`:                                        `editor's draft; policy 'dynamic' 100/1m0s`,
		`RateLimit-Policy: "dynamic";q=15;w=20`:                                         `editor's draft; policy 'dynamic' 15/20s`,
		`RateLimit-Policy: "fixed";q=5000;w=3600;burst=0`:                               `editor's draft; policy 'fixed' 5000/1h0m0s`,
		`RateLimit-Policy: "fixedwindow";q=100;w=60`:                                    `editor's draft; policy 'fixedwindow' 100/1m0s`,
		`RateLimit-Policy: "hour";q=1000;w=3600, "day";q=5000;w=86400`:                  `editor's draft; policy 'hour' 1000/1h0m0s; policy 'day' 5000/24h0m0s`,
		`RateLimit-Policy: "permin";q=50;w=60,"perhr";q=1000;w=3600`:                    `editor's draft; policy 'permin' 50/1m0s; policy 'perhr' 1000/1h0m0s`,
		`RateLimit-Policy: "peruser";q=100;w=60;pk=:cHsdsRa894==:`:                      `editor's draft; policy 'peruser'@"p{\x1d\xb1\x16\xbc\xf7" 100/1m0s`,
		`RateLimit-Policy: "peruser";q=65535;qu="bytes";w=10;pk=:sdfjLJUOUH==:`:         `editor's draft; policy 'peruser'@"\xb1\xd7\xe3,\x95\x0eP" 65535/10s bytes`,
		`RateLimit-Policy: "peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:`: `editor's draft; policy 'peruser'@"\xb1\xd7\xe3,\x95\x0eP" 65535/10s content-bytes`,
		`RateLimit-Policy: "sliding";q=100;w=60;burst=1000`:                             `editor's draft; policy 'sliding' 100/1m0s`,
		`RateLimit-Policy: "sliding";q=12;w=1`:                                          `editor's draft; policy 'sliding' 12/1s`,
		`RateLimit-Policy: "somepolicy";q=10000;w=1000`:                                 `editor's draft; policy 'somepolicy' 10000/16m40s`,
		`RateLimit-Policy: 10000;w=1000`:                                                `draft -07; policy '10000;w=1000' 10000/16m40s`,
		`RateLimit-Policy: 1000;w=3600, 5000;w=86400`:                                   `draft -07; policy '1000;w=3600' 1000/1h0m0s; policy '5000;w=86400' 5000/24h0m0s`,
		`RateLimit-Policy: 100;w=10`:                                                    `draft -07; policy '100;w=10' 100/10s`,
		`RateLimit-Policy: 100;w=60`:                                                    `draft -07; policy '100;w=60' 100/1m0s`,
		`RateLimit-Policy: 100;w=60;burst=1000;comment="sliding window", 5000;w=3600;burst=0;comment="fixed window"`: `draft -07; policy '100;w=60' 100/1m0s; policy '5000;w=3600' 5000/1h0m0s`,
		`RateLimit-Policy: 10;w=1, 10;w=60`:                            `none; parse: contradicts another item (RateLimit-Policy)`,
		`RateLimit-Policy: 10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400`: `draft -07; policy '10;w=1' 10/1s; policy '50;w=60' 50/1m0s; policy '1000;w=3600' 1000/1h0m0s; policy '5000;w=86400' 5000/24h0m0s`,
		`RateLimit-Policy: 10;w=1;burst=1000, 1000;w=3600`:             `draft -07; policy '10;w=1' 10/1s; policy '1000;w=3600' 1000/1h0m0s`,
		`RateLimit-Policy: 12;w=1`:                                     `draft -07; policy '12;w=1' 12/1s`,
		`RateLimit-Policy: 15;w=20`:                                    `draft -07; policy '15;w=20' 15/20s`,
		`RateLimit-Policy: quota;q=10`:                                 `editor's draft; policy 'quota' 10`,
		`RateLimit-Policy: quota;q=100;w=1`:                            `editor's draft; policy 'quota' 100/1s`,
		`RateLimit-Remaining: 0`:                                       `draft -06; limit '' 0`,
		`RateLimit-Remaining: 1`:                                       `draft -06; limit '' 1`,
		`RateLimit-Remaining: 100`:                                     `draft -06; limit '' 100`,
		`RateLimit-Remaining: 10000`:                                   `draft -06; limit '' 10000`,
		`RateLimit-Remaining: 20`:                                      `draft -06; limit '' 20`,
		`RateLimit-Remaining: 50`:                                      `draft -06; limit '' 50`,
		`RateLimit-Remaining: 60`:                                      `draft -06; limit '' 60`,
		`RateLimit-Reset: 1`:                                           `draft -06; limit '' ?/1s`,
		`RateLimit-Reset: 10`:                                          `draft -06; limit '' ?/10s`,
		`RateLimit-Reset: 36000`:                                       `draft -06; limit '' ?/10h0m0s`,
		`RateLimit-Reset: 5`:                                           `draft -06; limit '' ?/5s`,
		`RateLimit-Reset: 50`:                                          `draft -06; limit '' ?/50s`,
		`RateLimit-Reset: 56`:                                          `draft -06; limit '' ?/56s`,
		`RateLimit-Reset: 58`:                                          `draft -06; limit '' ?/58s`,
		`RateLimit-Reset: 60`:                                          `draft -06; limit '' ?/1m0s`,
		`RateLimit-Reset: 7`:                                           `draft -06; limit '' ?/7s`,
		`RateLimit: "api";a=99;w=60;pk=:R0VUH2FsaWNl:`:                 `editor's draft; limit 'api'@"GET\x1falice" 99/1m0s`,
		`RateLimit: "basic";a=20;w=56`:                                 `editor's draft; limit 'basic' 20/56s`,
		`RateLimit: "basic";a=60;w=58`:                                 `editor's draft; limit 'basic' 60/58s`,
		`RateLimit: "basic";r=20;t=56`:                                 `draft -08; limit 'basic' 20/56s`,
		`RateLimit: "basic";r=60;t=58`:                                 `draft -08; limit 'basic' 60/58s`,
		`RateLimit: "daily";a=1;w=86400`:                               `editor's draft; limit 'daily' 1/24h0m0s`,
		`RateLimit: "daily";r=1;t=36400`:                               `draft -08; limit 'daily' 1/10h6m40s`,
		`RateLimit: "day";a=100;w=36000`:                               `editor's draft; limit 'day' 100/10h0m0s`,
		`RateLimit: "day";r=100;t=36000`:                               `draft -08; limit 'day' 100/10h0m0s`,
		`RateLimit: "dayLimit";a=100;w=36000`:                          `editor's draft; limit 'dayLimit' 100/10h0m0s`,
		`RateLimit: "dayLimit";r=100;t=36000`:                          `draft -08; limit 'dayLimit' 100/10h0m0s`,
		`RateLimit: "default";a=0;w=48`:                                `editor's draft; limit 'default' 0/48s`,
		`RateLimit: "default";a=0;w=5`:                                 `editor's draft; limit 'default' 0/5s`,
		`RateLimit: "default";a=0;w=50`:                                `editor's draft; limit 'default' 0/50s`,
		`RateLimit: "default";a=1;w=7`:                                 `editor's draft; limit 'default' 1/7s`,
		`RateLimit: "default";a=50;w=30`:                               `editor's draft; limit 'default' 50/30s`,
		`RateLimit: "default";a=50;w=60`:                               `editor's draft; limit 'default' 50/1m0s`,
		`RateLimit: "default";r=0;t=48`:                                `draft -08; limit 'default' 0/48s`,
		`RateLimit: "default";r=0;t=5`:                                 `draft -08; limit 'default' 0/5s`,
		`RateLimit: "default";r=0;t=50`:                                `draft -08; limit 'default' 0/50s`,
		`RateLimit: "default";r=1;t=7`:                                 `draft -08; limit 'default' 1/7s`,
		`RateLimit: "default";r=300000000;t=60;pk=:QXBwLTk5OQ==:`:      `draft -08; limit 'default'@"App-999" 300000000/1m0s`,
		`RateLimit: "default";r=50;t=30`:                               `draft -08; limit 'default' 50/30s`,
		`RateLimit: "default";r=50;t=60`:                               `draft -08; limit 'default' 50/1m0s`,
		`RateLimit: "default";r=999;pk=:dHJpYWwxMjEzMjM=:`:             `draft -08; limit 'default'@"trial121323" 999`,
		`RateLimit: "dynamic";a=0;w=20`:                                `editor's draft; limit 'dynamic' 0/20s`,
		`RateLimit: "dynamic";a=15;w=40`:                               `editor's draft; limit 'dynamic' 15/40s`,
		`RateLimit: "dynamic";a=9;w=50`:                                `editor's draft; limit 'dynamic' 9/50s`,
		`RateLimit: "dynamic";r=0;t=20`:                                `draft -08; limit 'dynamic' 0/20s`,
		`RateLimit: "dynamic";r=15;t=40`:                               `draft -08; limit 'dynamic' 15/40s`,
		`RateLimit: "dynamic";r=9;t=50`:                                `draft -08; limit 'dynamic' 9/50s`,
		`RateLimit: "fixedwindow";a=99;w=50`:                           `editor's draft; limit 'fixedwindow' 99/50s`,
		`RateLimit: "fixedwindow";r=99;t=50`:                           `draft -08; limit 'fixedwindow' 99/50s`,
		`RateLimit: "problemPolicy";a=0;w=10`:                          `editor's draft; limit 'problemPolicy' 0/10s`,
		`RateLimit: "problemPolicy";r=0;t=10`:                          `draft -08; limit 'problemPolicy' 0/10s`,
		`RateLimit: "sliding";a=50;w=44`:                               `editor's draft; limit 'sliding' 50/44s`,
		`RateLimit: "sliding";q=12;a=1;w=1`:                            `editor's draft; limit 'sliding' 1/1s`,
		`RateLimit: "sliding";q=12;a=6;w=1`:                            `editor's draft; limit 'sliding' 6/1s`,
		`RateLimit: "sliding";q=12;r=1;t=1`:                            `draft -08; limit 'sliding' 1/1s`,
		`RateLimit: "sliding";q=12;r=6;t=1`:                            `draft -08; limit 'sliding' 6/1s`,
		`RateLimit: "sliding";r=50;t=44`:                               `draft -08; limit 'sliding' 50/44s`,
		`RateLimit: "somepolicy";a=10000;w=10`:                         `editor's draft; limit 'somepolicy' 10000/10s`,
		`RateLimit: "somepolicy";r=10000;t=10`:                         `draft -08; limit 'somepolicy' 10000/10s`,
		`RateLimit: limit=0, remaining=0, reset=20`:                    `draft -07; policy '' 0; limit '' 0/20s`,
		`RateLimit: limit=1, remaining=1, reset=36000`:                 `draft -07; policy '' 1; limit '' 1/10h0m0s`,
		`RateLimit: limit=10, remaining=0, reset=10`:                   `draft -07; policy '' 10; limit '' 0/10s`,
		`RateLimit: limit=10, remaining=1, reset=7`:                    `draft -07; policy '' 10; limit '' 1/7s`,
		`RateLimit: limit=10, remaining=9, reset=50`:                   `draft -07; policy '' 10; limit '' 9/50s`,
		`RateLimit: limit=10, reset=1`:                                 `draft -07; policy '' 10; limit '' ?/1s`,
		`RateLimit: limit=100, remaining=0, reset=48`:                  `draft -07; policy '' 100; limit '' 0/48s`,
		`RateLimit: limit=100, remaining=0, reset=5`:                   `draft -07; policy '' 100; limit '' 0/5s`,
		`RateLimit: limit=100, remaining=0, reset=50`:                  `draft -07; policy '' 100; limit '' 0/50s`,
		`RateLimit: limit=100, remaining=20, reset=56`:                 `draft -07; policy '' 100; limit '' 20/56s`,
		`RateLimit: limit=100, remaining=50, reset=44`:                 `draft -07; policy '' 100; limit '' 50/44s`,
		`RateLimit: limit=100, remaining=50, reset=5`:                  `draft -07; policy '' 100; limit '' 50/5s`,
		`RateLimit: limit=100, remaining=50, reset=60`:                 `draft -07; policy '' 100; limit '' 50/1m0s`,
		`RateLimit: limit=100, remaining=60, reset=58`:                 `draft -07; policy '' 100; limit '' 60/58s`,
		`RateLimit: limit=100, remaining=99, reset=50`:                 `draft -07; policy '' 100; limit '' 99/50s`,
		`RateLimit: limit=10000, remaining=10000, reset=10`:            `draft -07; policy '' 10000; limit '' 10000/10s`,
		`RateLimit: limit=15, remaining=15, reset=40`:                  `draft -07; policy '' 15; limit '' 15/40s`,
		`RateLimit: limit=5000, remaining=100, reset=36000`:            `draft -07; policy '' 5000; limit '' 100/10h0m0s`,
		`RateLimit: quota;t=1`:                                         `draft -08; limit 'quota' ?/1s`,
		`Retry-After: 20`:                                              `none; retry after 20s!`,
		`Retry-After: Mon, 05 Aug 2019 09:27:05 GMT`:                   `none; retry after 5s!`,
	}
	now := time.Date(2019, time.August, 5, 9, 27, 0, 0, time.UTC)
	var r parse.Reader
	seen := map[string]bool{}
	for draft, examples := range draftExamples(t) {
		for _, e := range examples {
			line := e.Field + ": " + e.Value
			seen[line] = true
			got := r.Read("", 403, header(e.Field, e.Value), now)
			if expected, ok := want[line]; assert.True(t, ok, line) {
				assert.Equal(t, expected, tell(got), "%s, %s", draft, line)
			}
		}
	}
	assert.Len(t, want, len(seen))
}

// Whole responses of drafts -06 and -07, Appendix B.
func TestReadResponsesOfTheDrafts(t *testing.T) {
	tests := []struct{ section, seven, six, want string }{
		{"B.1.1", "RateLimit: limit=100, remaining=0, reset=50", "RateLimit-Limit: 100|Ratelimit-Remaining: 0|Ratelimit-Reset: 50",
			`policy '' 100; limit '' 0/50s`},
		{"B.1.2", "acme-RateLimit-DayLimit: 5000|acme-RateLimit-HourLimit: 1000|RateLimit: limit=5000, remaining=100, reset=36000",
			"acme-RateLimit-DayLimit: 5000|acme-RateLimit-HourLimit: 1000|RateLimit-Limit: 5000|RateLimit-Remaining: 100|RateLimit-Reset: 36000",
			`policy '' 5000; limit '' 100/10h0m0s`},
		{"B.1.4", "Date: Mon, 05 Aug 2019 09:27:00 GMT|Retry-After: Mon, 05 Aug 2019 09:27:05 GMT|RateLimit: limit=100, remaining=0, reset=5",
			"Date: Mon, 05 Aug 2019 09:27:00 GMT|Retry-After: Mon, 05 Aug 2019 09:27:05 GMT|RateLimit-Reset: 5|RateLimit-Limit: 100|Ratelimit-Remaining: 0",
			`policy '' 100; limit '' 0/5s; retry after 5s!`},
		{"B.2.1", "RateLimit: limit=100, remaining=99, reset=50|RateLimit-Policy: 100;w=60",
			"RateLimit-Limit: 100|RateLimit-Policy: 100;w=60|Ratelimit-Remaining: 99|Ratelimit-Reset: 50",
			`policy '' 100/1m0s; limit '' 99/50s`},
		{"B.2.2", "RateLimit: limit=10, remaining=9, reset=50|RateLimit-Policy: 100;w=60",
			"RateLimit-Limit: 10|RateLimit-Policy: 100;w=60|Ratelimit-Remaining: 9|Ratelimit-Reset: 50",
			`policy '100;w=60' 100/1m0s; policy '' 10; limit '' 9/50s`},
		{"B.2.3", "RateLimit: limit=0, remaining=0, reset=20|RateLimit-Policy: 15;w=20",
			"RateLimit-Limit: 0|RateLimit-Policy: 15;w=20|Ratelimit-Remaining: 0|Ratelimit-Reset: 20",
			`policy '15;w=20' 15/20s; policy '' 0; limit '' 0/20s`},
		{"B.3", "Retry-After: 20|RateLimit: limit=15, remaining=15, reset=40|RateLimit-Policy: 100;w=60",
			"Retry-After: 20|RateLimit-Limit: 15|RateLimit-Policy: 100;w=60|Ratelimit-Remaining: 15|Ratelimit-Reset: 40",
			`policy '100;w=60' 100/1m0s; policy '' 15; limit '' 15/40s; retry after 20s!`},
		{"B.3.1", "RateLimit: limit=10, reset=1", "RateLimit-Limit: 10|Ratelimit-Reset: 1", `policy '' 10; limit '' ?/1s`},
		{"B.3.2", "RateLimit: limit=5000, remaining=100, reset=36000|RateLimit-Policy: 1000;w=3600, 5000;w=86400",
			"RateLimit-Limit: 5000|RateLimit-Policy: 1000;w=3600, 5000;w=86400|RateLimit-Remaining: 100|RateLimit-Reset: 36000",
			`policy '1000;w=3600' 1000/1h0m0s; policy '' 5000/24h0m0s; limit '' 100/10h0m0s`},
	}
	var r parse.Reader
	for _, tt := range tests {
		seven := r.Read("", 403, fields(strings.Split(tt.seven, "|")...), time.Time{})
		assert.Equal(t, "draft -07; "+tt.want, tell(seven), tt.section)
		six := r.Read("", 403, fields(strings.Split(tt.six, "|")...), time.Time{})
		assert.Equal(t, "draft -06; "+tt.want, tell(six), tt.section)
	}
}
