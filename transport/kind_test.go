package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const site = "http://api.example/"

// byPath returns a server that answers by the first segment of the path. The test may
// change answers between requests.
func byPath(answers map[string]answer) *server {
	return newChooser(func(_ int, req *http.Request) answer {
		first, _, _ := strings.Cut(req.URL.Path[1:], "/")
		return answers[first]
	})
}

func getPath(t *testing.T, path string) *http.Request {
	return newRequest(t.Context(), "GET", site+path)
}

// The forms in which a response may name the policies that concern its request.
var forms = map[string]func(limits ...string) answer{
	"RateLimit": func(limits ...string) answer { return limit(strings.Join(limits, ", ")) },
	"both": func(limits ...string) answer {
		var policies []string
		for _, l := range limits {
			name, _, _ := strings.Cut(l, ";")
			policies = append(policies, name+";q=10000;w=600")
		}
		return says(200, "RateLimit", strings.Join(limits, ", "), "RateLimit-Policy", strings.Join(policies, ", "))
	},
	"partitioned": func(limits ...string) answer {
		var dimensions []string
		for i, l := range limits {
			name, _, _ := strings.Cut(l, ";")
			dimensions = append(dimensions, name+";method")
			limits[i] = l + ";pk=:R0VU:"
		}
		return says(200, "RateLimit", strings.Join(limits, ", "), "RateLimit-Partition", strings.Join(dimensions, ", "))
	},
}

// A policy concerns every request of its origin, except kinds that were answered with
// fields that leave it out: when search is used up, core is not held.
func TestSearchDoesNotHoldCore(t *testing.T) {
	for name, form := range forms {
		bubble(t, name, func(t *testing.T) {
			answers := map[string]answer{"search": form(`"search";a=2;w=60`), "repos": form(`"core";a=50;w=60`)}
			s := &transport.Shaper{Base: byPath(answers), MaxDelay: transport.NoDelay}
			pass(t, s, getPath(t, "search"))
			pass(t, s, getPath(t, "repos/a"))
			answers["search"] = form(`"search";a=0;w=60`)
			pass(t, s, getPath(t, "search/code"))
			assert.Equal(t, "search", refusal(t, s, getPath(t, "search")).Policy)
			for range 10 {
				pass(t, s, getPath(t, "repos/b"))
			}
			// When core is used up, search is not held. No policy concerns all known
			// kinds, so none is assumed to concern a kind that was never seen.
			answers["repos"] = form(`"core";a=0;w=60`)
			pass(t, s, getPath(t, "repos"))
			assert.Equal(t, "core", refusal(t, s, getPath(t, "repos")).Policy)
			assert.Equal(t, "search", refusal(t, s, getPath(t, "search")).Policy)
			answers["users"] = form(`"core";a=0;w=60`)
			pass(t, s, getPath(t, "users"))
			assert.Equal(t, "core", refusal(t, s, getPath(t, "users")).Policy)
		})
	}
}

// A response leaves out a policy whose declaration does not match its request. The
// policy still concerns requests that match, of the same kind and of kinds that were
// never seen.
func TestLiteralLeavesNothingOut(t *testing.T) {
	answers := func(left string) *server {
		return newChooser(func(_ int, req *http.Request) answer {
			if req.Method == "POST" {
				return says(200, "RateLimit", `"writes";a=9;w=60;pk=:UE9TVA==:`, "RateLimit-Policy", `"writes";q=10;w=60`,
					"RateLimit-Partition", `"writes";method=POST`)
			}
			return says(200, "RateLimit", `"reads";a=`+left+`;w=60;pk=:R0VU:`, "RateLimit-Policy", `"reads";q=10;w=60`,
				"RateLimit-Partition", `"reads";method=GET`)
		})
	}
	for name, like := range map[string]func(*http.Request) string{
		"two kinds": nil, "one kind": func(*http.Request) string { return "all" },
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: answers("9"), MaxDelay: transport.NoDelay, Like: like}
			for range 8 {
				pass(t, s, getItems(t.Context()))
				pass(t, s, newRequest(t.Context(), "POST", items))
			}
			s.Base = answers("0")
			pass(t, s, getItems(t.Context()))
			pass(t, s, newRequest(t.Context(), "POST", items))
			assert.Equal(t, "reads", refusal(t, s, getItems(t.Context())).Policy)
			assert.Equal(t, "reads", refusal(t, s, getPath(t, "never")).Policy)
			pass(t, s, newRequest(t.Context(), "POST", site+"never"))
		})
	}
}

