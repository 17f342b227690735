package transport_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A route counts its requests in windows, and says what is left in the fields of a dialect; "": it
// says nothing. A quota of 0 stands for no limit.
type route struct {
	dialect string
	quota   int
	window  time.Duration

	until           time.Time // the end of the window
	used            int
	served, refused int
}

func (r *route) answer() answer {
	if now := time.Now(); !now.Before(r.until) {
		r.until, r.used = now.Add(r.window), 0
	}
	status := 200
	if r.used < r.quota || r.quota == 0 {
		r.used++
		r.served++
	} else {
		status = 429
		r.refused++
	}
	left, reset := strconv.Itoa(r.quota-r.used), strconv.Itoa(int((time.Until(r.until)+time.Second-1)/time.Second))
	limit, window := strconv.Itoa(r.quota), int(r.window/time.Second)
	switch r.dialect {
	case "X-RateLimit":
		return says(status, "X-RateLimit-Limit", limit, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", reset)
	case "tighter": // of this one, and of a thousand a day
		if r.used < r.quota/2 {
			return says(status, "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "500", "X-RateLimit-Reset", "40000")
		}
		return says(status, "X-RateLimit-Limit", limit, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", reset)
	case "-06":
		return says(status, "RateLimit-Limit", limit, "RateLimit-Remaining", left, "RateLimit-Reset", reset)
	case "the draft":
		return says(status, "RateLimit-Policy", fmt.Sprintf(`"login";q=%d;w=%d`, r.quota, window), "RateLimit", fmt.Sprintf(`"login";r=%s;t=%s`, left, reset))
	case "policies":
		return says(status, "RateLimit-Policy", fmt.Sprintf(`"login";q=%d;w=%d`, r.quota, window))
	}
	return says(status)
}

// Servers limit some of their routes only, or each one for itself. What one route has left holds no
// other route for long, although the fields do not say that it does not concern them.
func TestRoutesWithLimitsOfTheirOwn(t *testing.T) {
	const s, minute = time.Second, time.Minute
	for _, tt := range []struct {
		name        string
		one, other  route
		most, least int // served by each in 10 minutes
	}{
		{"one is limited, X-RateLimit", route{dialect: "X-RateLimit", quota: 5, window: minute}, route{}, 50, 5000},
		{"one is limited, -06", route{dialect: "-06", quota: 5, window: minute}, route{}, 50, 5000},
		{"one is limited, the draft", route{dialect: "the draft", quota: 5, window: minute}, route{}, 50, 5000},
		{"one is limited, policies", route{dialect: "policies", quota: 5, window: minute}, route{}, 50, 5000},
		{"few in an hour, X-RateLimit", route{dialect: "X-RateLimit", quota: 3, window: time.Hour}, route{}, 3, 5000},
		{"few in an hour, the draft", route{dialect: "the draft", quota: 3, window: time.Hour}, route{}, 3, 5000},
		{"the tighter of two limits", route{dialect: "tighter", quota: 5, window: minute}, route{}, 50, 5000},
		{"two limits, X-RateLimit", route{dialect: "X-RateLimit", quota: 10, window: 5 * s}, route{dialect: "X-RateLimit", quota: 100, window: minute}, 1200, 1000},
		{"two limits, -06", route{dialect: "-06", quota: 100, window: minute}, route{dialect: "-06", quota: 10, window: 5 * s}, 1000, 1200},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var mu sync.Mutex // guards the routes
			routes := map[string]*route{"/one": &tt.one, "/other": &tt.other}
			shaper := &transport.Shaper{MaxDelay: 2 * time.Hour, Base: newChooser(func(_ int, req *http.Request) answer {
				mu.Lock()
				defer mu.Unlock()
				return slow(rtt, routes[req.URL.Path].answer())
			})}
			var wg sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(10*time.Minute, cancel)
			for i, path := range []string{"/one", "/one", "/other", "/other"} {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond)
					for ctx.Err() == nil {
						resp, err := shaper.RoundTrip(newRequest(ctx, http.MethodGet, itemsOrigin+path))
						if err != nil {
							assert.ErrorIs(t, err, context.Canceled)
							return
						}
						drop(resp)
						time.Sleep(100*time.Millisecond + time.Duration(i)*time.Microsecond)
					}
				})
			}
			wg.Wait()
			t.Log(tt.one.served, tt.other.served, tt.one.refused, tt.other.refused)
			assert.GreaterOrEqual(t, tt.one.served, tt.most*3/4)
			assert.GreaterOrEqual(t, tt.other.served, tt.least*3/4)
			assert.LessOrEqual(t, tt.one.refused+tt.other.refused, 20) // the loop of a client without a Shaper has a hundred
		})
	}
}

