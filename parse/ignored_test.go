package parse_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

func TestIgnoredString(t *testing.T) {
	tests := []struct {
		ignored parse.Ignored
		want    string
	}{
		{parse.Ignored{Field: "RateLimit", Item: parse.None, Err: parse.ErrSyntax}, "parse: malformed field value (RateLimit)"},
		{parse.Ignored{Field: "RateLimit", Item: 0, Err: parse.ErrType}, "parse: value of a wrong type (RateLimit, item 0)"},
		{parse.Ignored{Field: "RateLimit-Policy", Item: 2, Param: "q", Err: parse.ErrMissing}, "parse: required parameter missing (RateLimit-Policy, item 2, parameter q)"},
		{parse.Ignored{}, "<nil> (, item 0)"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.ignored.String())
	}
}

func TestIgnoredMatchesErrors(t *testing.T) {
	_, ignored := parse.Limits(header("RateLimit", `"api";a=-1`), parse.Caps{})
	assert.Len(t, ignored, 1)
	assert.True(t, errors.Is(ignored[0].Err, parse.ErrRange))
	assert.False(t, errors.Is(ignored[0].Err, parse.ErrType))
}

// An Ignored never prints what the server sent.
func TestIgnoredHoldsNoValues(t *testing.T) {
	const secret = "s3cret"
	for _, value := range []string{secret + `=1`, `"` + secret + `";a=` + secret, `"` + secret + `";pk="` + secret + `"`, `"x";a=-4711`, `(` + secret + `)`} {
		_, ofLimits := parse.Limits(header("RateLimit", value), parse.Caps{})
		_, ofPolicies := parse.Policies(header("RateLimit-Policy", value), parse.Caps{NameBytes: 3})
		for _, i := range append(ofLimits, ofPolicies...) {
			assert.NotContains(t, i.String(), secret)
			assert.NotContains(t, i.String(), "4711")
		}
	}
}
