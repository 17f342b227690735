package transport_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// discord answers as Discord does: the bucket is the same for all channels, and counts each
// of them.
func discord(left map[string]int) *server {
	return newChooser(func(_ int, req *http.Request) answer {
		channel := strings.Split(req.URL.Path, "/")[3]
		left[channel]--
		return slow(rtt, says(200, "X-RateLimit-Bucket", "abcd", "X-RateLimit-Limit", "5",
			"X-RateLimit-Remaining", fmt.Sprint(max(left[channel], 0)), "X-RateLimit-Reset-After", "5.000"))
	})
}

func inChannel(t *testing.T, channel string) *http.Request {
	return newRequest(t.Context(), "POST", "https://discord.com/api/channels/"+channel+"/messages")
}

// A channel with nothing left holds no other one, although the bucket is that of all.
func TestPartOfPathPartitions(t *testing.T) {
	bubble(t, "channels", func(t *testing.T) {
		s := &transport.Shaper{Base: discord(map[string]int{"1": 2, "2": 4, "3": 4})}
		assert.Equal(t, rtt, delay(t, s, inChannel(t, "1")))
		assert.Equal(t, rtt, delay(t, s, inChannel(t, "1")))
		assert.Equal(t, rtt, delay(t, s, inChannel(t, "2")))
		assert.Equal(t, rtt, delay(t, s, inChannel(t, "3")))
		assert.Equal(t, rtt, delay(t, s, inChannel(t, "2")))
		assert.Equal(t, 5*time.Second-4*rtt+guard(rtt), delay(t, s, inChannel(t, "1")))
		assert.Equal(t, rtt, delay(t, s, inChannel(t, "2")))
	})
	bubble(t, "a channel is refused", func(t *testing.T) {
		s := &transport.Shaper{Base: newChooser(func(n int, _ *http.Request) answer {
			status, fields := 200, []string{"X-RateLimit-Bucket", "abcd", "X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "4", "X-RateLimit-Reset-After", "5"}
			if n == 2 {
				status, fields = 429, append(fields, "Retry-After", "7", "X-RateLimit-Scope", "shared")
			}
			return says(status, fields...)
		})}
		pass(t, s, inChannel(t, "1"))
		pass(t, s, inChannel(t, "2"))
		pass(t, s, inChannel(t, "1"))
		assert.Zero(t, delay(t, s, inChannel(t, "2")))
		assert.Equal(t, 7*time.Second, delay(t, s, inChannel(t, "1")))
	})
	bubble(t, "everything is refused", func(t *testing.T) {
		s := &transport.Shaper{Base: newChooser(func(n int, _ *http.Request) answer {
			fields := []string{"X-RateLimit-Bucket", "abcd", "X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "4", "X-RateLimit-Reset-After", "5"}
			if n == 2 {
				return says(429, append(fields, "Retry-After", "7", "X-RateLimit-Global", "true")...)
			}
			return says(200, fields...)
		})}
		pass(t, s, inChannel(t, "1"))
		pass(t, s, inChannel(t, "2"))
		pass(t, s, inChannel(t, "1"))
		assert.Equal(t, 7*time.Second, delay(t, s, inChannel(t, "2")))
	})
}

// mart answers as BitMart does: each endpoint has a quota of its own for each user, and no field names the endpoint.
func mart(quotas map[string]int, used map[string]int) *server {
	return newChooser(func(_ int, req *http.Request) answer {
		path := req.URL.Path
		of := req.Header.Get("X-Bm-Key") + path
		status := 200
		if used[of]++; used[of] > quotas[path] {
			status = 429
		}
		return slow(rtt, says(status, "X-BM-RateLimit-Remaining", fmt.Sprint(min(used[of], quotas[path])),
			"X-BM-RateLimit-Limit", fmt.Sprint(quotas[path]), "X-BM-RateLimit-Reset", "60"))
	})
}

func inMart(t *testing.T, user, path string) *http.Request {
	req := newRequest(t.Context(), "GET", "https://api-cloud.bitmart.com"+path)
	req.Header.Set("X-Bm-Key", user)
	return req
}

// A row may partition by the path although no field names a partition.
func TestPathAlonePartitions(t *testing.T) {
	const few, many = "/spot/v1/ticker", "/spot/v1/trades"
	shaper := func(used map[string]int) *transport.Shaper {
		return &transport.Shaper{
			Base:  mart(map[string]int{few: 3, many: 40, "/status": 3}, used),
			Scope: func(req *http.Request) string { return req.Header.Get("X-Bm-Key") },
		}
	}
	bubble(t, "endpoints", func(t *testing.T) {
		s := shaper(map[string]int{})
		for range 3 {
			for _, path := range []string{few, many} {
				took, status := pass(t, s, inMart(t, "a", path))
				assert.Equal(t, rtt, took)
				assert.Equal(t, 200, status)
			}
		}
		for range 30 { // the other endpoint has nothing left
			assert.Equal(t, rtt, delay(t, s, inMart(t, "a", many)))
		}
		assert.Greater(t, delay(t, s, inMart(t, "a", few)), 30*time.Second)
	})
	for _, path := range []string{few, "/status"} { // the latter has no segments that partition
		bubble(t, "users of "+path, func(t *testing.T) {
			s := shaper(map[string]int{})
			for _, user := range []string{"a", "b", "a", "a", "b"} {
				took, status := pass(t, s, inMart(t, user, path))
				assert.Equal(t, rtt, took)
				assert.Equal(t, 200, status)
			}
			assert.Greater(t, delay(t, s, inMart(t, "a", path)), 30*time.Second)
		})
	}
}
