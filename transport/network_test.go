package transport_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// overNetwork runs a test with connections of HTTP/1.1 and of HTTP/2. serve starts a
// server and returns its address and a Base that trusts it.
func overNetwork(t *testing.T, test func(t *testing.T, serve func(http.Handler) (url string, base http.RoundTripper))) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			test(t, func(h http.Handler) (string, http.RoundTripper) {
				srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.ProtoMajor != version {
						t.Errorf("HTTP/%d was spoken", r.ProtoMajor)
					}
					h.ServeHTTP(w, r)
				}))
				srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs connections that were not used
				if srv.EnableHTTP2 = version == 2; srv.EnableHTTP2 {
					srv.StartTLS()
				} else {
					srv.Start()
				}
				t.Cleanup(srv.Close)
				base := srv.Client().Transport.(*http.Transport)
				base.MaxConnsPerHost = 8
				return srv.URL, base
			})
		})
	}
}

// The ways in which a request shows its user.
var identities = map[string]func(*http.Request, string) *http.Request{
	"Basic": func(req *http.Request, user string) *http.Request {
		req.SetBasicAuth(user, "secret")
		return req
	},
	"Bearer": func(req *http.Request, user string) *http.Request {
		req.Header.Set("Authorization", "Bearer "+user)
		return req
	},
	"API key": func(req *http.Request, user string) *http.Request {
		req.Header.Set("X-Api-Key", user)
		return req
	},
	"context": func(req *http.Request, user string) *http.Request {
		req.Header.Set("X-User", user)
		return req.WithContext(partition.WithUserID(req.Context(), user))
	},
}

// userOf returns the user of a request, as a server sees it.
func userOf(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-User"} {
		if user := r.Header.Get(name); user != "" {
			return user
		}
	}
	if user, _, ok := r.BasicAuth(); ok {
		return user
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// Users of one client neither share quotas nor block each other. They are told apart by
// the partition that the server names, or else by the identity of their requests. Each
// can use all of its quota, and the server refuses no request.
func TestUsersOverNetwork(t *testing.T) {
	const users, has = 5, 20
	policy := transporttest.Policy{Name: "api", Quota: has, Window: time.Hour}
	keyed := policy
	keyed.PartitionBy = []string{"user_id"}
	for name, identify := range identities {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", partitions named: ", named), func(t *testing.T) {
				overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
					apis := make(map[string]*transporttest.API)
					one := &transporttest.API{Policies: []transporttest.Policy{keyed}, User: userOf}
					for i := range users {
						if apis[fmt.Sprint("user", i)] = one; !named {
							apis[fmt.Sprint("user", i)] = &transporttest.API{Policies: []transporttest.Policy{policy}, User: userOf}
						}
					}
					url, base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { apis[userOf(r)].ServeHTTP(w, r) }))
					s := &transport.Shaper{Base: base, MaxDelay: transport.NoDelay, Accounts: new(quota.Accounts)}
					defer s.CloseIdleConnections()
					var wg sync.WaitGroup
					for user := range apis {
						get := func() error {
							resp, err := s.RoundTrip(identify(newRequest(context.Background(), "GET", url+"/items"), user))
							drop(resp)
							return err
						}
						wg.Go(func() {
							if !assert.NoError(t, get(), "first request") {
								return
							}
							var burst sync.WaitGroup
							for range 2 * has {
								burst.Go(func() { _ = get() })
							}
							burst.Wait()
							for get() == nil { // figures of overlapping requests may be too low
							}
						})
					}
					wg.Wait()
					atRest(t, s.Accounts, url)
					for user, api := range apis {
						assert.Equal(t, transporttest.Counts{Served: has}, api.Counts(user), user)
					}
				})
			})
		}
	}
}

