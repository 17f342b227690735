package transport_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// "If a response contains both the RateLimit and Retry-After fields, the
// Retry-After field MUST take precedence" (the draft, Section 7): nothing is sent
// before it has passed, not even a probe, although the window is over.
func TestRetryAfterWins(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fields []string
		want   time.Duration
	}{
		{"longer than the window", []string{"RateLimit", `"api";a=0;w=10`, "Retry-After", "30"}, 30 * time.Second},
		{"with something left", []string{"RateLimit", `"api";a=9;w=10`, "Retry-After", "30"}, 30 * time.Second},
		{"shorter than the window", []string{"RateLimit", `"api";a=0;w=30`, "Retry-After", "10"}, 10 * time.Second},
		{"shorter by what rounding does", []string{"RateLimit", `"api";a=0;w=30`, "Retry-After", "29"}, 30*time.Second + guard(0)},
		{"shorter by a second of two", []string{"RateLimit", `"api";a=0;w=2`, "Retry-After", "1"}, time.Second},
		{"shorter, with something left", []string{"RateLimit", `"api";a=9;w=30`, "Retry-After", "10"}, 10 * time.Second},
		{"alone", []string{"Retry-After", "30"}, 30 * time.Second},
		{"a date, by the server's clock", []string{
			"Date", "Mon, 05 Aug 2019 09:27:00 GMT", "Retry-After", "Monday, 05-Aug-19 09:27:30 GMT"}, 30 * time.Second},
		{"malformed fields", []string{"RateLimit", `"api";a=0;w=`, "Retry-After", "30"}, 30 * time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			srv := newServer(says(429, tt.fields...), says(200))
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			burst(t, s, 5, plainRequests)
			at := srv.departures()[1:]
			assert.Equal(t, tt.want, slices.Min(at))
		})
	}
}

