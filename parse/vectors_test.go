package parse_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// A vector is a record of the conformance tests of Structured Fields
// (github.com/httpwg/structured-field-tests), which are not part of the module.
type vector struct {
	Name       string   `json:"name"`
	Raw        []string `json:"raw"`
	HeaderType string   `json:"header_type"`
	MustFail   bool     `json:"must_fail"`
	CanFail    bool     `json:"can_fail"`
}

func vectors(t *testing.T) map[string][]vector {
	t.Helper()
	names, err := filepath.Glob("../../shared/vectors/structured-field-tests/*.json")
	require.NoError(t, err)
	if len(names) == 0 {
		t.Skip("the conformance tests of Structured Fields are not here")
	}
	files := map[string][]vector{}
	for _, name := range names {
		var file []vector
		readJSON(t, name, &file)
		files[filepath.Base(name)] = file
	}
	return files
}

// Each record is accepted or ignored whole as it says: Lists as RateLimit, Dictionaries
// as RateLimit of draft -07, Items as parameters.
func TestVectors(t *testing.T) {
	records := 0
	for file, vectors := range vectors(t) {
		for _, v := range vectors {
			if v.Raw == nil {
				continue
			}
			switch v.HeaderType {
			case "list":
				_, ignored := parse.Limits(header("RateLimit", v.Raw...), unbounded)
				checkVector(t, file, v, !refusedWhole(ignored))
			case "dictionary":
				// A line before it has the members that draft -07 requires.
				var r parse.Reader
				r.Caps = unbounded
				lines := append([]string{"limit=1, reset=1"}, v.Raw...)
				if first := v.Raw[0]; strings.TrimSpace(first) == "" || first[0] == ' ' || first[0] == '\t' {
					continue // the record is about the start of a field
				}
				got := r.Read("", 200, header("RateLimit", lines...), time.Time{})
				checkVector(t, file, v, got.Dialect == parse.Draft07)
			case "item":
				if len(v.Raw) != 1 || strings.TrimSpace(v.Raw[0]) != v.Raw[0] || v.Raw[0] == "" {
					continue // the record is about spaces around an Item
				}
				// The Item is the value of an unknown parameter.
				_, ignored := parse.Limits(header("RateLimit", `"api";x=`+v.Raw[0]), unbounded)
				if strings.Contains(v.Raw[0], ",") && !strings.Contains(v.Raw[0], `"`) {
					continue // more than one member
				}
				checkVector(t, file, v, !refusedWhole(ignored))
			}
			records++
		}
	}
	assert.Greater(t, records, 1000)
}

// tolerated are the records that a parser may refuse and this package accepts, with the
// reasons.
var tolerated = map[string]string{
	"bad padding":       "RFC 9651, Section 4.2.7: SHOULD NOT fail",
	"non-zero pad bits": "the drafts' own examples have them (RFC 9651, Section 4.2.7: SHOULD NOT fail)",
	"syntactic max date - 999,999,999,999,999":  "no field of ours holds Dates; a dimension that is one is opaque",
	"syntactic min date - -999,999,999,999,999": "the same",
}

func checkVector(t *testing.T, file string, v vector, accepted bool) {
	t.Helper()
	switch {
	case v.CanFail:
		_, known := tolerated[v.Name]
		assert.Equal(t, accepted, known, "%s: %s", file, v.Name)
	case accepted == v.MustFail:
		t.Errorf("%s: %s (%s %q): accepted %t", file, v.Name, v.HeaderType, v.Raw, accepted)
	}
}

// refusedWhole reports whether a field was ignored because it is not a List.
func refusedWhole(ignored []parse.Ignored) bool {
	return len(ignored) == 1 && ignored[0].Item == parse.None && ignored[0].Err == parse.ErrSyntax
}
