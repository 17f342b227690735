package transport_test

import (
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// work sends requests with a number of workers, and returns the time it took. It runs
// in a bubble.
func work(t *testing.T, client *http.Client, workers, requests int) time.Duration {
	began := time.Now()
	var left atomic.Int64
	left.Store(int64(requests))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				resp, err := client.Get("http://api.example/items")
				if !assert.NoError(t, err) {
					return
				}
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	return time.Since(began)
}

func TestGoal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{
			{Name: "api", Quota: 100, Window: 10 * time.Second},
		}}
		client := &http.Client{Transport: &transport.Shaper{
			Base:     &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }},
			MaxDelay: time.Hour,
		}}
		took := work(t, client, 50, 2000)
		ideal := 19*10*time.Second + 50*time.Millisecond
		t.Log(took, float64(ideal)/float64(took), api.Counts())
		require.Zero(t, api.Counts().Refused)
		assert.GreaterOrEqual(t, float64(ideal)/float64(took), 0.97)
	})
}

// Servers that send X-RateLimit name the end of a window as a Unix time, and Date in
// whole seconds (RFC 9110, Section 6.6.1). Their windows last two seconds and no longer.
func TestWindowsOfWholeSeconds(t *testing.T) {
	tests := []struct {
		name     string
		rounding func(float64) float64
		refused  int64
	}{
		{"rounded up", math.Ceil, 0},
		{"rounded down", math.Floor, 1},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			time.Sleep(400 * time.Millisecond) // into a second
			api := &transporttest.API{
				Policies: []transporttest.Policy{{Quota: 5, Window: 2 * time.Second}},
				Dialect:  parse.VendorFields,
				Rounding: tt.rounding,
			}
			client := &http.Client{Transport: &transport.Shaper{
				Base:     &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }},
				MaxDelay: time.Hour,
			}}
			took := work(t, client, 3, 50)
			assert.Less(t, took, 9*(2*time.Second+60*time.Millisecond))
			assert.EqualValues(t, tt.refused, api.Counts().Refused)
		})
	}
}