// One user uses up what a route has in a minute. That says nothing of another user's requests to a
// route without a limit.
func TestLimitOfAnotherUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards the routes
		one, other := route{dialect: "policies", quota: 20, window: time.Minute}, route{}
		shaper := &transport.Shaper{MaxDelay: time.Hour, Base: newChooser(func(_ int, req *http.Request) answer {
			mu.Lock()
			defer mu.Unlock()
			r := &one
			if req.URL.Path == "/other" {
				r = &other
			}
			return slow(rtt, r.answer())
		})}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var wg sync.WaitGroup
		for _, path := range []string{"/one", "/other"} {
			wg.Go(func() {
				for ctx.Err() == nil {
					req := newRequest(ctx, http.MethodGet, itemsOrigin+path)
					req.Header.Set("Authorization", "Bearer "+path)
					resp, err := shaper.RoundTrip(req)
					if err != nil {
						return
					}
					drop(resp)
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		t.Log(one.served, other.served, one.refused, other.refused)
		assert.GreaterOrEqual(t, one.served, 190)
		assert.GreaterOrEqual(t, other.served, 3000)
		assert.Zero(t, one.refused)
	})
}

// Of the routes that are told nothing, too, one that refuses holds only itself, although another
// one is told a limit without a name.
func TestUntoldRouteWithALimitOfItsOwn(t *testing.T) {
	bubble(t, "bare 429s", func(t *testing.T) {
		told, bare, free := route{dialect: "X-RateLimit", quota: 1000, window: 10 * time.Second}, route{quota: 10, window: time.Minute}, route{}
		var mu sync.Mutex // guards the routes
		routes := map[string]*route{"/told": &told, "/bare": &bare, "/free": &free}
		n := 0
		shaper := &transport.Shaper{
			Base: newChooser(func(_ int, req *http.Request) answer {
				mu.Lock()
				defer mu.Unlock()
				n++
				return slow(rtt+time.Duration(n)*time.Nanosecond, routes[req.URL.Path].answer())
			}),
			Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }},
		}
		var wg sync.WaitGroup
		end := time.Now().Add(10 * time.Minute)
		for path := range routes {
			for range 2 {
				wg.Go(func() {
					for time.Now().Before(end) {
						resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin+path))
						assert.NoError(t, err)
						drop(resp)
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
		}
		wg.Wait()
		t.Log(told.served, bare.served, free.served, bare.refused)
		assert.Equal(t, 6000, told.served)
		assert.GreaterOrEqual(t, free.served, 5820)
		assert.GreaterOrEqual(t, bare.served, 80)
		assert.LessOrEqual(t, bare.refused, 100)
	})
}

// play sends one request after the other, each to a path, with the answer to it, and returns how
// long each one was held.
func play(t *testing.T, all ...any) (held []time.Duration) {
	var next answer
	s := &transport.Shaper{Base: newChooser(func(int, *http.Request) answer { return next })}
	for i := 0; i < len(all); i += 2 {
		next = all[i+1].(answer)
		held = append(held, delay(t, s, newRequest(t.Context(), http.MethodGet, itemsOrigin+all[i].(string))))
	}
	return held
}

// What a kind is told decides whether the limit of another kind holds it.
func TestToldKinds(t *testing.T) {
	x := func(limit, left, reset int) answer {
		return says(200, "X-RateLimit-Limit", strconv.Itoa(limit), "X-RateLimit-Remaining", strconv.Itoa(left), "X-RateLimit-Reset", strconv.Itoa(reset))
	}
	empty, silent := x(5, 0, 60), says(200)
	bare, after := says(429), says(429, "Retry-After", "60")
	spent := func(status int, more ...string) answer {
		return says(status, append(more, "X-RateLimit-Limit", "7", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60")...)
	}
	apart := []any{"/a", x(5, 4, 60), "/b", silent, "/a", x(5, 3, 60), "/b", silent, "/a", x(5, 2, 60), "/b", silent, "/a", x(5, 1, 60)}
	two := []any{"/a", x(5, 4, 60), "/b", x(600, 599, 60), "/a", x(5, 3, 60), "/b", x(600, 598, 60), "/a", x(5, 2, 60)}
	with := func(more ...any) []any { return append(append([]any(nil), apart...), more...) }
	few := []any{"/a", x(4, 3, 60), "/b", silent, "/a", x(4, 2, 60), "/b", silent, "/a", x(4, 1, 60)} // so few that no kind looks
	for _, tt := range []struct {
		name string
		play []any
		held bool // the last one is, by the others
	}{
		{"the other kind is told nothing", with("/a", empty, "/b", silent), false},
		{"a kind that is not known looks", with("/a", empty, "/c", silent), false},
		{"but not if so few are used up", append(few, "/a", x(4, 0, 60), "/c", silent), true},
		{"it was told nothing, in turn, too seldom, and looks", []any{"/a", x(5, 4, 60), "/b", silent, "/a", empty, "/b", silent}, false},
		{"but not if so few are used up", []any{"/a", x(4, 3, 60), "/b", silent, "/a", x(4, 0, 60), "/b", silent}, true},
		{"it was told the limit", with("/b", x(5, 1, 60), "/a", empty, "/b", silent), true},
		{"it was told the limit by a refusal", with("/b", says(429, "X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60"), "/b", silent), true},
		{"it was refused", with("/b", bare, "/b", silent), true},
		{"it was refused, with a Retry-After, and the limit was told", with("/b", after, "/b", x(5, 1, 60)), true},
		{"a kind that is told the limit, and has its Retry-After", with("/a", after, "/a", silent), true},
		{"another limit each time", []any{"/a", x(5, 4, 60), "/b", x(9, 4, 60), "/a", x(9, 3, 60), "/b", x(5, 3, 60), "/a", x(5, 2, 60), "/b", x(9, 2, 60), "/a", empty, "/b", silent}, true},
		{"another kind that was not known is told a limit of its own", append(two, "/c", x(7, 0, 60), "/b", x(600, 597, 60)), false},
		{"it is refused by a limit of its own", append(two, "/c", spent(403), "/b", x(600, 597, 60)), false},
		{"and asks again", append(two, "/c", spent(403), "/c", x(7, 6, 60)), true},
		{"it has a Retry-After", append(two, "/c", spent(429, "Retry-After", "60"), "/b", x(600, 597, 60)), false},
		{"and asks again after less", append(two, "/c", spent(429, "Retry-After", "60"), "/c", x(7, 6, 60)), true},
		{"a kind that is known is refused by another limit", append(two, "/b", spent(403), "/b", x(600, 597, 60)), true},
		{"errors tell nothing", []any{"/a", x(4, 3, 60), "/b", says(404), "/a", x(4, 2, 60), "/b", says(404), "/a", x(4, 1, 60), "/b", says(404), "/a", x(4, 0, 60), "/b", says(404)}, true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			held := play(t, tt.play...)
			if last := held[len(held)-1]; tt.held {
				assert.GreaterOrEqual(t, last, time.Second)
			} else {
				assert.Zero(t, last)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		held := play(t, with("/a", empty, "/a", x(5, 4, 60))...)
		assert.InDelta(t, time.Minute, held[len(held)-1], float64(time.Second), "its own")
	})
}

// A quota with a partition key says itself which requests count in it. Kinds that are told other
// keys are not told apart by their limits: that would forget which requests are out.
func TestToldWithKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quotas := map[string]*resetServer{
			"search": {quota: 30, window: time.Minute, unit: time.Second}, "core": {quota: 5000, window: time.Hour, unit: time.Second},
		}
		var mu sync.Mutex
		rnd := rand.New(rand.NewPCG(1, 2))
		s := &transport.Shaper{Base: newChooser(func(_ int, req *http.Request) answer {
			mu.Lock()
			defer mu.Unlock()
			name := strings.Trim(req.URL.Path, "/")
			a := quotas[name].answer()
			return slow(rtt+time.Duration(rnd.Int64N(int64(rtt/2))), func(req *http.Request) (*http.Response, error) {
				resp, err := a(req)
				resp.Header.Set("X-RateLimit-Resource", name)
				return resp, err
			})
		})}
		jobs := make(chan string)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for name := range jobs {
					pass(t, s, newRequest(t.Context(), http.MethodGet, "https://api.example/"+name))
				}
			})
		}
		for i := range 150 {
			jobs <- []string{"core", "search", "search"}[i%3]
		}
		close(jobs)
		wg.Wait()
		assert.Zero(t, quotas["search"].refused)
		assert.Zero(t, quotas["core"].refused)
	})
}

