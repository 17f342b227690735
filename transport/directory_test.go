package transport

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
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

// pathOf returns the path of a kind that Shaper.Like has named.
func pathOf(like string) *kindPath {
	p := likePath(like)
	return &p
}

// pathOfURL returns the path of the default kind of a GET request.
func pathOfURL(path string) *kindPath {
	p := defaultPath(&http.Request{URL: &url.URL{Path: path}})
	return &p
}

// concerning returns those of the policies a, b and c that concern a kind.
func concerning(d *directory, scope string, path *kindPath) (policies string) {
	k := d.lookUp(scope, path).assumed
	for _, p := range []string{"a", "b", "c"} {
		if k.stats(p) != nil {
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
		moved []string
		other string // the policies of a kind that is not known
	}
	var d directory
	assert.Equal(t, "abc", concerning(&d, "", pathOf("new")))
	for i, s := range []step{
		{"x", says(true, "a", "b"), nil, "ab"},
		{"x", says(true, "a", "b"), nil, "ab"},
		{"y", says(true, "b", "c"), []string{"a"}, "b"},
		{"z", says(true, "a", "b", "c"), nil, "b"},
		{"x", says(true, "a", "b", "c"), nil, "bc"},
		{"y", says(true, "a", "b", "c"), nil, "abc"}, // a concerns all kinds again
		{"z", says(true, "c"), []string{"a", "b"}, "c"},
		{"x", says(true, "a"), []string{"b", "c"}, ""},
		{"x", says(false, "c"), nil, "c"},
		{"y", says(false, "c"), nil, "c"},
	} {
		_, moved, _ := d.learn("", pathOf(s.like), s.r)
		assert.Equal(t, s.moved, moved, "step %d", i)
		assert.Equal(t, s.other, concerning(&d, "", pathOf("new")), "step %d", i)
	}
	assert.Equal(t, "ac", concerning(&d, "", pathOf("x")))
	assert.Equal(t, "abc", concerning(&d, "", pathOf("y")))
	assert.Equal(t, "c", concerning(&d, "", pathOf("z")))
	assert.Equal(t, "abc", concerning(&d, "another scope", pathOf("z")))
}

// Of a path of which nothing is known it is assumed what two or more paths with the
// same beginning have in common; the longest such beginning counts.
func TestKindsThatBeginAlike(t *testing.T) {
	var d directory
	learn := func(path string, policies ...string) { d.learn("", pathOfURL(path), says(true, policies...)) }
	learn("/api/core/x", "a", "b")
	learn("/api/core/y", "a", "b")
	learn("/api/search/code", "a", "c")
	assert.Equal(t, "ab", concerning(&d, "", pathOfURL("/api/core/new")))
	assert.Equal(t, "ab", concerning(&d, "", pathOfURL("/api/core/new/er")))
	assert.Equal(t, "a", concerning(&d, "", pathOfURL("/api/search/new")), "one path is not enough")
	assert.Equal(t, "a", concerning(&d, "", pathOfURL("/new")))
	assert.Equal(t, "ac", concerning(&d, "", pathOfURL("/api/search/code")))
}

// defaultPath and DefaultLike tell the same kinds apart.
func TestDefaultPath(t *testing.T) {
	likes := make(map[string]kindKey)
	keys := make(map[kindKey]string)
	for _, path := range []string{
		"", "/", "//", "/a", "/a/", "/a//b", "/a/b", "/ab", "/a/1", "/a/23", "/a1", "/a23", "/v1", "/v2", "/@me", "/x@y",
		"/0123456789abcdef", "/a/b/c/d/e/f", "/a/b/c/d/e/f/g", "/" + strings.Repeat("w", 64), "/" + strings.Repeat("w", 65),
	} {
		req := &http.Request{URL: &url.URL{Path: path}}
		p := defaultPath(req)
		like := DefaultLike(req)
		if known, ok := likes[like]; ok {
			assert.Equal(t, known, p.key(), path)
		}
		if known, ok := keys[p.key()]; ok {
			assert.Equal(t, known, like, path)
		}
		likes[like], keys[p.key()] = p.key(), like
		assert.Zero(t, testing.AllocsPerRun(10, func() { defaultPath(req) }), path)
	}
	assert.Len(t, likes, 12)
}

// Paths that begin alike share a key and a cost until more is known of one.
func TestAssumedKeyAndCost(t *testing.T) {
	var d directory
	learn := func(path, key string, cost int64) {
		d.learn("", pathOfURL(path), response{policies: []policyStats{
			{policy: "a", key: partition.Key(key), keyed: true, cost: cost, maxAvailable: 99},
		}})
	}
	assumed := func(path string) policyStats {
		stats := d.lookUp("", pathOfURL(path)).assumed.stats("a")
		require.NotNil(t, stats, "it concerns them")
		return *stats
	}
	learn("/wiki/Apple", "core", 5)
	learn("/wiki/Pear", "core", 5)
	assert.Equal(t, policyStats{policy: "a", key: "core", keyed: true, cost: 5, maxAvailable: 99}, assumed("/wiki/Plum"))
	assert.Equal(t, policyStats{policy: "a", maxAvailable: parse.None}, assumed("/search"), "the method is no beginning")
	learn("/wiki/Pear", "other", 5)
	assert.Equal(t, policyStats{policy: "a", cost: 5, maxAvailable: 99}, withoutKey(assumed("/wiki/Plum")))
	assert.False(t, assumed("/wiki/Plum").keyed)
}

func withoutKey(p policyStats) policyStats {
	p.key = ""
	return p
}

// What one response costs does not grow with the kinds that are known, even if the
// server names a policy in every other response only.
func TestLearningDoesNotLookAtAllKinds(t *testing.T) {
	allocations := func(n int) float64 {
		var d directory
		for i := range n {
			d.learn("", pathOf(fmt.Sprint(i)), says(true, "a", "b"))
		}
		path, odd := pathOf("0"), false
		return testing.AllocsPerRun(100, func() {
			odd = !odd
			if odd {
				d.learn("", path, says(true, "a"))
			} else {
				d.learn("", path, says(true, "a", "b"))
			}
		})
	}
	few := allocations(10)
	assert.Equal(t, few, allocations(maxKinds))
}

// A directory does not grow without bound, whatever responses say.
func TestDirectoryIsBounded(t *testing.T) {
	t.Run("kinds of a scope", func(t *testing.T) {
		var d directory
		for i := range maxKinds + 100 {
			d.learn("", pathOf(fmt.Sprint(i)), says(true, "a"))
		}
		assert.Len(t, d.scopes[""].seen, maxKinds)
		assert.Equal(t, "a", concerning(&d, "", pathOf("new")))
	})
	t.Run("memory", func(t *testing.T) {
		const hostile = 64 << 10
		ds := new(directories)
		accounts := &quota.Accounts{MaxAccounts: hostile * kindsPart / accountBytes, MaxTotal: 4 * hostile * kindsPart / accountBytes}
		var last *directory
		for i := range 40 {
			origin := rawOrigin{"https", fmt.Sprint(i, ".example")}
			last = ds.of(accounts, new(parse.Reader), origin).directory
			for j := range 100 {
				r := says(true)
				for k := range maxKindPolicies {
					r.policies = append(r.policies, policyStats{policy: fmt.Sprint("p", k), keyed: true, key: partition.Key(strings.Repeat(fmt.Sprint(j), 300))})
				}
				last.learn(fmt.Sprint("scope", j%7), pathOfURL(fmt.Sprint("/a", strings.Repeat("b", j), "/c/d/e/f/g")), r)
			}
			assert.Less(t, last.kindBytes, 4*hostile)
		}
		all, entries := 0, 0
		for _, d := range ds.byName {
			sum := 0
			for _, ks := range d.scopes {
				sum += ks.bytes
				inScope := scopeBytes + len("scope0")
				for _, k := range ks.seen {
					inScope += k.bytes
					entries++
				}
				for _, g := range ks.groups {
					inScope += g.bytes
				}
				assert.Equal(t, inScope, ks.bytes)
			}
			assert.Equal(t, sum, d.kindBytes)
			all += sum
		}
		assert.EqualValues(t, all, ds.kindBytes.Load())
		assert.Less(t, all, 40*4*hostile)
		assert.NotZero(t, entries)
		last.drop()
		assert.Less(t, ds.kindBytes.Load(), int64(all))
	})
	t.Run("groups go with their kinds", func(t *testing.T) {
		var d directory
		for i := range 5 {
			d.learn("", pathOfURL(fmt.Sprint("/", strings.Repeat("a", i), "/b/c")), says(true, "a"))
		}
		ks := d.scopes[""]
		for range 5 {
			d.weighLocked(ks, ks.evict)
		}
		assert.Empty(t, ks.seen)
		assert.Empty(t, ks.groups)
		assert.Equal(t, scopeBytes, ks.bytes)
		assert.Equal(t, scopeBytes, d.kindBytes)
	})
	t.Run("an only kind has no groups", func(t *testing.T) {
		var d directory
		d.learn("", pathOfURL("/a"), says(true, "a"))
		ks := d.scopes[""]
		d.weighLocked(ks, ks.evict)
		d.learn("", pathOfURL("/b/c"), says(true, "b", "c"))
		assert.Equal(t, "bc", concerning(&d, "", pathOf("new")))
		d.learn("", pathOfURL("/b/c"), says(true, "a", "c"))
		assert.Equal(t, "ac", concerning(&d, "", pathOf("new")))
		assert.Nil(t, ks.groups)
		d.learn("", pathOf("second"), says(true, "c"))
		assert.Equal(t, "c", concerning(&d, "", pathOf("new")))
		assert.Len(t, ks.groups, 3)
		for _, g := range ks.groups {
			assert.NotZero(t, g.bytes)
		}
		for range 2 {
			d.weighLocked(ks, ks.evict)
		}
		assert.Empty(t, ks.groups)
		assert.Equal(t, scopeBytes, ks.bytes)
	})
	t.Run("scopes", func(t *testing.T) {
		var d directory
		for i := range maxScopes + 100 {
			d.learn(fmt.Sprint("scope", i), pathOf(""), says(true, "a"))
			d.learn(fmt.Sprint("scope", i), pathOf("x"), says(true, "a"))
		}
		assert.Len(t, d.scopes, maxScopes)
		all := 0
		for _, ks := range d.scopes {
			all += ks.bytes
		}
		assert.Equal(t, all, d.kindBytes)
	})
	t.Run("policies of a kind", func(t *testing.T) {
		var d directory
		for i := range 500 {
			d.learn("", pathOf(""), says(false, fmt.Sprint(i), fmt.Sprint(-i), "a"))
			many := make([]string, 64)
			for j := range many {
				many[j] = fmt.Sprint(i, j)
			}
			d.learn("", pathOf(""), says(true, many...))
			d.learn("", pathOf("second"), says(true, many...))
			k := d.lookUp("", pathOf("")).kind
			assert.Len(t, *k.policies.Load(), maxKindPolicies)
			assert.Len(t, d.scopes[""].groups[0].policies, maxKindPolicies)
		}
	})
	t.Run("policies without a name", func(t *testing.T) {
		var d directory
		names := make(map[string]bool)
		for i := range 500 {
			names[d.nameOf(int64(i), time.Duration(i+1)*time.Second)] = true
		}
		assert.Len(t, names, maxDefinitions)
	})
	t.Run("failed predictions", func(t *testing.T) {
		d := newDirectory(new(quota.Accounts), "https://api.example")
		for i := range 500 { // those that were replaced are forgotten
			d.declare([]parse.Declaration{{Policy: fmt.Sprint(i % 3), Dimensions: []parse.Dimension{{Name: fmt.Sprint("d", i)}}}})
			d.distrust("", d.declaration(fmt.Sprint(i%3)))
		}
		assert.Len(t, d.lookUp("", pathOf("")).failed, 3)
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

// A declaration that a request's policies contradict is given up even if other responses have
// replaced it, or pushed it out, since its prediction was made. The one that has replaced it is not.
func TestDistrustOfReplaced(t *testing.T) {
	declare := func(policy, method string) []parse.Declaration {
		return []parse.Declaration{{Policy: policy, Dimensions: []parse.Dimension{{Name: "method", IsLiteral: true, Literal: method}}}}
	}
	for name, replace := range map[string]func(*directory){
		"replaced": func(d *directory) { d.declare(declare("one", "POST")) },
		"pushed out": func(d *directory) {
			for i := range maxDeclarations {
				d.declare(declare(fmt.Sprint(i), "GET"))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Shaper{}
			d := s.directories.of(s.accounts(), s.fields(), rawOrigin{"https", "api.example"})
			d.declare(declare("one", "GET"))
			first := d.declaration("one")
			x := &exchange{s: s, directory: d, options: optionsOf(t.Context()), req: &http.Request{Method: "POST", URL: &url.URL{Path: "/"}}}
			x.predict(d.declared.Load())
			require.Equal(t, partition.Irrelevant, x.prediction("one").answer)
			replace(d.directory)
			x.policies = says(true, "one").policies
			x.checkDeclarations()
			assert.Equal(t, []*parse.Declaration{first}, d.lookUp("", pathOf("")).failed)
			last := (*d.declared.Load())[0]
			assert.True(t, d.distrust("", last))
			assert.Equal(t, []*parse.Declaration{last}, d.lookUp("", pathOf("")).failed)
		})
	}
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

// What an exchange has looked up is looked up again when something of it has changed: by a
// request of another exchange, of another scope, of another kind.
func TestLookUpAgain(t *testing.T) {
	s := &Shaper{}
	d := s.directories.of(s.accounts(), s.fields(), rawOrigin{"https", "api.example"})
	x := &exchange{s: s, directory: d, options: optionsOf(t.Context())}
	look := func(scope, path string) *known {
		x.req, x.ask.Scope, x.hasKindPath = &http.Request{URL: &url.URL{Path: path}}, scope, false
		got := *x.lookUp()
		assert.Equal(t, d.lookUp(scope, pathOfURL(path)), got)
		return &got
	}
	require.Nil(t, look("", "/a").kind)
	d.learn("", pathOfURL("/a"), says(false, "one"))
	require.NotNil(t, look("", "/a").kind)
	require.Nil(t, look("", "/b").kind)
	require.Nil(t, look("alice", "/a").kind)
	before := look("", "/b").assumed
	d.learn("", pathOfURL("/c"), says(false, "two"))
	require.NotSame(t, before, look("", "/b").assumed)
	d.distrust("", &parse.Declaration{Policy: "one"})
	require.Len(t, look("", "/b").failed, 1)
	d.drop()
	require.Nil(t, look("", "/a").kind)
}
