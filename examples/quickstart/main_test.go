package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBars(t *testing.T) {
	counts := []int{0, 1, 4, 8, 9, 20}
	assert.Equal(t, []string{
		"     ▄",
		"    ▁█",
		" ▁▄███",
	}, rising(counts, 8))
	assert.Equal(t, []string{
		" ▀▀███",
		"    ▀█",
		"     ▀",
	}, hanging(counts, 8))
	assert.Empty(t, rising([]int{0, 0}, 8))
	assert.Empty(t, rising(nil, 8))
}

func TestAxis(t *testing.T) {
	assert.Equal(t, "┼───┼───┼─", axis(10, 4))
	assert.Equal(t, "0s        2s        ", seconds(11, 10))
	assert.Empty(t, axis(0, 4))
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 3*time.Second, median([]time.Duration{9 * time.Second, time.Second, 3 * time.Second}))
	assert.Equal(t, time.Second, median([]time.Duration{2 * time.Second, time.Second}))
	assert.Zero(t, median(nil))
}

func TestRetryIn(t *testing.T) {
	assert.Equal(t, 2*time.Second, retryIn(http.Header{"Retry-After": {"2"}}, 7))
	for attempt, minimum := range []time.Duration{50, 100, 200, 400, 800, 1600, 1600} {
		minimum *= time.Millisecond
		d := retryIn(http.Header{}, attempt)
		assert.GreaterOrEqual(t, d, minimum)
		assert.Less(t, d, 3*minimum)
	}
}
