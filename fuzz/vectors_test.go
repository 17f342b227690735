package fuzz

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The strict validator agrees with the conformance tests of Structured Fields, which are
// not part of the module.
func TestStrict(t *testing.T) {
	names, err := filepath.Glob("../../shared/vectors/structured-field-tests/*.json")
	require.NoError(t, err)
	if len(names) == 0 {
		t.Skip("the conformance tests of Structured Fields are not here")
	}
	for _, name := range names {
		var vectors []struct {
			Name       string   `json:"name"`
			Raw        []string `json:"raw"`
			HeaderType string   `json:"header_type"`
			MustFail   bool     `json:"must_fail"`
			CanFail    bool     `json:"can_fail"`
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &vectors))
		for _, v := range vectors {
			var got bool
			switch {
			case v.Raw == nil || v.CanFail:
				continue
			case v.HeaderType == "list":
				got = strictList(v.Raw...)
			case v.HeaderType == "dictionary":
				got = strictDictionary(v.Raw...)
			default:
				got = strictField(func(s *strict) bool { return s.bareItem() && s.parameters() }, v.Raw)
			}
			assert.Equal(t, !v.MustFail, got, "%s: %s %q", name, v.Name, v.Raw)
		}
	}
}

// The strict validator, without the conformance tests.
func TestStrictByHand(t *testing.T) {
	for value, want := range map[string]bool{
		``: true, ` `: true, `a`: true, `a,`: false, `a, b`: true, `a b`: false, `"a";q=1;w`: true, `"a";Q=1`: false,
		`"a" ;q=1`: false, `"a"; q=1`: true, `1.`: false, `1.5`: true, `1.5555`: false, `1234567890123456`: false, `-`: false,
		`:YQ==:`: true, `:YR==:`: true, `:a:`: false, `:YQ`: false, `?1`: true, `?2`: false, `@1`: true, `@1.5`: false,
		`(a b);x`: true, `(a`: false, `(a"b")`: false, `%"%c3%a4"`: true, `%"%C3%A4"`: false, `%"%ff"`: false, `"\x"`: false, `"ä"`: false,
	} {
		assert.Equal(t, want, strictList(value), "%q", value)
	}
	assert.True(t, strictDictionary(`limit=1, a, b;x, c=(1 2)`))
	assert.False(t, strictDictionary(`limit=, a`))
	assert.False(t, strictDictionary(`"a"=1`))
}
