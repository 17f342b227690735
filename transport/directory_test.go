package transport

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// says is a finding that names policies, all of them if whole.
func says(whole bool, policies ...string) finding {
	f := finding{whole: whole}
	for _, p := range policies {
		f.said = append(f.said, trait{policy: p, cost: parse.None, most: parse.None})
	}
	return f
}

// asked are the policies among a, b and c that requests of a kind are asked for.
func asked(d *directory, scope, like string) (policies string) {
	k := d.recall(scope, likeness{like: like}).like
	for _, p := range []string{"a", "b", "c"} {
		if _, concerned := k.trait(p); concerned {
			policies += p
		}
	}
	return policies
}

// A kind that is not known is asked for what no known kind of its scope leaves out.
func TestUnseenKind(t *testing.T) {
	type step struct {
		like   string
		f      finding
		fewer  bool
		unseen string
	}
	var d directory
	assert.Equal(t, "abc", asked(&d, "", "new"))
	for i, s := range []step{
		{"x", says(true, "a", "b"), true, "ab"},
		{"x", says(true, "a", "b"), false, "ab"},
		{"y", says(true, "b", "c"), true, "b"},
		{"z", says(true, "a", "b", "c"), true, "b"},
		{"x", says(true, "a", "b", "c"), false, "bc"}, // named again: it concerns all
		{"y", says(true, "a", "b", "c"), false, "abc"},
		{"z", says(true, "c"), true, "c"},
		{"x", says(true, "a"), true, ""},
		{"x", says(false, "c"), false, "c"},
		{"y", says(false, "c"), false, "c"},
	} {
		_, fewer := d.learn("", likeness{like: s.like}, s.f)
		assert.Equal(t, s.fewer, fewer, "step %d", i)
		assert.Equal(t, s.unseen, asked(&d, "", "new"), "step %d", i)
	}
	assert.Equal(t, "ac", asked(&d, "", "x"))
	assert.Equal(t, "abc", asked(&d, "", "y"))
	assert.Equal(t, "c", asked(&d, "", "z"))
	assert.Equal(t, "abc", asked(&d, "another scope", "z"))
}

// Whatever is said, and by whomever: a directory does not grow without bound.
func TestDirectoryIsBounded(t *testing.T) {
	t.Run("kinds of a scope", func(t *testing.T) {
		var d directory
		for i := range maxKinds + 100 {
			d.learn("", likeness{like: fmt.Sprint(i)}, says(true, "a"))
		}
		assert.Len(t, d.scopes[""].known, maxKinds)
		assert.Equal(t, maxKinds, d.all)
		assert.NotNil(t, d.scopes[""].rest)
	})
	t.Run("kinds of all scopes", func(t *testing.T) {
		var d directory
		for i := range maxAll + 100 {
			d.learn(fmt.Sprint("scope", i%50), likeness{like: fmt.Sprint(i)}, says(true, "a"))
		}
		assert.Equal(t, maxAll, d.all)
	})
	t.Run("scopes", func(t *testing.T) {
		var d directory
		for i := range maxScopes + 100 {
			d.learn(fmt.Sprint("scope", i), likeness{}, says(true, "a"))
			d.learn(fmt.Sprint("scope", i), likeness{like: "x"}, says(true, "a"))
		}
		assert.Len(t, d.scopes, maxScopes)
		all := 0
		for _, ks := range d.scopes {
			all += len(ks.known)
		}
		assert.Equal(t, all, d.all)
		assert.LessOrEqual(t, all, maxAll)
	})
	t.Run("policies of a kind", func(t *testing.T) {
		var d directory
		for i := range 500 {
			d.learn("", likeness{}, says(false, fmt.Sprint(i), fmt.Sprint(-i), "a"))
			many := make([]string, 64)
			for j := range many {
				many[j] = fmt.Sprint(i, j)
			}
			d.learn("", likeness{}, says(true, many...))
			k := d.recall("", likeness{}).kind
			assert.LessOrEqual(t, len(*k.traits.Load()), maxTraits)
		}
	})
	t.Run("failed predictions", func(t *testing.T) {
		var d directory
		for range 500 {
			d.distrust("", new(parse.Declaration))
		}
		failed := d.recall("", likeness{}).failed
		assert.Len(t, failed, maxDeclarations)
	})
	t.Run("declarations", func(t *testing.T) {
		d := newDirectory(new(quota.Accounts), "https://api.example")
		for i := range 500 {
			d.declare([]parse.Declaration{{Policy: fmt.Sprint(i)}, {Policy: "same"}})
		}
		assert.Len(t, *d.declared.Load(), maxDeclarations)
		assert.NotEmpty(t, d.books().Attached(attached))
		for i := range maxDeclarations { // more than there is room for
			d.declare([]parse.Declaration{{Policy: fmt.Sprint(i, strings.Repeat("x", 1<<12))}})
		}
		assert.Empty(t, d.books().Attached(attached), "those of before")
	})
}

// An estimate errs on the high side, and comes down to what it is.
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
