package transport_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A request with WithNoDelay that cannot go at once is refused, whatever MaxDelay is.
// Other requests wait.
func TestWithNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=1;w=60`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		pass(t, s, getItems(t.Context()))
		ctx := transport.WithNoDelay(t.Context())
		pass(t, s, getItems(ctx))
		assert.Equal(t, quota.ReasonExhausted, refusal(t, s, getItems(ctx)).Reason)
		assert.Equal(t, 60*time.Second+guard(0), delay(t, s, getItems(t.Context())))
	})
}

// A request with WithBypass is sent at once. It counts as any other, and its response
// is read.
func TestWithBypass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=2;w=60`), says(200), says(200), limit(`"api";a=0;w=100`), says(200))
		s := &transport.Shaper{Base: srv, MaxQueue: 1}
		ctx := transport.WithBypass(t.Context())
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(ctx))
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, quota.ReasonExhausted, refusal(t, s, getItems(transport.WithNoDelay(t.Context()))).Reason)
		assert.Zero(t, delay(t, s, getItems(ctx)))
		assert.Equal(t, 100*time.Second+guard(0), delay(t, s, getItems(t.Context())))
	})
	bubble(t, "own limits", func(t *testing.T) {
		s := &transport.Shaper{Base: stillServer(), Limits: busy(t)}
		assert.Zero(t, delay(t, s, getItems(transport.WithBypass(t.Context()))))
	})
	bubble(t, "retry after", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(503, "Retry-After", "600"))}
		pass(t, s, getItems(t.Context()))
		assert.Zero(t, delay(t, s, getItems(transport.WithBypass(t.Context()))))
	})
	bubble(t, "and no delay", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`))}
		pass(t, s, getItems(t.Context()))
		assert.Zero(t, delay(t, s, getItems(transport.WithNoDelay(transport.WithBypass(t.Context())))))
	})
}

// Options add up, keep the other values of the context, and do not change the context
// that they were derived from.
func TestOptionsAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var own, whole int
		s := &transport.Shaper{
			Base:  newServer(limit(`"api";a=0;w=60`), says(200)),
			Trace: &transport.Trace{Rejected: func(transport.RejectedInfo) { whole++ }},
		}
		base := partition.WithUserID(t.Context(), "alice")
		ctx := transport.WithNoDelay(base)
		ctx = transport.WithTrace(ctx, &transport.Trace{Rejected: func(transport.RejectedInfo) { own++ }})
		ctx = transport.WithPriority(ctx, 7)
		assert.Equal(t, "alice", partition.UserID(ctx))
		pass(t, s, getItems(base))
		refusal(t, s, getItems(ctx))
		assert.Equal(t, []int{1, 1}, []int{own, whole})

		// So do Traces. A nil Trace adds nothing.
		refusal(t, s, getItems(transport.WithTrace(ctx, nil)))
		assert.Equal(t, []int{2, 2}, []int{own, whole})
		inner := 0
		more := transport.WithTrace(ctx, &transport.Trace{Rejected: func(transport.RejectedInfo) { inner++ }})
		refusal(t, s, getItems(more))
		assert.Equal(t, []int{1, 3, 3}, []int{inner, own, whole})
		refusal(t, s, getItems(ctx))
		assert.Equal(t, []int{1, 4, 4}, []int{inner, own, whole}, "the outer context has changed")
		assert.Equal(t, 60*time.Second+guard(0), delay(t, s, getItems(base)))
		assert.Equal(t, []int{1, 4, 4}, []int{inner, own, whole})
	})
}

// A request with a higher priority goes first. Requests of one priority go in the
// order in which they came.
func TestWithPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		pass(t, s, getItems(t.Context()))
		for i, priority := range []int{0, -1, 5, 0, math.MaxInt, 5, math.MinInt, 0} {
			ctx := context.WithValue(transport.WithPriority(t.Context(), priority), place{}, i)
			go pass(t, s, getItems(ctx))
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(10 * time.Minute)
		assert.Equal(t, []any{4, 2, 5, 0, 3, 7, 1, 6}, order(srv))
	})
}
