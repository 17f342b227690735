package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// says returns a response that names policies.
func says(complete bool, policies ...string) response {
	r := response{complete: complete}
	for _, p := range policies {
		r.policies = append(r.policies, policyStats{policy: p, cost: parse.None, maxAvailable: parse.None})
	}
	return r
}

// concerning returns those of the policies a, b and c that concern a kind.
func concerning(d *directory, scope, like string) (policies string) {
	k := d.lookUp(scope, kindKey{like: like}).assumed
	for _, p := range []string{"a", "b", "c"} {
		if _, concerned := k.stats(p); concerned {
			policies += p
		}
	}
	return policies
}

// A kind that is not known is concerned by the policies that concern every known
// kind of its scope.
func TestUnknownKind(t *testing.T) {
	type step struct {
		like  string
		r     response
		fewer bool
		other string // the policies of a kind that is not known
	}
	var d directory
	assert.Equal(t, "abc", concerning(&d, "", "new"))
	for i, s := range []step{
		{"x", says(true, "a", "b"), true, "ab"},
		{"x", says(true, "a", "b"), false, "ab"},
		{"y", says(true, "b", "c"), true, "b"},
		{"z", says(true, "a", "b", "c"), true, "b"},
		{"x", says(true, "a", "b", "c"), false, "bc"}, // a concerns all kinds again
		{"y", says(true, "a", "b", "c"), false, "abc"},
		{"z", says(true, "c"), true, "c"},
		{"x", says(true, "a"), true, ""},
		{"x", says(false, "c"), false, "c"},
		{"y", says(false, "c"), false, "c"},
	} {
		_, fewer := d.learn("", kindKey{like: s.like}, s.r)
		assert.Equal(t, s.fewer, fewer, "step %d", i)
		assert.Equal(t, s.other, concerning(&d, "", "new"), "step %d", i)
	}
	assert.Equal(t, "ac", concerning(&d, "", "x"))
	assert.Equal(t, "abc", concerning(&d, "", "y"))
	assert.Equal(t, "c", concerning(&d, "", "z"))
	assert.Equal(t, "abc", concerning(&d, "another scope", "z"))
}

// A directory does not grow without bound, whatever responses say.
func TestDirectoryIsBounded(t *testing.T) {
	t.Run("kinds of a scope", func(t *testing.T) {
		var d directory
		for i := range maxKinds + 100 {
			d.learn("", kindKey{like: fmt.Sprint(i)}, says(true, "a"))
		}
		assert.Len(t, d.scopes[""].seen, maxKinds)
		assert.Equal(t, maxKinds, d.kindCount)
		assert.NotNil(t, d.scopes[""].overflow)
	})
	t.Run("kinds of all scopes", func(t *testing.T) {
		var d directory
		for i := range maxKindsOfAll + 100 {
			d.learn(fmt.Sprint("scope", i%50), kindKey{like: fmt.Sprint(i)}, says(true, "a"))
		}
		assert.Equal(t, maxKindsOfAll, d.kindCount)
	})
	t.Run("scopes", func(t *testing.T) {
		var d directory
		for i := range maxScopes + 100 {
			d.learn(fmt.Sprint("scope", i), kindKey{}, says(true, "a"))
			d.learn(fmt.Sprint("scope", i), kindKey{like: "x"}, says(true, "a"))
		}
		assert.Len(t, d.scopes, maxScopes)
		all := 0
		for _, ks := range d.scopes {
			all += len(ks.seen)
		}
		assert.Equal(t, all, d.kindCount)
		assert.Equal(t, maxKindsOfAll, all)
	})
	t.Run("policies of a kind", func(t *testing.T) {
		var d directory
		for i := range 500 {
			d.learn("", kindKey{}, says(false, fmt.Sprint(i), fmt.Sprint(-i), "a"))
			many := make([]string, 64)
			for j := range many {
				many[j] = fmt.Sprint(i, j)
			}
			d.learn("", kindKey{}, says(true, many...))
			k := d.lookUp("", kindKey{}).kind
			assert.Len(t, *k.policies.Load(), maxKindPolicies)
		}
	})
	t.Run("failed predictions", func(t *testing.T) {
		var d directory
		for range 500 {
			d.distrust("", new(parse.Declaration))
		}
		failed := d.lookUp("", kindKey{}).failed
		assert.Len(t, failed, maxDeclarations)
	})
	t.Run("declarations", func(t *testing.T) {
		d := newDirectory(new(quota.Accounts), "https://api.example")
		for i := range 500 {
			d.declare([]parse.Declaration{{Policy: fmt.Sprint(i)}, {Policy: "same"}})
		}
		assert.Len(t, *d.declared.Load(), maxDeclarations)
		assert.NotEmpty(t, d.liveOrigin().Attached(savedDeclarations))
		for i := range maxDeclarations { // too large to be saved
			d.declare([]parse.Declaration{{Policy: fmt.Sprint(i, strings.Repeat("x", 1<<12))}})
		}
		assert.Empty(t, d.liveOrigin().Attached(savedDeclarations), "the old ones are still saved")
	})
}

// An estimate rises at once, and falls in steps until it has reached the value.
func TestEstimate(t *testing.T) {
	for _, tt := range []struct{ old, seen, want int64 }{
		{0, 0, 0}, {0, 5, 5}, {5, 5, 5}, {5, 9, 9}, {9, 5, 8}, {100, 0, 75}, {1, 0, 0}, {2, 0, 1}, {8, 7, 7},
		{1 << 62, 0, 1<<62 - 1<<60}, {0, 1<<63 - 1, 1<<63 - 1},
	} {
		assert.Equal(t, tt.want, estimate(tt.old, tt.seen), "%+v", tt)
	}
	n := int64(1 << 40)
	for steps := 0; n > 1; steps++ {
		n = estimate(n, 1)
		assert.Less(t, steps, 200)
	}
	assert.Equal(t, int64(1), n)
}
