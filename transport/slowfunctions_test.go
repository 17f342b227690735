package transport_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// The caller's own functions may take time. A request is admitted by the time at which
// they have returned: one that may go by then is not held, and the window of its answer
// is counted from then.
func TestTimeOfSlowFunctions(t *testing.T) {
	const takes = 3 * time.Second
	for name, set := range map[string]func(s *transport.Shaper, work func()){
		"Scope": func(s *transport.Shaper, work func()) {
			s.Scope = func(*http.Request) string { work(); return "" }
		},
		"Limits": func(s *transport.Shaper, work func()) {
			s.Limits = func(*http.Request) quota.Limiter { work(); return nil }
		},
		"Like": func(s *transport.Shaper, work func()) {
			s.Like = func(*http.Request) string { work(); return "" }
		},
		"Cost": func(s *transport.Shaper, work func()) {
			s.Cost = func(*http.Request, quota.Policy) int64 { work(); return 1 }
		},
		"Dimensions": func(s *transport.Shaper, work func()) {
			s.Dimensions["region"] = func(*http.Request) (string, bool) { work(); return "eu", true }
		},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(
				says(200, "RateLimit", `"api";a=0;w=10;pk=:ZXU=:`, "RateLimit-Partition", `"api";region`),
				says(200))
			slow := false
			var held []time.Duration
			s := &transport.Shaper{
				Base: srv, Dimensions: partition.Dimensions{},
				Trace: &transport.Trace{Held: func(i transport.HeldInfo) { held = append(held, i.Wait) }},
			}
			set(s, func() {
				if slow {
					slow = false
					time.Sleep(takes)
				}
			})
			pass(t, s, getItems(t.Context()))
			time.Sleep(10*time.Second + guard(0) - takes)
			slow = true
			assert.Equal(t, takes, delay(t, s, getItems(t.Context())))
			assert.Empty(t, held, "the request was held by the time at which it began")
			assert.False(t, slow, "the function was not called")
		})
	}
}