// Shaper.Scope decides which requests have the same identity.
func TestScopeOverNetwork(t *testing.T) {
	overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 4, Window: time.Hour}}}
		url, base := serve(api)
		s := &transport.Shaper{Base: base, MaxDelay: transport.NoDelay, Scope: func(req *http.Request) string {
			return req.Header.Get("X-Team")
		}}
		defer s.CloseIdleConnections()
		get := func(user, team string) *http.Request {
			req := identities["Bearer"](newRequest(t.Context(), "GET", url), user)
			req.Header.Set("X-Team", team)
			return req
		}
		for _, user := range []string{"alice", "bob", "alice"} {
			pass(t, s, get(user, "one"))
		}
		pass(t, s, get("carol", "one"))
		for _, user := range []string{"alice", "bob", "never seen"} {
			_, err := s.RoundTrip(get(user, "one"))
			assert.ErrorIs(t, err, transport.ErrRejected, user)
		}
		_, status := pass(t, s, get("alice", "another"))
		assert.Equal(t, http.StatusTooManyRequests, status, "the other team should not have been held")
	})
}

// madeUp returns a server that makes up names, keys, dimensions, figures, costs and
// pauses.
func madeUp(seed uint64) http.Handler {
	var mu sync.Mutex
	rnd := newRand(seed)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		lie(rnd, w.Header())
		status := pick(rnd, 200, 200, 200, 200, 403, 413, 429, 503)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":["x"]}`)
	})
}

// lie sets random fields.
func lie(rnd *rand.Rand, h http.Header) {
	word := func(n int) string { return fmt.Sprintf("%0*x", n, rnd.Uint64()) }
	for i := range 1 + rnd.IntN(8) {
		name := `"` + word(8+rnd.IntN(200)) + `"`
		if i > 0 && rnd.IntN(3) == 0 {
			name = `"api"`
		}
		pk := ""
		if rnd.IntN(2) == 0 {
			pk = ";pk=:" + base64.StdEncoding.EncodeToString([]byte(word(8+rnd.IntN(700)))) + ":"
		}
		if rnd.IntN(2) == 0 {
			h.Add("RateLimit", name+";a="+pick(rnd, "0", "1", "999999999999")+";w="+pick(rnd, "0", "1", "31536000")+
				";c="+pick(rnd, "0", "1", "999999999999")+pk)
		}
		if rnd.IntN(2) == 0 {
			h.Add("RateLimit-Policy", name+";q="+pick(rnd, "0", "1", "100000")+";w="+pick(rnd, "1", "31536000")+
				pick(rnd, "", `;qu="content-bytes"`, `;qu="concurrent-requests"`, `;qu="`+word(50)+`"`)+pk)
		}
		if rnd.IntN(4) == 0 {
			dimensions := ""
			for range rnd.IntN(40) {
				dimensions += ";d" + word(20) + pick(rnd, "", "=?0", `="x"`, "=1.5", "=@1")
			}
			h.Add("RateLimit-Partition", name+dimensions+pick(rnd, "", ";method", ";method=GET", ";user_id"))
		}
	}
	if rnd.IntN(3) == 0 {
		h.Set("Retry-After", pick(rnd, "1", "86400", "999999999", "Fri, 31 Dec 9999 23:59:59 GMT"))
	}
	if rnd.IntN(4) == 0 {
		h.Set("Content-Type", "application/problem+json")
	}
}

