package transport_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// If a server names no partition, quotas are kept for each identity: for each
// credential that stays the same from request to request, and for the ids of the
// context. A value that changes with each request does not count: nothing would be
// shaped.
func TestScopeOfCredentials(t *testing.T) {
	field := func(name, value string) func(*http.Request) {
		return func(req *http.Request) { req.Header.Set(name, value) }
	}
	none := func(*http.Request) {}
	both := func(authorization, accessToken string) func(*http.Request) {
		return func(req *http.Request) {
			req.Header.Set("Authorization", authorization)
			req.Header.Set("X-Access-Token", accessToken)
		}
	}
	for _, tt := range []struct {
		name string
		a, b func(*http.Request)
		same bool
	}{
		{"none", none, none, true},
		{"one Basic", field("Authorization", "Basic YTpi"), field("Authorization", "Basic YTpi"), true},
		{"two Basic", field("Authorization", "Basic YTpi"), field("Authorization", "Basic YTpj"), false},
		{"two Bearer", field("Authorization", "Bearer a"), field("Authorization", "Bearer b"), false},
		{"two bearer", field("Authorization", "bearer a"), field("Authorization", "bearer b"), false},
		{"one Bearer", field("Authorization", "Bearer a"), field("Authorization", "Bearer a"), true},
		{"Bearer and none", field("Authorization", "Bearer a"), none, false},
		{"two X-Api-Key", field("X-Api-Key", "a"), field("X-Api-Key", "b"), false},
		{"one X-Api-Key", field("X-Api-Key", "a"), field("X-Api-Key", "a"), true},
		{"two Private-Token", field("Private-Token", "a"), field("Private-Token", "b"), false},
		{"two Token", field("Authorization", "Token a"), field("Authorization", "Token b"), false},
		{"cookies", field("Cookie", "session=a"), field("Cookie", "session=b"), true},
		{"AWS signatures",
			field("Authorization", "AWS4-HMAC-SHA256 Credential=A/20260420/us-east-1/s3/aws4_request, Signature=aa"),
			field("Authorization", "AWS4-HMAC-SHA256 Credential=A/20260420/us-east-1/s3/aws4_request, Signature=bb"), true},
		{"Digest", field("Authorization", `Digest nc=00000001, response="a"`), field("Authorization", `Digest nc=00000002, response="b"`), true},
		{"HTTP signatures", field("Signature", "sig1=:a:"), field("Signature", "sig1=:b:"), true},
		{"other fields", field("User-Agent", "a"), field("User-Agent", "b"), true},
		{"signed, with an API key",
			func(req *http.Request) {
				req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Signature=aa")
				req.Header.Set("X-Api-Key", "a")
			},
			func(req *http.Request) {
				req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Signature=bb")
				req.Header.Set("X-Api-Key", "b")
			}, false},
		{"names in lower case",
			func(req *http.Request) { req.Header["x-api-key"] = []string{"a"} },
			func(req *http.Request) { req.Header["x-api-key"] = []string{"b"} }, false},
		{"one name in two cases",
			func(req *http.Request) { req.Header["x-api-key"] = []string{"a"} }, field("X-Api-Key", "a"), true},
		{"one key, two names", field("X-Api-Key", "a"), field("Api-Key", "a"), true},
		{"one token, two apps", both("Bearer a", "a"), both("Bearer a", "b"), false},
		{"two tokens, one app", both("Bearer a", "a"), both("Bearer b", "a"), false},
		{"one token, one app", both("Bearer a", "a"), both("Bearer a", "a"), true},
		{"two values", func(req *http.Request) { req.Header["X-Api-Key"] = []string{"a", "b"} },
			func(req *http.Request) { req.Header["X-Api-Key"] = []string{"a", "c"} }, false},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
			a, b := getItems(t.Context()), getItems(t.Context())
			tt.a(a)
			tt.b(b)
			pass(t, s, a)
			if tt.same {
				refusal(t, s, b)
				return
			}
			pass(t, s, b)
			refusal(t, s, a)
		})
	}
}

