package transport_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// An untoldDay is a server that says how much is left of a day's or a month's quota, and not when there is
// more. One whose quota is soft serves on. Beside it may be a limit of a minute that it does not tell.
type untoldDay struct {
	fields          string // with %L for the limit and %N for what is left
	left            int
	soft            bool
	minute          int // 0: no limit
	began           time.Time
	used            int
	served, refused int
}

func (s *untoldDay) ServeHTTP(rw http.ResponseWriter, _ *http.Request) {
	if now := time.Now(); now.Sub(s.began) >= time.Minute {
		s.began, s.used = now, 0
	}
	ok := (s.soft || s.left > 0) && (s.minute == 0 || s.used < s.minute)
	if ok {
		s.left = max(s.left-1, 0)
		s.used++
		s.served++
	} else {
		s.refused++
	}
	for field := range strings.SplitSeq(strings.NewReplacer("%L", "1000", "%N", strconv.Itoa(s.left)).Replace(s.fields), "|") {
		name, value, _ := strings.Cut(field, ": ")
		rw.Header().Set(name, value)
	}
	if !ok {
		rw.WriteHeader(http.StatusTooManyRequests)
	}
}

// run is a client that sends as soon as it can for that long, and backs off as a retry loop does,
// with a Shaper or without.
func (s *untoldDay) run(t *testing.T, long time.Duration, shaped bool) (rejected int) {
	synctest.Test(t, func(t *testing.T) {
		var rt http.RoundTripper = &transporttest.Transport{Handler: s, Latency: func() time.Duration { return 100 * time.Millisecond }}
		if shaped {
			rt = &transport.Shaper{Base: rt, Accounts: &quota.Accounts{Jitter: func() float64 { return 0 }}}
		}
		start, back := time.Now(), time.Second
		for time.Since(start) < long {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://day.example/", nil)
			if !assert.NoError(t, err) {
				return
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				rejected++
			} else {
				resp.Body.Close()
			}
			if err != nil || resp.StatusCode != http.StatusOK {
				time.Sleep(back)
				back = min(2*back, time.Minute)
				continue
			}
			back = time.Second
		}
	})
	return rejected
}

var untoldDays = []string{
	"X-RateLimit-Limit-Day: %L|X-RateLimit-Remaining-Day: %N",
	"X-RateLimit-Day: %L|X-RateLimit-Day-Remaining: %N",
	"RateLimit-Limit-Month: %L|RateLimit-Remaining-Month: %N",
	`RateLimit-Policy: "day";q=%L;w=86400|RateLimit: "day";r=%N`,
}

// If nothing is left of a day's quota, it is not told when there will be more, and requests are served all
// the same, a client loses a second and not ten minutes.
func TestUntoldDayIsSoft(t *testing.T) {
	for _, fields := range untoldDays {
		for _, left := range []int{0, 1, 500} {
			s := &untoldDay{fields: fields, left: left, soft: true}
			rejected := s.run(t, 2*time.Minute, true)
			assert.GreaterOrEqual(t, s.served, 1_185, "%s, %d left", fields, left) // of 1,200
			assert.Zero(t, s.refused)
			assert.Zero(t, rejected)
		}
	}
}

// If such a quota is enforced, the server refuses one look in each ten minutes, and the first one, a second after
// nothing is left.
func TestUntoldDayIsEnforced(t *testing.T) {
	for _, fields := range untoldDays {
		s := &untoldDay{fields: fields, left: 500}
		s.run(t, 24*time.Hour, true)
		assert.Equal(t, 500, s.served, fields)
		assert.LessOrEqual(t, s.refused, 24*6+1, fields)
	}
}

// If a limit that is not told refuses requests, too, the client goes on after its back-offs, as quickly as a retry
// loop without jitter does.
func TestUntoldDayBesideMinute(t *testing.T) {
	for _, fields := range untoldDays {
		loop := &untoldDay{fields: fields, left: 10, soft: true, minute: 20}
		s := *loop
		loop.run(t, 2*time.Hour, false)
		s.run(t, 2*time.Hour, true)
		assert.GreaterOrEqual(t, s.served*100, loop.served*97, fields)
		assert.LessOrEqual(t, s.refused, loop.refused, fields)
	}
}
