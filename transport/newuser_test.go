package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A new user of an origin that has told another one of its quotas sends 60 requests at once.
// Few or none are refused, in each dialect; and who has enough, or no limit, waits for one
// round trip at most.
func TestNewUser(t *testing.T) {
	const quota, window = 10, 20 * time.Second
	says10 := func(name string) func(left int) []string {
		return func(left int) []string {
			return []string{name + "-Limit", "10", name + "-Remaining", fmt.Sprint(left), name + "-Reset", "20"}
		}
	}
	for name, tt := range map[string]struct {
		fields    func(left int) []string
		unlimited bool // the new user is told nothing, and never refused
		takes     time.Duration
	}{
		"X":                {fields: says10("X-RateLimit"), takes: 5 * window},
		"-06":              {fields: says10("RateLimit"), takes: 5 * window},
		"figures only":     {fields: func(left int) []string { return []string{"RateLimit", fmt.Sprintf(`"api";a=%d;w=20`, left)} }, takes: 5 * window},
		"X, no limit":      {fields: func(left int) []string { return says10("X-RateLimit")(left)[2:] }, takes: 5 * window},
		"no limit for her": {fields: says10("X-RateLimit"), unlimited: true, takes: 2 * rtt},
		"never any":        {unlimited: true, takes: rtt},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				used, refused := map[string]int{}, 0
				var since time.Time
				srv := newChooser(func(_ int, req *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					user := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
					if user == "erin" && time.Since(since) >= window {
						since, used[user] = time.Now(), 0
					}
					used[user]++
					switch {
					case tt.fields == nil || user == "erin" && tt.unlimited:
						return slow(rtt, says(200))
					case used[user] > quota:
						refused++
						return slow(rtt, says(429, "Retry-After", "20"))
					}
					return slow(rtt, says(200, tt.fields(quota-used[user])...))
				})
				s := &transport.Shaper{Base: srv}
				as := func(user string) *http.Request {
					req := getItems(context.Background())
					req.Header.Set("Authorization", "Bearer "+user)
					return req
				}
				pass(t, s, as("bob"))
				time.Sleep(time.Second)
				begin := time.Now()
				burst(t, s, 60, func(int) *http.Request { return as("erin") })
				assert.LessOrEqual(t, time.Since(begin), tt.takes+time.Second)
				assert.Zero(t, refused)
			})
		})
	}
}
