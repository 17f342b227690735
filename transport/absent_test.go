package transport_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/transport"
)

// An absentServer says what is left of a quota for some time, and then does not, or not always.
type absentServer struct {
	quota   int64
	window  time.Duration
	until   time.Duration                            // it says so in all responses; then
	fields  func(s *absentServer, n int) []string    // it says this, in its n-th response; nil: nothing
	dialect string                                   // of what it says before
	limit   func(s *absentServer, at time.Time) bool // whether it serves; nil: then it does

	mu              sync.Mutex // guards following
	start, ends     time.Time
	used            int64
	tat             time.Time // of a bucket
	arrived         int
	served, refused int
}

func (s *absentServer) RoundTrip(req *http.Request) (*http.Response, error) {
	return answerApart(req, s.answer)
}

func (s *absentServer) answer(now time.Time) (a answer, nth int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start.IsZero() {
		s.start = now
	}
	s.arrived++
	tells := now.Sub(s.start) < s.until
	served := true
	if s.limit != nil {
		served = s.limit(s, now)
	} else if tells {
		served = windows(s, now)
	}
	var fields []string
	switch {
	case tells:
		fields = s.says()
	case s.fields != nil:
		fields = s.fields(s, s.arrived)
	}
	if !served {
		s.refused++
		return says(429, fields...), s.arrived
	}
	s.served++
	return says(200, fields...), s.arrived
}

func (s *absentServer) says() []string {
	left, reset := max(s.quota-s.used, 0), wholeSeconds(time.Until(s.ends))
	switch s.dialect {
	case "X-RateLimit":
		return []string{"X-RateLimit-Limit", fmt.Sprint(s.quota), "X-RateLimit-Remaining", fmt.Sprint(left), "X-RateLimit-Reset", fmt.Sprint(reset)}
	case "policy":
		return []string{"RateLimit-Policy", fmt.Sprintf(`"api";q=%d;w=%d`, s.quota, wholeSeconds(s.window))}
	case "draft 7":
		return []string{
			"RateLimit", fmt.Sprintf("limit=%d, remaining=%d, reset=%d", s.quota, left, reset),
			"RateLimit-Policy", fmt.Sprintf("%d;w=%d", s.quota, wholeSeconds(s.window)),
		}
	case "limits":
		return []string{"RateLimit", fmt.Sprintf(`"api";r=%d;t=%d`, left, reset)}
	}
	return []string{
		"RateLimit", fmt.Sprintf(`"api";r=%d;t=%d`, left, reset),
		"RateLimit-Policy", fmt.Sprintf(`"api";q=%d;w=%d`, s.quota, wholeSeconds(s.window)),
	}
}

// windows is the rule of a server that counts in fixed windows.
func windows(s *absentServer, now time.Time) bool {
	if !now.Before(s.ends) {
		s.ends, s.used = now.Add(s.window), 0
	}
	s.used++
	return s.used <= s.quota
}

// ask sends a request every so often and returns which part of them was served.
func (s *absentServer) ask(t *testing.T, shaper *transport.Shaper, every, lasts time.Duration) (part float64) {
	shaper.Base = s
	var wg sync.WaitGroup
	sent := 0
	for began := time.Now(); time.Since(began) < lasts; time.Sleep(every) {
		sent++
		wg.Go(func() {
			resp, _ := shaper.RoundTrip(getItems(t.Context()))
			drop(resp)
		})
	}
	wg.Wait()
	return float64(s.served) / float64(sent)
}

// Rules of servers that mean what they say.
func aligned(s *absentServer, now time.Time) bool {
	if !now.Before(s.ends) {
		s.ends, s.used = now.Truncate(s.window).Add(s.window), 0
	}
	s.used++
	return s.used <= s.quota
}

func leaks(s *absentServer, now time.Time) bool {
	unit := s.window / time.Duration(s.quota)
	if s.tat.Before(now) {
		s.tat = now
	}
	s.used = int64((s.tat.Sub(now) + unit - 1) / unit)
	s.ends = s.tat.Add(unit - s.window)
	if s.tat.Add(unit).Sub(now) > s.window {
		return false
	}
	s.tat = s.tat.Add(unit)
	s.used++
	s.ends = s.tat
	return true
}

