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

// Every record for a List is a List of RateLimit items to us, or is ignored whole. A
// Dictionary is read as draft -07 has it.
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
				// The members that draft -07 REQUIRES stand in a line before.
				var r parse.Reader
				r.Caps = unbounded
				lines := append([]string{"limit=1, reset=1"}, v.Raw...)
				if first := v.Raw[0]; strings.TrimSpace(first) == "" || first[0] == ' ' || first[0] == '\t' {
					continue // about what a field may begin with
				}
				got := r.Read("", 200, header("RateLimit", lines...), time.Time{})
				checkVector(t, file, v, got.Dialect == parse.Draft07)
			case "item":
				if len(v.Raw) != 1 || strings.TrimSpace(v.Raw[0]) != v.Raw[0] || v.Raw[0] == "" {
					continue // about the blanks around an Item, not about the types
				}
				// As a parameter that is not known; parameters of the Item's own are
				// then those of the member.
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

// tolerated are the records that a parser may refuse and we accept, with the reason.
// Whatever a parser must refuse we refuse.
var tolerated = map[string]string{
	"non-zero pad bits":                         "the drafts' own examples have them (RFC 9651, Section 4.2.7: SHOULD NOT fail)",
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

// refusedWhole reports whether a field was ignored as no List.
func refusedWhole(ignored []parse.Ignored) bool {
	return len(ignored) == 1 && ignored[0].Item == parse.None && ignored[0].Err == parse.ErrSyntax
}
