package transport_test

import (
	"context"
	"fmt"
	"net/http"
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

// byPath is a server that answers by the first segment of the path, as it is
// told at the time.
func byPath(answers map[string]answer) *server {
	return newChooser(func(_ int, req *http.Request) answer {
		first, _, _ := strings.Cut(req.URL.Path[1:], "/")
		return answers[first]
	})
}

func getPath(t *testing.T, path string) *http.Request {
	return newRequest(t.Context(), "GET", site+path)
}

// The forms in which an answer may name the policies that concern it.
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

// A policy concerns every request of its origin, except kinds that have been
// answered with fields that leave it out: search being empty does not hold core.
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
			// Nor does core hold search, and a kind that was never seen is asked for
			// what no kind has left out: for neither.
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

// A policy that does not concern a request by its own declaration is left out of
// the answer for that reason alone: it concerns others that match, of the same kind
// and of kinds that were never seen.
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
		"kinds of their own": nil, "one kind": func(*http.Request) string { return "all" },
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

// The fields of GitHub name one account each time.
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

// A kind not seen before is asked for the policies that no known kind has left
// out: a crawler's million paths, each a kind of its own, share one policy. That
// is so past the bound of kinds that are told apart.
func TestCrawler(t *testing.T) {
	for name, api := range map[string]*transporttest.API{"all": {}, "limits": {OmitPolicies: true}, "policies": {OmitLimits: true}} {
		bubble(t, name, func(t *testing.T) {
			const paths = 3_000
			api.Policies = []transporttest.Policy{{Name: "api", Quota: paths, Window: 24 * time.Hour}}
			s := &transport.Shaper{Base: &transporttest.Transport{Handler: api}, MaxDelay: transport.NoDelay}
			for i := range paths {
				resp, err := s.RoundTrip(getPath(t, fmt.Sprint("a", i)))
				require.NoError(t, err)
				drop(resp)
			}
			for _, path := range []string{"a7", fmt.Sprint("a", paths-1), "never"} {
				assert.Equal(t, "api", refusal(t, s, getPath(t, path)).Policy, path)
			}
			assert.Equal(t, transporttest.Counts{Served: paths}, api.Counts())
		})
	}
}

// Past the bound, kinds are one: what their answers name concerns all of them,
// as long as some of them do.
func TestKindsPastTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := forms["both"] // which tells apart what concerns a kind, if it is one
		answers := map[string]answer{"core": both(`"core";a=9;w=600`), "search": both(`"search";a=9;w=600`)}
		plain := both(`"api";a=9999;w=600`)
		srv := newChooser(func(_ int, req *http.Request) answer {
			if a := answers[req.Header.Get("X-Kind")]; a != nil {
				return a
			}
			return plain
		})
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		for i := range 1000 {
			resp, err := s.RoundTrip(getPath(t, fmt.Sprint("a", i)))
			require.NoError(t, err)
			drop(resp)
		}
		other := func(kind string) *http.Request {
			req := getPath(t, kind)
			req.Header.Set("X-Kind", kind)
			return req
		}
		pass(t, s, other("core"))
		answers["core"] = both(`"core";a=0;w=600`)
		pass(t, s, other("core"))
		pass(t, s, other("search").WithContext(transport.WithBypass(t.Context())))
		assert.Equal(t, "core", refusal(t, s, other("search")).Policy)
		pass(t, s, getPath(t, "a7"))
	})
}

// What an answer leaves out concerns the kind again when a later one names it.
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

// Some answers do not name all the policies that concern a request: without a
// RateLimit-Policy, perhaps the one with the least left (draft -09, Appendix
// A.3.1); a refusal, perhaps the one that refused. What others of the kind have
// named is left out when four in a row have not named it, and not before.
func TestMostConstrainingAlone(t *testing.T) {
	const hour, day = `"hour";a=0;w=3600`, `"day";a=9;w=86400`
	for name, partial := range map[string]answer{
		"no policies": limit(day),
		"malformed":   says(200, "RateLimit", day, "RateLimit-Policy", `"day";q=10;w=86400, "hour";q=x`),
		"refusal":     says(429, "RateLimit", day, "RateLimit-Policy", `"day";q=10;w=86400`, "Retry-After", "1"),
	} {
		bubble(t, name, func(t *testing.T) {
			answers := []answer{limit(hour), limit(day), partial, partial, limit(hour), partial, partial, partial, partial}
			s := &transport.Shaper{Base: newServer(answers...), MaxDelay: transport.NoDelay}
			bypass := transport.WithBypass(t.Context())
			for range len(answers) - 1 {
				pass(t, s, getItems(bypass))
				time.Sleep(2 * time.Second)
				assert.Equal(t, "hour", refusal(t, s, getItems(t.Context())).Policy)
			}
			pass(t, s, getItems(bypass))
			time.Sleep(2 * time.Second)
			pass(t, s, getItems(t.Context()))
		})
	}
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

// Only what the server says now of this request tells what does not concern it:
// fields that are fresh, and its own.
func TestAnswersThatLeaveNothingOut(t *testing.T) {
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
		"another origin": func(req *http.Request) (*http.Response, error) { // by a Base that follows redirects
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

// A Base that sends the request elsewhere, to one of many backends, say, answers
// for the origin all the same.
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

// In draft -06 it is the other policies that RateLimit-Policy names: an answer
// without it leaves none of them out.
func TestOlderPoliciesAreNotLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		figures := []string{"RateLimit-Limit", "100", "RateLimit-Remaining", "99", "RateLimit-Reset", "600"}
		srv := newServer(says(200, append(figures, "RateLimit-Policy", "100;w=600, 3;w=60")...), says(200, figures...))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, "3;w=60", refusal(t, s, getItems(t.Context())).Policy)
	})
}

// What one scope has been answered with says nothing of another.
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

// A request of a kind that was not known does not cost what turns out not to
// concern it, nor do those that were out beside it.
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

// Those who wait for a policy that turns out not to concern them go at once.
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
