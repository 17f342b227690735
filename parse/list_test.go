package parse_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// The keys by which fields are looked up are those that net/http stores.
func TestCanonicalKeys(t *testing.T) {
	h := http.Header{}
	h.Add("RateLimit-Policy", `"api";q=1`)
	h.Add("RateLimit", `"api";a=1`)
	h.Add("RateLimit-Partition", `"api";method`)
	h.Add("retry-after", "1")
	policies, _ := parse.Policies(h, parse.Caps{})
	limits, _ := parse.Limits(h, parse.Caps{})
	declarations, _ := parse.Declarations(h, parse.Caps{})
	_, ok, _ := parse.RetryAfter(h, time.Time{}, parse.Caps{})
	assert.Len(t, policies, 1)
	assert.Len(t, limits, 1)
	assert.Len(t, declarations, 1)
	assert.True(t, ok)
}

// all is the result of every function that reads one field.
type all struct {
	Policies     []parse.Policy
	Limits       []parse.Limit
	Declarations []parse.Declaration
	Ignored      []parse.Ignored
}

// readAll reads the same field value under each of the three names.
func readAll(caps parse.Caps, lines ...string) (a all) {
	h := http.Header{"Ratelimit": lines, "Ratelimit-Policy": lines, "Ratelimit-Partition": lines}
	var ignored []parse.Ignored
	a.Policies, a.Ignored = parse.Policies(h, caps)
	a.Limits, ignored = parse.Limits(h, caps)
	a.Ignored = append(a.Ignored, ignored...)
	a.Declarations, ignored = parse.Declarations(h, caps)
	a.Ignored = append(a.Ignored, ignored...)
	return a
}

// randomItem returns a random item of a Structured Field, which is sometimes a valid item
// of the drafts' fields.
func randomItem(random *rand.Rand) string {
	pick := func(options ...string) string { return options[random.IntN(len(options))] }
	item := pick(`"a"`, `"b"`, `a`, `b`, `c`, `"b"`, `1`, `("a" b)`)
	for range random.IntN(6) {
		item += ";" + pick("a", "w", "r", "t", "c", "q", "qu", "pk", "x", "method")
		item += pick("", "=0", "=1", "=20", "=-3", "=1.5", `="x"`, "=GET", "=:YQ==:", "=::", "=?0", "=@1", "=999999999999999")
	}
	return item
}

// Law: the result does not depend on how a List is split into field lines (RFC 9651,
// Section 4.2).
func TestSplitAndJoinedLinesAgree(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		items := make([]string, 1+random.IntN(40))
		for i := range items {
			items[i] = randomItem(random)
		}
		var lines []string
		for rest := items; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			lines = append(lines, strings.Join(rest[:n], ","))
			rest = rest[n:]
		}
		caps := parse.Caps{Items: random.IntN(30)}
		require.Equal(t, readAll(caps, strings.Join(items, ", ")), readAll(caps, lines...), "seed %d", seed)
	}
}

// Law: the set of values does not depend on the order of items.
func TestOrderDoesNotMatter(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		items := make([]string, 1+random.IntN(40))
		for i := range items {
			items[i] = randomItem(random)
		}
		before := readAll(parse.Caps{}, strings.Join(items, ","))
		random.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		after := readAll(parse.Caps{}, strings.Join(items, ","))

		require.ElementsMatch(t, before.Policies, after.Policies, "seed %d", seed)
		require.ElementsMatch(t, before.Limits, after.Limits, "seed %d", seed)
		require.ElementsMatch(t, before.Declarations, after.Declarations, "seed %d", seed)
	}
}

// Laws for any input: no panic, no negative value except None, no repeated identity.
func TestAnyInput(t *testing.T) {
	const alphabet = `"";;;,,==::??@%()01234.-aqrtwcpkum*_/ ` + "\t\x00\x1f\x7f\xc3\xff"
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 20_000 {
		var value string
		if random.IntN(2) == 0 {
			value = randomItem(random) + "," + randomItem(random)
		}
		bytes := []byte(value)
		for range random.IntN(12) {
			at := random.IntN(len(bytes) + 1)
			bytes = slices.Insert(bytes, at, alphabet[random.IntN(len(alphabet))])
		}
		lines := []string{string(bytes)}

		got := readAll(parse.Caps{}, lines...)

		identities := map[string]bool{}
		for _, l := range got.Limits {
			identity := fmt.Sprintf("%q %q %t", l.Policy, l.Key, l.HasKey)
			require.False(t, identities[identity], "seed %d", seed)
			identities[identity] = true
			require.GreaterOrEqual(t, l.Available, int64(parse.None), "seed %d", seed)
			require.GreaterOrEqual(t, l.Window, time.Duration(parse.None), "seed %d", seed)
			require.GreaterOrEqual(t, l.Cost, int64(parse.None), "seed %d", seed)
		}
		for _, p := range got.Policies {
			require.GreaterOrEqual(t, p.Quota, int64(0), "seed %d", seed)
			require.GreaterOrEqual(t, p.Window, time.Duration(0), "seed %d", seed)
			require.NotEmpty(t, p.Unit, "seed %d", seed)
		}
		d, _, _ := parse.RetryAfter(header("Retry-After", lines...), time.Time{}, parse.Caps{})
		require.GreaterOrEqual(t, d, time.Duration(0), "seed %d", seed)
		parse.Cached(http.Header{"Age": lines, "X-From-Cache": lines})
		parse.Cached(header("Cache-Status", lines...))
	}
}

// Reading allocates what the Structured Fields parser allocates, the slice of values, and
// the bytes of a key.
func TestAllocations(t *testing.T) {
	tests := []struct {
		name, value string
		more        float64
	}{
		{"one", `"api";a=99;w=60`, 1},
		{"with a key", `"api";a=99;w=60;pk=:R0VUH2FsaWNl:`, 2},
		{"two", `"burst";a=9;w=6, "daily";a=99;w=600`, 1},
	}
	for _, tt := range tests {
		h := header("RateLimit", tt.value)
		parser := testing.AllocsPerRun(100, func() { httpsfv.UnmarshalList(h["Ratelimit"]) })
		limits := testing.AllocsPerRun(100, func() { parse.Limits(h, parse.Caps{}) })
		assert.LessOrEqual(t, limits, parser+tt.more, tt.name)
	}
}

func TestNoAllocations(t *testing.T) {
	empty := http.Header{"Content-Type": {"text/plain"}}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		parse.Policies(empty, parse.Caps{})
		parse.Limits(empty, parse.Caps{})
		parse.Declarations(empty, parse.Caps{})
		parse.RetryAfter(empty, time.Time{}, parse.Caps{})
		parse.Cached(empty)
	}), "absent fields")

	seconds := header("Retry-After", "20")
	assert.Zero(t, testing.AllocsPerRun(100, func() { parse.RetryAfter(seconds, time.Time{}, parse.Caps{}) }), "delay-seconds")
}
