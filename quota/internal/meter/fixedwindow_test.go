package meter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFixedWindowBeginsWithTheFirstGrant(t *testing.T) {
	walk(t, NewFixedWindow(5, 10), []call{
		{t: 0, take: 0, left: 5},            // a take of none opens no window
		{t: 7, take: 3, left: 2},            // the window is [7, 17)
		{t: 16, take: -3, wait: 1, left: 2}, // the rest of the window
		{t: 16, take: 2, left: 0},           //
		{t: 3, take: -1, wait: 10, left: 0}, // time runs backwards: never more than a window
		{t: 17, take: 1, left: 4},           // [17, 27)
		{t: 40, take: -5, wait: 0, left: 5}, // long over
		{t: 41, take: 5, left: 0},           // [41, 51)
		{t: 50, take: -1, wait: 1, left: 0}, //
		{t: 51, take: 5, wait: 0, left: 0},  //
	})
}

func TestFixedWindowWaitsWholeWindowsForRequestsAhead(t *testing.T) {
	m := NewFixedWindow(5, 10)
	assert.Equal(t, time.Duration(10), m.Wait(0, 5, 1), "the requests ahead open one")
	m.Take(0, 4)
	assert.Equal(t, time.Duration(0), m.Wait(2, 0, 1))
	assert.Equal(t, time.Duration(8), m.Wait(2, 1, 1))
	assert.Equal(t, time.Duration(8), m.Wait(2, 1, 5))
	assert.Equal(t, time.Duration(18), m.Wait(2, 2, 5))
	assert.Equal(t, time.Duration(math.MaxInt64), m.Wait(2, math.MaxInt64, math.MaxInt64))
}

func TestFixedWindowCancelsIntoItsOwnWindow(t *testing.T) {
	m := NewFixedWindow(5, 10)
	first := m.Take(0, 2)
	m.Take(5, 1)
	m.Cancel(6, 2, first)
	assert.EqualValues(t, 4, m.Available(6))
	second := m.Take(10, 5)
	m.Cancel(11, 2, first)
	assert.EqualValues(t, 0, m.Available(11), "its window is over")
	m.Cancel(12, 5, second)
	assert.EqualValues(t, 5, m.Available(12))
	m.Take(13, 1)
	assert.EqualValues(t, 4, m.Available(22), "a window that was cancelled was not opened")
	since, ok := m.IdleSince(30)
	assert.True(t, ok)
	assert.EqualValues(t, 23, since)
}

func TestFixedWindowWithForcedTakes(t *testing.T) {
	m := NewFixedWindow(5, 10)
	m.Take(0, math.MaxInt64)
	m.Take(0, math.MaxInt64)
	assert.EqualValues(t, 0, m.Available(9))
	assert.Equal(t, time.Duration(1), m.Wait(9, 0, 5))
	assert.EqualValues(t, 5, m.Available(10))
}