// GitHub's fields name one account in each response.
func TestSearchDoesNotHoldCoreOfVendor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := map[string]string{"search": "9", "core": "50"}
		srv := newChooser(func(_ int, req *http.Request) answer {
			resource := "core"
			if req.URL.Path == "/search" {
				resource = "search"
			}
			reset := fmt.Sprint(time.Now().Add(time.Minute).Unix())
			return says(200, "X-Ratelimit-Limit", "60", "X-Ratelimit-Remaining", left[resource],
				"X-Ratelimit-Reset", reset, "X-Ratelimit-Used", "1", "X-Ratelimit-Resource", resource)
		})
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		get := func(path string) *http.Request {
			return newRequest(t.Context(), "GET", "https://api.github.com/"+path)
		}
		pass(t, s, get("search"))
		pass(t, s, get("repos"))
		left["search"] = "0"
		pass(t, s, get("search"))
		assert.Equal(t, partition.Key("search"), refusal(t, s, get("search")).Partition)
		for range 10 {
			pass(t, s, get("repos"))
		}
		left["core"] = "0"
		pass(t, s, get("repos"))
		assert.Equal(t, partition.Key("core"), refusal(t, s, get("repos")).Partition)
	})
}

// letters returns a word for a number, which is not taken for an identifier.
func letters(i int) (word string) {
	for i += 26; i > 0; i /= 26 {
		word += string(rune('a' + i%26))
	}
	return word
}

// A kind that was never seen is charged to the policies that concern every known
// kind: the paths of a crawler, each of which is another kind, share one policy. This
// also holds beyond the number of kinds that are told apart.
func TestCrawler(t *testing.T) {
	for name, api := range map[string]*transporttest.API{"all": {}, "limits": {OmitPolicies: true}, "policies": {OmitLimits: true}} {
		bubble(t, name, func(t *testing.T) {
			const paths = 3_000
			api.Policies = []transporttest.Policy{{Name: "api", Quota: paths, Window: 24 * time.Hour}}
			s := &transport.Shaper{Base: &transporttest.Transport{Handler: api}, MaxDelay: transport.NoDelay}
			for i := range paths {
				resp, err := s.RoundTrip(getPath(t, letters(i)))
				require.NoError(t, err)
				drop(resp)
			}
			for _, path := range []string{letters(7), letters(paths - 1), "never"} {
				assert.Equal(t, "api", refusal(t, s, getPath(t, path)).Policy, path)
			}
			assert.Equal(t, transporttest.Counts{Served: paths}, api.Counts())
		})
	}
}

// Beyond the bound an arbitrary kind is forgotten for each new one. What the response
// to a kind says counts for this kind, however many kinds there are.
func TestKindsPastTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := forms["both"] // responses that name all policies
		answers := map[string]answer{"core": both(`"core";a=9;w=600`), "search": both(`"search";a=9;w=600`)}
		plain := both(`"api";a=9999;w=600`)
		srv := newChooser(func(_ int, req *http.Request) answer {
			if a := answers[req.URL.Path[1:]]; a != nil {
				return a
			}
			return plain
		})
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Like: func(req *http.Request) string { return req.URL.Path }}
		for i := range 2000 {
			pass(t, s, getPath(t, fmt.Sprint("a", i)))
		}
		pass(t, s, getPath(t, "core"))
		answers["core"] = both(`"core";a=0;w=600`)
		pass(t, s, getPath(t, "core"))
		assert.Equal(t, "core", refusal(t, s, getPath(t, "core")).Policy)
		pass(t, s, getPath(t, "search"))
		pass(t, s, getPath(t, "a7"))
	})
}

// A policy that a response left out concerns the kind again when a later response
// names it.
func TestPolicyComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := forms["both"]
		srv := newServer(both(`"a";a=9;w=600`, `"b";a=0;w=600`), both(`"a";a=9;w=600`), says(200),
			both(`"a";a=9;w=600`, `"b";a=0;w=600`))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		bypass := transport.WithBypass(t.Context())
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, "b", refusal(t, s, getItems(t.Context())).Policy)
		pass(t, s, getItems(bypass))
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, "b", refusal(t, s, getItems(t.Context())).Policy)
	})
}

