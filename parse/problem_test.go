package parse_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

const (
	problemJSON = "application/problem+json"
	quotaType   = `"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`
)

func TestReadProblem(t *testing.T) {
	exceeded := func(names ...string) parse.Problem { return parse.Problem{Type: "quota-exceeded", Violated: names} }
	tests := []struct {
		name, contentType, body string
		want                    parse.Problem
	}{
		// Section 8 of the editor's draft.
		{"8.1", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
			"title": "Request cannot be satisfied as assigned quota has been exceeded",
			"violated-policies": ["daily","bandwidth"] }`, exceeded("daily", "bandwidth")},
		{"8.2", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
			"title": "Request cannot be satisfied due to temporary server capacity constraints",
			"violated-policies": ["hourly"] }`, parse.Problem{Type: "temporary-reduced-capacity", Violated: []string{"hourly"}}},
		{"8.3", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
			"title": "Request not satisifed due to detection of abnormal request pattern",
			"violated-policies": ["hourly"] }`, parse.Problem{Type: "abnormal-usage-detected", Violated: []string{"hourly"}}},
		{"A.1.4: a comma is missing", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#quota-exceeded"
			"title": "Too Many Requests", "status": 429, "violated-policies": ["default"] }`, parse.Problem{}},
		{"-09, B.1.4, mended", problemJSON, `{` + quotaType + `,"status":429,"policy-violations":["default"]}`, exceeded("default")},
		{"both names: the newer", problemJSON, `{` + quotaType + `,"policy-violations":["old"],"violated-policies":["new"]}`, exceeded("new")},
		{"both names, the newer empty", problemJSON, `{` + quotaType + `,"policy-violations":["old"],"violated-policies":[]}`, exceeded()},
		{"no names", problemJSON, `{` + quotaType + `}`, exceeded()},
		{"another order", problemJSON, `{"violated-policies":["a"],` + quotaType + `}`, exceeded("a")},
		{"with www", problemJSON, `{"type":"https://www.iana.org/assignments/http-problem-types#quota-exceeded"}`, exceeded()},
		{"each once", problemJSON, `{` + quotaType + `,"violated-policies":["a","b","a"]}`, exceeded("a", "b")},
		{"an empty name is one", problemJSON, `{` + quotaType + `,"violated-policies":[""]}`, exceeded("")},
		{"other members of the array", problemJSON, `{` + quotaType + `,"violated-policies":[1,null,{},"a",["b"],true]}`, exceeded("a")},
		{"no array", problemJSON, `{` + quotaType + `,"violated-policies":"a"}`, exceeded()},
		{"a name too long", problemJSON, `{` + quotaType + `,"violated-policies":["` + strings.Repeat("n", 257) + `","a"]}`, exceeded("a")},

		// The media type.
		{"charset", problemJSON + "; charset=utf-8", `{` + quotaType + `}`, exceeded()},
		{"upper case", "Application/Problem+JSON", `{` + quotaType + `}`, exceeded()},
		{"a malformed parameter", problemJSON + "; charset=", `{` + quotaType + `}`, exceeded()},
		{"JSON", "application/json", `{` + quotaType + `}`, parse.Problem{}},
		{"none", "", `{` + quotaType + `}`, parse.Problem{}},
		{"malformed", problemJSON + ",x", `{` + quotaType + `}`, parse.Problem{}},

		// Other problems, and no problems.
		{"another type", problemJSON, `{"type":"about:blank","violated-policies":["a"]}`, parse.Problem{}},
		{"a longer type", problemJSON, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded2"}`, parse.Problem{}},
		{"the name of no type", problemJSON, `{"type":"https://iana.org/assignments/http-problem-types#none"}`, parse.Problem{}},
		{"another registry", problemJSON, `{"type":"https://example.com/http-problem-types#quota-exceeded"}`, parse.Problem{}},
		{"no type", problemJSON, `{"violated-policies":["a"]}`, parse.Problem{}},
		{"type of a wrong type", problemJSON, `{"type":5}`, parse.Problem{}},
		{"type in upper case", problemJSON, `{"Type":"https://iana.org/assignments/http-problem-types#quota-exceeded"}`, parse.Problem{}},
		{"null", problemJSON, `null`, parse.Problem{}},
		{"an array", problemJSON, `[{` + quotaType + `}]`, parse.Problem{}},
		{"empty", problemJSON, ``, parse.Problem{}},
		{"text after it", problemJSON, `{` + quotaType + `} x`, parse.Problem{}},
		{"deep", problemJSON, strings.Repeat("[", 15000), parse.Problem{}},
	}
	for _, tt := range tests {
		p, ok := parse.ReadProblem(429, tt.contentType, []byte(tt.body), parse.Caps{})
		assert.Equal(t, tt.want, p, tt.name)
		assert.Equal(t, tt.want.Type != "", ok, tt.name)
	}
}

// A body that is cut off is not read.
func TestReadProblemCut(t *testing.T) {
	body := []byte(`{` + quotaType + `,"violated-policies":["default","other"]}`)
	for cut := range body {
		_, ok := parse.ReadProblem(429, problemJSON, body[:cut], parse.Caps{})
		assert.False(t, ok, "%d bytes", cut)
	}
}

func TestReadProblemStatus(t *testing.T) {
	for status, want := range map[int]bool{200: false, 301: false, 399: false, 400: true, 403: true, 429: true, 503: true} {
		_, ok := parse.ReadProblem(status, problemJSON, []byte(`{`+quotaType+`}`), parse.Caps{})
		assert.Equal(t, want, ok, "%d", status)
	}
}

func TestReadProblemCaps(t *testing.T) {
	body := `{` + quotaType + `,"violated-policies":["a","b","c"]}`
	p, ok := parse.ReadProblem(429, problemJSON, []byte(body), parse.Caps{Items: 2})
	assert.True(t, ok)
	assert.Equal(t, []string{"a", "b"}, p.Violated)

	body += strings.Repeat(" ", len(body)%2)
	_, ok = parse.ReadProblem(429, problemJSON, []byte(body), parse.Caps{FieldBytes: len(body) / 2})
	assert.True(t, ok)
	_, ok = parse.ReadProblem(429, problemJSON, []byte(body+" "), parse.Caps{FieldBytes: len(body) / 2})
	assert.False(t, ok)

	long := body + strings.Repeat(" ", 2*parse.DefaultCaps().FieldBytes)
	_, ok = parse.ReadProblem(429, problemJSON, []byte(long), parse.Caps{})
	assert.False(t, ok)
	_, ok = parse.ReadProblem(429, problemJSON, []byte(long), parse.Caps{FieldBytes: -1})
	assert.True(t, ok)
}