// A request of a route is out when it turns out that the route has a limit of its own, and another one departs
// after that. Both are refused. Nothing of the route departs before the later Retry-After has passed, although
// the first one holds the requests that wait, and is over before.
func TestRefusedInTwoScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const second = time.Second
		told := func(limit, left string) answer {
			return says(200, "X-RateLimit-Limit", limit, "X-RateLimit-Remaining", left, "X-RateLimit-Reset", "3")
		}
		refused := func(reset string) answer {
			return says(429, "Retry-After", "1", "X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset)
		}
		script := map[string][]answer{
			"/few":  {told("30", "20"), told("30", "19"), slow(second, refused("5")), slow(second/2, refused("3")), told("30", "29")},
			"/many": {told("600", "500"), told("600", "499")},
		}
		server := newChooser(func(_ int, req *http.Request) (a answer) {
			of := script[req.URL.Path]
			script[req.URL.Path] = of[1:]
			return of[0]
		})
		shaper := &transport.Shaper{Base: server, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
		get := func(path string) {
			resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin+path))
			assert.NoError(t, err)
			drop(resp)
		}
		get("/few")
		get("/few")
		var wg sync.WaitGroup
		wg.Go(func() { get("/few") })
		synctest.Wait()
		get("/many")
		get("/many") // now they are told apart
		time.Sleep(7 * second / 10)
		wg.Go(func() { get("/few") })
		time.Sleep(4 * second / 10) // the first refusal has arrived
		wg.Go(func() { get("/few") })
		wg.Wait()
		assert.Equal(t, []time.Duration{0, 0, 0, 0, 0, 7 * second / 10, 22 * second / 10}, server.times)
	})
}
