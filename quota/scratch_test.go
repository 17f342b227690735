package quota

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A settlement lists accounts in three slices whose memory it finds again the next time.
// They do not share it: an account of one list would take the place of one of another, and
// its waiters would not be woken.
func TestScratchIsNotShared(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		name := string(rune('a' + i))
		early := d.send(0, "")
		d.settle(0, d.send(0, ""), Report{Figures: figure(name, 9, mins)})
		d.settle(0, d.send(0, ""), Report{Figures: figure("other", 9, mins), Terms: []Policy{{Name: "third", Quota: 9, Window: mins}}})
		d.settle(0, early, Report{Figures: figure(name, 8, mins), Terms: []Policy{{Name: "third", Quota: 9, Window: mins}}})
	}
	first := make(map[*(*account)]int)
	for i, list := range d.o.scratch {
		if assert.Positive(t, cap(list), "list %d was not used", i) {
			first[&list[:1][0]] = i
		}
	}
	assert.Len(t, first, len(d.o.scratch))
}
