package parse_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

func TestFormatDeclarations(t *testing.T) {
	varies := func(name string) parse.Dimension { return parse.Dimension{Name: name, Varies: true} }
	literal := func(name, text string) parse.Dimension {
		return parse.Dimension{Name: name, IsLiteral: true, Literal: text}
	}
	tests := []struct {
		dimension parse.Dimension
		want      string
		err       error
	}{
		{varies("method"), `"api";method`, nil},
		{literal("method", "GET"), `"api";method="GET"`, nil},
		{literal("city", "Łódź"), `"api";city=%"%c5%81%c3%b3d%c5%ba"`, nil},
		{literal("x", "\x1f"), `"api";x=%"%1f"`, nil},
		{parse.Dimension{Name: "x"}, `"api";x=?0`, nil},
		{varies("X"), "", parse.ErrSyntax},
		{parse.Dimension{}, "", parse.ErrSyntax},
		{literal("x", "\xff"), "", parse.ErrSyntax},
	}
	for _, tt := range tests {
		value, err := parse.FormatDeclarations([]parse.Declaration{{Policy: "api", Dimensions: []parse.Dimension{tt.dimension}}})
		assert.Equal(t, tt.want, value)
		assert.ErrorIs(t, err, tt.err)
	}
	for _, name := range []string{"é", "a\n", "a\x7f"} {
		_, err := parse.FormatDeclarations([]parse.Declaration{{Policy: name}})
		assert.ErrorIs(t, err, parse.ErrSyntax)
	}
	value, err := parse.FormatDeclarations([]parse.Declaration{{Policy: `a"\b`}, {}})
	assert.NoError(t, err)
	assert.Equal(t, `"a\"\\b", ""`, value)
	value, err = parse.FormatDeclarations(nil)
	assert.NoError(t, err)
	assert.Empty(t, value)
}

// No value of a field stands in an error.
func TestFormatErrorsHoldNoValues(t *testing.T) {
	const secret = "s3cret"
	_, err := parse.FormatDeclarations([]parse.Declaration{{}, {Policy: secret + "\n"}})
	assert.EqualError(t, err, "parse: malformed field value (RateLimit-Partition, item 1)")
	_, err = parse.FormatDeclarations([]parse.Declaration{{Dimensions: []parse.Dimension{{Name: "S" + secret}}}})
	assert.EqualError(t, err, "parse: malformed field value (RateLimit-Partition)")
}

// Law: declarations that were read and written are read the same.
func TestFormatIsTheInverse(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		items := make([]string, 1+random.IntN(5))
		for i := range items {
			items[i] = randomItem(random)
		}
		declarations, _ := parse.Declarations(header("RateLimit-Partition", strings.Join(items, ",")), unbounded)
		value, err := parse.FormatDeclarations(declarations)
		if err != nil {
			continue // contradictory declarations cannot be written
		}
		again, _ := parse.Declarations(header("RateLimit-Partition", value), unbounded)
		require.ElementsMatch(t, declarations, again, "seed %d", seed)
	}
}
