package transport_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// tight returns an API with a quota for each user and method.
func tight(window time.Duration, by ...string) *transporttest.API {
	return &transporttest.API{Policies: []transporttest.Policy{
		{Name: "api", Quota: 5, Window: window, PartitionBy: by},
	}}
}

// A client that knows the values of the declared dimensions computes the partition of a
// request before it is sent (the draft, Section 4.2). A user whose quota is used up
// never delays another user of the same client with the same credentials.
func TestHotUserDelaysNobody(t *testing.T) {
	identified := map[string]struct {
		dimensions partition.Dimensions
		request    func(ctx context.Context, user string) *http.Request
	}{
		"by the context": {request: func(ctx context.Context, user string) *http.Request {
			req := asUser(ctx, user, http.MethodGet, items)
			req.Header.Set("X-User", user)
			return req
		}},
		"by a dimension": {
			dimensions: partition.Dimensions{"user_id": func(req *http.Request) (string, bool) {
				user := req.Header.Get("X-User")
				return user, user != ""
			}},
			request: func(ctx context.Context, user string) *http.Request {
				req := getItems(ctx)
				req.Header.Set("X-User", user)
				return req
			},
		},
		"by credentials": {request: func(ctx context.Context, user string) *http.Request {
			req := asUser(ctx, user, http.MethodGet, items)
			req.SetBasicAuth(user, "secret")
			return req
		}},
	}
	for name, how := range identified {
		bubble(t, name, func(t *testing.T) {
			api := tight(60*time.Second, "user_id", "method")
			s := &transport.Shaper{
				Base:       &transporttest.Transport{Handler: api, Latency: func() time.Duration { return rtt }},
				Dimensions: how.dimensions,
				MaxDelay:   time.Hour,
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				pass(t, s, how.request(t.Context(), "hot"))
				burst(t, s, 50, func(int) *http.Request { return how.request(t.Context(), "hot") })
			}()
			time.Sleep(rtt / 2)
			for i := range 10 {
				light := fmt.Sprint("light-", i)
				for range 5 {
					assert.Equal(t, rtt, delay(t, s, how.request(t.Context(), light)), "%s was held", light)
				}
				time.Sleep(rtt)
			}
			<-done
			assert.Zero(t, api.Counts().Refused)
			assert.EqualValues(t, 51, api.Counts("hot").Served)
		})
	}
}

// Requests in flight for one partition do not count against another, even if that one
// becomes known in the meantime, and whether keys are predicted or go by the kind.
func TestNewPartitionIsNotCharged(t *testing.T) {
	for name, declaration := range map[string]string{"declared": `"api";user_id`, "undeclared": ""} {
		bubble(t, name, func(t *testing.T) {
			user := func(req *http.Request) (string, bool) { return req.Header.Get("X-User"), true }
			srv := newChooser(func(_ int, req *http.Request) answer {
				pk := map[string]string{"hot": ":aG90:", "light": ":bGlnaHQ=:"}[req.Header.Get("X-User")]
				fields := []string{"RateLimit", `"api";a=5;w=60;pk=` + pk}
				if declaration != "" {
					fields = append(fields, "RateLimit-Partition", declaration)
				}
				if req.URL.RawQuery == "slow" {
					return slow(30*time.Second, says(200, fields...))
				}
				return says(200, fields...)
			})
			s := &transport.Shaper{Base: srv, Dimensions: partition.Dimensions{"user_id": user}}
			request := func(user, query string) *http.Request {
				req := newRequest(context.Background(), http.MethodGet, "http://api.example/"+user+query)
				req.Header.Set("X-User", user)
				return req
			}
			pass(t, s, request("hot", ""))
			for range 5 {
				go pass(t, s, request("hot", "?slow"))
			}
			synctest.Wait()
			for range 5 {
				assert.Zero(t, delay(t, s, request("light", "")))
			}
			time.Sleep(time.Minute)
		})
	}
}

// A literal "indicates that the policy applies only to requests where that
// dimension matches" (the draft, Section 4.1).
func TestLiteralDimension(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(says(200,
			"RateLimit", `"reads";a=0;w=60;pk=:R0VU:`,
			"RateLimit-Partition", `"reads";method=GET`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		for range 3 {
			pass(t, s, newRequest(t.Context(), http.MethodPost, items))
		}
		for _, method := range []string{"GET", ""} { // an empty method is GET
			req := getItems(t.Context())
			req.Method = method
			assert.Equal(t, partition.Key("GET"), refusal(t, s, req).Partition)
		}
	})
}

