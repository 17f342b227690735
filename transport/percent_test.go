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
		business("66782684", 100, minutes)),
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

// business is a business of which so many per cent of the calls are used.
func business(id string, percent, minutes int) string {
	return fmt.Sprintf(`{"%s":[{"type":"ads_management","call_count":%d,"total_cputime":25,"total_time":25,"estimated_time_to_regain_access":%d}]}`, id, percent, minutes)
}

// Of percentages it is not known how many requests they are: while something is left, none is held. Nor is one
// while no request is refused.
func TestPercentagesHoldNothing(t *testing.T) {
	bubble(t, "99 per cent", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(used(99))}
		pass(t, s, graph(t, "me"))
		assert.Equal(t, rtt, together(t, s, 40, "me"))
		assert.Equal(t, rtt, together(t, s, 40, "1001"))
	})
	for name, a := range map[string]answer{
		"100 per cent, served":              used(100),
		"another business, served":          slow(rtt, says(200, "X-Business-Use-Case-Usage", business("66782684", 100, 19))),
		"100 per cent, not found":           slow(rtt, says(404, "X-App-Usage", `{"call_count":100}`)),
		"a business, not found":             slow(rtt, says(404, "X-Business-Use-Case-Usage", business("66782684", 100, 19))),
		"100 per cent, an error of the app": slow(rtt, says(500, "X-App-Usage", `{"call_count":100}`)),
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(a)}
			pass(t, s, graph(t, "1001"))
			assert.Equal(t, rtt, together(t, s, 40, "1001"))
			assert.Equal(t, rtt, together(t, s, 40, "1002"))
		})
	}
}

// When all is used and one is refused, requests of that account wait until they may go again.
func TestPercentagesHoldWhenNothingIsLeft(t *testing.T) {
	second := func(refusal, later answer) *transport.Shaper {
		return &transport.Shaper{Base: newChooser(func(n int, _ *http.Request) answer {
			if n == 1 {
				return refusal
			}
			return later
		}), MaxDelay: time.Hour}
	}
	bubble(t, "a business", func(t *testing.T) {
		s := second(refusedFor(3), used(28))
		pass(t, s, graph(t, "1001"))
		assert.Zero(t, delay(t, s, graph(t, "1001")), "refused")
		assert.Equal(t, rtt, delay(t, s, graph(t, "1002")), "another account")
		assert.Equal(t, rtt, together(t, s, 40, "1002"))
		assert.Equal(t, 3*time.Minute-rtt+guard(0), delay(t, s, graph(t, "1001")))
		assert.Equal(t, rtt, together(t, s, 40, "1001"), "access is regained")
	})
	bubble(t, "a business, 429", func(t *testing.T) {
		s := second(says(429, "X-Business-Use-Case-Usage", business("66782684", 100, 3)), used(28))
		pass(t, s, graph(t, "1001"))
		assert.Zero(t, delay(t, s, graph(t, "1001")), "refused")
		assert.Equal(t, rtt, delay(t, s, graph(t, "1002")), "another account")
		assert.Equal(t, 3*time.Minute+guard(0), delay(t, s, graph(t, "1001")))
	})
	bubble(t, "for too long", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(refusedFor(19))}
		pass(t, s, graph(t, "1001"))
		assert.Equal(t, 19*time.Minute+guard(0), refusal(t, s, graph(t, "1001")).RetryAfter)
	})
	for status, code := range map[int]int{403: 4, 400: 17} {
		bubble(t, fmt.Sprint("the app, ", status), func(t *testing.T) {
			s := second(withBody(says(status, "X-App-Usage", `{"call_count":100}`), fmt.Sprintf(`{"error":{"type":"OAuthException","code":%d,"fbtrace_id":"A"}}`, code)), used(100))
			pass(t, s, graph(t, "1001"))
			assert.Zero(t, delay(t, s, graph(t, "1001")), "refused")
			assert.Equal(t, time.Minute+rtt, delay(t, s, graph(t, "1001")))
			assert.Equal(t, 5*rtt, together(t, s, 40, "1001"), "more with each answer")
		})
	}
}

// Meta refuses with the status 400 or 403 and a code in the body.
func TestRefusalsOfMeta(t *testing.T) {
	for name, a := range map[string]answer{
		"the app": withBody(says(403), `{"error":{"message":"(#4) Application request limit reached","type":"OAuthException","is_transient":true,"code":4,"fbtrace_id":"A"}}`),
		"a user":  withBody(says(400), `{"error":{"message":"(#17) User request limit reached","type":"OAuthException","is_transient":true,"code":17,"fbtrace_id":"A"}}`),
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
