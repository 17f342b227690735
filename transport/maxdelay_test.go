package transport_test

import (
	"fmt"
	"net/http"
	"sync"
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
