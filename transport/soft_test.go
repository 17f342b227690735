package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A softRule is that of a server that counts in fixed windows that begin with a request, and may
// serve on where it says that nothing is left.
type softRule struct {
	quota   int64
	window  time.Duration
	hard    int64 // beyond the quota it serves so many; negative: any number
	fields  func(s *softServer, left int64) []string
	refuses []string // fields of refusals, beside those
	unlike  int      // one request in so many is refused for another reason; 0: none
}

type softServer struct {
	softRule
	mu      sync.Mutex
	ends    time.Time
	used    int64
	arrived int
	refused int
}

func (s *softServer) RoundTrip(req *http.Request) (*http.Response, error) {
	return answerApart(req, s.answer)
}

// answerApart returns the answer to the n-th request, which reaches the server half of a round trip
// after it was sent. No two answers arrive at one instant.
func answerApart(req *http.Request, to func(time.Time) (a answer, n int)) (*http.Response, error) {
	time.Sleep(20 * time.Millisecond)
	a, n := to(time.Now())
	resp, err := a(req)
	time.Sleep(20*time.Millisecond + time.Duration(n%1000)*time.Microsecond)
	return resp, err
}

func (s *softServer) answer(now time.Time) (a answer, nth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.ends) {
		s.ends, s.used = now.Add(s.window), 0
	}
	s.arrived++
	other := s.unlike > 0 && s.arrived%s.unlike == 0
	fields := []string{"Date", now.UTC().Format(http.TimeFormat)}
	if other || s.hard >= 0 && s.used >= s.quota+s.hard {
		s.refused++
		return says(429, append(append(fields, s.refuses...), s.fields(s, s.quota-s.used)...)...), s.arrived
	}
	s.used++
	return says(200, append(fields, s.fields(s, s.quota-s.used)...)...), s.arrived
}

// rest is how many seconds the window still lasts.
func (s *softServer) rest() int64 { return wholeSeconds(time.Until(s.ends)) }

func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// What such servers say.
func saysUnix(s *softServer, left int64) []string {
	return []string{
		"X-RateLimit-Limit", fmt.Sprint(s.quota), "X-RateLimit-Remaining", fmt.Sprint(max(left, 0)),
		"X-RateLimit-Reset", strconv.FormatInt(s.ends.Add(time.Second-1).Unix(), 10),
	}
}

func saysRapidAPI(s *softServer, left int64) []string {
	return []string{
		"X-RateLimit-Requests-Limit", fmt.Sprint(s.quota), "X-RateLimit-Requests-Remaining", fmt.Sprint(left),
		"X-RateLimit-Requests-Reset", fmt.Sprint(s.rest()),
	}
}

func saysNegative(s *softServer, left int64) []string {
	return []string{
		"X-RateLimit-Limit", fmt.Sprint(s.quota), "X-RateLimit-Remaining", fmt.Sprint(left),
		"X-RateLimit-Reset", fmt.Sprint(s.rest()),
	}
}

func saysDraft(s *softServer, left int64) []string {
	return []string{
		"RateLimit", fmt.Sprintf(`"api";a=%d;w=%d`, max(left, 0), s.rest()),
		"RateLimit-Policy", fmt.Sprintf(`"api";q=%d;w=%d`, s.quota, wholeSeconds(s.window)),
	}
}

func saysNoReset(s *softServer, left int64) []string {
	return []string{"X-RateLimit-Limit", fmt.Sprint(s.quota), "X-RateLimit-Remaining", fmt.Sprint(max(left, 0))}
}

func saysUnreadable(s *softServer, left int64) []string {
	return append(saysNoReset(s, left), "X-RateLimit-Reset", "soon")
}

// saysNoWindow tells how long windows are, but not when this one ends.
func saysNoWindow(s *softServer, left int64) []string {
	return append(saysDraft(s, left)[2:], "RateLimit", fmt.Sprintf(`"api";a=%d`, max(left, 0)))
}

func saysNothingLeft(s *softServer, _ int64) []string {
	return saysUnix(s, 0)
}

func saysSeconds(s *softServer, _ int64) []string { return saysNegative(s, 0) }

// saysOverage is saysUnix of a server whose quota may be exceeded at a price.
func saysOverage(s *softServer, left int64) []string {
	return append(saysUnix(s, left), "X-RateLimit-Overage", "enabled")
}

// ask sends a request every so often, for two hours, and returns how many came back served.
func (s *softServer) ask(t *testing.T, rt http.RoundTripper, every time.Duration) (served int) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for began := time.Now(); time.Since(began) < 2*time.Hour; time.Sleep(every) {
		wg.Go(func() {
			resp, err := rt.RoundTrip(getItems(t.Context()))
			drop(resp)
			if err == nil && resp.StatusCode == 200 {
				mu.Lock()
				defer mu.Unlock()
				served++
			}
		})
	}
	wg.Wait()
	return served
}