// If the window lasts longer than Retry-After, one request is sent when Retry-After
// has passed. If it is refused, the next request of that policy waits for the end of
// the window.
func TestRetryAfterBeforeTheWindowIsOver(t *testing.T) {
	refused := func(left int) answer {
		return slow(rtt, says(429, "RateLimit", fmt.Sprintf(`"api";a=0;w=%d`, left), "Retry-After", "1"))
	}
	bubble(t, "there is more", func(t *testing.T) {
		srv := newServer(refused(60), slow(rtt, limit(`"api";a=9;w=60`)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 4, plainRequests)
		back := rtt + time.Second
		assert.Equal(t, []time.Duration{0, back, back + rtt, back + rtt, back + rtt}, srv.departures())
	})
	bubble(t, "refused", func(t *testing.T) {
		srv := newServer(refused(60), refused(59), limit(`"api";a=1;w=9`), refused(9), limit(`"api";a=9;w=9`))
		s := &transport.Shaper{Base: srv}
		for range 5 {
			pass(t, s, getItems(t.Context()))
		}
		back := rtt + time.Second
		over := back + 59*time.Second + guard(rtt)
		again := over + 9*time.Second + guard(0)
		assert.Equal(t, []time.Duration{0, back, over, over, again}, srv.departures())
	})
}

// After Retry-After alone, nothing is known of the quota: one probe is sent, and the
// others follow its response, twice as many with each round trip.
func TestProbeAfterRetryAfter(t *testing.T) {
	for _, status := range []int{429, 403, 503} {
		bubble(t, http.StatusText(status), func(t *testing.T) {
			srv := newServer(says(status, "Retry-After", "30"), slow(rtt, says(200)))
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			burst(t, s, 4, plainRequests)
			assert.Equal(t, []time.Duration{0, 30 * time.Second,
				30*time.Second + rtt, 30*time.Second + rtt, 30*time.Second + 2*rtt}, srv.departures())
		})
	}
}

// Retry-After holds requests that are already in line.
func TestRetryAfterStopsTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=1;w=10`), slow(time.Second, says(429, "Retry-After", "40")), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 6, plainRequests)
		at := srv.departures()
		assert.Zero(t, at[1])
		assert.Equal(t, times(5, 41*time.Second), at[2:])
	})
}

// There is no jitter on a Retry-After: requests wait exactly as long as the server
// says.
func TestNoJitterOnRetryAfter(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(429, "Retry-After", "7"), says(200))}
			pass(t, s, getItems(t.Context()))
			assert.Equal(t, 7*time.Second, delay(t, s, getItems(t.Context())))
		})
	}
}

// relatives are requests that differ from one of alice's in one respect.
var relatives = []struct {
	name    string
	request func(ctx context.Context) *http.Request
}{
	{"same", func(ctx context.Context) *http.Request { return asUser(ctx, "alice", http.MethodGet, items) }},
	{"other kind", func(ctx context.Context) *http.Request {
		return asUser(ctx, "alice", http.MethodGet, "http://api.example/search")
	}},
	{"other partition", func(ctx context.Context) *http.Request { return asUser(ctx, "alice", http.MethodPost, items) }},
	{"other scope", func(ctx context.Context) *http.Request { return asUser(ctx, "bob", http.MethodGet, items) }},
	{"other origin", func(ctx context.Context) *http.Request {
		return asUser(ctx, "alice", http.MethodGet, "http://www.example/items")
	}},
}

func asUser(ctx context.Context, user, method, url string) *http.Request {
	return newRequest(partition.WithUserID(ctx, user), method, url)
}

// Which requests a Retry-After holds: with 429 and 403, those of the partitions that
// the response names, or else of the origin and scope, of which other kinds may look
// after 1 s, or 1.5 s if their names begin alike; with 5xx, those of the origin
// (RFC 9110, Section 10.2.3: "how long the service is expected to be unavailable");
// with 413 none; with 3xx the redirected request only. With other statuses it counts
// if there are RateLimit fields beside it.
func TestReachOfRetryAfter(t *testing.T) {
	const (
		declared = `"api";method;user_id`
		policy   = `"api";q=100;w=60;pk=:R0VUH2FsaWNl:` // GET, alice
		left     = `"api";a=50;w=60;pk=:R0VUH2FsaWNl:`
	)
	var (
		none      = []string{}
		named     = []string{"same", "other kind"}
		scope     = []string{"same", "other kind", "other partition"}
		theOrigin = []string{"same", "other kind", "other partition", "other scope"}
	)
	looks := map[string]time.Duration{"other kind": 1500 * time.Millisecond, "other partition": time.Second}
	for _, tt := range []struct {
		name   string
		status int
		fields []string
		held   []string
	}{
		{"429 names", 429, []string{"RateLimit", left, "RateLimit-Policy", policy}, named},
		{"429 names by a limit", 429, []string{"RateLimit", left}, named},
		{"429 names by a policy", 429, []string{"RateLimit-Policy", policy}, named},
		{"429 alone", 429, nil, scope},
		{"429 malformed", 429, []string{"RateLimit", `"api";a=-1`}, scope},
		{"403 names", 403, []string{"RateLimit", left}, named},
		{"403 alone", 403, nil, scope},
		{"500 names", 500, []string{"RateLimit", left}, theOrigin},
		{"502 alone", 502, nil, theOrigin},
		{"503 alone", 503, nil, theOrigin},
		{"413 names", 413, []string{"RateLimit", left}, none},
		{"413 alone", 413, nil, none},
		{"301 names", 301, []string{"RateLimit", left}, none},
		{"307 alone", 307, nil, none},
		{"200 names", 200, []string{"RateLimit", left}, named},
		{"200 alone", 200, nil, none},
		{"404 names", 404, []string{"RateLimit", left}, named},
		{"404 alone", 404, nil, none},
	} {
		for _, relative := range relatives {
			bubble(t, tt.name+"/"+relative.name, func(t *testing.T) {
				srv := newServer(
					says(200, "RateLimit", left, "RateLimit-Policy", policy, "RateLimit-Partition", declared),
					says(tt.status, append(tt.fields, "Retry-After", "25")...),
					says(200),
				)
				s := &transport.Shaper{Base: srv}
				for range 2 {
					pass(t, s, asUser(t.Context(), "alice", http.MethodGet, items))
				}
				want := time.Duration(0)
				if slices.Contains(tt.held, relative.name) {
					want = 25 * time.Second
				}
				if look := looks[relative.name]; len(tt.held) == len(scope) && look > 0 {
					want = look
				}
				assert.Equal(t, want, delay(t, s, relative.request(t.Context())))
			})
		}
	}
}

// A 429 whose Retry-After is missing, 0, in the past or above its cap, or whose
// figures say that something is left, still makes the client wait: 1 s at first,
// twice as long each time, at most 1 min. Jitter only makes the wait longer.
func TestBackOff(t *testing.T) {
	for name, fields := range map[string][]string{
		"nothing":        nil,
		"0":              {"Retry-After", "0"},
		"past":           {"Date", "Mon, 05 Aug 2019 09:27:00 GMT", "Retry-After", "Mon, 05 Aug 2019 09:26:00 GMT"},
		"malformed":      {"Retry-After", "soon"},
		"above its cap":  {"Retry-After", "999999999999"},
		"something left": {"RateLimit", `"api";a=50;w=3600`},
		"over now":       {"RateLimit", `"api";a=0;w=0`},
		"window too far": {"RateLimit", `"api";a=0;w=999999999999999`},
		"no window":      {"RateLimit", `"api";a=0`},
		"malformed list": {"RateLimit", `"api";a=`},
		"cached":         {"Age", "10", "Retry-After", "3000", "RateLimit", `"api";a=0;w=3000`},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(slow(rtt, says(429, fields...)))
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			for i := range 10 {
				// Jitter adds up to a quarter.
				least := min(time.Second<<i, time.Minute*4/5)
				took := delay(t, s, getItems(t.Context())) - rtt
				assert.GreaterOrEqual(t, took, least, "after refusal %d", i+1)
				assert.LessOrEqual(t, took, least+least/4, "after refusal %d", i+1)
			}
		})
	}
}

// Refusals of requests that were in flight together count as one, and a request that
// is served resets the count.
func TestBackOffCounts(t *testing.T) {
	bubble(t, "50 at once", func(t *testing.T) {
		srv := newServer(slow(rtt, says(429)))
		s := &transport.Shaper{Base: srv, FirstFlight: -1}
		burst(t, s, 50, plainRequests)
		took := delay(t, s, getItems(t.Context()))
		assert.GreaterOrEqual(t, took-rtt, time.Second)
		assert.LessOrEqual(t, took-rtt, 1250*time.Millisecond)
	})
	bubble(t, "50 at once, one after another", func(t *testing.T) {
		srv := newChooser(func(n int, _ *http.Request) answer {
			return slow(time.Duration(n+1)*time.Millisecond, says(429))
		})
		s := &transport.Shaper{Base: srv, FirstFlight: -1}
		burst(t, s, 50, plainRequests)
		took := delay(t, s, getItems(t.Context()))
		assert.LessOrEqual(t, took-51*time.Millisecond, 1250*time.Millisecond)
	})
	bubble(t, "served between", func(t *testing.T) {
		srv := newChooser(func(n int, _ *http.Request) answer {
			if n%2 == 0 {
				return slow(rtt, says(429))
			}
			return slow(rtt, says(200))
		})
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for range 4 {
			took := delay(t, s, getItems(t.Context())) // served
			assert.GreaterOrEqual(t, took-rtt, time.Second)
			assert.LessOrEqual(t, took-rtt, 1250*time.Millisecond)
			assert.Equal(t, rtt, delay(t, s, getItems(t.Context()))) // refused
		}
	})
	bubble(t, "then a probe", func(t *testing.T) {
		srv := newServer(slow(rtt, says(429)), slow(rtt, says(200)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 10, plainRequests)
		at := srv.departures()
		want := append(times(2, at[1]+rtt), times(4, at[1]+2*rtt)...)
		assert.Equal(t, append(want, times(3, at[1]+3*rtt)...), at[2:])
	})
}

// An error without fields about quota is not a refusal: it does not hold the next
// requests.
func TestErrorsAreNotRefusals(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 408, 413, 500, 502, 503, 504} {
		synctest.Test(t, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(status))}
			for range 3 {
				assert.Zero(t, delay(t, s, getItems(t.Context())), "status %d", status)
			}
		})
	}
}

// Values above a cap are ignored, and nothing that a server says makes a request wait
// longer than MaxDelay: it is refused at once, with a RetryAfter.
func TestHostileWaits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer answer
		caps   func(*transport.Shaper)
		want   time.Duration // of the refusal; 0: there is none, the request goes after at most 1.25 s
	}{
		{name: "Retry-After above the cap", answer: says(429, "Retry-After", "999999999999")},
		{name: "Retry-After beyond int64", answer: says(429, "Retry-After", "99999999999999999999999999")},
		{name: "Retry-After that overflows to a negative", answer: says(429, "Retry-After", "9223372036854775807")},
		{name: "negative Retry-After", answer: says(429, "Retry-After", "-1")},
		{name: "Retry-After in the year 9999", answer: says(503, "Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")},
		{name: "Unix time", answer: says(429, "Retry-After", "1742860800")},
		{name: "Retry-After below the cap", answer: says(429, "Retry-After", "86400"), want: 24 * time.Hour},
		{name: "Retry-After without caps", answer: says(429, "Retry-After", "999999999"),
			caps: func(s *transport.Shaper) { s.Caps.RetryAfter = -1 }, want: 999999999 * time.Second},
		{name: "Retry-After above a cap that was set", answer: says(429, "Retry-After", "61"),
			caps: func(s *transport.Shaper) { s.Caps.RetryAfter = time.Minute }},
		{name: "window above the cap", answer: limit(`"api";a=0;w=999999999999999`)},
		{name: "window above the cap with something left", answer: limit(`"api";a=1;w=999999999999999`)},
		{name: "window below the cap", answer: limit(`"api";a=0;w=31536000`), want: 31536000*time.Second + guard(0)},
		{name: "window without caps", answer: limit(`"api";a=0;w=999999999`),
			caps: func(s *transport.Shaper) { s.Caps.Window = -1 }, want: 999999999*time.Second + guard(0)},
		{name: "available above the cap", answer: limit(`"api";a=999999999999999;w=1`)},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(tt.answer, says(200))}
			if tt.caps != nil {
				tt.caps(s)
			}
			pass(t, s, getItems(t.Context()))
			if tt.want == 0 {
				assert.LessOrEqual(t, delay(t, s, getItems(t.Context())), 1250*time.Millisecond)
				return
			}
			err := refusal(t, s, getItems(t.Context()))
			assert.Equal(t, quota.ReasonMaxDelay, err.Reason)
			assert.Equal(t, tt.want, err.RetryAfter)
		})
	}
}

// Retry-After with 3xx says how long to wait "prior to issuing the redirected
// request" (RFC 9110, Section 10.2.3): it holds that request only.
func TestRedirectWithRetryAfter(t *testing.T) {
	redirecting := func(location string, fields ...string) *server {
		return newChooser(func(_ int, req *http.Request) answer {
			if req.URL.Path == "/old" {
				return says(307, append(fields, "Location", location)...)
			}
			return says(200)
		})
	}
	const old = "http://api.example/old"
	follow := func(t *testing.T, client *http.Client, ctx context.Context) error {
		resp, err := client.Do(newRequest(ctx, http.MethodGet, old))
		drop(resp)
		return err
	}
	bubble(t, "same origin", func(t *testing.T) {
		srv := redirecting("/new", "Retry-After", "8")
		s := &transport.Shaper{Base: srv}
		go func() {
			time.Sleep(time.Second)
			assert.Zero(t, delay(t, s, getItems(t.Context())), "another request was held")
		}()
		require.NoError(t, follow(t, &http.Client{Transport: s}, t.Context()))
		assert.Equal(t, []time.Duration{0, time.Second, 8 * time.Second}, srv.departures())
	})
	bubble(t, "same origin written differently", func(t *testing.T) {
		srv := redirecting("HTTP://API.example.:80/new", "Retry-After", "8")
		require.NoError(t, follow(t, &http.Client{Transport: &transport.Shaper{Base: srv}}, t.Context()))
		assert.Equal(t, []time.Duration{0, 8 * time.Second}, srv.departures())
	})
	bubble(t, "other origin", func(t *testing.T) {
		srv := redirecting("http://www.example/new", "Retry-After", "8")
		require.NoError(t, follow(t, &http.Client{Transport: &transport.Shaper{Base: srv}}, t.Context()))
		assert.Equal(t, []time.Duration{0, 0}, srv.departures())
	})
	for name, value := range map[string]string{"0": "0", "malformed": "soon", "above the cap": "999999999999"} {
		bubble(t, name, func(t *testing.T) {
			srv := redirecting("/new", "Retry-After", value)
			require.NoError(t, follow(t, &http.Client{Transport: &transport.Shaper{Base: srv}}, t.Context()))
			assert.Equal(t, []time.Duration{0, 0}, srv.departures())
		})
	}
	bubble(t, "from a cache", func(t *testing.T) {
		srv := redirecting("/new", "Retry-After", "8", "Age", "3000")
		require.NoError(t, follow(t, &http.Client{Transport: &transport.Shaper{Base: srv}}, t.Context()))
		assert.Equal(t, []time.Duration{0, 0}, srv.departures())
	})
	bubble(t, "and a window after it", func(t *testing.T) {
		// 8 s of the 2 min have passed when the window holds the request.
		srv := redirecting("/new", "Retry-After", "8", "RateLimit", `"api";a=0;w=30`)
		s := &transport.Shaper{Base: srv, MaxDelay: 30 * time.Second}
		require.NoError(t, follow(t, &http.Client{Transport: &transport.Shaper{Base: srv}}, t.Context()))
		assert.Equal(t, []time.Duration{0, 30*time.Second + guard(0)}, srv.departures())

		// A window that lasts too long refuses the request before the pause is over.
		s.MaxDelay = 20 * time.Second
		began := time.Now()
		err := follow(t, &http.Client{Transport: s}, t.Context())
		var rejected *transport.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, quota.ReasonMaxDelay, rejected.Reason)
		assert.Zero(t, time.Since(began))
	})
	refused := func(name string, reason quota.Reason, retry string, set func(*transport.Shaper), ctx func(context.Context) context.Context) {
		bubble(t, name, func(t *testing.T) {
			srv := redirecting("/new", "Retry-After", retry)
			s := &transport.Shaper{Base: srv}
			set(s)
			began := time.Now()
			err := follow(t, &http.Client{Transport: s}, ctx(t.Context()))
			var rejected *transport.RejectedError
			require.ErrorAs(t, err, &rejected)
			assert.Equal(t, reason, rejected.Reason)
			assert.Equal(t, retry, strconv.Itoa(int(rejected.RetryAfter/time.Second)))
			assert.Zero(t, rejected.RetryAfter%time.Second)
			assert.Zero(t, time.Since(began))
			assert.Equal(t, 1, srv.count())
		})
	}
	same := func(ctx context.Context) context.Context { return ctx }
	nothing := func(*transport.Shaper) {}
	refused("no delay", quota.ReasonRetryAfter, "8", func(s *transport.Shaper) { s.MaxDelay = transport.NoDelay }, same)
	refused("never held", quota.ReasonRetryAfter, "8", nothing, transport.WithNoDelay)
	refused("max delay", quota.ReasonMaxDelay, "8", func(s *transport.Shaper) { s.MaxDelay = 7 * time.Second }, same)
	refused("default max delay", quota.ReasonMaxDelay, "121", nothing, same)
	refused("deadline", quota.ReasonDeadline, "8", nothing, func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, 7*time.Second)
		_ = cancel // the end of the bubble's context calls it
		context.AfterFunc(ctx, cancel)
		return ctx
	})
	bubble(t, "cancelled while waiting", func(t *testing.T) {
		srv := redirecting("/new", "Retry-After", "8")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(errBroken) })
		began := time.Now()
		err := follow(t, &http.Client{Transport: &transport.Shaper{Base: srv}}, ctx)
		assert.ErrorIs(t, err, errBroken)
		assert.Equal(t, 3*time.Second, time.Since(began))
		assert.Equal(t, 1, srv.count())
	})
	for name, s := range map[string]*transport.Shaper{
		"observed": {Mode: transport.Observe},
		"unshaped": {},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := redirecting("/new", "Retry-After", "8")
			s := &transport.Shaper{Base: srv, Mode: s.Mode}
			ctx := t.Context()
			if name == "unshaped" {
				ctx = transport.WithBypass(ctx)
			}
			require.NoError(t, follow(t, &http.Client{Transport: s}, ctx))
			assert.Equal(t, []time.Duration{0, 0}, srv.departures())
		})
	}
	bubble(t, "without the redirected request", func(t *testing.T) {
		// Request.Response may have been made by anyone; without its Request it is ignored.
		s := &transport.Shaper{Base: stillServer()}
		req := getItems(t.Context())
		req.Response = &http.Response{StatusCode: 301, Header: http.Header{"Retry-After": {"8"}}}
		assert.Zero(t, delay(t, s, req))
		req.Response.Request = &http.Request{}
		assert.Zero(t, delay(t, s, req))
	})
}

// What comes from a cache "may not be current" and is ignored (the draft,
// Section 8.4). It costs nothing, so the charge is given back.
func TestCachedResponses(t *testing.T) {
	for name, mark := range map[string][]string{
		"Age":          {"Age", "1"},
		"Cache-Status": {"Cache-Status", `ExampleCache; hit`},
		"X-From-Cache": {"X-From-Cache", "1"},
	} {
		bubble(t, name+"/teaches nothing", func(t *testing.T) {
			stale := append([]string{
				"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", `"api";q=1;w=60`, "Retry-After", "60",
				"RateLimit-Partition", `"api";user_id`,
			}, mark...)
			for _, status := range []int{200, 301, 403, 404, 503} {
				srv := newServer(says(status, stale...))
				s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
				for range 3 {
					pass(t, s, getItems(t.Context()))
				}
			}
		})
		bubble(t, name+"/costs nothing", func(t *testing.T) {
			srv := newServer(limit(`"api";a=2;w=60`), slow(rtt, says(200, mark...)), says(200, mark...), says(200), says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			for range 5 {
				pass(t, s, getItems(t.Context()))
			}
			refusal(t, s, getItems(t.Context()))
		})
		bubble(t, name+"/restores nothing", func(t *testing.T) {
			srv := newServer(limit(`"api";a=0;w=60`), says(200, append(mark, "RateLimit", `"api";a=99;w=60`)...))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			pass(t, s, getItems(transport.WithBypass(t.Context())))
			refusal(t, s, getItems(t.Context()))
		})
		bubble(t, name+"/a refusal backs off", func(t *testing.T) {
			srv := newServer(says(429, append(mark, "Retry-After", "3000")...), says(200))
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			took := delay(t, s, getItems(t.Context()))
			assert.GreaterOrEqual(t, took, time.Second)
			assert.LessOrEqual(t, took, 1250*time.Millisecond)
		})
	}
	// These fields are no sign of a cache: other responses have them, too.
	for name, mark := range map[string][]string{
		"Age of 0":      {"Age", "0"},
		"forwarded":     {"Cache-Status", "ExampleCache; fwd=uri-miss; stored"},
		"not from it":   {"X-From-Cache", "0"},
		"a Date of old": {"Date", "Mon, 05 Aug 2019 09:27:00 GMT"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200, append(mark, "RateLimit", `"api";a=0;w=60`)...)), MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			refusal(t, s, getItems(t.Context()))
		})
	}
}

// Responses to requests that overlap may arrive in any order: within a window, the
// lowest figure counts as the newest.
func TestOverlappingFigures(t *testing.T) {
	for name, late := range map[string][2]time.Duration{
		"in order":     {100 * time.Millisecond, 200 * time.Millisecond},
		"out of order": {200 * time.Millisecond, 100 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(
				limit(`"api";a=10;w=60`),
				slow(late[0], limit(`"api";a=9;w=60`)), // served first
				slow(late[1], limit(`"api";a=2;w=60`)), // served after requests of other clients
				says(200),
			)
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			go pass(t, s, getItems(t.Context()))
			synctest.Wait()
			pass(t, s, getItems(t.Context()))
			time.Sleep(time.Second)
			for range 2 {
				pass(t, s, getItems(t.Context()))
			}
			refusal(t, s, getItems(t.Context()))
		})
	}
	bubble(t, "a later figure raises", func(t *testing.T) {
		srv := newServer(limit(`"api";a=1;w=60`), limit(`"api";a=10;w=60`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		for range 12 {
			pass(t, s, getItems(t.Context()))
		}
		refusal(t, s, getItems(t.Context()))
	})
	bubble(t, "a response from the window before restores nothing", func(t *testing.T) {
		srv := newServer(
			limit(`"api";a=5;w=10`),
			slow(12*time.Second, limit(`"api";a=4;w=10`)), // in flight when its window ends
			limit(`"api";a=0;w=10`),
			says(200),
		)
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		done := make(chan struct{})
		go func() { pass(t, s, getItems(t.Context())); close(done) }()
		time.Sleep(11 * time.Second)
		pass(t, s, getItems(t.Context())) // the next window, and nothing left of it
		<-done
		refusal(t, s, getItems(t.Context()))
	})
}

// Requests in flight are subtracted from the server's figure until they are answered.
func TestInFlightCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=5;w=60`), slow(2*time.Second, says(200)))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		burst(t, s, 6, plainRequests)
		assert.Equal(t, append(times(6, 0), 60*time.Second+guard(0)), srv.departures())
	})
}

