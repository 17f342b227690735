package parse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

const (
	problemJSON = "application/problem+json"
	quotaType   = `"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`
)

// A problem is what ReadBody returns of one.
type problem struct {
	kind     string
	violated []string
}

// readProblem reads a body with a Content-Type.
func readProblem(status int, contentType string, body []byte, caps parse.Caps) (kind string, violated []string) {
	kind, violated, _ = parse.ReadBody(status, http.Header{"Content-Type": {contentType}}, body, time.Now(), caps)
	return kind, violated
}

func TestReadProblem(t *testing.T) {
	exceeded := func(names ...string) problem { return problem{"quota-exceeded", names} }
	tests := []struct {
		name, contentType, body string
		want                    problem
	}{
		// Section 8 of the editor's draft.
		{"8.1", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
			"title": "Request cannot be satisfied as assigned quota has been exceeded",
			"violated-policies": ["daily","bandwidth"] }`, exceeded("daily", "bandwidth")},
		{"8.2", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
			"title": "Request cannot be satisfied due to temporary server capacity constraints",
			"violated-policies": ["hourly"] }`, problem{"temporary-reduced-capacity", []string{"hourly"}}},
		{"8.3", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
			"title": "Request not satisifed due to detection of abnormal request pattern",
			"violated-policies": ["hourly"] }`, problem{"abnormal-usage-detected", []string{"hourly"}}},
		{"A.1.4: a comma is missing", problemJSON, `{
			"type": "https://iana.org/assignments/http-problem-types#quota-exceeded"
			"title": "Too Many Requests", "status": 429, "violated-policies": ["default"] }`, problem{}},
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
		{"JSON", "application/json", `{` + quotaType + `}`, problem{}},
		{"none", "", `{` + quotaType + `}`, problem{}},
		{"malformed", problemJSON + ",x", `{` + quotaType + `}`, problem{}},

		// Other problems, and no problems.
		{"another type", problemJSON, `{"type":"about:blank","violated-policies":["a"]}`, problem{}},
		{"a longer type", problemJSON, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded2"}`, problem{}},
		{"the name of no type", problemJSON, `{"type":"https://iana.org/assignments/http-problem-types#none"}`, problem{}},
		{"another registry", problemJSON, `{"type":"https://example.com/http-problem-types#quota-exceeded"}`, problem{}},
		{"no type", problemJSON, `{"violated-policies":["a"]}`, problem{}},
		{"type of a wrong type", problemJSON, `{"type":5}`, problem{}},
		{"type in upper case", problemJSON, `{"Type":"https://iana.org/assignments/http-problem-types#quota-exceeded"}`, problem{}},
		{"null", problemJSON, `null`, problem{}},
		{"an array", problemJSON, `[{` + quotaType + `}]`, problem{}},
		{"empty", problemJSON, ``, problem{}},
		{"text after it", problemJSON, `{` + quotaType + `} x`, problem{}},
		{"deep", problemJSON, strings.Repeat("[", 15000), problem{}},
	}
	for _, tt := range tests {
		kind, violated := readProblem(429, tt.contentType, []byte(tt.body), parse.Caps{})
		assert.Equal(t, tt.want, problem{kind, violated}, tt.name)
	}
}

// A body that is cut off is not read.
func TestReadProblemCut(t *testing.T) {
	body := []byte(`{` + quotaType + `,"violated-policies":["default","other"]}`)
	for cut := range body {
		kind, violated := readProblem(429, problemJSON, body[:cut], parse.Caps{})
		assert.Equal(t, problem{}, problem{kind, violated}, "%d bytes", cut)
	}
}

func TestReadProblemStatus(t *testing.T) {
	for status, want := range map[int]bool{200: false, 301: false, 399: false, 400: true, 403: true, 429: true, 503: true} {
		kind, _ := readProblem(status, problemJSON, []byte(`{`+quotaType+`}`), parse.Caps{})
		assert.Equal(t, want, kind != "", "%d", status)
	}
}

func TestReadProblemCaps(t *testing.T) {
	body := `{` + quotaType + `,"violated-policies":["a","b","c"]}`
	_, violated := readProblem(429, problemJSON, []byte(body), parse.Caps{Items: 2})
	assert.Equal(t, []string{"a", "b"}, violated)

	body += strings.Repeat(" ", len(body)%2)
	kind, _ := readProblem(429, problemJSON, []byte(body), parse.Caps{FieldBytes: len(body) / 2})
	assert.NotEmpty(t, kind)
	kind, _ = readProblem(429, problemJSON, []byte(body+" "), parse.Caps{FieldBytes: len(body) / 2})
	assert.Empty(t, kind)

	long := body + strings.Repeat(" ", 2*parse.DefaultCaps().FieldBytes)
	kind, _ = readProblem(429, problemJSON, []byte(long), parse.Caps{})
	assert.Empty(t, kind)
	kind, _ = readProblem(429, problemJSON, []byte(long), parse.Caps{FieldBytes: -1})
	assert.NotEmpty(t, kind)
}
