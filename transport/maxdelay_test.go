package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// Requests that come together and whose time ends at the instant when there is room for all of them
// go then: each would be refused else because of the one before it, which goes, too.
func TestWaitThatEndsWithMaxDelay(t *testing.T) {
	for name, tt := range map[string]struct {
		window int64         // of a second, a limit of our own; 0: none
		takes  time.Duration // each answer
		served int           // of a hundred, those that came first
	}{
		"a window of our own":      {50, 0, 100},
		"less room than there are": {40, 0, 80},
		"a first flight":           {0, 2 * time.Second, 100},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &transport.Shaper{MaxDelay: time.Second, Base: &transporttest.Transport{
					Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }),
					Latency: func() time.Duration { return tt.takes },
				}}
				if tt.window > 0 {
					s.Limits = quota.Always[*http.Request](quota.FixedWindow(tt.window, time.Second))
				}
				var served [100]bool
				var wg sync.WaitGroup
				for i := range served {
					wg.Go(func() {
						if resp, err := s.RoundTrip(getItems(t.Context())); err == nil {
							drop(resp)
							served[i] = true
						} else {
							assert.ErrorContains(t, err, "max delay")
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				for i, ok := range served {
					assert.Equal(t, i < tt.served, ok, "request %d", i)
				}
			})
		})
	}
}

// What a Custom limiter grants it grants to one request: that one does not take it before those that came first, although
// its time is over.
func TestWaitForCustomEndsWithMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Int64
		take := func(_ context.Context, n int64) quota.Answer {
			if left.Add(-n) >= 0 {
				return quota.Answer{OK: true}
			}
			left.Add(n)
			return quota.Answer{RetryAfter: 10 * time.Second}
		}
		own := quota.Custom(quota.CustomFuncs{Take: take, Undo: func(n int64) { left.Add(n) }})
		base := &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })}
		var served [2]bool
		var wg sync.WaitGroup
		for i, most := range []time.Duration{time.Minute, 11 * time.Second} {
			s := &transport.Shaper{MaxDelay: most, Base: base, Limits: quota.Always[*http.Request](own)}
			wg.Go(func() {
				resp, err := s.RoundTrip(getItems(t.Context()))
				if served[i] = err == nil; served[i] {
					drop(resp)
				}
			})
			synctest.Wait()
		}
		time.Sleep(10500 * time.Millisecond) // both have asked again
		left.Store(1)
		wg.Wait()
		assert.Equal(t, [2]bool{true, false}, served)
	})
}