const days = 24 * time.Hour

// play asks the server for two hours with a Shaper, and returns the part that was served of what
// a client without one sends; and the server, for its counts.
func (r softRule) play(t *testing.T, every time.Duration) (part float64, after *softServer, learned string) {
	s := &softServer{softRule: r}
	shaper := &transport.Shaper{Base: s, Accounts: &quota.Accounts{Jitter: func() float64 { return 0.5 }}}
	part = float64(s.ask(t, shaper, every)) / float64(2*time.Hour/every)
	for _, a := range shaper.Accounts.Snapshot(time.Now(), quota.SnapshotOptions{})[0].Accounts {
		learned += fmt.Sprint(a.Learned)
	}
	return part, s, learned
}

const notEnforced = "not enforced: requests are served when nothing is left"

// A server that says that nothing is left and serves on serves a client with a Shaper, too. Before
// that is known, the client is held as it is told.
func TestSoftQuota(t *testing.T) {
	of := func(quota int64, window time.Duration, fields func(*softServer, int64) []string) softRule {
		return softRule{quota: quota, window: window, hard: -1, fields: fields}
	}
	unlike := func(r softRule, n int, fields ...string) softRule {
		r.unlike, r.refuses = n, fields
		return r
	}
	for name, tt := range raced.Cases(map[string]struct {
		softRule
		every time.Duration
		least float64
	}{
		"20 days, 0":                {of(100, 20*days, saysUnix), time.Second, 0.9},
		"20 days, -1, -2":           {of(100, 20*days, saysNegative), time.Second, 0.9},
		"20 days, RapidAPI":         {of(100, 20*days, saysRapidAPI), time.Second, 0.9},
		"20 days, draft":            {of(100, 20*days, saysDraft), time.Second, 0.9},
		"20 days, 0 from the first": {of(100, 20*days, saysNothingLeft), time.Second, 0.9},
		"20 days, seconds":          {of(100, 20*days, saysSeconds), time.Second, 0.75},
		"20 days, many":             {of(1000, 20*days, saysUnix), 200 * time.Millisecond, 0.9},
		"an hour, 0":                {of(100, time.Hour, saysUnix), time.Second, 0.9},
		"an hour, many":             {of(1000, time.Hour, saysDraft), 200 * time.Millisecond, 0.9},
		"15 minutes, 0":             {of(100, 15*time.Minute, saysUnix), time.Second, 0.9},
		"5 minutes, 0":              {of(100, 5*time.Minute, saysDraft), time.Second, 0.9},
		"2 minutes, 0":              {of(100, 2*time.Minute, saysUnix), 200 * time.Millisecond, 0.9},
		"a minute, 0":               {of(100, time.Minute, saysUnix), 200 * time.Millisecond, 0.8},
		"a minute, -1, -2":          {of(100, time.Minute, saysNegative), 200 * time.Millisecond, 0.8},
		"10 s, 0":                   {of(20, 10*time.Second, saysDraft), 200 * time.Millisecond, 0.75},
		"no reset, 0":               {of(100, 20*days, saysNoReset), 200 * time.Millisecond, 0.9},
		"no reset, an hour":         {of(1000, time.Hour, saysNoReset), 50 * time.Millisecond, 0.9},
		"unreadable, 0":             {of(100, 10*time.Minute, saysUnreadable), 200 * time.Millisecond, 0.9},
		"no end of an hour":         {of(100, time.Hour, saysNoWindow), 200 * time.Millisecond, 0.5},
		"no end of a minute":        {of(100, time.Minute, saysNoWindow), 200 * time.Millisecond, 0.8},
		"other refusals":            {unlike(of(100, 20*days, saysUnix), 300), time.Second, 0.9},
		"and a Retry-After":         {unlike(of(100, 20*days, saysUnix), 150, "Retry-After", "5"), time.Second, 0.9},
	}) {
		bubble(t, name, func(t *testing.T) {
			part, s, learned := tt.play(t, tt.every)
			t.Logf("%.3f, refused %d", part, s.refused)
			assert.GreaterOrEqual(t, part, tt.least)
			if tt.unlike == 0 {
				assert.Zero(t, s.refused)
			}
			assert.Contains(t, learned, notEnforced)
		})
	}
}

// Where requests beyond a quota are said to be served, its end holds nothing.
func TestOverage(t *testing.T) {
	for name, tt := range map[string]struct {
		quota int64
		every time.Duration
	}{
		"nothing left from the first on": {0, time.Second},
		"a quota that ends":              {100, time.Second},
		"a quota of 1000":                {1000, 2 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			says := saysOverage
			if tt.quota == 0 {
				says = func(s *softServer, _ int64) []string { return saysOverage(s, 0) }
			}
			part, _, _ := softRule{quota: max(tt.quota, 100), window: 20 * days, hard: -1, fields: says}.play(t, tt.every)
			assert.Equal(t, 1.0, part)
		})
	}
}