// Long polls count in the window in which they were sent only: ten of them do not use
// up every window after it.
func TestLongPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newChooser(func(_ int, req *http.Request) answer {
			if req.URL.Path == "/poll" {
				return slow(10*time.Minute, says(200))
			}
			return slow(rtt, limit(`"api";a=10;w=10`))
		})
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for range 10 {
			go pass(t, s, newRequest(context.Background(), http.MethodGet, "http://api.example/poll"))
		}
		time.Sleep(15 * time.Second)
		for range 5 {
			for range 9 {
				assert.Equal(t, rtt, delay(t, s, getItems(t.Context())))
			}
			time.Sleep(10 * time.Second)
		}
		time.Sleep(10 * time.Minute)
	})
}

// Long polls are not subtracted from what their own window leaves over.
func TestLongPollsAndLeftOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newChooser(func(n int, req *http.Request) answer {
			if n == 0 {
				return limit(`"api";a=20;w=10`)
			}
			return slow(10*time.Minute, says(200))
		})
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for range 10 {
			go pass(t, s, getItems(context.Background()))
		}
		time.Sleep(15 * time.Second)
		for range 10 {
			go pass(t, s, getItems(context.Background()))
		}
		synctest.Wait()
		assert.Equal(t, times(10, 15*time.Second), srv.departures()[11:])
		time.Sleep(time.Hour)
	})
}