// The user id and the client id of the context are part of the scope, and are not
// interchangeable.
func TestScopeOfIDs(t *testing.T) {
	user, client := partition.WithUserID, partition.WithClientID
	for _, tt := range []struct {
		name string
		a, b func(context.Context) context.Context
		same bool
	}{
		{"same user", func(c context.Context) context.Context { return user(c, "a") },
			func(c context.Context) context.Context { return user(c, "a") }, true},
		{"users", func(c context.Context) context.Context { return user(c, "a") },
			func(c context.Context) context.Context { return user(c, "b") }, false},
		{"clients", func(c context.Context) context.Context { return client(c, "a") },
			func(c context.Context) context.Context { return client(c, "b") }, false},
		{"user and client", func(c context.Context) context.Context { return user(c, "a") },
			func(c context.Context) context.Context { return client(c, "a") }, false},
		{"a boundary", func(c context.Context) context.Context { return client(user(c, "a"), "bc") },
			func(c context.Context) context.Context { return client(user(c, "ab"), "c") }, false},
		{"none", func(c context.Context) context.Context { return c },
			func(c context.Context) context.Context { return user(c, "") }, true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
			pass(t, s, getItems(tt.a(t.Context())))
			if tt.same {
				refusal(t, s, getItems(tt.b(t.Context())))
				return
			}
			pass(t, s, getItems(tt.b(t.Context())))
			refusal(t, s, getItems(tt.a(t.Context())))
		})
	}
}

// Where the context names the user, a new token does not make another identity: what
// the server has said of the user stays in force.
func TestUserOutlivesToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
		request := func(user, token string) *http.Request {
			req := getItems(partition.WithUserID(t.Context(), user))
			req.Header.Set("Authorization", "Bearer "+token)
			return req
		}
		pass(t, s, request("alice", "a"))
		refusal(t, s, request("alice", "b"))
		pass(t, s, request("bob", "a"))
	})
}

// If Shaper.Scope is set, it alone decides the scope.
func TestScopeFunction(t *testing.T) {
	for _, same := range []bool{true, false} {
		s := &transport.Shaper{
			Base: newServer(limit(`"api";a=0;w=3600`), says(200)), MaxDelay: transport.NoDelay,
			Scope: func(req *http.Request) string { return req.Header.Get("X-Tenant") },
		}
		a, b := getItems(partition.WithUserID(t.Context(), "a")), getItems(partition.WithUserID(t.Context(), "b"))
		a.Header.Set("Authorization", "Bearer a")
		a.Header.Set("X-Tenant", "acme")
		b.Header.Set("X-Tenant", "acme")
		pass(t, s, a)
		if same {
			_, err := s.RoundTrip(b)
			assert.ErrorIs(t, err, transport.ErrRejected)
			continue
		}
		b.Header.Set("X-Tenant", "other")
		pass(t, s, b)
	}
}

// A partition key that the server gives to two scopes is one partition.
func TestKeyOverScopes(t *testing.T) {
	s := &transport.Shaper{
		Base:     newServer(says(200, "RateLimit", `"api";a=0;w=3600;pk=:R0VU:`, "RateLimit-Partition", `"api";method`), says(200)),
		MaxDelay: transport.NoDelay,
	}
	pass(t, s, asUser(t.Context(), "alice", "GET", items))
	_, err := s.RoundTrip(asUser(t.Context(), "bob", "GET", items))
	assert.ErrorIs(t, err, transport.ErrRejected)
	pass(t, s, asUser(t.Context(), "bob", "POST", items))
}

// The accounts hold a keyed hash of credentials. Each Accounts has another key.
func TestDefaultScopeIsHashed(t *testing.T) {
	a, b := &transport.Shaper{Accounts: new(quota.Accounts)}, new(transport.Shaper)
	a2 := &transport.Shaper{Accounts: a.Accounts}
	bearer := getItems(t.Context())
	bearer.Header.Set("Authorization", "Bearer a")
	noToken := getItems(partition.WithUserID(t.Context(), "a"))
	noToken.Header.Set("Authorization", "Bearer ")
	assert.Equal(t, a.DefaultScope(bearer), a.DefaultScope(bearer))
	assert.Equal(t, a.DefaultScope(bearer), a2.DefaultScope(bearer), "the same Accounts")
	assert.NotEqual(t, a.DefaultScope(bearer), b.DefaultScope(bearer), "other Accounts")
	assert.NotEqual(t, a.DefaultScope(bearer), a.DefaultScope(noToken))
	assert.NotContains(t, a.DefaultScope(bearer), "Bearer a")
	assert.Empty(t, a.DefaultScope(getItems(t.Context())))
}

// A Scope that adds to DefaultScope tells apart what DefaultScope does, and more.
func TestScopeThatAddsToDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
		s.Scope = func(req *http.Request) string { return s.DefaultScope(req) + " " + req.Header.Get("X-Tenant") }
		request := func(user, tenant string) *http.Request {
			req := asUser(t.Context(), user, "GET", items)
			req.Header.Set("X-Tenant", tenant)
			return req
		}
		pass(t, s, request("alice", "acme"))
		refusal(t, s, request("alice", "acme"))
		pass(t, s, request("alice", "zenith"))
		pass(t, s, request("bob", "acme"))
	})
}
