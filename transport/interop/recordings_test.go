package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
)

// A Shaper that has received a recorded refusal sends the next request no sooner than the
// server's own words allow, and at most a second and a half later than they say. Servers
// that say nothing are left out: a Shaper has to find out.
//
// Words are wrong or leave things open: koa-ratelimit rounds Retry-After down, a sliding
// window that counts refused requests has moved on, and a whole second may have been rounded
// up or down. So a Shaper that goes by them is refused again by some of the servers. How
// many that are is bounded, so that it does not become worse unseen.
func TestRecordings(t *testing.T) {
	names, err := filepath.Glob("testdata/recordings/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	told, again := 0, []string(nil)
	for _, name := range names {
		var r recording
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &r), name)
		p := replay(t, &r)
		earliest, latest, ok := words(&r)
		t.Logf("%-34s refused at %4.2f s, still at %4.2f s, served at %5.2f s; says %4.2f to %4.2f s; the Shaper's next at %4.2f s",
			r.Server, p.refused.Seconds(), p.last.Seconds(), p.served.Seconds(), earliest.Seconds(), latest.Seconds(), p.next.Seconds())
		assert.Equal(t, p.told, ok, "%s: are there words?", r.Server)
		if !ok {
			continue
		}
		told++
		assert.Greater(t, p.next, p.refused+100*time.Millisecond, "%s: at once", r.Server)
		assert.GreaterOrEqual(t, p.next, earliest, "%s: sooner than the server says", r.Server)
		assert.LessOrEqual(t, p.next, latest+1500*time.Millisecond, "%s: later than the server says", r.Server)
		if p.next <= p.last {
			again = append(again, r.Server)
		}
	}
	assert.Greater(t, told, len(names)/2)
	assert.LessOrEqual(t, len(again), 8, "refused again: %q", again)
	t.Logf("refused again by %d of %d: %q", len(again), told, again)
}

// words reads when a recorded server will serve again by what it says in its first refusal,
// counted from the beginning of the recording: by Retry-After, from when the refusal has
// arrived; by a reset in whole seconds, a second sooner or later, and perhaps from the first
// response of the window on, which said the same.
func words(r *recording) (earliest, latest time.Duration, ok bool) {
	for _, e := range r.Answers {
		if e.Status == http.StatusOK {
			continue
		}
		begun := time.Duration(r.Answers[0].At) * time.Millisecond // when the server said so first, perhaps
		received := time.Duration(e.At+e.Took) * time.Millisecond
		h := make(http.Header)
		for _, line := range e.Headers {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		now, err := http.ParseTime(h.Get("Date"))
		if err != nil {
			now = r.Began.Add(received)
		}
		for _, field := range []string{"Retry-After", "Ratelimit-Reset", "X-Ratelimit-Reset", "Ratelimit"} {
			at := instant(h.Get(field), now)
			if at.IsZero() {
				continue
			}
			first, last := received, received
			if field != "Retry-After" {
				first, last = begun-time.Second, received+time.Second
			}
			if !ok {
				earliest = first + at.Sub(now)
			}
			latest, ok = max(latest, last+at.Sub(now)), true
		}
		break
	}
	return earliest, latest, ok
}

var resetOf = regexp.MustCompile(`(?:reset|\bt)=(\d+)`)

// instant reads a number of seconds, a Unix time, or a date. The zero time: there is none.
func instant(value string, now time.Time) time.Time {
	if m := resetOf.FindStringSubmatch(value); m != nil {
		value = m[1]
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s > 1e9 {
			return time.Unix(0, int64(s*1e9))
		}
		return now.Add(time.Duration(s * float64(time.Second)))
	}
	at, _ := http.ParseTime(strings.Replace(value, "UTC", "GMT", 1))
	return at
}

// moments are instants of a recording, from its beginning.
type moments struct {
	refused, last time.Duration // the first and the last refusal
	served        time.Duration // the first response after them
	next          time.Duration // when the Shaper lets the next request go, which received the first refusal
	told          bool          // the server said anything
}

// replay has a Shaper receive the recorded responses up to the first refusal.
func replay(t *testing.T, r *recording) (p moments) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(r.Began))
		ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
		var now exchange
		shaper := &transport.Shaper{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			time.Sleep(ms(now.Took))
			resp := &http.Response{StatusCode: now.Status, Header: make(http.Header), Body: http.NoBody, Request: req}
			for _, line := range now.Headers {
				name, value, _ := strings.Cut(line, ": ")
				resp.Header.Add(name, value)
				p.told = p.told || name != "Date"
			}
			return resp, nil
		})}
		for _, now = range r.Answers {
			time.Sleep(time.Until(r.Began.Add(ms(now.At))))
			req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/items", nil)
			require.NoError(t, err)
			resp, err := shaper.RoundTrip(req.WithContext(transport.WithBypass(t.Context())))
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			if now.Status != http.StatusOK {
				p.refused = ms(now.At)
				p.next = time.Since(r.Began) + shaper.Check(req).Wait
				break
			}
		}
		n := len(r.Answers)
		p.last, p.served = ms(r.Answers[n-2].At), ms(r.Answers[n-1].At)
	})
	return p
}