// A server that makes everything up does not affect another origin, or its users, on
// the same client.
func TestHostileOverNetwork(t *testing.T) {
	overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
		const seed, users, has = 7, 3, 30
		policies := []transporttest.Policy{{Name: "api", Quota: has, Window: time.Hour, PartitionBy: []string{"user_id"}}}
		api := &transporttest.API{Policies: policies}
		good, trusting := serve(api)
		bad, worse := serve(madeUp(seed))
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Accounts: new(quota.Accounts), Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(bad, req.URL.Scheme+"://"+req.URL.Host) {
				return worse.RoundTrip(req)
			}
			return trusting.RoundTrip(req)
		})}
		var stop atomic.Bool
		var liar, honest sync.WaitGroup
		var lies atomic.Int64
		for i := range 4 {
			liar.Go(func() {
				for n := 0; n < 100 || !stop.Load() && n < 2_000; n++ {
					user := fmt.Sprint("user", (i+n)%users)
					req := identities["context"](newRequest(context.Background(), "POST", bad+fmt.Sprint("/", n%7)), user)
					if n%3 > 0 {
						req = req.WithContext(transport.WithBypass(req.Context()))
					}
					resp, err := s.RoundTrip(req)
					if drop(resp); err == nil {
						lies.Add(1)
					} else if _, ok := err.(*transport.RejectedError); !ok {
						t.Errorf("seed %d: %v", seed, err)
					}
				}
			})
		}
		for i := range users {
			honest.Go(func() {
				for n := range has {
					req := identities["context"](newRequest(context.Background(), "GET", good+fmt.Sprint("/a", n)), fmt.Sprint("user", i))
					resp, err := s.RoundTrip(req)
					if assert.NoError(t, err, "seed %d", seed) {
						assert.Equal(t, 200, resp.StatusCode)
						drop(resp)
					}
				}
				req := identities["context"](newRequest(context.Background(), "GET", good+"/items"), fmt.Sprint("user", i))
				_, err := s.RoundTrip(req)
				assert.ErrorIs(t, err, transport.ErrRejected)
			})
		}
		honest.Wait()
		stop.Store(true)
		liar.Wait()
		atRest(t, s.Accounts, good)
		atRest(t, s.Accounts, bad)
		assert.Greater(t, lies.Load(), int64(100), "too few responses to test anything")
		assert.Equal(t, transporttest.Counts{Served: users * has}, api.Counts())
	})
}

// A request that follows a redirect to another origin is shaped by that origin.
func TestRedirectOverNetwork(t *testing.T) {
	overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 3, Window: time.Hour}}}
		to, trusting := serve(api)
		from, base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("RateLimit", `"api";a=1;w=3600`)
			if r.URL.Path == "/last" {
				w.Header().Set("RateLimit", `"api";a=0;w=3600`)
				w.Header().Set("Retry-After", "3600")
			}
			http.Redirect(w, r, to+r.URL.Path, http.StatusTemporaryRedirect)
		}))
		client := &http.Client{Transport: &transport.Shaper{MaxDelay: transport.NoDelay, Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			if strings.HasPrefix(from, req.URL.Scheme+"://"+req.URL.Host) {
				return base.RoundTrip(req)
			}
			return trusting.RoundTrip(req)
		})}}
		for _, path := range []string{"/", "/last"} {
			resp, err := client.Get(from + path)
			require.NoError(t, err)
			assert.Equal(t, 200, resp.StatusCode)
			drop(resp)
		}
		_, err := client.Get(from)
		assert.ErrorIs(t, err, transport.ErrRejected)
		resp, err := client.Get(to)
		require.NoError(t, err)
		drop(resp)
		assert.Equal(t, transporttest.Counts{Served: 3}, api.Counts())
		_, err = client.Get(to)
		assert.ErrorIs(t, err, transport.ErrRejected)
	})
}

