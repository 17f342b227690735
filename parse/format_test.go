package parse_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

func TestFormatPolicies(t *testing.T) {
	tests := []struct {
		policy parse.Policy
		want   string
		err    error
	}{
		{parse.Policy{Name: "api", Quota: 100, Unit: "requests", Window: time.Minute}, `"api";q=100;w=60`, nil},
		{parse.Policy{}, `"";q=0`, nil},
		{parse.Policy{Name: `a"\b`, Unit: "content-bytes", Key: "GET\x1falice", HasKey: true}, `"a\"\\b";q=0;qu="content-bytes";pk=:R0VUH2FsaWNl:`, nil},
		{parse.Policy{Name: "api", Window: 1, HasKey: true}, `"api";q=0;w=1;pk=::`, nil},
		{parse.Policy{Name: "api", Key: "no key"}, `"api";q=0`, nil},
		{parse.Policy{Name: "api", Quota: 999_999_999_999_999, Window: math.MaxInt64}, `"api";q=999999999999999;w=9223372037`, nil},
		{parse.Policy{Name: "ä"}, "", parse.ErrSyntax},
		{parse.Policy{Name: "a\n"}, "", parse.ErrSyntax},
		{parse.Policy{Name: "a\x7f"}, "", parse.ErrSyntax},
		{parse.Policy{Unit: "ä"}, "", parse.ErrSyntax},
		{parse.Policy{Quota: -1}, "", parse.ErrRange},
		{parse.Policy{Quota: 1_000_000_000_000_000}, "", parse.ErrRange},
		{parse.Policy{Window: -1}, "", parse.ErrRange},
	}
	for _, tt := range tests {
		value, err := parse.FormatPolicies([]parse.Policy{tt.policy})
		assert.Equal(t, tt.want, value)
		assert.ErrorIs(t, err, tt.err)
	}
	value, err := parse.FormatPolicies([]parse.Policy{{Name: "a"}, {Name: "b"}})
	assert.NoError(t, err)
	assert.Equal(t, `"a";q=0, "b";q=0`, value)
	value, err = parse.FormatPolicies(nil)
	assert.NoError(t, err)
	assert.Empty(t, value)
}

func TestFormatLimits(t *testing.T) {
	const none = parse.None
	tests := []struct {
		limit parse.Limit
		want  string
		err   error
	}{
		{limit(99, time.Minute), `"api";a=99;w=60`, nil},
		{parse.Limit{Policy: "api", Available: 9, Window: 1500 * time.Millisecond, Cost: 1, Key: "a", HasKey: true}, `"api";a=9;w=2;pk=:YQ==:;c=1`, nil},
		{limit(none, none), `"api"`, nil},
		{limit(0, 0), `"api";a=0;w=0`, nil},
		{parse.Limit{Policy: "é"}, "", parse.ErrSyntax},
		{limit(-2, none), "", parse.ErrRange},
		{limit(none, -2), "", parse.ErrRange},
		{costing(none, none, -2), "", parse.ErrRange},
	}
	for _, tt := range tests {
		value, err := parse.FormatLimits([]parse.Limit{tt.limit})
		assert.Equal(t, tt.want, value)
		assert.ErrorIs(t, err, tt.err)
	}
}

func TestFormatDeclarations(t *testing.T) {
	dim := func(name string, kind parse.DimensionKind, literal string) parse.Dimension {
		return parse.Dimension{Name: name, Kind: kind, Literal: literal}
	}
	tests := []struct {
		dimension parse.Dimension
		want      string
		err       error
	}{
		{dim("method", parse.Varies, ""), `"api";method`, nil},
		{dim("method", parse.Literal, "GET"), `"api";method="GET"`, nil},
		{dim("city", parse.Literal, "Łódź"), `"api";city=%"%c5%81%c3%b3d%c5%ba"`, nil},
		{dim("x", parse.Literal, "\x1f"), `"api";x=%"%1f"`, nil},
		{dim("x", parse.NotUnderstood, ""), `"api";x=?0`, nil},
		{dim("X", parse.Varies, ""), "", parse.ErrSyntax},
		{dim("", parse.NotUnderstood, ""), "", parse.ErrSyntax},
		{dim("x", parse.Literal, "\xff"), "", parse.ErrSyntax},
	}
	for _, tt := range tests {
		value, err := parse.FormatDeclarations([]parse.Declaration{{Policy: "api", Dimensions: []parse.Dimension{tt.dimension}}})
		assert.Equal(t, tt.want, value)
		assert.ErrorIs(t, err, tt.err)
	}
	_, err := parse.FormatDeclarations([]parse.Declaration{{Policy: "é"}})
	assert.ErrorIs(t, err, parse.ErrSyntax)
}

func TestFormatRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", -time.Hour: "0", 1: "1", time.Second: "1", time.Second + 1: "2", 20 * time.Second: "20", math.MaxInt64: "9223372037",
	} {
		assert.Equal(t, want, parse.FormatRetryAfter(d))
	}
}

// No value of a field stands in an error.
func TestFormatErrorsHoldNoValues(t *testing.T) {
	const secret = "s3cret"
	_, err := parse.FormatPolicies([]parse.Policy{{}, {Name: secret + "\n"}})
	assert.EqualError(t, err, "parse: malformed field value (RateLimit-Policy, item 1)")
	_, err = parse.FormatDeclarations([]parse.Declaration{{Dimensions: []parse.Dimension{{Name: "S" + secret}}}})
	assert.NotContains(t, err.Error(), secret)
}

// Law: what is read can be written, and reads the same.
func TestFormatIsTheInverse(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 5000 {
		items := make([]string, 1+random.IntN(5))
		for i := range items {
			items[i] = randomItem(random)
		}
		got := readAll(unbounded, strings.Join(items, ","))

		value, err := parse.FormatPolicies(got.Policies)
		require.NoError(t, err, "seed %d", seed)
		policies, _ := parse.Policies(header("RateLimit-Policy", value), unbounded)
		require.ElementsMatch(t, got.Policies, policies, "seed %d", seed)

		value, err = parse.FormatLimits(got.Limits)
		require.NoError(t, err, "seed %d", seed)
		limits, _ := parse.Limits(header("RateLimit", value), unbounded)
		require.ElementsMatch(t, got.Limits, limits, "seed %d", seed)

		value, err = parse.FormatDeclarations(got.Declarations)
		if err != nil {
			continue // contradictory declarations cannot be written
		}
		declarations, _ := parse.Declarations(header("RateLimit-Partition", value), unbounded)
		require.ElementsMatch(t, got.Declarations, declarations, "seed %d", seed)
	}
}
