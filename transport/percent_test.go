package transport_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

func graph(t *testing.T, node string) *http.Request {
	return newRequest(t.Context(), "GET", "https://graph.facebook.com/v23.0/"+node+"/campaigns")
}

// used answers as Meta does, with the percentages that the app has used.
func used(percent int) answer {
	return slow(rtt, says(200, "X-App-Usage", fmt.Sprintf(`{"call_count":%d,"total_time":25,"total_cputime":0}`, percent)))
}

// refusedFor answers as Meta does where a business has used all.
func refusedFor(minutes int) answer {
	return withBody(says(400, "X-Business-Use-Case-Usage",
		fmt.Sprintf(`{"66782684":[{"type":"ads_management","call_count":100,"total_cputime":25,"total_time":25,"estimated_time_to_regain_access":%d}]}`, minutes)),
		`{"error":{"message":"(#80004) There have been too many calls to this ad-account.","type":"OAuthException","code":80004,"error_subcode":2446079}}`)
}

// together sends n requests at once and returns the longest time that one took.
func together(t *testing.T, s *transport.Shaper, n int, node string) (longest time.Duration) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range n {
		wg.Go(func() {
			d := delay(t, s, graph(t, node))
			mu.Lock()
			longest = max(longest, d)
			mu.Unlock()
		})
	}
	wg.Wait()
	return longest
}

// Of percentages it is not known how many requests they are: while something is left, none is held.
func TestPercentagesHoldNothing(t *testing.T) {
	bubble(t, "99 per cent", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(used(99))}
		pass(t, s, graph(t, "me"))
		assert.Equal(t, rtt, together(t, s, 40, "me"))
		assert.Equal(t, rtt, together(t, s, 40, "1001"))
	})
}

// When all is used, requests of that account wait until they may go again, and then none is held.
func TestPercentagesHoldWhenNothingIsLeft(t *testing.T) {
	bubble(t, "a business", func(t *testing.T) {
		srv := newChooser(func(n int, req *http.Request) answer {
			if n == 1 {
				return refusedFor(1)
			}
			return used(28)
		})
		s := &transport.Shaper{Base: srv}
		pass(t, s, graph(t, "1001"))
		assert.Zero(t, delay(t, s, graph(t, "1001")), "refused")
		assert.Equal(t, rtt, together(t, s, 40, "1002"), "another account")
		assert.InDelta(t, time.Minute-rtt, delay(t, s, graph(t, "1001")), float64(200*time.Millisecond))
		assert.Equal(t, rtt, together(t, s, 40, "1001"), "access is regained")
	})
	bubble(t, "for too long", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(refusedFor(19))}
		pass(t, s, graph(t, "1001"))
		assert.InDelta(t, 19*time.Minute, refusal(t, s, graph(t, "1001")).RetryAfter, float64(200*time.Millisecond))
	})
	bubble(t, "the app", func(t *testing.T) {
		left := 3
		srv := newChooser(func(int, *http.Request) answer {
			if left--; left == 1 {
				return used(100)
			}
			return used(40)
		})
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		pass(t, s, graph(t, "1001"))
		pass(t, s, graph(t, "1001"))
		assert.Equal(t, time.Second+2*rtt, together(t, s, 40, "1001"), "one looks after a second, then all go")
		assert.Equal(t, rtt, together(t, s, 40, "1001"))
	})
}

// Meta refuses with the status 400 or 403 and a code in the body.
func TestRefusalsOfMeta(t *testing.T) {
	for name, a := range map[string]answer{
		"the app":    withBody(says(403), `{"error":{"message":"(#4) Application request limit reached","type":"OAuthException","is_transient":true,"code":4,"fbtrace_id":"A"}}`),
		"a user":     withBody(says(400), `{"error":{"message":"(#17) User request limit reached","type":"OAuthException","is_transient":true,"code":17,"fbtrace_id":"A"}}`),
		"an account": withBody(says(400), `{"error":{"message":"(#80004) There have been too many calls to this ad-account.","type":"OAuthException","code":80004,"error_subcode":2446079}}`),
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(a)}
			assert.Zero(t, delay(t, s, graph(t, "1001")))
			assert.Equal(t, time.Minute, delay(t, s, graph(t, "1001")))
		})
	}
	for name, a := range map[string]answer{
		"another code": withBody(says(400), `{"error":{"message":"(#100) Unsupported get request","type":"OAuthException","code":100,"fbtrace_id":"A"}}`),
		"a subcode":    withBody(says(400), strings.Repeat(" ", 3)+`{"error":{"code":190,"error_subcode":463,"fbtrace_id":"code4,"}}`),
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(a)}
			for range 3 {
				assert.Zero(t, delay(t, s, graph(t, "1001")))
			}
		})
	}
}
