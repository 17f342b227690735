package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Events happen in the order of their times. Those at the same time happen in the order
// in which they were planned.
func TestLoop(t *testing.T) {
	l := &loop{now: begins}
	var got []string
	note := func(s string) func() {
		return func() { got = append(got, s+" "+l.now.Sub(begins).String()) }
	}
	l.after(2*sec, note("late"))
	l.after(sec, func() {
		note("first")()
		l.after(sec, note("planned last"))
		l.after(-sec, note("at once"))
	})
	l.after(sec, note("second"))
	l.after(2*sec, note("later"))
	l.after(time.Hour, note("never"))
	l.run(func() bool { return len(got) == 6 })
	assert.Equal(t, []string{"first 1s", "second 1s", "at once 1s", "late 2s", "later 2s", "planned last 2s"}, got)

	l.run(func() bool { return false })
	assert.Equal(t, "never 1h0m0s", got[6])
	assert.Empty(t, l.events)
}