// A literal that does not match also counts if there is no key, and if another
// dimension is unknown: the request is not charged to the policy, whatever is known of
// its kind.
func TestLiteralDimensionWins(t *testing.T) {
	for name, fields := range map[string][]string{
		"no key":        {"RateLimit", `"reads";a=0;w=60`, "RateLimit-Partition", `"reads";method=GET`},
		"same kind":     {"RateLimit", `"reads";a=0;w=60;pk=:R0VU:`, "RateLimit-Partition", `"reads";method=GET`},
		"also opaque":   {"RateLimit", `"reads";a=0;w=60;pk=:R0VU:`, "RateLimit-Partition", `"reads";method=GET;region`},
		"policy's only": {"RateLimit-Policy", `"reads";q=1;w=60`, "RateLimit-Partition", `"reads";method=GET`},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200, fields...), says(200)), MaxDelay: transport.NoDelay,
				Like: func(*http.Request) string { return "all" }}
			pass(t, s, getItems(t.Context()))
			for range 3 {
				pass(t, s, newRequest(t.Context(), http.MethodPost, items))
			}
			refusal(t, s, getItems(t.Context()))
		})
	}
}

// Keys are also predicted for partitions that were never seen: the first request of one
// goes, and requests beside it count with it.
func TestPredictedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := tight(60*time.Second, "user_id", "method")
		s := &transport.Shaper{Base: &transporttest.Transport{Handler: api}, MaxDelay: transport.NoDelay}
		request := func(user, method, path string) *http.Request {
			req := asUser(t.Context(), user, method, "http://api.example"+path)
			req.Header.Set("X-User", user)
			return req
		}
		for range 5 {
			pass(t, s, request("alice", "GET", "/a"))
		}
		// The dimensions are the user and the method, so the path does not matter.
		assert.Equal(t, partition.Key("GET\x1falice"), refusal(t, s, request("alice", "GET", "/b")).Partition)
		pass(t, s, request("alice", "POST", "/a"))
		pass(t, s, request("bob", "GET", "/a"))
	})
}

// "A client that does not recognize or cannot compute the value of any
// dimension MUST treat the partition key for that policy as opaque and MUST NOT
// attempt to construct partition keys" (the draft, Section 4.1). The key last seen for
// requests of the kind is used; if there is none, the request goes.
func TestOpaqueDimensions(t *testing.T) {
	for name, declaration := range map[string]string{
		"undeclared":      "",
		"unknown":         `"api";region`,
		"not understood":  `"api";method=?0`,
		"a date":          `"api";method=@1742860800`,
		"known and not":   `"api";method;region`,
		"contradictory":   `"api";method, "api";user_id`,
		"no value for it": `"api";user_id`,
		"another policy":  `"other";method`,
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(says(200, "RateLimit", `"api";a=0;w=60;pk=:UkVH:`, "RateLimit-Partition", declaration), says(200))
			if declaration == "" {
				srv = newServer(limit(`"api";a=0;w=60;pk=:UkVH:`), says(200))
			}
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Trace: &transport.Trace{
				Mispredicted: func(i transport.MispredictedInfo) { assert.Fail(t, "predicted", "%+v", i) },
			}}
			pass(t, s, getItems(t.Context()))
			// The same kind: the same method and path.
			err := refusal(t, s, newRequest(t.Context(), "GET", items+"?page=2"))
			assert.Equal(t, partition.Key("REG"), err.Partition)
			// Other kinds.
			pass(t, s, newRequest(t.Context(), "POST", items))
			pass(t, s, newRequest(t.Context(), "GET", "http://api.example/search"))
			pass(t, s, newRequest(t.Context(), "GET", "http://api.example"))
		})
	}
}

