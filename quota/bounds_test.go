package quota

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBounded(t *testing.T) {
	assert.Equal(t, 7, bounded(0, 7))
	assert.Equal(t, 3, bounded(3, 7))
	assert.Equal(t, -1, bounded(-1, 7))
}

// Half of MaxTotal is shared out equally. A negative bound is none.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		accounts *Accounts
		share    int
	}{
		{&Accounts{}, 50},
		{&Accounts{MaxTotal: 100, MaxOrigins: 5}, 10},
		{&Accounts{MaxTotal: 100_000, MaxOrigins: -1}, 5},
		{&Accounts{MaxTotal: -1}, 0},
	} {
		assert.Equal(t, tt.share, tt.accounts.share())
	}
	a := &Accounts{MaxTotal: -1, MaxAccounts: -1}
	a.beyond.Store(math.MaxInt64)
	assert.False(t, a.full(math.MaxInt))
	a = &Accounts{}
	assert.False(t, a.full(defaultMaxAccounts-1))
	assert.True(t, a.full(defaultMaxAccounts))
	a.beyond.Store(defaultMaxTotal / 2)
	assert.True(t, a.full(50))
	assert.False(t, a.full(49))
}

// Jitter is in [0, 1).
func TestRandomIsJitter(t *testing.T) {
	var a Accounts
	low, high := math.Inf(1), math.Inf(-1)
	for range 1_000 {
		j := a.random()
		low, high = min(low, j), max(high, j)
	}
	assert.GreaterOrEqual(t, low, 0.0)
	assert.Less(t, high, 1.0)
	assert.Greater(t, high-low, 0.5)
}
