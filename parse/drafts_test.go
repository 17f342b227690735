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

// Every example of -08 and newer is read without a complaint; what -03 to -07 have
// under the same names is of another form, and nothing of it is taken.
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

// What the examples of the editor's draft say.
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
		{Policy: "api", Dimensions: []parse.Dimension{{Name: "method", Kind: parse.Varies}, {Name: "user_id", Kind: parse.Varies}}},
		{Policy: "reads", Dimensions: []parse.Dimension{{Name: "method", Kind: parse.Literal, Literal: "GET"}, {Name: "user_id", Kind: parse.Varies}}},
	}, declarations)
}