// Some responses do not name all the policies that concern a request: without a
// RateLimit-Policy, perhaps only the policy with the least left (draft -09, Appendix
// A.3.1); with a refusal, perhaps only the policy that refused. A kind that was told
// of a policy keeps it, however many such responses leave it out.
func TestMostConstrainingAlone(t *testing.T) {
	const hour, day = `"hour";a=0;w=3600`, `"day";a=90;w=86400`
	for name, partial := range map[string]answer{
		"no policies": limit(day),
		"malformed":   says(200, "RateLimit", day, "RateLimit-Policy", `"day";q=100;w=86400, "hour";q=x`),
		"refusal":     says(429, "RateLimit", day, "RateLimit-Policy", `"day";q=100;w=86400`, "Retry-After", "1"),
	} {
		bubble(t, name, func(t *testing.T) {
			answers := append([]answer{limit(hour)}, slices.Repeat([]answer{partial}, 12)...)
			all := says(200, "RateLimit", day, "RateLimit-Policy", `"day";q=100;w=86400`)
			s := &transport.Shaper{Base: newServer(append(answers, all)...), MaxDelay: transport.NoDelay}
			bypass := transport.WithBypass(t.Context())
			for range answers {
				pass(t, s, getItems(bypass))
				time.Sleep(2 * time.Second)
				assert.Equal(t, "hour", refusal(t, s, getItems(t.Context())).Policy)
			}
			pass(t, s, getItems(bypass))
			pass(t, s, getItems(t.Context()))
		})
	}
	bubble(t, "own count", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"day";a=6;w=5000`), limit(`"hour";a=50;w=100`)), MaxDelay: transport.NoDelay}
		for range 1 + 6 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, "day", refusal(t, s, getItems(t.Context())).Policy)
	})
}

// A service limit for one of several policies leaves the others to our own count
// (draft -09, Appendix A.3.1): what RateLimit-Policy names is not left out.
func TestPolicyWithoutLimitIsNotLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(
			says(200, "RateLimit", `"day";a=99;w=86400`, "RateLimit-Policy", `"day";q=100;w=86400, "hour";q=3;w=3600`))}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, "hour", refusal(t, s, getItems(t.Context())).Policy)
	})
}

// A response without valid fields, from a cache, or about another request does not
// say that a policy does not concern this request.
func TestResponsesThatLeaveNothingOut(t *testing.T) {
	const other = `"other";a=9;w=600`
	policy := []string{"RateLimit", other, "RateLimit-Policy", `"other";q=10;w=600`}
	for name, a := range map[string]answer{
		"no fields":     says(200),
		"Retry-After":   says(200, "Retry-After", "0"),
		"malformed":     says(200, "RateLimit", `"other;a=9`, "RateLimit-Policy", `"other;q=9`),
		"declaration":   says(200, "RateLimit-Partition", `"other";method`),
		"Age":           says(200, append(policy, "Age", "1")...),
		"Cache-Status":  says(200, append(policy, "Cache-Status", `"edge"; hit`)...),
		"X-From-Cache":  says(200, append(policy, "X-From-Cache", "1")...),
		"failure":       fails(errBroken),
		"another kind":  says(200, policy...),
		"another scope": says(200, policy...),
		"another origin": func(req *http.Request) (*http.Response, error) { // Base has followed a redirect
			next := newRequest(req.Context(), "GET", "http://other.example/items")
			next.Response = &http.Response{StatusCode: 302, Request: req}
			return says(200, policy...)(next)
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=600`), a), MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			for range 8 {
				req := getItems(transport.WithBypass(t.Context()))
				switch name {
				case "another kind":
					req.Method = "PUT"
				case "another scope":
					req.Header.Set("Authorization", "Bearer b")
				}
				resp, _ := s.RoundTrip(req)
				drop(resp)
			}
			assert.Equal(t, "api", refusal(t, s, getItems(t.Context())).Policy)
		})
	}
}

// If Base sends the request to another address, such as one of many backends, the
// response is still one of the origin.
func TestBaseThatChoosesABackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(func(req *http.Request) (*http.Response, error) {
			return limit(`"api";a=0;w=60`)(newRequest(req.Context(), "GET", "http://10.0.0.7:8080/items"))
		})
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		refusal(t, s, getItems(t.Context()))
	})
}

