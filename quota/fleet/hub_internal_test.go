package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/exchange"
)

// A Hub of many origins keeps nothing of those that were not used for long.
func TestHubForgetsOrigins(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := Hub{Clock: func() time.Time { return now }}
	origin := func(i int) (id exchange.ID) { id[0], id[1] = byte(i), byte(i>>8); return }
	heard, stop := context.WithCancel(t.Context())
	stop()
	const n = sweepEvery / 2
	for i := range n {
		_, err := h.Exchange(t.Context(), origin(i), &exchange.Turn{Process: "p", Seq: 1, Flights: 3, Accounts: []exchange.Account{{}}})
		require.NoError(t, err)
		require.ErrorIs(t, h.Subscribe(heard, origin(i), func(*exchange.Word) {}), context.Canceled)
	}
	assert.Equal(t, n, len(h.records))
	assert.Equal(t, n, len(h.flights))
	assert.Zero(t, len(h.hearers))
	now = now.Add(time.Duration(forgets+lease) * time.Microsecond)
	for i := range sweepEvery {
		_, err := h.Exchange(t.Context(), origin(n), &exchange.Turn{Process: "p", Seq: uint64(i) + 1, Flights: 3})
		require.NoError(t, err)
	}
	assert.Zero(t, len(h.records))
	assert.Equal(t, 1, len(h.flights), "of the origin that is in use")
}
