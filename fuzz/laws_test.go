package fuzz

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// caps are low, so that fuzzed inputs exceed them.
var caps = parse.Caps{
	Quota: 1_000_000, Window: 30 * 24 * time.Hour, RetryAfter: time.Hour,
	Items: 16, FieldBytes: 512, NameBytes: 64, KeyBytes: 32,
}

// lines returns the field lines of a fuzzed text.
func lines(text string) []string { return strings.Split(text, "\n") }

// joined returns the same lines as one.
func joined(text string) []string { return []string{strings.Join(lines(text), ", ")} }

func checkPolicies(t *testing.T, policies []parse.Policy) {
	t.Helper()
	type identity struct {
		name   string
		key    parse.Key
		hasKey bool
	}
	seen := map[identity]bool{}
	for _, p := range policies {
		if p.Quota == parse.None {
			require.Positive(t, p.Window, "neither is known")
		} else {
			require.GreaterOrEqual(t, p.Quota, int64(0))
		}
		require.LessOrEqual(t, p.Quota, caps.Quota)
		require.GreaterOrEqual(t, p.Window, time.Duration(0))
		require.LessOrEqual(t, p.Window, caps.Window)
		require.NotEmpty(t, p.Unit)
		require.LessOrEqual(t, len(p.Unit), caps.NameBytes)
		require.LessOrEqual(t, len(p.Name), caps.NameBytes)
		require.LessOrEqual(t, len(p.Key), caps.KeyBytes)
		require.True(t, p.HasKey || p.Key == "")
		id := identity{p.Name, p.Key, p.HasKey}
		require.False(t, seen[id], "twice")
		seen[id] = true
	}
}

func checkLimits(t *testing.T, limits []parse.Limit) {
	t.Helper()
	type identity struct {
		name   string
		key    parse.Key
		hasKey bool
	}
	seen := map[identity]bool{}
	for _, l := range limits {
		require.GreaterOrEqual(t, l.Available, int64(parse.None))
		require.LessOrEqual(t, l.Available, caps.Quota)
		require.GreaterOrEqual(t, l.Window, time.Duration(parse.None))
		require.LessOrEqual(t, l.Window, caps.Window)
		require.GreaterOrEqual(t, l.Cost, int64(parse.None))
		require.LessOrEqual(t, l.Cost, caps.Quota)
		require.LessOrEqual(t, len(l.Policy), caps.NameBytes)
		require.LessOrEqual(t, len(l.Key), caps.KeyBytes)
		require.True(t, l.HasKey || l.Key == "")
		require.GreaterOrEqual(t, l.Full, time.Duration(0))
		require.True(t, l.Full == 0 || l.Window <= l.Full, "one unit is there before all are")
		id := identity{l.Policy, l.Key, l.HasKey}
		require.False(t, seen[id], "twice")
		seen[id] = true
	}
}

func checkIgnored(t *testing.T, ignored []parse.Ignored) {
	t.Helper()
	for _, i := range ignored {
		require.NotEmpty(t, i.Field)
		require.Error(t, i.Err)
		require.GreaterOrEqual(t, i.Item, parse.None)
		require.NotEmpty(t, i.String())
	}
}

func checkReading(t *testing.T, r parse.Reading) {
	t.Helper()
	checkPolicies(t, r.Policies)
	checkLimits(t, r.Limits)
	checkIgnored(t, r.Ignored)
	for _, p := range r.Policies {
		if p.Quota == parse.None {
			require.True(t, slices.ContainsFunc(r.Limits, func(l parse.Limit) bool {
				return l.Policy == p.Name && l.Key == p.Key && l.Available >= 0
			}), "a window of nothing")
		}
	}
	require.GreaterOrEqual(t, r.RetryAfter, time.Duration(parse.None))
	require.LessOrEqual(t, r.RetryAfter, caps.RetryAfter)
	if r.RetryAfter == parse.None {
		require.False(t, r.Advised)
	}
	if r.Dialect == parse.NoDialect {
		require.Empty(t, r.Policies)
		require.Empty(t, r.Limits)
		require.Empty(t, r.Declarations)
	}
	if r.Cached {
		require.Equal(t, parse.Reading{RetryAfter: parse.None, Cached: true}, r)
	}
}

// of returns a header with one field.
func of(field string, lines []string) http.Header { return http.Header{field: lines} }
