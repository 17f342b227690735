package transport_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// A request waits for a quota that is used up, in whichever form the server says so.
func TestDialects(t *testing.T) {
	const guard = time.Millisecond
	for _, tt := range []struct {
		name   string
		fields func(now time.Time) []string
		want   time.Duration
	}{
		{"editor's draft", func(time.Time) []string { return []string{"RateLimit", `"api";a=0;w=7`} }, 7*time.Second + guard},
		{"-08 to -11", func(time.Time) []string { return []string{"RateLimit", `"api";r=0;t=7`} }, 7*time.Second + guard},
		{"-07", func(time.Time) []string { return []string{"RateLimit", `limit=10, remaining=0, reset=7`} }, 7*time.Second + guard},
		{"-06", func(time.Time) []string {
			return []string{"RateLimit-Limit", "10", "RateLimit-Remaining", "0", "RateLimit-Reset", "7"}
		}, 7*time.Second + guard},
		{"delta", func(time.Time) []string {
			return []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "7"}
		}, 7*time.Second + guard},
		{"a Unix time by a clock that is 90 s ahead", func(now time.Time) []string {
			server := now.Add(90 * time.Second)
			return []string{
				"Date", server.UTC().Format(http.TimeFormat),
				"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", fmt.Sprint(server.Unix() + 7),
			}
		}, 6*time.Second + guard}, // exact where the instant is rounded up, and else a second early, once
	} {
		bubble(t, tt.name, func(t *testing.T) {
			time.Sleep(26 * 365 * 24 * time.Hour) // until the Unix time is large enough to be recognised
			s := &transport.Shaper{Base: newServer(says(200, tt.fields(time.Now())...), says(200))}
			pass(t, s, getItems(t.Context()))
			assert.Equal(t, tt.want, delay(t, s, getItems(t.Context())))
		})
	}
}

// limit=100, then 10, then 0 is one account (draft -07, Appendix B.2.2).
func TestUnnamedAccountIsOne(t *testing.T) {
	bubble(t, "one account", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(
			says(200, "RateLimit", "limit=100, remaining=99, reset=60"),
			says(200, "RateLimit", "limit=10, remaining=9, reset=60"),
			says(429, "RateLimit", "limit=0, remaining=0, reset=60"),
			says(200),
		)}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, time.Minute+time.Millisecond, delay(t, s, getItems(t.Context())))
	})
}

// A server that says the milliseconds until a reset under the name under which others say seconds:
// 4 requests in 20 s. A row says so.
func TestResetInMilliseconds(t *testing.T) {
	bubble(t, "a row", func(t *testing.T) {
		const limit, window = 4, 20 * time.Second
		since, used := time.Now(), 0
		srv := newChooser(func(int, *http.Request) answer {
			if passed := time.Since(since); passed >= window {
				since, used = since.Add(passed.Truncate(window)), 0
			}
			used++
			status, left := 200, limit-used
			if left < 0 {
				status, left = 429, 0
			}
			return slow(rtt, says(status, "X-RateLimit-Limit", "4", "X-RateLimit-Remaining", strconv.Itoa(left),
				"X-RateLimit-Reset", strconv.FormatInt((window-time.Since(since)).Milliseconds(), 10)))
		})
		s := &transport.Shaper{Base: srv, Vendors: []parse.Vendor{{Hosts: []string{"api.example"}, ResetIn: time.Millisecond}}}
		began := time.Now()
		for range 40 {
			_, status := pass(t, s, getItems(t.Context()))
			assert.Equal(t, http.StatusOK, status)
		}
		assert.InDelta(t, 9*window, time.Since(began), float64(time.Second))
	})
}

// A row in Vendors says how to read the fields of an API.
func TestVendors(t *testing.T) {
	bubble(t, "a row", func(t *testing.T) {
		row := parse.Vendor{Name: "acme", Limit: []string{"Acme-Quota"}, Remaining: []string{"Acme-Left"}, Reset: []string{"Acme-Renews"}, ResetIn: time.Second}
		var learned []transport.LearnedInfo
		s := &transport.Shaper{
			Base:    newServer(says(200, "Acme-Quota", "10", "Acme-Left", "0", "Acme-Renews", "7"), says(200)),
			Vendors: []parse.Vendor{row},
			Trace:   &transport.Trace{Learned: func(i transport.LearnedInfo) { learned = append(learned, i) }},
		}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, 7*time.Second+time.Millisecond, delay(t, s, getItems(t.Context())))
		assert.Equal(t, "acme", learned[0].Vendor)
		assert.Equal(t, parse.VendorFields, learned[0].Dialect)
	})
}
