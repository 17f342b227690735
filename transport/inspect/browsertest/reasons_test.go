package browsertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A program is slow for one of several reasons. The page names it, with the numbers that
// matter: the first sentence of the rendered page says all that is wanted.
func TestReasons(t *testing.T) {
	browser := newBrowser(t)
	complaints := listen(t, browser)
	says := func(status int, fields ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(fields); i += 2 {
				w.Header().Set(fields[i], fields[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for _, tt := range []struct {
		name    string
		serve   http.HandlerFunc
		set     func(*transport.Shaper)
		user    string
		first   int      // requests that are sent one after the other before the others
		verdict []string // parts of the first sentence
		page    []string // parts of the rest
	}{
		{
			name:    "a quota that is used up",
			serve:   says(200, "RateLimit-Policy", `"api";q=100;w=60`, "RateLimit", `"api";a=0;w=60`),
			first:   1,
			verdict: []string{"3 requests wait", `policy "api", 100 requests per 1 min: Nothing is left; the window ends in `, "the first goes in "},
			page:    []string{"nothing left for 1 min", "new window: 0 requests left for 1 min"},
		},
		{
			name: "one of two models",
			serve: func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/models/large/") {
					says(200, "RateLimit-Policy", `"tokens";q=90000;w=60;qu="tokens"`, "RateLimit", `"tokens";a=80000;w=60`)(w, r)
				} else {
					says(200, "RateLimit-Policy", `"tokens";q=1000;w=60;qu="tokens"`, "RateLimit", `"tokens";a=30;w=60`)(w, r)
				}
			},
			set: func(s *transport.Shaper) {
				s.Cost = func(*http.Request, quota.Policy) int64 { return 400 }
			},
			user:    "alice",
			first:   3,
			verdict: []string{"3 requests wait", "1\u202f000 tokens per 1 min of scope ", "30 tokens left; the first in line needs 400."},
			page:    []string{"several quotas", "90\u202f000 tokens per 1 min", "advertised: 1\u202f000 tokens per 1 min", "needs 400 tokens"},
		},
		{
			name:  "a limit of one's own",
			serve: says(200),
			set: func(s *transport.Shaper) {
				slowly := quota.TokenBucket(1, 1, time.Minute, quota.Options{Name: "politeness"})
				s.MaxDelay = time.Hour
				s.Limits = func(*http.Request) quota.Limiter { return slowly }
			},
			first:   1,
			verdict: []string{`3 requests wait for a limit of your own, "politeness", 1 per 1m0s, bursts of 1 (Shaper.Limits).`},
		},
		{
			name:    "refusals that name no time",
			serve:   says(429),
			set:     func(s *transport.Shaper) { s.Accounts.Jitter = func() float64 { return 0 } },
			first:   4,
			verdict: []string{" times in a row without saying for how long; backing off, ", "Then one request goes as a trial.", "and the others wait for its answer"},
			page:    []string{"refused with 429"},
		},
		{
			name:    "a pause of the whole origin",
			serve:   says(503, "Retry-After", "90"),
			first:   1,
			verdict: []string{"the Retry-After of the 503 at ", " holds the whole origin for "},
			page:    []string{"held by Retry-After of a 503 for 1 min 30 s"},
		},
		{
			name: "a wrong declaration of partitions",
			serve: says(200, "RateLimit-Partition", `"user";user_id`,
				"RateLimit-Policy", `"user";q=40;w=60;pk=:ZXZlcnlib2R5:`, "RateLimit", `"user";a=0;w=60;pk=:ZXZlcnlib2R5:`),
			user:    "alice",
			first:   2,
			verdict: []string{`3 requests wait for https://api.example: policy "user"`, "Nothing is left", "The server counts in other partitions than it declares (last seen at "},
			page:    []string{"the server partitions otherwise than it declares"},
		},
		{
			name:    "a slow server",
			serve:   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			verdict: []string{"No request waits, and nothing is held. 3 requests are on their way, the oldest for ", "they wait for their servers, not for a quota."},
		},
		{
			name:    "a wait that is too long",
			serve:   says(200, "RateLimit-Policy", `"day";q=1000;w=86400`, "RateLimit", `"day";a=0;w=40000`),
			first:   1,
			verdict: []string{"3 requests were refused with an error in the last minute, and not sent; the last one to ", " at once: it would have to wait longer than Shaper.MaxDelay."},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, srv := newScene(t)
			t.Cleanup(func() { do(t, browser, chromedp.Navigate("about:blank")) }) // before the server ends
			s.apis["api.example"] = tt.serve
			if tt.set != nil {
				tt.set(s.shaper)
			}
			models := []string{"large", "small", "large"}
			if tt.first == 1 {
				models = models[1:] // else one of the others looks whether the quota concerns the small one
			}
			for i := range tt.first {
				s.get("https://api.example/models/"+models[i%3]+"/x", tt.user)
			}
			for range 3 {
				s.work.Go(func() { s.get("https://api.example/models/small/x", tt.user) })
			}
			do(t, browser, chromedp.Navigate(srv.URL+mount))
			within(t, browser, 2*time.Second, isLive)
			has := func(where string, part string) string {
				return fmt.Sprintf("document.querySelector(%q).textContent.includes(%q)", where, part)
			}
			for _, part := range tt.verdict {
				within(t, browser, 2*time.Second, has("#verdict", part))
			}
			for _, part := range tt.page {
				within(t, browser, 2*time.Second, has("main", part))
			}
			t.Log(eval[string](t, browser, `document.body.innerText`))
		})
	}
	complaints.check(t)
}