// In draft -06 RateLimit-Policy names the policies beside the unnamed one: a response
// without it does not leave them out, nor does one with a single policy, which may be
// another one in the next response. One that names several leaves out the others.
func TestOlderPoliciesAreNotLeftOut(t *testing.T) {
	figures := func(fields ...string) answer {
		return says(200, append(fields, "RateLimit-Remaining", "99", "RateLimit-Reset", "600")...)
	}
	for _, next := range []struct {
		name   string
		fields []string
		left   bool
	}{
		{"none", []string{"RateLimit-Limit", "100"}, false},
		{"none but in the limit", []string{"RateLimit-Limit", "100, 100;w=600, 50;w=300"}, false},
		{"one", []string{"RateLimit-Limit", "100", "RateLimit-Policy", "100;w=600"}, false},
		{"several", []string{"RateLimit-Limit", "100", "RateLimit-Policy", "100;w=600, 50;w=300"}, true},
	} {
		bubble(t, next.name, func(t *testing.T) {
			srv := newServer(figures("RateLimit-Limit", "100", "RateLimit-Policy", "100;w=600, 3;w=60"), figures(next.fields...))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			for range 3 {
				pass(t, s, getItems(t.Context()))
			}
			if next.left {
				pass(t, s, getItems(t.Context()))
			} else {
				assert.Equal(t, "3;w=60", refusal(t, s, getItems(t.Context())).Policy)
			}
		})
	}
}

// Responses to one scope say nothing of another.
func TestKindsOfScopesAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plans := map[string]string{"alice": `"free";a=5;w=60`, "bob": `"pro";a=5;w=60`}
		srv := newChooser(func(_ int, req *http.Request) answer { return limit(plans[partition.UserID(req.Context())]) })
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		get := func(user string) *http.Request { return asUser(t.Context(), user, "GET", items) }
		for range 3 {
			pass(t, s, get("alice"))
			pass(t, s, get("bob"))
		}
		plans["alice"] = `"free";a=0;w=60`
		pass(t, s, get("alice"))
		assert.Equal(t, "free", refusal(t, s, get("alice")).Policy)
		pass(t, s, get("bob"))
		plans["bob"] = `"pro";a=0;w=60`
		pass(t, s, get("bob"))
		assert.Equal(t, "pro", refusal(t, s, get("bob")).Policy)
	})
}

// A request of an unknown kind was charged to a policy that turns out not to concern
// it. The charge is given back, also for requests that were in flight beside it.
func TestUnseenKindIsNotCharged(t *testing.T) {
	for name, form := range forms {
		bubble(t, name, func(t *testing.T) {
			answers := map[string]answer{
				"search": form(`"search";a=20;w=60`), "repos": slow(time.Second, form(`"core";a=50;w=60`)),
			}
			s := &transport.Shaper{Base: byPath(answers), MaxDelay: transport.NoDelay}
			pass(t, s, getPath(t, "search"))
			burst(t, s, 20, func(int) *http.Request { return newRequest(context.Background(), "GET", site+"repos") })
			answers["search"] = says(200)
			for range 20 {
				pass(t, s, getPath(t, "search"))
			}
			refusal(t, s, getPath(t, "search"))
		})
	}
	bubble(t, "concurrent requests", func(t *testing.T) {
		answers := map[string]answer{
			"export": says(200, "RateLimit-Policy", `"exports";q=2;qu="concurrent-requests"`),
			"repos":  limit(`"core";a=50;w=60`),
		}
		s := &transport.Shaper{Base: byPath(answers), MaxDelay: transport.NoDelay}
		var open []*http.Response
		for _, path := range []string{"export", "repos", "export"} {
			resp, err := s.RoundTrip(getPath(t, path))
			require.NoError(t, err)
			open = append(open, resp)
		}
		refusal(t, s, getPath(t, "export"))
		drop(open[1])
		refusal(t, s, getPath(t, "export"))
		drop(open[0])
		pass(t, s, getPath(t, "export"))
		drop(open[2])
	})
}

