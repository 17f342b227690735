package transport

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

type baseFunc func(*http.Request) (*http.Response, error)

func (f baseFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// The claims that are taken over from the request before, in the same memory, are those that
// would be made anew, whatever the server has said in between.
func TestClaimsOfTheRequestBefore(t *testing.T) {
	says := []string{
		" ",
		"Retry-After: 1",
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=0;w=1|Retry-After: 1`,
		"X-RateLimit-Limit: 9|X-RateLimit-Remaining: 8|X-RateLimit-Reset: 1",
		"X-RateLimit-Limit: 5|X-RateLimit-Remaining: 4|X-RateLimit-Reset: 1",
		`RateLimit-Policy: "a";q=9;w=1, "b";q=9;w=1|RateLimit: "a";a=8;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=8;w=1;c=2`,
		`RateLimit-Policy: "a";q=9;w=1, "c";q=99;w=1;qu="content-bytes"|RateLimit: "a";a=8;w=1;c=3`,
		`RateLimit-Policy: "t";q=99;w=1;qu="tokens"|RateLimit: "t";a=98;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=8;w=1;pk=:R0VU:`,
		`RateLimit-Policy: "d";q=9;w=1|RateLimit: "d";a=8;w=1|RateLimit-Partition: "d";method`,
		"X-RateLimit-Bucket: x|X-RateLimit-Limit: 5|X-RateLimit-Remaining: 4|X-RateLimit-Reset-After: 1",
	}
	reused := 0
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		synctest.Test(t, func(t *testing.T) {
			of := make(map[string]string) // what each path always says, with an odd seed
			if seed%6 == 1 {
				of = map[string]string{"/channels/1": " ", "/channels/2": " ", "/b": says[3], "/c": " "}
			}
			say := func(path string) string {
				if seed%2 == 0 || of[path] == "" {
					of[path] = says[rnd.IntN(len(says))]
				}
				return of[path]
			}
			s := &Shaper{MaxDelay: NoDelay, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
				h := http.Header{}
				for _, field := range strings.Split(say(req.URL.Path), "|") {
					if name, value, ok := strings.Cut(field, ": "); ok {
						h.Add(name, value)
					}
				}
				status := 200
				if rnd.IntN(20) == 0 {
					status = 429
				}
				return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: req}, nil
			})}
			if seed%5 == 0 {
				s.Cost = func(req *http.Request, _ quota.Policy) int64 { return int64(req.URL.Path[len(req.URL.Path)-1]) }
			}
			var req *http.Request
			for range 200 {
				if req == nil || rnd.IntN(3) == 0 {
					method, path, user := "GET", []string{"/channels/1", "/channels/2", "/b", "/c"}[rnd.IntN(4)], ""
					if rnd.IntN(3) == 0 {
						method = "POST"
					}
					if rnd.IntN(8) == 0 {
						user = "alice"
					}
					var err error
					req, err = http.NewRequestWithContext(t.Context(), method, "https://api.example"+path, strings.NewReader(`{"model":"m","max_tokens":`+[]string{"5", "2000"}[rnd.IntN(2)]+"}"))
					require.NoError(t, err)
					req.SetBasicAuth(user, "")
					req.Header.Set("Content-Type", "application/json")
				}
				x, anew := s.begin(req), &exchange{s: s, req: req, options: optionsOf(req.Context())}
				before := x.claimsOf
				for _, x := range []*exchange{x, anew} {
					x.sent = true
					x.route()
				}
				if x.claimsOf == before && before != (claimsOf{}) {
					reused++
				}
				require.Len(t, x.ask.Claims, len(anew.ask.Claims), "seed %d", seed)
				for i, c := range x.ask.Claims {
					require.Equal(t, anew.ask.Claims[i], c, "seed %d", seed)
				}
				x.end()

				if resp, err := s.RoundTrip(req); err == nil {
					resp.Body.Close()
				}
				time.Sleep(time.Duration(rnd.IntN(900)) * time.Millisecond)
			}
		})
	}
	t.Log(reused)
	assert.Greater(t, reused, 100)
}
