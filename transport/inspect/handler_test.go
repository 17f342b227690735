package inspect_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/transporttest"
)

// ask returns the answer to a request of this machine.
func ask(h http.Handler, method, path string, set ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8080"+path, nil)
	r.RemoteAddr = "127.0.0.1:4711"
	for _, f := range set {
		f(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// By default, only this machine may look, under a name of its own.
func TestLoopbackOnly(t *testing.T) {
	h := &inspect.Handler{}
	for _, tt := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:1", "localhost", 200},
		{"127.0.0.1:1", "localhost:8080", 200},
		{"127.0.0.1:1", "LocalHost.:8080", 200},
		{"127.8.9.1:1", "127.0.0.1:8080", 200},
		{"[::1]:1", "[::1]:8080", 200},
		{"[::1]:1", "[::1]", 200},
		{"[::ffff:127.0.0.1]:1", "localhost", 200},
		{"127.0.0.1:1", "evil.example", 403}, // DNS rebinding
		{"127.0.0.1:1", "localhost.evil.example:8080", 403},
		{"127.0.0.1:1", "", 403},
		{"127.0.0.1:1", "10.0.0.1", 403},
		{"10.0.0.1:1", "localhost", 403},
		{"[2001:db8::1]:1", "localhost", 403},
		{"@", "localhost", 403}, // a Unix socket: anybody may be behind it
		{"", "localhost", 403},
	} {
		for _, path := range []string{"/", "/state", "/events", "/view", "/app.js", "/x"} {
			w := ask(h, "HEAD", path, func(r *http.Request) { r.RemoteAddr, r.Host = tt.from, tt.host })
			if tt.want == 403 || path != "/x" {
				assert.Equal(t, tt.want, w.Code, "%s from %q for %q", path, tt.from, tt.host)
			}
		}
	}
	for _, tt := range []struct {
		fields string
		want   int
	}{
		{"Forwarded: for=192.0.2.1", 403},
		{"X-Forwarded-For: 192.0.2.1", 403},
		{"X-Forwarded-Host: app.example", 403},
		{"X-Real-IP: 192.0.2.1", 403},
		{"Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: no-cors", 403},
		{"Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate", 200},
		{"Sec-Fetch-Site: same-origin|Sec-Fetch-Mode: cors", 200},
		{"Sec-Fetch-Site: none", 200},
	} {
		for _, path := range []string{"/", "/state", "/events"} {
			w := ask(h, "HEAD", path, func(r *http.Request) {
				for field := range strings.SplitSeq(tt.fields, "|") {
					name, value, _ := strings.Cut(field, ": ")
					r.Header.Set(name, value)
				}
			})
			assert.Equal(t, tt.want, w.Code, "%s: %s", path, tt.fields)
		}
	}
	h.Allow = func(r *http.Request) bool { return r.Header.Get("X-Ok") != "" }
	assert.Equal(t, 403, ask(h, "GET", "/").Code, "Allow decides alone")
	assert.Equal(t, 200, ask(h, "GET", "/", func(r *http.Request) { r.RemoteAddr = "10.0.0.1:1"; r.Header.Set("X-Ok", "1") }).Code)
}

// Whatever it answers, the handler forbids the browser all that the page does not need.
func TestHeaders(t *testing.T) {
	h := &inspect.Handler{}
	for _, path := range []string{"/", "/state", "/view", "/app.js", "/app.css", "/icon.svg", "/none.txt", "/debug"} {
		for _, method := range []string{"GET", "POST"} {
			f := ask(h, method, path).Header()
			csp := f.Get("Content-Security-Policy")
			for _, d := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
				assert.Contains(t, csp, d)
			}
			assert.NotContains(t, csp, "unsafe")
			assert.Equal(t, "nosniff", f.Get("X-Content-Type-Options"))
			assert.Equal(t, "no-store", f.Get("Cache-Control"))
			assert.Equal(t, "no-referrer", f.Get("Referrer-Policy"))
			assert.Equal(t, "same-origin", f.Get("Cross-Origin-Opener-Policy"))
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		w := ask(h, method, "/")
		assert.Equal(t, 405, w.Code)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
	}
	assert.Equal(t, 404, ask(h, "GET", "/favicon.ico").Code)
}

// The handler works at any path. Without a slash at the end it sends there.
func TestMounted(t *testing.T) {
	h := &inspect.Handler{}
	mux := http.NewServeMux()
	mux.Handle("/debug/headway/", h)
	mux.Handle("/plain", h)
	mux.Handle("/plain/", h)
	mux.Handle("/stripped/", http.StripPrefix("/stripped", h))
	mux.Handle("/bare", http.StripPrefix("/bare", h))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	for _, path := range []string{"/debug/headway/", "/debug/headway", "/plain", "/plain/", "/stripped/", "/stripped"} {
		resp, err := http.Get(srv.URL + path)
		require.NoError(t, err)
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		assert.Equal(t, 200, resp.StatusCode, path)
		assert.True(t, strings.HasSuffix(resp.Request.URL.Path, "/"), path)
		for _, link := range regexp.MustCompile(`(?:href|src)="([^"#?][^"]*)"`).FindAllStringSubmatch(string(b), -1) {
			u, err := resp.Request.URL.Parse(link[1])
			require.NoError(t, err)
			r, err := http.Get(u.String())
			require.NoError(t, err)
			r.Body.Close()
			assert.Equal(t, 200, r.StatusCode, u)
		}
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Get(srv.URL + "/bare")
	require.NoError(t, err)
	resp.Body.Close()
	assert.Equal(t, "./bare/", resp.Header.Get("Location"))
}

// What the browser loads is small, and has neither scripts nor styles in the page.
func TestSize(t *testing.T) {
	total := 0
	var zipped bytes.Buffer
	for _, name := range []string{"app.js", "app.css", "icon.svg", "page.tmpl"} {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		total += len(b)
		w := gzip.NewWriter(&zipped)
		_, _ = w.Write(b)
		require.NoError(t, w.Close())
	}
	assert.LessOrEqual(t, total, 30_000)
	assert.LessOrEqual(t, zipped.Len(), 10_000, "compressed")
	page := ask(&inspect.Handler{}, "GET", "/").Body.String()
	assert.NotRegexp(t, `(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:`, page)
	templates, err := filepath.Glob("*.tmpl")
	require.NoError(t, err)
	for _, name := range templates {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		assert.NotRegexp(t, `(?i)<script>|<style|\sstyle=|\son[a-z]+=|javascript:|https?://`, string(b))
	}
}

// A world is a Shaper whose page is h, in front of servers that answer in process.
type world struct {
	h      *inspect.Handler
	shaper *transport.Shaper
	serve  http.HandlerFunc
}

// state is what the page shows, as JSON.
type state struct {
	Verdict string
	More    int
	Origins []struct {
		InLine   int
		Oldest   string
		HeldBack uint64
		Quotas   []struct {
			Policy, Terms string
			Plot          *struct{ Says string }
			Accounts      []struct {
				Owner, Terms, Left, Says string
				Line, Learned            []string
			}
		}
	}
	Events []struct {
		What  string
		Times int
	}
}

func newWorld() *world {
	w := &world{h: &inspect.Handler{Accounts: &quota.Accounts{Jitter: func() float64 { return 0 }}}}
	w.shaper = &transport.Shaper{
		Base: &transporttest.Transport{
			Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serve(rw, r) }),
			Latency: func() time.Duration { return 50 * time.Millisecond },
		},
		Accounts: w.h.Accounts, Trace: w.h.Trace(),
	}
	return w
}

func (w *world) get(ctx context.Context, url string) int {
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	resp, err := w.shaper.RoundTrip(req)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (w *world) state(t *testing.T) (v state) {
	t.Helper()
	got := ask(w.h, "GET", "/state")
	require.NoError(t, json.Unmarshal(got.Body.Bytes(), &v), got.Body.String())
	return v
}

// The page answers the question of somebody on call: what do requests wait for?
func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		name  string
		serve http.HandlerFunc
		send  int // at once, after the first; negative: without a first one
		after time.Duration
		set   func(*transport.Shaper)
		want  string
	}{
		{"nothing sent", nil, 0, 0, nil, "No request has been sent yet."},
		{"no quotas", func(http.ResponseWriter, *http.Request) {}, 3, time.Second, nil, "No request waits, and nothing is held."},
		{
			"used up", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("RateLimit-Policy", `"api";q=100;w=10`)
				w.Header().Set("RateLimit", `"api";a=0;w=10`)
			}, 3, time.Second, nil,
			`3 requests wait for https://api.example: policy "api", 100 requests per 10 s: Nothing is left; the window ends in 9.0 s. 3 requests wait; the first goes in 9.0 s, and the others wait for its answer.`,
		},
		{
			"Retry-After", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(429)
			}, 1, 5 * time.Second, nil,
			"1 request waits for https://api.example: The server asked for a pause (the Retry-After of the 429 at 00:00:00), 55 s left. 1 request waits; the first goes in 55 s.",
		},
		{
			"Retry-After for all", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(503)
			}, 2, 5 * time.Second, nil,
			"2 requests wait for https://api.example: the Retry-After of the 503 at 00:00:00 holds the whole origin for 55 s.",
		},
		{
			"back-off", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, 0, 500 * time.Millisecond, nil,
			"No request waits. The next request to https://api.example cannot go at once: The server refused once without saying for how long; backing off, 500 ms left. Then one request goes as a trial.",
		},
		{
			"a limit of one's own", func(http.ResponseWriter, *http.Request) {}, 4, 500 * time.Millisecond,
			func(s *transport.Shaper) {
				l := quota.PerSecond(1, 1, quota.Options{Name: "slowly"})
				s.Limits = func(*http.Request) quota.Limiter { return l }
			},
			`4 requests wait for https://api.example: 4 requests wait for a limit of your own, "slowly", 1 per second, bursts of 1 (Shaper.Limits).`,
		},
		{
			"first contact", func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Second) }, -12, 500 * time.Millisecond, nil,
			"2 requests wait for https://api.example: 2 requests wait for the first answer of the origin, a second at most (Shaper.FirstFlight).",
		},
		{
			"a slow server", func(http.ResponseWriter, *http.Request) { time.Sleep(10 * time.Second) }, -2, 5 * time.Second, nil,
			"No request waits, and nothing is held. 2 requests are on their way, the oldest for 5 s: they wait for their servers, not for a quota.",
		},
		{
			"refused", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("RateLimit-Policy", `"api";q=100;w=3600`)
				w.Header().Set("RateLimit", `"api";a=0;w=3600`)
			}, 3, 30 * time.Second, nil,
			`No request waits. The next request to https://api.example cannot go at once: policy "api", 100 requests per 1 h: Nothing is left; the window ends in 59 min 30 s. ` +
				"3 requests were refused with an error in the last minute, and not sent; the last one to https://api.example at once: it would have to wait longer than Shaper.MaxDelay.",
		},
		{
			"never waits", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("RateLimit", `"api";a=0;w=60`) }, 2, time.Second,
			func(s *transport.Shaper) { s.MaxDelay = transport.NoDelay },
			`No request waits. The next request to https://api.example cannot go at once: policy "api", no quota advertised: Nothing is left; the window ends in 59 s. ` +
				"2 requests were refused with an error in the last minute, and not sent; the last one to https://api.example at once: quota exhausted, and it may not wait (Shaper.MaxDelay).",
		},
		{
			"tokens", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("RateLimit-Policy", `"t";q=1000;w=60;qu="tokens"`)
				w.Header().Set("RateLimit", `"t";a=300;w=60`)
			}, 2, 500 * time.Millisecond,
			func(s *transport.Shaper) { s.Cost = func(*http.Request, quota.Policy) int64 { return 400 } },
			`2 requests wait for https://api.example: policy "t", 1` + "\u202f" + `000 tokens per 1 min: 300 tokens left; the first in line needs 400. 2 requests wait; the first goes in 59 s, and the others wait for its answer.`,
		},
		{
			"refused some time ago", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("RateLimit", `"api";a=0;w=600`) }, 3, 2 * time.Minute, nil,
			`No request waits. The next request to https://api.example cannot go at once: policy "api", no quota advertised: Nothing is left; the window ends in 8 min.`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.serve = tt.serve
				if tt.set != nil {
					tt.set(w.shaper)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.serve != nil && tt.send >= 0 {
					w.get(ctx, "https://api.example/")
				}
				var wg sync.WaitGroup
				for range max(tt.send, -tt.send) {
					wg.Go(func() { w.get(ctx, "https://api.example/") })
				}
				time.Sleep(tt.after)
				assert.Equal(t, tt.want, w.state(t).Verdict)
				cancel()
				wg.Wait()
			})
		})
	}
}

