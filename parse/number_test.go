package parse

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSeconds(t *testing.T) {
	tests := []struct {
		n    int64
		want time.Duration
	}{
		{0, 0},
		{1, time.Second},
		{9_223_372_036, 9_223_372_036 * time.Second},
		{9_223_372_037, math.MaxInt64},
		{999_999_999_999_999, math.MaxInt64},
		{math.MaxInt64, math.MaxInt64},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, seconds(tt.n), "%d", tt.n)
	}
}

func TestDeltaSeconds(t *testing.T) {
	tests := []struct {
		s    string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"0010", 10, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"9223372036854775808", math.MaxInt64, true},
		{"99999999999999999999999", math.MaxInt64, true},
		{"", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{" 1", 0, false},
		{"1e3", 0, false},
		{"٣", 0, false}, // a digit, but not of ASCII
	}
	for _, tt := range tests {
		n, ok := deltaSeconds(tt.s)
		assert.Equal(t, tt.ok, ok, "%q", tt.s)
		assert.Equal(t, tt.want, n, "%q", tt.s)
	}
}
