package transport_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// Requests of a kind wait for a policy that turns out not to concern their kind. If a
// function of the caller hangs for the first of them, the others do not wait for it.
func TestHangingFunctionHoldsNoOtherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hung atomic.Bool
		s := &transport.Shaper{
			Base: byPath(map[string]answer{
				"repos":  limit(`"core";a=0;w=60`),
				"search": slow(2*time.Second, says(200, "RateLimit", `"search";a=9;w=60`, "RateLimit-Partition", `"search";region`)),
			}),
			Dimensions: partition.Dimensions{"region": func(req *http.Request) (string, bool) {
				if req.URL.Query().Has("hang") && hung.CompareAndSwap(false, true) {
					time.Sleep(time.Hour)
				}
				return "eu", true
			}},
		}
		var wg sync.WaitGroup
		wg.Go(func() { pass(t, s, getPath(t, "search")) })
		synctest.Wait()
		pass(t, s, getPath(t, "repos"))
		wg.Go(func() { assert.Equal(t, 60*time.Second+guard(0), delay(t, s, getPath(t, "repos"))) })
		synctest.Wait()
		const known = 2 * time.Second // what concerns search is
		comes := func(path string, goes time.Duration) {
			wg.Go(func() { assert.Equal(t, goes+2*time.Second, delay(t, s, getPath(t, path)), path) })
			synctest.Wait()
		}
		comes("search?hang", known+time.Hour)
		comes("search", known+100*time.Millisecond)
		comes("search", known+100*time.Millisecond)
		wg.Wait()
	})
}