// Requests take samples while nobody looks, at most one in a second.
func TestSamplesOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = (&transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1, Window: 3 * time.Second}}}).ServeHTTP
		for range 3 {
			go w.get(t.Context(), "https://api.example/")
			time.Sleep(1200 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		q := w.state(t).Origins[0].Quotas[0]
		require.NotNil(t, q.Plot)
		assert.Contains(t, q.Plot.Says, "at most 1 in line")
	})
}

// The page shows what is left over time, who waits, what was learned, and what happened.
func TestState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = (&transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: 10 * time.Second}}}).ServeHTTP
		ctx, cancel := context.WithCancel(t.Context())
		for range 8 {
			go w.get(ctx, "https://api.example/x?secret")
			time.Sleep(300 * time.Millisecond)
		}
		v := w.state(t)
		require.Len(t, v.Origins, 1)
		o := v.Origins[0]
		assert.Equal(t, 3, o.InLine)
		assert.EqualValues(t, 3, o.HeldBack)
		require.Len(t, o.Quotas, 1)
		q := o.Quotas[0]
		assert.Equal(t, "5 requests per 10 s", q.Terms)
		require.Len(t, q.Accounts, 1)
		a := q.Accounts[0]
		assert.Equal(t, "0", a.Left)
		assert.Equal(t, "all requests", a.Owner)
		require.Len(t, a.Line, 3)
		assert.Regexp(t, `^#1, has waited for 900 ms, gives up in `, a.Line[0])
		assert.Equal(t, []string{"round trip 50ms (±0s)"}, a.Learned)
		require.NotNil(t, q.Plot)
		assert.Equal(t, "The last 1 min: at least 0 of 5 left, at most 3 in line.", q.Plot.Says)
		var happened []string
		for _, e := range v.Events {
			happened = append(happened, e.What)
		}
		assert.Equal(t, []string{"nothing left for 8.8 s", "new window: 4 requests left for 10.0 s", "advertised: 5 requests per 10 s"}, happened)

		w1, w2 := ask(w.h, "GET", "/state"), ask(w.h, "GET", "/state")
		assert.Equal(t, w1.Header().Get("ETag"), w2.Header().Get("ETag"))
		w3 := ask(w.h, "GET", "/state", func(r *http.Request) { r.Header.Set("If-None-Match", w1.Header().Get("ETag")) })
		assert.Equal(t, 304, w3.Code)
		assert.Zero(t, w3.Body.Len())

		page := ask(w.h, "GET", "/").Body.String()
		for _, part := range []string{"<h1>headway</h1>", "policy <q>api</q>", "<polyline", `<th scope="col">left</th>`, "has waited for", "What happened"} {
			assert.Contains(t, page, part)
		}
		assert.NotContains(t, page, "secret")
		assert.Contains(t, ask(w.h, "GET", "/?refresh=5").Body.String(), `<meta http-equiv="refresh" content="5">`)
		assert.NotContains(t, ask(w.h, "GET", "/?refresh=x").Body.String(), `http-equiv="refresh"`)
		cancel()
		synctest.Wait()
		assert.Equal(t, "a request gave up waiting: its context ended", w.state(t).Events[0].What)
	})
}

