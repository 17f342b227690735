package transport_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A limit of 0 on responses that are served is none: express-rate-limit before version 7 sends it so if it is switched off.
func TestLimitOfZeroHoldsNothing(t *testing.T) {
	for _, fields := range [][]string{
		{"RateLimit-Policy", "0;w=60", "RateLimit-Limit", "0", "RateLimit-Remaining", "0", "RateLimit-Reset", "60"},
		{"RateLimit-Limit", "0", "RateLimit-Remaining", "0", "RateLimit-Reset", "60"},
		{"RateLimit-Policy", "0;w=60", "RateLimit", "limit=0, remaining=0, reset=60"},
		{"RateLimit", "limit=0, remaining=0, reset=60"},
	} {
		bubble(t, fmt.Sprint(fields), func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(slow(50*time.Millisecond, says(200, fields...)))}
			for range 30 {
				assert.Equal(t, 50*time.Millisecond, delay(t, s, getItems(t.Context())))
			}
		})
	}
}

// The Retry-After of an operation that is going on does not hold the requests for others.
func TestPollingHoldsNoOther(t *testing.T) {
	bubble(t, "202", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(202, "RateLimit", `"default";r=98;t=60`, "Retry-After", "30"), says(200, "RateLimit", `"default";r=97;t=60`))}
		assert.Zero(t, delay(t, s, newRequest(t.Context(), "GET", itemsOrigin+"/jobs/1")))
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}
