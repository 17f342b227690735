package window

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// What a copy learns, the window does not.
func TestCopy(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 100, 10*sec)
	w.Report(0, 0, Figure{Available: 50, Full: 5 * sec}, false, new(Server))
	before := w.Copy()
	c := w.Copy()
	c.Report(Instant(sec), Instant(sec), Figure{Available: 50, Full: 20 * sec}, false, new(Server))
	assert.NotEqual(t, before.fill(), c.fill())
	assert.Equal(t, before, w)
}

// What most quotas do not need is not allocated for them.
func TestRareIsRare(t *testing.T) {
	w, s := New(Adaptive), new(Server)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		w = New(Adaptive)
		w.SetPolicy(Requests, 10, 10*sec)
		for at := Instant(0); at < Instant(30*sec); at += Instant(sec) {
			mark := w.Take(at, 1)
			c := Charge{Sent: at, Units: 1, Mark: mark}
			w.Answered(c, false)
			w.Report(at+Instant(ms), at, Figure{Available: 5, Window: 5 * sec, Charge: c}, false, s)
			w.Silent(at, Charge{Sent: at, Units: 1, Mark: w.Take(at, 1)}, false, new(Server))
			w.Refund(Charge{Sent: at, Units: 1, Mark: w.Take(at, 1)})
			w.Pause(at, 2*ms, *s)
			w.Ready(at, 1)
		}
		w.Restore(Instant(30*sec), w.Save(Instant(30*sec)))
	}))
	if unsafe.Sizeof(uintptr(0)) == 8 {
		assert.LessOrEqual(t, unsafe.Sizeof(rare{}), uintptr(80))
	}
}