// Under a policy in concurrent-requests, a request counts until the body of its
// response ends, on one connection and on many.
func TestConcurrencyOverNetwork(t *testing.T) {
	overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
		var running, most atomic.Int64
		url, base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			w.Header().Set("RateLimit-Policy", `"threads";q=3;qu="concurrent-requests"`)
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, strings.Repeat("content ", 10_000))
		}))
		s := &transport.Shaper{Base: base, MaxDelay: time.Hour}
		defer s.CloseIdleConnections()
		first, err := s.RoundTrip(newRequest(t.Context(), "GET", url))
		require.NoError(t, err)
		var open []*http.Response
		for range 2 {
			resp, err := s.RoundTrip(newRequest(t.Context(), "GET", url))
			require.NoError(t, err)
			open = append(open, resp)
		}
		refused := newRequest(transport.WithNoDelay(t.Context()), "GET", url)
		_, err = s.RoundTrip(refused)
		assert.ErrorIs(t, err, transport.ErrRejected, "the request whose response advertised the policy should count")
		drop(first)
		pass(t, s, newRequest(transport.WithNoDelay(t.Context()), "GET", url))
		for _, resp := range open {
			drop(resp)
		}
		most.Store(0)
		burst(t, s, 50, func(int) *http.Request { return newRequest(context.Background(), "GET", url) })
		assert.LessOrEqual(t, most.Load(), int64(3))
		assert.Positive(t, most.Load())
		open = nil
		for range 3 {
			resp, err := s.RoundTrip(newRequest(transport.WithNoDelay(t.Context()), "GET", url))
			require.NoError(t, err, "something is held")
			open = append(open, resp)
		}
		for _, resp := range open {
			drop(resp)
		}
	})
}

// A response with content retains a permit until its body is closed. One without content retains none, in HTTP/2,
// too: there, an empty body is not http.NoBody.
func TestNoContentOverNetwork(t *testing.T) {
	overNetwork(t, func(t *testing.T, serve func(http.Handler) (string, http.RoundTripper)) {
		url, base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/204":
				w.WriteHeader(http.StatusNoContent)
			case "/304":
				w.Header().Set("Content-Length", "7")
				w.WriteHeader(http.StatusNotModified)
			case "/content":
				_, _ = io.WriteString(w, "content")
			}
		}))
		threads := quota.Concurrency(1)
		s := &transport.Shaper{Base: base, Limits: func(*http.Request) quota.Limiter { return threads }, MaxDelay: transport.NoDelay}
		defer s.CloseIdleConnections()
		var open []*http.Response // so that no body is garbage
		for _, to := range []struct{ method, path string }{
			{"HEAD", "/content"}, {"GET", "/204"}, {"POST", "/204"}, {"GET", "/304"}, {"GET", "/empty"}, {"GET", "/content"},
		} {
			resp, err := s.RoundTrip(newRequest(t.Context(), to.method, url+to.path))
			require.NoError(t, err, to)
			open = append(open, resp)
		}
		assert.Zero(t, threads.Stats().Available)
		for _, resp := range open {
			drop(resp)
		}
		assert.EqualValues(t, 1, threads.Stats().Available)
	})
}

// An upgraded connection counts until it is closed.
func TestUpgradeOverNetworkIsConcurrent(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			w.Header().Set("RateLimit-Policy", `"sockets";q=2;qu="concurrent-requests"`)
			return
		}
		conn, rw, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.CopyN(conn, rw, 4)
	}))
	defer srv.Close()
	s := &transport.Shaper{Base: srv.Client().Transport, MaxDelay: transport.NoDelay}
	upgrade := func() (io.ReadWriteCloser, error) {
		req := newRequest(t.Context(), "GET", srv.URL)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := s.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		return resp.Body.(io.ReadWriteCloser), nil
	}
	pass(t, s, newRequest(t.Context(), "GET", srv.URL)) // a 101 itself tells nothing
	one, err := upgrade()
	require.NoError(t, err)
	two, err := upgrade()
	require.NoError(t, err)
	_, err = upgrade()
	assert.ErrorIs(t, err, transport.ErrRejected)
	_, err = one.Write([]byte("ping"))
	require.NoError(t, err)
	got, err := io.ReadAll(one)
	require.NoError(t, err)
	assert.Equal(t, "ping", string(got))
	_, err = upgrade()
	assert.ErrorIs(t, err, transport.ErrRejected, "the connection was read to its end but not closed")
	require.NoError(t, one.Close())
	three, err := upgrade()
	require.NoError(t, err)
	two.Close()
	three.Close()
	for range 2 {
		conn, err := upgrade()
		require.NoError(t, err, "something is held")
		defer conn.Close()
	}
}