// DefaultLike is the kind of a Shaper without Like: the method and the path, with
// numbers and identifiers as one.
func TestDefaultLike(t *testing.T) {
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "items/7?a=b", "GET /items/*"},
		{"", "items", "GET /items"},
		{"POST", "items/", "POST /items"},
		{"GET", "", "GET /"},
		{"GET", "api/v3/repos//golang/go/issues/5/comments", "GET /api/v3/repos/golang/go/issues"},
		{"GET", "1.1/statuses/show.json", "GET /*.*/statuses/show.json"},
		{"GET", "v1.1/a17/page-2/oauth2", "GET /v1.1/a*/page-*/oauth*"},
		{"GET", "a/6ba7b810-9dad-11d1-80b4-00c04fd430c8", "GET /a/*"},
		{"GET", "a/6BA7B8109DAD11D180B400C04FD430C8", "GET /a/*"},
		{"GET", "a/1a2b3c4/01ARZ3NDEKTSV4RRFFQ69G5FAV/U012AB3CD/cus_9s6XKzkNRiz8i3/dQw4w9WgXcQ", "GET /a/*/*/*/*/*"},
		{"GET", "a/jo@example.com/@me/" + strings.Repeat("x", 65), "GET /a/*/@me/*"},
		{"GET", "api/chat.postMessage/facade/getUserInformationForAll", "GET /api/chat.postMessage/facade/getUserInformationForAll"},
		{"GET", "2024-01-02/vv1/version", "GET /*/vv*/version"},
		{"GET", "a/xk3tz9wq4r/xk3tz9wq4/1a2b3c4/1a2b3c", "GET /a/*/xk*tz*wq*/*/*a*b*c"}, // at the borders
	} {
		req := newRequest(t.Context(), "GET", site+tt.path)
		req.Method = tt.method
		assert.Equal(t, tt.want, transport.DefaultLike(req), "%+v", tt)
	}
	req := newRequest(t.Context(), "GET", "http://api.example")
	assert.Equal(t, "GET /", transport.DefaultLike(req))
	for name, like := range map[string]func(*http.Request) string{"default": nil, "function": transport.DefaultLike} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60;pk=:UkVH:`), says(200)), MaxDelay: transport.NoDelay, Like: like}
			pass(t, s, getPath(t, "items/1"))
			refusal(t, s, getPath(t, "items/2"))
			pass(t, s, getPath(t, "items"))
			pass(t, s, getPath(t, "search"))
			pass(t, s, newRequest(t.Context(), "PUT", items))
		})
	}
}

// Two methods of an API under one beginning are two kinds: when one is used up, the
// other goes, also before it was ever answered.
func TestPathsUnderOneBeginning(t *testing.T) {
	for name, paths := range map[string][2]string{
		"an enterprise server": {"api/v3/search", "api/v3/repos"},
		"methods of an API":    {"api/chat.postMessage", "api/users.list"},
		"versions":             {"v1/completions", "v1/models"},
		"two searches":         {"search/code", "search/issues"},
	} {
		bubble(t, name, func(t *testing.T) {
			answers := map[string]answer{paths[0]: limit(`"one";a=1;w=60`), paths[1]: limit(`"two";a=9;w=60`), "never": says(200)}
			s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newChooser(func(_ int, req *http.Request) answer {
				return answers[req.URL.Path[1:]]
			})}
			pass(t, s, getPath(t, paths[0]))
			pass(t, s, getPath(t, paths[1]))
			answers[paths[0]] = limit(`"one";a=0;w=60`)
			pass(t, s, getPath(t, paths[0]))
			refusal(t, s, getPath(t, paths[0]))
			for range 5 {
				pass(t, s, getPath(t, paths[1]))
			}
			pass(t, s, getPath(t, "never"))
		})
	}
}

// Requests that wait for a policy go at once when it turns out not to concern them.
func TestLeftOutWhileInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]answer{
			"repos":  limit(`"core";a=0;w=60`),
			"search": slow(2*time.Second, limit(`"search";a=9;w=60`)),
		}
		s := &transport.Shaper{Base: byPath(answers)}
		var wg sync.WaitGroup
		wg.Go(func() { assert.Equal(t, 2*time.Second, delay(t, s, getPath(t, "search"))) })
		synctest.Wait()
		pass(t, s, getPath(t, "repos"))
		wg.Go(func() { assert.Equal(t, 60*time.Second+guard(0), delay(t, s, getPath(t, "repos"))) })
		synctest.Wait()
		for range 3 {
			wg.Go(func() { assert.Equal(t, 4*time.Second, delay(t, s, getPath(t, "search"))) })
		}
		wg.Wait()
	})
}