// A request whose wait ends by a panic has not given up.
func TestPanicInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(rw http.ResponseWriter, _ *http.Request) { rw.Header().Set("RateLimit", `"api";a=0;w=10`) }
		asked := 0
		w.shaper.Cost = func(*http.Request, quota.Policy) int64 {
			if asked++; asked == 2 {
				panic("boom")
			}
			return 1
		}
		w.get(t.Context(), "https://api.example/")
		assert.PanicsWithValue(t, "boom", func() { w.get(t.Context(), "https://api.example/") })
		assert.Equal(t, "a request did not wait to the end: a panic ended it", w.state(t).Events[0].What)
	})
}

// Nor has a request that never waited.
func TestNotSentWithoutAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.shaper.Scope = func(*http.Request) string { panic("boom") }
		assert.PanicsWithValue(t, "boom", func() { w.get(t.Context(), "https://api.example/") })
		assert.Equal(t, "a request was not sent: a panic ended it", w.state(t).Events[0].What)
		w.shaper.Scope = nil
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", "https://api.example/", nil)
		require.NoError(t, err)
		_, err = w.shaper.RoundTrip(req)
		assert.Equal(t, context.Canceled, err)
		assert.Equal(t, "a request was not sent: its context had ended", w.state(t).Events[0].What)
	})
}