// Shaper.Like decides which requests are of one kind.
func TestLike(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=60;pk=:UkVH:`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Like: func(req *http.Request) string {
			return req.URL.Query().Get("region")
		}}
		pass(t, s, newRequest(t.Context(), "GET", items+"?region=eu"))
		refusal(t, s, newRequest(t.Context(), "POST", "http://api.example/search?region=eu"))
		pass(t, s, newRequest(t.Context(), "GET", items+"?region=us"))
	})
}

// The server may count a kind of requests under one key now and another later: the last
// key is used.
func TestKeyOfKindFollowsTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=9;w=60;pk=:QQ==:`), limit(`"api";a=0;w=60;pk=:Qg==:`), limit(`"api";a=9;w=60;pk=:QQ==:`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, partition.Key("B"), refusal(t, s, getItems(t.Context())).Partition)
		pass(t, s, getItems(transport.WithBypass(t.Context())))
		pass(t, s, getItems(t.Context()))
	})
}

// A pk on the policy alone serves the service limit, too (the draft, Sections
// 2.1.4 and 3.1.3), with and without a declaration.
func TestKeyOnPolicyAlone(t *testing.T) {
	const policy = `"api";q=10;w=60;pk=:R0VUH2FsaWNl:`
	for name, fields := range map[string][]string{
		"declared":   {"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", policy, "RateLimit-Partition", `"api";user_id;method`},
		"undeclared": {"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", policy},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200, fields...), says(200)), MaxDelay: transport.NoDelay}
			pass(t, s, asUser(t.Context(), "alice", "GET", items))
			err := refusal(t, s, asUser(t.Context(), "alice", "GET", items))
			assert.Equal(t, partition.Key("GET\x1falice"), err.Partition)
			pass(t, s, asUser(t.Context(), "alice", "POST", items))
		})
	}
	// A policy without a service limit is counted by the client, in each partition.
	for name, fields := range map[string][]string{
		"no limit":                 {"RateLimit-Policy", `"api";q=2;w=60;pk=:R0VUH2FsaWNl:`},
		"a limit of another":       {"RateLimit-Policy", `"api";q=2;w=60;pk=:R0VUH2FsaWNl:, "day";q=99;w=86400`, "RateLimit", `"day";a=99;w=3600`},
		"a limit of another keyed": {"RateLimit-Policy", `"api";q=2;w=60;pk=:R0VUH2FsaWNl:`, "RateLimit", `"day";a=99;w=3600;pk=:QQ==:`},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200, fields...)), MaxDelay: transport.NoDelay}
			for range 2 {
				pass(t, s, asUser(t.Context(), "alice", "GET", items))
			}
			err := refusal(t, s, asUser(t.Context(), "alice", "GET", items))
			assert.Equal(t, partition.Key("GET\x1falice"), err.Partition)
			pass(t, s, asUser(t.Context(), "alice", "POST", items))
		})
	}
	bubble(t, "two partitions of a policy", func(t *testing.T) {
		// The limit may belong to either: it has no key, and applies to the scope.
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(says(200,
			"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", `"api";q=9;w=60;pk=:QQ==:, "api";q=9;w=60;pk=:Qg==:`))}
		pass(t, s, getItems(t.Context()))
		assert.NotPanics(t, func() { s.Check(getItems(t.Context())) })
	})
}

// A prediction is checked. When the server counts a request under another key, the
// declaration is not used any more, for that policy and scope, until another one comes.
// The hook Mispredicted is called once.
func TestMisprediction(t *testing.T) {
	const wrong, right = `"api";method`, `"api";user_id`
	synctest.Test(t, func(t *testing.T) {
		declared, left := wrong, "9"
		srv := newChooser(func(_ int, req *http.Request) answer {
			pk := map[string]string{"alice": ":YWxpY2U=:", "bob": ":Ym9i:"}[partition.UserID(req.Context())]
			return says(200, "RateLimit", `"api";a=`+left+`;w=60;pk=`+pk, "RateLimit-Partition", declared)
		})
		var seen []transport.MispredictedInfo
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Trace: &transport.Trace{
			Mispredicted: func(i transport.MispredictedInfo) { seen = append(seen, i) },
		}}
		alice := asUser(t.Context(), "alice", "GET", items)
		pass(t, s, alice)
		assert.Equal(t, []transport.MispredictedInfo{
			{RequestInfo: about(alice), Policy: "api", Predicted: "GET", Actual: "alice"},
		}, seen)
		pass(t, s, asUser(t.Context(), "alice", "GET", items))
		assert.Len(t, seen, 1, "Mispredicted was called again")

		// No prediction: requests of another kind go, those of this kind use the key seen.
		left = "0"
		pass(t, s, asUser(t.Context(), "alice", "GET", items))
		assert.Equal(t, partition.Key("alice"), refusal(t, s, asUser(t.Context(), "alice", "GET", items)).Partition)
		left = "9"
		pass(t, s, asUser(t.Context(), "alice", "GET", "http://api.example/search"))

		// In another scope the declaration is still used.
		pass(t, s, asUser(t.Context(), "bob", "GET", items))
		assert.Len(t, seen, 2)

		// With another declaration keys are predicted again, for any kind of requests.
		declared, left = right, "0"
		pass(t, s, asUser(t.Context(), "bob", "GET", items))
		assert.Len(t, seen, 2)
		assert.Equal(t, partition.Key("bob"), refusal(t, s, asUser(t.Context(), "bob", "PUT", "http://api.example/never/seen")).Partition)
		pass(t, s, asUser(t.Context(), "alice", "PUT", "http://api.example/x")) // the last of her nine
		assert.Equal(t, partition.Key("alice"), refusal(t, s, asUser(t.Context(), "alice", "GET", "http://api.example/y")).Partition)
	})
}

