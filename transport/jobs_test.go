package transport_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A job runs for half a minute of each minute, and uses up sixty requests a minute at once. The windows of the server begin
// with a request, so the first request of a run may come a little too soon. It does not wait for as long as after the last
// refusals of the run before, which may be longer than the run.
func TestJobOfEachMinute(t *testing.T) {
	for _, tt := range []struct {
		name  string
		tells bool // how much is left
		saved bool // each run restores what the one before has saved; else they have one Shaper
	}{
		{name: "says nothing"},
		{name: "says nothing, saved", saved: true},
		{name: "without a reset", tells: true},
		{name: "without a reset, saved", tells: true, saved: true},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			var mu sync.Mutex // guards following
			var until time.Time
			left, served := 0, 0
			const seed = 1
			rnd := rand.New(rand.NewPCG(seed, 2))
			base := &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if now := time.Now(); !now.Before(until) {
					left, until = 60, now.Add(time.Minute)
				}
				status := http.StatusTooManyRequests
				if left > 0 {
					left, served, status = left-1, served+1, http.StatusOK
				}
				if tt.tells {
					w.Header().Set("X-RateLimit-Limit", "60")
					w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left))
				}
				w.WriteHeader(status)
			}), Latency: func() time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return 20*time.Millisecond + time.Duration(rnd.Int64N(int64(10*time.Millisecond)))
			}}
			accounts, saved := new(quota.Accounts), new(bytes.Buffer)
			for range 20 {
				began := time.Now()
				if tt.saved && saved.Len() > 0 {
					accounts = new(quota.Accounts)
					require.NoError(t, accounts.Restore(saved, began))
				}
				s := &transport.Shaper{Base: base, Accounts: accounts}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				for ctx.Err() == nil {
					if resp, err := s.RoundTrip(getItems(ctx)); err == nil {
						drop(resp)
					} else {
						time.Sleep(time.Second)
					}
				}
				cancel()
				saved.Reset()
				require.NoError(t, accounts.Save(saved, time.Now(), true))
				time.Sleep(time.Minute - time.Since(began))
			}
			t.Logf("seed %d: served %d of 1200", seed, served)
			assert.GreaterOrEqual(t, served, 1000)
		})
	}
}