// A request is charged if its response has no fields, and if Base failed and the
// request may have arrived. If the connection could not be made, it is not charged.
func TestWhatAnExchangeIsCharged(t *testing.T) {
	for _, tt := range []struct {
		name  string
		a     answer
		costs bool
	}{
		{"no fields", says(200), true},
		{"malformed fields", limit(`"api";a=`), true},
		{"fields of another policy", limit(`"other";a=99;w=60`), true},
		{"error", fails(errBroken), true},
		{"reset", fails(&net.OpError{Op: "read", Net: "tcp", Err: errBroken}), true},
		{"dial error", fails(dialError), false},
		{"wrapped dial error", fails(&wrapper{dialError}), false},
		{"time-out", slow(time.Second, fails(context.DeadlineExceeded)), true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			srv := newServer(limit(`"api";a=2;w=60`), tt.a, says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			resp, _ := s.RoundTrip(getItems(t.Context()))
			drop(resp)
			pass(t, s, getItems(t.Context()))
			if !tt.costs {
				pass(t, s, getItems(t.Context()))
			}
			refusal(t, s, getItems(t.Context()))
		})
	}
}

// dialError is the error of a connection that could not be made.
var dialError = &net.OpError{Op: "dial", Net: "tcp", Err: errBroken}

type wrapper struct{ error }