// The cost is that of Shaper.Cost under each policy. 0 is no cost, and a negative number
// says that it does not know.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cost := func(req *http.Request, p quota.Policy) int64 {
			var n int64
			_, _ = fmt.Sscan(req.Header.Get("X-Cost-"+p.Name), &n)
			return n
		}
		srv := newServer(limit(`"A";a=10;w=60, "B";a=4;w=60`), says(200))
		s := &transport.Shaper{Base: srv, Cost: cost, MaxDelay: transport.NoDelay}
		request := func(a, b string) *http.Request {
			req := getItems(t.Context())
			req.Header.Set("X-Cost-A", a)
			req.Header.Set("X-Cost-B", b)
			return req
		}
		pass(t, s, request("0", "0"))
		pass(t, s, request("6", "1"))
		assert.Equal(t, "A", refusal(t, s, request("5", "1")).Policy)
		assert.Equal(t, "B", refusal(t, s, request("1", "4")).Policy)
		pass(t, s, request("4", "3"))
		refusal(t, s, request("1", "0"))
		refusal(t, s, request("0", "1"))
		pass(t, s, request("0", "0"))
		assert.Equal(t, "B", refusal(t, s, request("0", "-9")).Policy)
		assert.Equal(t, "A", refusal(t, s, request("-9223372036854775808", "0")).Policy)
	})
}

// A huge cost does not overflow to a negative one.
func TestHugeCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := int64(0)
		srv := newServer(limit(`"api";a=3;w=10`), slow(time.Hour, says(200)))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Cost: func(*http.Request, quota.Policy) int64 { return huge }}
		pass(t, s, getItems(t.Context()))
		huge = 1<<63 - 1
		for range 3 {
			go func() { // sent at once, by WithBypass
				resp, _ := s.RoundTrip(getItems(transport.WithBypass(context.Background())))
				drop(resp)
			}()
		}
		synctest.Wait()
		huge = 1
		refusal(t, s, getItems(t.Context()))
		time.Sleep(2 * time.Hour)
	})
}

// An exchange that is used again predicts nothing of the request before, although the origin
// was evicted and has no policies yet.
func TestPredictionIsOfThisRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newChooser(func(_ int, req *http.Request) answer {
			if req.URL.Host != "api.example" {
				return says(200)
			}
			pk := base64.StdEncoding.EncodeToString([]byte(req.Header.Get("X-User")))
			return says(200, "RateLimit-Partition", `"api";user_id`, "RateLimit", `"api";a=9;w=60;pk=:`+pk+`:`)
		})
		s := &transport.Shaper{Base: srv, Accounts: &quota.Accounts{MaxOrigins: 1}, Trace: &transport.Trace{
			Mispredicted: func(i transport.MispredictedInfo) { t.Errorf("%s predicted, %s answered", i.Predicted, i.Actual) },
		}}
		as := func(user, url string) *http.Request {
			req := newRequest(partition.WithUserID(context.Background(), user), "GET", url)
			req.Header.Set("X-User", user)
			return req
		}
		pass(t, s, as("alice", items))
		time.Sleep(time.Hour)
		pass(t, s, as("alice", "http://other.example/"))
		pass(t, s, as("bob", items))
	})
}
