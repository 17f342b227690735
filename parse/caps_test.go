package parse_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// unbounded has no bounds.
var unbounded = parse.Caps{Quota: -1, Window: -1, RetryAfter: -1, Items: -1, FieldBytes: -1, NameBytes: -1, KeyBytes: -1}

// A value at its cap is accepted, a value above it is not.
func TestOwnCaps(t *testing.T) {
	tests := []struct {
		name    string
		caps    parse.Caps
		value   string
		want    []parse.Limit
		ignored []parse.Ignored
	}{
		{"quota at", parse.Caps{Quota: 10}, `"api";a=10;c=10`, []parse.Limit{costing(10, parse.None, 10)}, nil},
		{"quota above", parse.Caps{Quota: 10}, `"api";a=11;c=11`, []parse.Limit{limit(parse.None, parse.None)},
			[]parse.Ignored{ofLimit(0, "a", parse.ErrCap), ofLimit(0, "c", parse.ErrCap)}},
		{"window at", parse.Caps{Window: 10 * time.Second}, `"api";w=10`, []parse.Limit{limit(parse.None, 10*time.Second)}, nil},
		{"window above", parse.Caps{Window: 10 * time.Second}, `"api";w=11`, []parse.Limit{limit(parse.None, parse.None)},
			[]parse.Ignored{ofLimit(0, "w", parse.ErrCap)}},
		{"window, a part of a second", parse.Caps{Window: time.Second - 1}, `"api";w=1`, []parse.Limit{limit(parse.None, parse.None)},
			[]parse.Ignored{ofLimit(0, "w", parse.ErrCap)}},
		{"items at", parse.Caps{Items: 2}, `"api";a=1, "api";a=2;pk=::`, []parse.Limit{limit(1, parse.None), keyed(2, parse.None, "")}, nil},
		{"items above", parse.Caps{Items: 1}, `"api";a=1, "b", "c"`, []parse.Limit{limit(1, parse.None)},
			[]parse.Ignored{ofLimit(1, "", parse.ErrCap)}},
		{"dropped items count", parse.Caps{Items: 1}, `1, "api";a=1`, nil,
			[]parse.Ignored{ofLimit(1, "", parse.ErrCap), ofLimit(0, "", parse.ErrType)}},
		{"field at", parse.Caps{FieldBytes: 9}, `"api";a=1`, []parse.Limit{limit(1, parse.None)}, nil},
		{"field above", parse.Caps{FieldBytes: 8}, `"api";a=1`, nil, []parse.Ignored{ofLimit(parse.None, "", parse.ErrCap)}},
		{"field above, not parsed", parse.Caps{FieldBytes: 8}, `"api";;;;;`, nil, []parse.Ignored{ofLimit(parse.None, "", parse.ErrCap)}},
		{"name at", parse.Caps{NameBytes: 3}, `"api"`, []parse.Limit{limit(parse.None, parse.None)}, nil},
		{"name above", parse.Caps{NameBytes: 2}, `"api"`, nil, []parse.Ignored{ofLimit(0, "", parse.ErrCap)}},
		{"key at", parse.Caps{KeyBytes: 1}, `"api";pk=:YQ==:`, []parse.Limit{keyed(parse.None, parse.None, "a")}, nil},
		{"key above", parse.Caps{KeyBytes: 1}, `"api";pk=:YWE=:`, []parse.Limit{limit(parse.None, parse.None)},
			[]parse.Ignored{ofLimit(0, "pk", parse.ErrCap)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limits, ignored := parse.Limits(header("RateLimit", tt.value), tt.caps)
			assertValues(t, tt.want, limits)
			assertValues(t, tt.ignored, ignored)
		})
	}
}

// The length of a field is the sum of its lines.
func TestFieldBytesOverLines(t *testing.T) {
	line := strings.Repeat(" ", parse.DefaultCaps().FieldBytes/2-9) + `"api";a=1`
	limits, ignored := parse.Limits(header("RateLimit", line, line), parse.Caps{})
	assert.Equal(t, []parse.Limit{limit(1, parse.None)}, limits)
	assert.Empty(t, ignored)

	limits, ignored = parse.Limits(header("RateLimit", line, " "+line), parse.Caps{})
	assert.Empty(t, limits)
	assert.Equal(t, []parse.Ignored{ofLimit(parse.None, "", parse.ErrCap)}, ignored)
}

func TestItemsByDefault(t *testing.T) {
	value := strings.TrimSuffix(strings.Repeat(`"api";a=1, `, 65), ", ")
	_, ignored := parse.Limits(header("RateLimit", value), parse.Caps{})
	assert.Equal(t, []parse.Ignored{ofLimit(64, "", parse.ErrCap)}, ignored)
	for _, field := range []string{"RateLimit-Policy", "RateLimit-Partition"} {
		value := strings.TrimSuffix(strings.Repeat(`x;q=1, `, 65), ", ")
		_, ofPolicies := parse.Policies(header(field, value), parse.Caps{})
		_, ofDeclarations := parse.Declarations(header(field, value), parse.Caps{})
		assert.Equal(t, []parse.Ignored{{Field: field, Item: 64, Err: parse.ErrCap}}, append(ofPolicies, ofDeclarations...))
	}
}

func TestUnbounded(t *testing.T) {
	name := strings.Repeat("n", 70_000)
	value := `"` + name + `";a=999999999999999;c=999999999999999;w=999999999999999;pk=:` + strings.Repeat("YWJj", 1000) + `:`

	limits, ignored := parse.Limits(header("RateLimit", value), unbounded)

	assert.Empty(t, ignored)
	assert.Equal(t, []parse.Limit{{
		Policy:    name,
		Available: 999_999_999_999_999,
		Window:    math.MaxInt64, // a Duration holds less than 10,000,000,000 s
		Cost:      999_999_999_999_999,
		Key:       parse.Key(strings.Repeat("abc", 1000)),
		HasKey:    true,
	}}, limits)

	policies, ignored := parse.Policies(header("RateLimit-Policy", `"p";q=999999999999999;w=9223372037;qu="`+name+`"`), unbounded)
	assert.Empty(t, ignored)
	assert.Equal(t, []parse.Policy{{Name: "p", Quota: 999_999_999_999_999, Unit: name, Window: math.MaxInt64}}, policies)
}

// Without a cap, the time still grows in proportion to the items: comparing each with
// every other would take minutes.
func TestUnboundedItems(t *testing.T) {
	const many = 200_000
	limits, ignored := parse.Limits(header("RateLimit", strings.Repeat("a,", many)+"a"), unbounded)
	assert.Empty(t, ignored)
	assert.Len(t, limits, 1)

	var value strings.Builder
	for i := range many {
		value.WriteString("a;pk=:")
		value.WriteString(fourDigits(i))
		value.WriteString(":,")
	}
	limits, ignored = parse.Limits(header("RateLimit", value.String()+"a"), unbounded)
	require.Empty(t, ignored)
	assert.Len(t, limits, many+1)
}

// fourDigits writes i in base 64.
func fourDigits(i int) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	return string([]byte{digits[i>>18&63], digits[i>>12&63], digits[i>>6&63], digits[i&63]})
}