func (w *wrapper) Unwrap() error { return w.error }

// Fields are read on every status ("independently of the response status code",
// the draft, Section 5), over several field lines, and never in trailers, where
// they MUST NOT appear.
func TestWhereFieldsAreRead(t *testing.T) {
	for _, status := range []int{200, 204, 301, 304, 400, 401, 403, 404, 413, 429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(status, "RateLimit", `"api";a=0;w=60`)), MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			assert.Equal(t, "api", refusal(t, s, getItems(t.Context())).Policy, "status %d", status)
		})
	}
	bubble(t, "several lines", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(200, "RateLimit", `"a";a=9;w=60`, "RateLimit", `"b";a=0;w=60`)), MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, "b", refusal(t, s, getItems(t.Context())).Policy)
	})
	bubble(t, "trailers", func(t *testing.T) {
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(func(req *http.Request) (*http.Response, error) {
			resp, err := says(200)(req)
			resp.Trailer = http.Header{"Ratelimit": {`"api";a=0;w=60`}, "Retry-After": {"60"}}
			return resp, err
		})}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
	})
}

// Shaper.Cached recognises a cache that leaves none of the usual signs.
func TestCachedFunction(t *testing.T) {
	bubble(t, "a mark of its own", func(t *testing.T) {
		s := &transport.Shaper{
			Base:   newServer(says(200, "RateLimit", `"api";a=0;w=60`, "X-My-Cache", "hit"), limit(`"api";a=0;w=60`), says(200)),
			Cached: func(resp *http.Response) bool { return resp.Header.Get("X-My-Cache") == "hit" },
		}
		pass(t, s, getItems(t.Context()))
		assert.Zero(t, delay(t, s, getItems(t.Context())))
		assert.Equal(t, time.Minute+time.Millisecond, delay(t, s, getItems(t.Context())))
	})
}
