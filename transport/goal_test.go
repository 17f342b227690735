package transport_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
