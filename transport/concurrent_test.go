package transport_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A server that allows one request at a time says in each answer that none is left. The next one
// need not wait: the request that was counted is over.
func TestOneRequestAtATime(t *testing.T) {
	for _, fields := range [][]string{
		{"X-RateLimit-Limit-Concurrent", "1", "X-RateLimit-Remaining-Concurrent", "0"},
		{"X-RateLimit-Concurrency-Limit", "1", "X-RateLimit-Concurrency-Remaining", "0"},
		{"X-RateLimit-Remaining-Concurrent", "0"},
		{"X-Concurrency-Limit-Limit", "1", "X-Concurrency-Limit-Remaining", "0"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(slow(rtt, says(200, fields...)))}
			began := time.Now()
			for range 20 {
				pass(t, s, getItems(t.Context()))
			}
			assert.Equal(t, 20*rtt, time.Since(began), fields)
		})
	}
}