// Accounts of one policy may have quotas of their own: each shows its own, with its unit.
func TestDifferentQuotas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(rw http.ResponseWriter, r *http.Request) {
			terms, left := `"t";q=100000;w=60;qu="tokens"`, `"t";a=90000;w=60`
			if r.Header.Get("Authorization") == "Bearer small" {
				terms, left = `"t";q=1000;w=10;qu="tokens"`, `"t";a=0;w=10`
			}
			rw.Header().Set("RateLimit-Policy", terms)
			rw.Header().Set("RateLimit", left)
		}
		ctx, cancel := context.WithCancel(t.Context())
		get := func(credential string) {
			req, _ := http.NewRequestWithContext(ctx, "GET", "https://api.example/", nil)
			req.Header.Set("Authorization", "Bearer "+credential)
			if resp, err := w.shaper.RoundTrip(req); err == nil {
				resp.Body.Close()
			}
		}
		get("small")
		get("large") // the last answer
		v := w.state(t)
		q := v.Origins[0].Quotas[0]
		assert.Equal(t, "several quotas", q.Terms)
		require.Len(t, q.Accounts, 2)
		small, large := q.Accounts[0], q.Accounts[1]
		assert.Equal(t, "1\u202f000 tokens per 10 s", small.Terms)
		assert.Equal(t, "100\u202f000 tokens per 1 min", large.Terms)
		assert.Regexp(t, "^scope [0-9a-f]{8}$", small.Owner)
		assert.Equal(t, []string{"90\u202f000", "0"}, []string{large.Left, small.Left})
		go get("small")
		time.Sleep(2 * time.Second)
		assert.Contains(t, w.state(t).Verdict, `policy "t", 1`+"\u202f"+`000 tokens per 10 s of `+small.Owner+": Nothing is left")
		assert.Contains(t, ask(w.h, "GET", "/").Body.String(), "<span class=\"terms\">1\u202f000 tokens per 10 s</span>")
		var happened []string
		for _, e := range v.Events {
			happened = append(happened, e.What)
		}
		assert.Equal(t, []string{
			"new window: 90\u202f000 tokens left for 1 min", "advertised: 100\u202f000 tokens per 1 min",
			"nothing left for 10.0 s", "new window: 0 tokens left for 10.0 s", "advertised: 1\u202f000 tokens per 10 s",
		}, happened)
		assert.Equal(t, "The last 1 min: at least 0 % of the quota left, at most 1 in line.", w.state(t).Origins[0].Quotas[0].Plot.Says)
		cancel()
		synctest.Wait()
	})
}

