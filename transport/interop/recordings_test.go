package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
)

// early are recordings whose refusal makes a Shaper look before the server served again.
var early = map[string]string{
	"@fastify/rate-limit, sliding": "counts refused requests: the recording client prolonged its own wait",
	"fiber, sliding window":        "counts refused requests: the recording client prolonged its own wait",
	"httprate, defaults":           "says when its window ends; the window before still counts, by halves",
	"httprate, draft names":        "says when its window ends; the window before still counts, by halves",
	"koa-ratelimit":                "rounds Retry-After down",
	"ulule/limiter":                "rounds the reset down to a second, and sends no Retry-After",
	"ulule/limiter in gin":         "rounds the reset down to a second, and sends no Retry-After",
	"Rack::Attack, README fields":  "its window began before the recording",
}

// late are recordings whose refusal makes a Shaper wait for longer than a second and a
// half after the server served again.
var late = map[string]string{
	"throttled (GCRA)": "its reset is when all ten are there again, and is read as when the first is",
}

// A Shaper that has received a recorded refusal sends the next request when the recorded
// server served again or up to a second and a half later, and not while the server still
// refused. Servers that say nothing are left out: a Shaper has to find out.
func TestRecordings(t *testing.T) {
	names, err := filepath.Glob("testdata/recordings/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	told := 0
	for _, name := range names {
		var r recording
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &r), name)
		p := replay(t, &r)
		t.Logf("%-34s refused at %4.2f s, still at %4.2f s, served at %5.2f s, the Shaper's next at %4.2f s",
			r.Server, p.refused.Seconds(), p.last.Seconds(), p.served.Seconds(), p.next.Seconds())
		if !p.told {
			continue
		}
		told++
		assert.Greater(t, p.next, p.refused+100*time.Millisecond, "%s: at once", r.Server)
		if early[r.Server] == "" {
			assert.Greater(t, p.next, p.last, "%s: refused again", r.Server)
		}
		if late[r.Server] == "" {
			assert.LessOrEqual(t, p.next, p.served+1500*time.Millisecond, "%s: late", r.Server)
		}
	}
	assert.Greater(t, told, len(names)/2)
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
