package parse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// ofLimit is an Ignored of RateLimit.
func ofLimit(item int, param string, err error) parse.Ignored {
	return parse.Ignored{Field: "RateLimit", Item: item, Param: param, Err: err}
}

// limit is a service limit of "api" without cost and key.
func limit(available int64, window time.Duration) parse.Limit {
	return parse.Limit{Policy: "api", Available: available, Window: window, Cost: parse.None}
}

// costing is limit with a cost.
func costing(available int64, window time.Duration, cost int64) parse.Limit {
	l := limit(available, window)
	l.Cost = cost
	return l
}

// keyed is limit with a key.
func keyed(available int64, window time.Duration, key string) parse.Limit {
	l := limit(available, window)
	l.Key, l.HasKey = parse.Key(key), true
	return l
}

func TestLimits(t *testing.T) {
	const none = parse.None
	other := parse.Limit{Policy: "other", Available: 7, Window: none, Cost: none}

	tests := []struct {
		name    string
		lines   []string
		want    []parse.Limit
		ignored []parse.Ignored
	}{
		// Section 3: a List.
		{"absent", nil, nil, nil},
		{"empty", []string{""}, nil, nil},
		{"one", []string{`"api";a=99;w=60`}, []parse.Limit{limit(99, time.Minute)}, nil},
		{"all", []string{`"api";a=99;w=60;pk=:R0VUH2FsaWNl:;c=1`}, []parse.Limit{
			{Policy: "api", Available: 99, Window: time.Minute, Cost: 1, Key: "GET\x1falice", HasKey: true}}, nil},
		{"in two lines", []string{`"api";a=99`, `"other";a=7`}, []parse.Limit{limit(99, none), other}, nil},
		{"Token", []string{`api;a=99`}, []parse.Limit{limit(99, none)}, nil},
		{"a Dictionary, as in draft -07", []string{`limit=100, remaining=50, reset=5`}, nil, []parse.Ignored{ofLimit(none, "", parse.ErrSyntax)}},
		{"an Integer as name", []string{`100, "other";a=7`}, []parse.Limit{other}, []parse.Ignored{ofLimit(0, "", parse.ErrType)}},
		{"an Inner List", []string{`("api" "other");a=1, "other";a=7`}, []parse.Limit{other}, []parse.Ignored{ofLimit(0, "", parse.ErrType)}},
		{"unknown parameters are ignored", []string{`"api";q=-12;a=6;w=1;x="y";qu=1`}, []parse.Limit{limit(6, time.Second)}, nil},

		// Section 3.1.1: a, a non-negative Integer.
		{"a=0", []string{`"api";a=0`}, []parse.Limit{limit(0, none)}, nil},
		{"a negative", []string{`"api";a=-1;w=60, "other";a=7`}, []parse.Limit{other}, []parse.Ignored{ofLimit(0, "a", parse.ErrRange)}},
		{"a Decimal", []string{`"api";a=1.5`}, nil, []parse.Ignored{ofLimit(0, "a", parse.ErrType)}},
		{"a String", []string{`"api";a="1"`}, nil, []parse.Ignored{ofLimit(0, "a", parse.ErrType)}},
		{"a Boolean", []string{`"api";a`}, nil, []parse.Ignored{ofLimit(0, "a", parse.ErrType)}},
		{"no figure", []string{`"api"`}, []parse.Limit{limit(none, none)}, nil},
		{"no figure, a window", []string{`"api";w=5`}, []parse.Limit{limit(none, 5*time.Second)}, nil},
		{"a above its cap", []string{`"api";a=1000000000001;w=5`}, []parse.Limit{limit(none, 5*time.Second)}, []parse.Ignored{ofLimit(0, "a", parse.ErrCap)}},

		// Section 3.1.2: w, a non-negative Integer of seconds.
		{"w=0: over now", []string{`"api";a=9;w=0`}, []parse.Limit{limit(9, 0)}, nil},
		{"w negative", []string{`"api";a=9;w=-1, "other";a=7`}, []parse.Limit{other}, []parse.Ignored{ofLimit(0, "w", parse.ErrRange)}},
		{"w Decimal", []string{`"api";a=9;w=1.5`}, nil, []parse.Ignored{ofLimit(0, "w", parse.ErrType)}},
		{"w at its cap", []string{`"api";a=0;w=31622400`}, []parse.Limit{limit(0, 366*24*time.Hour)}, nil},
		{"w above its cap", []string{`"api";a=0;w=31622401`}, []parse.Limit{limit(0, none)}, []parse.Ignored{ofLimit(0, "w", parse.ErrCap)}},
		{"w longer than a Duration", []string{`"api";a=0;w=999999999999999`}, []parse.Limit{limit(0, none)}, []parse.Ignored{ofLimit(0, "w", parse.ErrCap)}},

		// Section 3.1.3: pk, a Byte Sequence.
		{"pk empty", []string{`"api";a=1;pk=::`}, []parse.Limit{keyed(1, none, "")}, nil},
		{"pk, pad bits not zero", []string{`"api";a=1;pk=:cHsdsRa894==:, "api";a=2;pk=:sdfjLJUOUH==:`}, []parse.Limit{
			keyed(1, none, "p{\x1d\xb1\x16\xbc\xf7"), keyed(2, none, "\xb1\xd7\xe3\x2c\x95\x0e\x50")}, nil},
		{"pk without padding", []string{`"api";a=1;pk=:YQ:, "api";a=2;pk=:YWE:;c=1, "api";a=3;pk=:YWE=:`}, []parse.Limit{
			keyed(1, none, "a"), {Policy: "api", Available: 2, Window: none, Cost: 1, Key: "aa", HasKey: true}}, nil},
		{"pk without padding, beside a String and a Display String", []string{`"=:\"=:YQ:";a=1;pk=:YQ:;x="=:";y=%"=:YQ:"`},
			[]parse.Limit{{Policy: `=:"=:YQ:`, Available: 1, Window: none, Cost: none, Key: "a", HasKey: true}}, nil},
		{"pk without padding, in the second line", []string{`"api";a=1`, `"api";a=2;pk=:YQ:`}, []parse.Limit{limit(1, none), keyed(2, none, "a")}, nil},
		{"pk without an end", []string{`"api";a=1;pk=:YQ`}, nil, []parse.Ignored{ofLimit(none, "", parse.ErrSyntax)}},
		{"pk String", []string{`"api";a=1;pk="x", "other";a=7`}, []parse.Limit{other}, []parse.Ignored{ofLimit(0, "pk", parse.ErrType)}},
		{"pk Boolean", []string{`"api";a=1;pk`}, nil, []parse.Ignored{ofLimit(0, "pk", parse.ErrType)}},
		{"pk not base64", []string{`"api";a=1;pk=:a:`}, nil, []parse.Ignored{ofLimit(none, "", parse.ErrSyntax)}},

		// Section 3.1.4: c, a non-negative Integer.
		{"c", []string{`"api";a=1;c=5`}, []parse.Limit{costing(1, none, 5)}, nil},
		{"c=0", []string{`"api";a=1;c=0`}, []parse.Limit{costing(1, none, 0)}, nil},
		{"c negative", []string{`"api";a=1;c=-5`}, nil, []parse.Ignored{ofLimit(0, "c", parse.ErrRange)}},
		{"c Decimal", []string{`"api";a=1;c=0.5`}, nil, []parse.Ignored{ofLimit(0, "c", parse.ErrType)}},
		{"c above its cap", []string{`"api";a=1;c=1000000000001`}, []parse.Limit{limit(1, none)}, []parse.Ignored{ofLimit(0, "c", parse.ErrCap)}},

		// Drafts -08 to -11: r and t.
		{"r and t", []string{`"api";r=50;t=30`}, []parse.Limit{limit(50, 30*time.Second)}, nil},
		{"r alone", []string{`"api";r=50`}, []parse.Limit{limit(50, none)}, nil},
		{"t=0: over now", []string{`"api";r=50;t=0`}, []parse.Limit{limit(50, 0)}, nil},
		{"r negative", []string{`"api";r=-1`}, nil, []parse.Ignored{ofLimit(0, "r", parse.ErrRange)}},
		{"t String", []string{`"api";r=1;t="30"`}, nil, []parse.Ignored{ofLimit(0, "t", parse.ErrType)}},
		{"r above its cap", []string{`"api";r=1000000000001`}, []parse.Limit{limit(none, none)}, []parse.Ignored{ofLimit(0, "r", parse.ErrCap)}},
		{"t above its cap", []string{`"api";r=0;t=31622401`}, []parse.Limit{limit(0, none)}, []parse.Ignored{ofLimit(0, "t", parse.ErrCap)}},
		{"-09, Appendix B.3.1", []string{`quota;t=1`}, []parse.Limit{{Policy: "quota", Available: none, Window: time.Second, Cost: none}}, nil},
		{"forms mixed over items", []string{`"api";r=50;t=30;pk=:YQ==:, "api";a=9;w=5;pk=:Yg==:`},
			[]parse.Limit{keyed(50, 30*time.Second, "a"), keyed(9, 5*time.Second, "b")}, nil},
		{"forms mixed in an item", []string{`"api";r=50;w=30`}, []parse.Limit{limit(50, 30*time.Second)}, nil},
		{"the newer names win", []string{`"api";r=50;a=9;t=30;w=5`}, []parse.Limit{limit(9, 5*time.Second)}, nil},
		{"t is an unknown parameter beside a", []string{`"api";a=0;t="gold"`, `"x";c=1;r=-1;t=9`, `"y";w=5;r=1.5`}, []parse.Limit{limit(0, none),
			{Policy: "x", Available: none, Window: 9 * time.Second, Cost: 1}, {Policy: "y", Available: none, Window: 5 * time.Second, Cost: none}}, nil},
		{"the older ones are then not read", []string{`"api";r=-1;a=9;t=x;w=5`}, []parse.Limit{limit(9, 5*time.Second)}, nil},
		{"a malformed newer a drops the item", []string{`"api";r=50;a=-9`}, nil, []parse.Ignored{ofLimit(0, "a", parse.ErrRange)}},
		{"a malformed newer w drops the item", []string{`"api";a=9;t=5;w=x`}, nil, []parse.Ignored{ofLimit(0, "w", parse.ErrType)}},
		{"an a above its cap counts as not sent", []string{`"api";r=50;a=1000000000001`}, []parse.Limit{limit(50, none)}, []parse.Ignored{ofLimit(0, "a", parse.ErrCap)}},
		{"a w above its cap counts as not sent", []string{`"api";a=1;t=5;w=31622401`}, []parse.Limit{limit(1, 5*time.Second)}, []parse.Ignored{ofLimit(0, "w", parse.ErrCap)}},

		// Repeated policy and key: the lowest a, the longest w, the highest c.
		{"lowest a, longest w, highest c", []string{`"api";a=5;w=1;c=2, "other";a=7, "api";a=3;w=9;c=1`}, []parse.Limit{costing(3, 9*time.Second, 2), other}, nil},
		{"the other way round", []string{`"api";a=3;w=9;c=1, "api";a=5;w=1;c=2`}, []parse.Limit{costing(3, 9*time.Second, 2)}, nil},
		{"what is given wins", []string{`"api", "api";a=5;w=0;c=0`}, []parse.Limit{costing(5, 0, 0)}, nil},
		{"what is given stays", []string{`"api";a=5;w=0;c=0, api`}, []parse.Limit{costing(5, 0, 0)}, nil},
		{"two without a figure", []string{`"api", "api"`}, []parse.Limit{limit(none, none)}, nil},
		{"another key is another item", []string{`"api";a=1, "api";a=2;pk=::, "api";a=3;pk=:YQ==:`},
			[]parse.Limit{limit(1, none), keyed(2, none, ""), keyed(3, none, "a")}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limits, ignored := parse.Limits(header("RateLimit", tt.lines...), parse.Caps{})
			assertValues(t, tt.want, limits)
			assertValues(t, tt.ignored, ignored)
		})
	}
}

// A pk above its cap counts as not sent; one at its cap does not.
func TestLimitsKeyCap(t *testing.T) {
	caps := parse.Caps{KeyBytes: 3}
	limits, ignored := parse.Limits(header("RateLimit", `"api";a=1;pk=:YWJj:, "api";a=2;pk=:YWJjZA==:`), caps)
	assert.Equal(t, []parse.Limit{keyed(1, parse.None, "abc"), limit(2, parse.None)}, limits)
	assert.Equal(t, []parse.Ignored{ofLimit(1, "pk", parse.ErrCap)}, ignored)

	long := `"api";a=1;pk=:` + strings.Repeat("YWJj", 342) + `:` // 1026 bytes
	limits, ignored = parse.Limits(header("RateLimit", long), parse.Caps{})
	assert.Equal(t, []parse.Limit{limit(1, parse.None)}, limits)
	assert.Equal(t, []parse.Ignored{ofLimit(0, "pk", parse.ErrCap)}, ignored)
}