// A server that counts in other partitions than it declares: the page goes on saying so.
func TestWrongPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("RateLimit-Partition", `"user";user_id`)
			rw.Header().Set("RateLimit-Policy", `"user";q=40;w=60;pk=:ZXZlcnlib2R5:`)
			rw.Header().Set("RateLimit", `"user";a=0;w=60;pk=:ZXZlcnlib2R5:`)
		}
		ctx, cancel := context.WithCancel(partition.WithUserID(t.Context(), "alice"))
		w.get(ctx, "https://api.example/")
		go w.get(ctx, "https://api.example/")
		time.Sleep(20 * time.Second)
		const says = "The server counts in other partitions than it declares (last seen at 00:00:00), so several partitions may share one quota."
		assert.Equal(t, `1 request waits for https://api.example: policy "user", 40 requests per 1 min: Nothing is left; the window ends in 40 s. `+
			"1 request waits; the first goes in 40 s. "+says, w.state(t).Verdict)
		assert.Contains(t, ask(w.h, "GET", "/").Body.String(), says)
		cancel()
		synctest.Wait()
	})
}

// The reason for which a trial is made stays while the trial is on its way.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(rw http.ResponseWriter, _ *http.Request) {
			time.Sleep(2 * time.Second)
			rw.WriteHeader(429)
		}
		w.get(t.Context(), "https://api.example/")
		for range 2 {
			go w.get(t.Context(), "https://api.example/")
		}
		time.Sleep(1500 * time.Millisecond)
		assert.Contains(t, w.state(t).Verdict, "1 request waits for https://api.example: The server refused once without saying for how long. "+
			"A request is on its way as a trial. 1 request waits; ")
		time.Sleep(time.Hour)
	})
}

