package transporttest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRounding(t *testing.T) {
	for _, tt := range []struct {
		d                 time.Duration
		up, down, nearest int64
	}{
		{0, 0, 0, 0},
		{1, 1, 0, 0},
		{500*time.Millisecond - 1, 1, 0, 0},
		{500 * time.Millisecond, 1, 0, 1},
		{time.Second - 1, 1, 0, 1},
		{time.Second, 1, 1, 1},
		{time.Second + 1, 2, 1, 1},
		{10 * time.Second, 10, 10, 10},
		{math.MaxInt64, 9_223_372_037, 9_223_372_036, 9_223_372_037},
	} {
		assert.Equal(t, tt.up, RoundUp.seconds(tt.d), "%v up", tt.d)
		assert.Equal(t, tt.down, RoundDown.seconds(tt.d), "%v down", tt.d)
		assert.Equal(t, tt.nearest, RoundNearest.seconds(tt.d), "%v nearest", tt.d)
	}
}
