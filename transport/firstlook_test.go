package transport_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// quotaOf is the API of a route.
func quotaOf(d parse.Dialect, name string, n int64, window time.Duration) *transporttest.API {
	return &transporttest.API{Dialect: d, Policies: []transporttest.Policy{{Name: name, Quota: n, Window: window}}}
}

var silentRoute = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// inDialects runs a subtest for each dialect that says what is left.
func inDialects(t *testing.T, test func(t *testing.T, d parse.Dialect)) {
	for d, name := range map[parse.Dialect]string{
		parse.VendorFields: "X-RateLimit", parse.Draft06: "-06", parse.Draft07: "-07", parse.Draft08: "-08", parse.EditorsDraft: "the draft",
	} {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

// againstLoop has the streams flow in a loop, and through a Shaper, which is no slower and is not refused.
func againstLoop(t *testing.T, of func(parse.Dialect) routes, d parse.Dialect, streams ...stream) {
	var took [2][]*stream
	for i := range took {
		for _, s := range streams {
			took[i] = append(took[i], &s)
		}
		flow(t, of(d), i == 1, took[i]...)
	}
	for i, loop := range took[0] {
		ours := took[1][i]
		t.Logf("%s: loop %v, refused %d; ours %v, refused %d", loop.path, loop.took, loop.refused, ours.took, ours.refused)
		assert.LessOrEqual(t, ours.took, loop.took+max(loop.took*3/100, 150*time.Millisecond), loop.path) // 6 round trips
		assert.Zero(t, ours.refused, loop.path)
	}
}

// Each route has a quota of its own. That of one is used up when another is called for the first time. Its requests do not
// wait for the end of the window.
func TestFirstRequestOfARoute(t *testing.T) {
	const minute = time.Minute
	for name, other := range map[string]func(d parse.Dialect) http.Handler{
		"another limit":            func(d parse.Dialect) http.Handler { return quotaOf(d, "b", 5000, time.Hour) },
		"another limit, same name": func(d parse.Dialect) http.Handler { return quotaOf(d, "a", 5000, time.Hour) },
		"a counter of its own":     func(d parse.Dialect) http.Handler { return quotaOf(d, "a", 120, minute) },
		"without a limit":          func(parse.Dialect) http.Handler { return silentRoute },
	} {
		t.Run(name, func(t *testing.T) {
			inDialects(t, func(t *testing.T, d parse.Dialect) {
				againstLoop(t, func(d parse.Dialect) routes {
					return routes{"/v1/a": quotaOf(d, "a", 120, minute), "/v1/b": other(d)}
				}, d, stream{path: "/v1/a", n: 200, workers: 5}, stream{path: "/v1/b", n: 101, workers: 10, from: 5 * time.Second})
			})
		})
	}
	t.Run("two more routes", func(t *testing.T) {
		inDialects(t, func(t *testing.T, d parse.Dialect) {
			againstLoop(t, func(d parse.Dialect) routes {
				return routes{"/v1/a": quotaOf(d, "a", 5, minute), "/v1/b": quotaOf(d, "b", 5000, time.Hour), "/v1/c": quotaOf(d, "c", 300, minute)}
			}, d, stream{path: "/v1/a", n: 15, workers: 5}, stream{path: "/v1/b", n: 101, workers: 10, from: 5 * time.Second}, stream{path: "/v1/c", n: 101, workers: 10, from: 5 * time.Second})
		})
	})
	t.Run("a few an hour", func(t *testing.T) {
		inDialects(t, func(t *testing.T, d parse.Dialect) {
			againstLoop(t, func(d parse.Dialect) routes {
				return routes{"/v1/a": quotaOf(d, "a", 100, time.Hour), "/v1/b": quotaOf(d, "b", 300, minute)}
			}, d, stream{path: "/v1/a", n: 100, workers: 5}, stream{path: "/v1/b", n: 600, workers: 10, from: 5 * minute})
		})
	})
}

// A route that is told nothing was answered before any policy was known. What another route uses up does not hold it.
func TestSilentRouteCalledFirst(t *testing.T) {
	inDialects(t, func(t *testing.T, d parse.Dialect) {
		againstLoop(t, func(d parse.Dialect) routes {
			return routes{"/a": quotaOf(d, "a", 30, time.Minute), "/health": silentRoute}
		}, d, stream{path: "/a", n: 90, workers: 5, from: 10 * time.Second}, stream{path: "/health", n: 20, workers: 1, every: 10 * time.Second})
	})
}

// All routes share one quota, and there are more and more of them. A look costs a refusal. So there are few: one in
// 400 requests, at most, and none once eight routes share a quota.
func TestFirstLooksAreFew(t *testing.T) {
	for name, tt := range map[string]struct {
		path func(i int) string
		n    int
		more int // refusals
	}{
		"paths alike":      {func(i int) string { return "/v1/" + letters(i) }, 3000, 0},
		"paths not alike":  {func(i int) string { return "/" + letters(i) + "/" + letters(i) }, 3000, 0},
		"one in a minute":  {func(i int) string { return "/v1/" + letters(i/60) }, 600, 1},
		"one in 9 minutes": {func(i int) string { return "/v1/" + letters(i/540) }, 3000, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inDialects(t, func(t *testing.T, d parse.Dialect) {
				var refused [2]int64
				for i, like := range []func(*http.Request) string{nil, func(*http.Request) string { return "all" }} {
					bubble(t, "60 in a minute", func(t *testing.T) {
						api := quotaOf(d, "a", 60, time.Minute)
						s := &transport.Shaper{Base: &transporttest.Transport{Handler: api}, MaxDelay: 24 * time.Hour, Like: like}
						for i := range tt.n {
							for {
								if _, status := pass(t, s, newRequest(t.Context(), http.MethodGet, itemsOrigin+tt.path(i))); status == 200 {
									break
								}
							}
						}
						refused[i] = api.Counts().Refused
					})
				}
				assert.LessOrEqual(t, refused[0], refused[1]+int64(tt.more))
			})
		})
	}
}

// The refusal of a request that looks names nothing, and has a Retry-After. It holds the quota at which the request
// looked, and no route that the quota does not concern.
func TestRefusedLookHoldsNoOtherRoute(t *testing.T) {
	inDialects(t, func(t *testing.T, d parse.Dialect) {
		bubble(t, "Retry-After", func(t *testing.T) {
			r := routes{
				"/a": quotaOf(d, "a", 10, time.Minute), "/free": silentRoute,
				"/c": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "90")
					w.WriteHeader(http.StatusTooManyRequests)
				}),
			}
			s := &transport.Shaper{Base: &transporttest.Transport{Handler: r}, MaxDelay: time.Hour}
			get := func(path string) *http.Request { return newRequest(t.Context(), http.MethodGet, itemsOrigin+path) }
			for range 10 {
				pass(t, s, get("/a"))
			}
			pass(t, s, get("/free"))
			took, status := pass(t, s, get("/c"))
			assert.Zero(t, took)
			assert.Equal(t, http.StatusTooManyRequests, status)
			assert.Zero(t, delay(t, s, get("/free")))
			assert.Zero(t, delay(t, s, get("/free")))
			assert.GreaterOrEqual(t, delay(t, s, get("/c")), 90*time.Second)
		})
	})
}

// Two routes have quotas of their own that the server gives the same name. That of one does not hold the other.
func TestQuotasOfOneName(t *testing.T) {
	inDialects(t, func(t *testing.T, d parse.Dialect) {
		synctest.Test(t, func(t *testing.T) {
			srv := &transporttest.Transport{Handler: routes{
				"/v1/login": quotaOf(d, "default", 5, time.Minute), "/v1/api": quotaOf(d, "default", 600, time.Minute),
			}}
			s := &transport.Shaper{Base: srv}
			login := func() *http.Request { return newRequest(t.Context(), "GET", itemsOrigin+"/v1/login") }
			api := func() *http.Request { return newRequest(t.Context(), "GET", itemsOrigin+"/v1/api") }
			for range 5 {
				pass(t, s, api())
				pass(t, s, login())
			}
			for range 20 {
				assert.Less(t, delay(t, s, api()), time.Second)
			}
			assert.Greater(t, delay(t, s, login()), 50*time.Second)
			assert.Less(t, delay(t, s, api()), time.Second)
		})
	})
}