// After a refusal that named no window, none is said to be over.
func TestNoWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(429) }
		w.get(t.Context(), "https://api.example/")
		time.Sleep(time.Minute)
		a := w.state(t).Origins[0].Quotas[0].Accounts[0]
		assert.Equal(t, "not known", a.Left)
		assert.Equal(t, "The server refused once without saying for how long. One request goes as a trial.", a.Says)
	})
}

// The page says for how long the oldest request has been on its way, whichever others are
// answered meanwhile.
func TestOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				time.Sleep(30 * time.Second)
			}
		}
		w.get(t.Context(), "https://api.example/")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { w.get(t.Context(), "https://api.example/slow") })
			time.Sleep(10 * time.Second)
		}
		for range 20 {
			w.get(t.Context(), "https://api.example/")
		}
		assert.Equal(t, "21 s", w.state(t).Origins[0].Oldest)
		time.Sleep(10 * time.Second)
		assert.Equal(t, "21 s", w.state(t).Origins[0].Oldest, "the second one")
		wg.Wait()
		assert.Empty(t, w.state(t).Origins[0].Oldest)
		w.shaper.Base = failing{}
		w.get(t.Context(), "https://api.example/")
		w.shaper.Base = panicking{}
		assert.Panics(t, func() { w.get(t.Context(), "https://api.example/") })
		w.shaper.Base = failing{wait: 5 * time.Second}
		time.Sleep(time.Minute)
		go w.get(t.Context(), "https://api.example/")
		time.Sleep(time.Second)
		assert.Equal(t, "1 s", w.state(t).Origins[0].Oldest)
		time.Sleep(5 * time.Second)
		assert.Empty(t, w.state(t).Origins[0].Oldest)
	})
}

type failing struct{ wait time.Duration }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(f.wait)
	return nil, io.ErrUnexpectedEOF
}

type panicking struct{}

func (panicking) RoundTrip(*http.Request) (*http.Response, error) { panic("boom") }

// What is kept is bounded, however many origins, policies and events there are.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		n := 0
		w.serve = func(rw http.ResponseWriter, _ *http.Request) {
			n++
			rw.Header().Set("RateLimit", fmt.Sprintf(`"p%d";a=1;w=60`, n))
		}
		for i := range 1_200 {
			w.get(t.Context(), fmt.Sprintf("https://o%d.example/", i))
		}
		v := w.state(t)
		assert.Len(t, v.Origins, 20)
		assert.Equal(t, 1_180, v.More)
		assert.Len(t, v.Events, 50)
		assert.Less(t, ask(w.h, "GET", "/").Body.Len(), 200_000)
	})
}

// What is ignored in every response is one event, and drives out no other.
func TestIgnoredInEveryResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		n := 0
		w.serve = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-RateLimit-Limit", "unlimited")
			if n++; n == 1 {
				rw.WriteHeader(429)
			}
		}
		for range 300 {
			w.get(t.Context(), "https://api.example/")
			time.Sleep(2 * time.Second)
		}
		v := w.state(t)
		said := make(map[string]int)
		for _, e := range v.Events {
			said[e.What] = e.Times
		}
		assert.Equal(t, 300, said["ignored X-RateLimit-Limit: value of a wrong type"])
		assert.Equal(t, 1, said["the server refused with 429, before anything was known"])
	})
}

// A stream is an answer that is read while it is written.
type stream struct {
	header http.Header
	w      *io.PipeWriter
	lines  *bufio.Scanner
	r      *io.PipeReader
	limits []time.Duration // of writes
}