// A server that means what it says may refuse with a status that does not say so, or serve some
// requests that it does not count. That does not show that it serves on.
func TestHardQuotaWithoutRefusals(t *testing.T) {
	for name, tt := range raced.Cases(map[string]struct {
		status       int // with nothing left
		method, path string
		free         int  // status of requests that are not counted, one each second; 0: there are none
		bypass       bool // they do
	}{
		"400":                    {status: 400, path: "/items"},
		"402":                    {status: 402, path: "/items"},
		"456":                    {status: 456, path: "/items"},
		"302":                    {status: 302, path: "/items"},
		"509":                    {status: 509, path: "/items"},
		"GraphQL":                {status: 200, path: "/api/graphql"},
		"HEAD is not counted":    {status: 429, path: "/items", method: "HEAD", free: 200},
		"304 is not counted":     {status: 403, path: "/items", method: "GET", free: 304},
		"quota is looked up":     {status: 403, path: "/items", method: "GET", free: 200, bypass: true},
		"OPTIONS is not counted": {status: 429, path: "/items", method: "OPTIONS", free: 204},
	}) {
		for _, window := range []time.Duration{time.Hour, 5 * time.Minute} {
			bubble(t, fmt.Sprint(name, ", ", window), func(t *testing.T) {
				s := &softServer{softRule: softRule{quota: 500, window: window, fields: saysUnix}}
				refused := 0
				shaper := &transport.Shaper{Base: newChooser(func(_ int, req *http.Request) answer {
					s.mu.Lock()
					defer s.mu.Unlock()
					now := time.Now()
					if !now.Before(s.ends) {
						s.ends, s.used = now.Add(window), 0
					}
					status := 200
					switch {
					case req.URL.Path == "/free":
						status = tt.free
					case s.used >= s.quota:
						status = tt.status
						refused++
					default:
						s.used++
					}
					return slow(40*time.Millisecond, says(status, append(saysUnix(s, s.quota-s.used), "Date", now.UTC().Format(http.TimeFormat))...))
				})}
				var wg sync.WaitGroup
				send := func(ctx context.Context, method, path string) {
					wg.Go(func() {
						resp, _ := shaper.RoundTrip(newRequest(ctx, method, itemsOrigin+path))
						drop(resp)
					})
				}
				for i := range 4 * 3600 {
					send(t.Context(), "GET", tt.path)
					if i%2 == 0 && tt.free > 0 {
						ctx := t.Context()
						if tt.bypass {
							ctx = transport.WithBypass(ctx)
						}
						send(ctx, tt.method, "/free")
					}
					time.Sleep(500 * time.Millisecond)
				}
				wg.Wait()
				t.Log(refused)
				looks := 4 // 3 of them are of the ends of windows
				if window == time.Hour {
					looks = 13
				}
				assert.LessOrEqual(t, refused, looks)
			})
		}
	}
}

// A server that means what it says refuses no more than the looks into a window: one in ten
// minutes of a window that is longer, and one more in a day. If it serves a little more than it
// says, it also refuses a quarter of that, once.
func TestHardQuota(t *testing.T) {
	of := func(quota int64, window time.Duration, more int64) softRule {
		return softRule{quota: quota, window: window, hard: more, fields: saysDraft}
	}
	for name, tt := range raced.Cases(map[string]struct {
		softRule
		every time.Duration
		most  int
	}{
		"20 days":            {of(100, 20*days, 0), time.Second, 12},
		"20 days, many":      {of(1000, 20*days, 0), 200 * time.Millisecond, 12},
		"an hour, many":      {of(1000, time.Hour, 0), 200 * time.Millisecond, 11},
		"5 minutes":          {of(100, 5*time.Minute, 0), time.Second, 1},
		"a minute":           {of(100, time.Minute, 0), 200 * time.Millisecond, 1},
		"10 s":               {of(20, 10*time.Second, 0), 200 * time.Millisecond, 1},
		"10 more, 20 days":   {of(100, 20*days, 10), time.Second, 12 + 6},
		"10 more, 5 minutes": {of(100, 5*time.Minute, 10), 200 * time.Millisecond, 1 + 6},
		"100 more, 20 days":  {of(100, 20*days, 100), 200 * time.Millisecond, 12 + 30},
	}) {
		bubble(t, name, func(t *testing.T) {
			part, s, learned := tt.play(t, tt.every)
			t.Logf("%.3f, refused %d", part, s.refused)
			assert.LessOrEqual(t, s.refused, tt.most)
			assert.NotContains(t, learned, notEnforced)
		})
	}
}