// If a server does not say anything of a quota any more, and does not enforce it, it holds nothing
// after some windows.
func TestAbsentFields(t *testing.T) {
	x1000 := func(s *absentServer, n int) []string {
		return []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", fmt.Sprint(1000 - n%1000), "X-RateLimit-Reset", "60"}
	}
	draft7 := func(s *absentServer, n int) []string {
		return []string{"RateLimit", fmt.Sprintf("limit=1000, remaining=%d, reset=60", 1000-n%1000), "RateLimit-Policy", "1000;w=60"}
	}
	const s, minute, hour, day = time.Second, time.Minute, time.Hour, 24 * time.Hour
	for name, tt := range raced.Cases(map[string]struct {
		*absentServer
		least float64
	}{
		"10/10s":              {&absentServer{quota: 10, window: 10 * s, until: 65 * s}, .99},
		"10/10s, X-RateLimit": {&absentServer{quota: 10, window: 10 * s, until: 65 * s, dialect: "X-RateLimit"}, .99},
		"10/10s, policies":    {&absentServer{quota: 10, window: 10 * s, until: 65 * s, dialect: "policy"}, .99},
		"10/1s":               {&absentServer{quota: 10, window: s, until: 65 * s}, .99},
		"100/60s":             {&absentServer{quota: 100, window: minute, until: 65 * s}, .7},
		"600/h":               {&absentServer{quota: 600, window: hour, until: 20 * s}, .85},
		"600/h, nothing left": {&absentServer{quota: 600, window: hour, until: 25 * s}, .85},
		"other fields":        {&absentServer{quota: 10, window: 10 * s, until: 65 * s, fields: x1000}, .99},

		"1500/10min, policies":   {&absentServer{quota: 1500, window: 10 * minute, until: 10 * minute, dialect: "policy"}, .9},
		"1500/d":                 {&absentServer{quota: 1500, window: day, until: 4 * minute}, 1},
		"1500/d, X-RateLimit":    {&absentServer{quota: 1500, window: day, until: 4 * minute, dialect: "X-RateLimit"}, 1},
		"1500/d, draft 7":        {&absentServer{quota: 1500, window: day, until: 4 * minute, dialect: "draft 7"}, 1},
		"1500/d, other fields":   {&absentServer{quota: 1500, window: day, until: 4 * minute, fields: x1000}, 1},
		"1500/d, other dialect":  {&absentServer{quota: 1500, window: day, until: 4 * minute, dialect: "X-RateLimit", fields: draft7}, 1},
		"1500/d, another policy": {&absentServer{quota: 1500, window: day, until: 4 * minute, dialect: "draft 7", fields: draft7}, 1},
	}) {
		bubble(t, name, func(t *testing.T) {
			every := 40 * time.Millisecond
			if tt.window > minute {
				every *= 5
			}
			part := tt.ask(t, new(transport.Shaper), every, min(max(10*minute, 6*tt.window), hour))
			t.Logf("%.3f, served %d", part, tt.served)
			assert.GreaterOrEqual(t, part, tt.least)
			assert.Zero(t, tt.refused)
		})
	}
}

// If it is still enforced, this costs few refusals: the next one is after 10 min, 40 min, and so on up to
// a day.
func TestAbsentFieldsOfEnforcedQuota(t *testing.T) {
	const s, ms, hour = time.Second, time.Millisecond, time.Hour
	seldom := func(s *absentServer, n int) []string {
		if n%50 > 0 {
			return nil
		}
		return s.says()
	}
	refusals := func(s *absentServer, _ int) []string {
		if s.used <= s.quota {
			return nil
		}
		return s.says()
	}
	for name, tt := range raced.Cases(map[string]struct {
		*absentServer
		every, lasts time.Duration
		most         int // refusals
	}{
		"windows":             {&absentServer{quota: 10, window: 10 * s, limit: windows}, 200 * ms, hour / 2, 2},
		"windows, policies":   {&absentServer{quota: 10, window: 10 * s, limit: windows, dialect: "policy"}, 200 * ms, hour / 2, 2},
		"windows of a second": {&absentServer{quota: 20, window: s, limit: windows}, 20 * ms, hour / 4, 2},
		"aligned windows":     {&absentServer{quota: 10, window: 10 * s, limit: aligned}, 200 * ms, hour / 2, 2},
		"many in a window":    {&absentServer{quota: 1000, window: 10 * s, limit: windows}, 5 * ms, 4 * time.Minute, 2},
		"a bucket":            {&absentServer{quota: 10, window: 10 * s, limit: leaks}, 200 * ms, hour / 2, 2},
		"a large bucket":      {&absentServer{quota: 1000, window: hour, limit: leaks}, s, 4 * hour, 3},
		"fields now and then": {&absentServer{quota: 10, window: 10 * s, limit: windows, fields: seldom}, 200 * ms, hour / 2, 2},
		"windows of a minute": {&absentServer{quota: 100, window: time.Minute, limit: windows}, 200 * ms, hour / 2, 2},
		"fields of refusals":  {&absentServer{quota: 100, window: time.Minute, limit: windows, fields: refusals}, 200 * ms, hour / 2, 3},
		"two days":            {&absentServer{quota: 2, window: 10 * s, limit: windows}, 4 * s, 48 * hour, 6},
	}) {
		bubble(t, name, func(t *testing.T) {
			tt.until = 35 * s
			tt.ask(t, new(transport.Shaper), tt.every, tt.lasts)
			t.Log(tt.served, tt.refused)
			assert.LessOrEqual(t, tt.refused, tt.most)
			assert.Positive(t, tt.refused, "no request has tried")
		})
	}
}