func (s *stream) Header() http.Header         { return s.header }
func (s *stream) WriteHeader(int)             {}
func (s *stream) Write(b []byte) (int, error) { return s.w.Write(b) }
func (s *stream) Flush()                      {}
func (s *stream) SetWriteDeadline(d time.Time) error {
	s.limits = append(s.limits, time.Until(d))
	return nil
}

func watch(ctx context.Context, h http.Handler) *stream {
	s := &stream{header: make(http.Header)}
	s.r, s.w = io.Pipe()
	s.lines = bufio.NewScanner(s.r)
	r := httptest.NewRequest("GET", "http://localhost/events", nil).WithContext(ctx)
	r.RemoteAddr = "127.0.0.1:4711"
	go func() {
		h.ServeHTTP(s, r)
		s.w.Close()
	}()
	return s
}

// next returns the data of the next event.
func (s *stream) next() (data string) {
	for s.lines.Scan() {
		line := s.lines.Text()
		if line == "" {
			return data
		}
		data += strings.TrimPrefix(line, "data: ") + "\n"
	}
	return "end"
}

// A viewer sees what happens within a quarter of a second, and otherwise once a second.
// With the last viewer, the goroutine ends.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.serve = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Retry-After", "9")
			rw.WriteHeader(429)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s, other := watch(ctx, w.h), watch(ctx, w.h)
		go func() {
			for other.next() != "end" {
			}
		}()
		assert.Contains(t, s.next(), "No request has been sent yet.")
		began := time.Now()
		s.next()
		assert.Equal(t, time.Second, time.Since(began))
		w.get(t.Context(), "https://api.example/")
		happened := time.Now()
		assert.Contains(t, s.next(), "held by Retry-After of a 429 for 9 s")
		assert.Equal(t, 250*time.Millisecond, time.Since(happened))
		for _, limit := range s.limits {
			assert.Equal(t, 10*time.Second, limit)
		}
		cancel()
		for s.next() != "end" {
		}
		synctest.Wait()
		// And again. The bubble ends only if all its goroutines have.
		ctx, cancel = context.WithCancel(t.Context())
		s = watch(ctx, w.h)
		s.next()
		cancel()
		for s.next() != "end" {
		}
		synctest.Wait()
	})
}

// Beyond sixteen viewers, one is sent away, and may come back when another has gone.
func TestTooManyViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &inspect.Handler{}
		ctx, cancel := context.WithCancel(t.Context())
		for range 16 {
			s := watch(ctx, h)
			go func() {
				for s.next() != "end" {
				}
			}()
		}
		synctest.Wait()
		got := ask(h, "GET", "/events")
		assert.Equal(t, 503, got.Code)
		assert.Equal(t, "5", got.Header().Get("Retry-After"))
		assert.Equal(t, 200, ask(h, "GET", "/view").Code, "it can poll")
		cancel()
		synctest.Wait()
		assert.Equal(t, 200, ask(h, "HEAD", "/events").Code)
	})
}

// A fleet is a line of its own.
func TestFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &inspect.Handler{Fleet: fleet.New(new(fleet.Hub), fleet.Options{})}
		assert.Contains(t, ask(h, "GET", "/").Body.String(), "Fleet: not linked: this process goes on alone; 0 exchanges with the store, 0 failed.")
		require.NoError(t, h.Fleet.Close())

		w := newWorld()
		w.h.Fleet = fleet.New(new(fleet.Hub), fleet.Options{})
		w.h.Accounts.Peers = w.h.Fleet
		w.serve = (&transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: 10 * time.Second}}}).ServeHTTP
		for range 3 {
			w.get(t.Context(), "https://api.example/")
		}
		assert.Contains(t, ask(w.h, "GET", "/").Body.String(), "Fleet: linked, 1 process shares an account; ")
		require.NoError(t, w.h.Fleet.Close())
	})
}

// History may be turned off.
func TestWithoutHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.h.History = -1
		w.serve = (&transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: time.Second}}}).ServeHTTP
		for range 30 {
			w.get(t.Context(), "https://api.example/")
		}
		assert.Nil(t, w.state(t).Origins[0].Quotas[0].Plot)
	})
}
