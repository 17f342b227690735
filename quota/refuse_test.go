package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota/internal/window"
)

// A report may say that a server wants a longer back-off: twice as long after each
// refusal in a row, up to ProbeInterval; one that was served ends the row.
func TestRefusedWithWait(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	for _, want := range []time.Duration{mins, 2 * mins, 4 * mins, 8 * mins, window.ProbeInterval, window.ProbeInterval} {
		d.done(now, d.send(now, "a"), Report{Refused: true, Wait: mins})
		assert.Equal(t, want, d.wait(now, "a"))
		assert.Equal(t, want, d.o.scopes["a"].base.BackOff.Since(instant(now)))
		now += want
	}
	d.done(now, d.send(now, "a"), Report{})
	d.done(now, d.send(now, "a"), Report{Refused: true, Wait: mins})
	assert.Equal(t, mins, d.wait(now, "a"))
	d.done(now, d.send(now, "b"), Report{Refused: true, Wait: 1})
	assert.Equal(t, sec, d.wait(now, "b"))
}

// What turns out to be a refusal after its lease was settled as Lost is one, and the
// row of refusals goes on.
func TestRefuse(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	for i, want := range []time.Duration{mins, 2 * mins, 4 * mins} {
		l := d.send(now, "a")
		d.done(now+sec, l, Report{Lost: true})
		d.o.Refuse(d.at(now+2*sec), d.at(now), "a", "", mins)
		d.o.Refuse(d.at(now+3*sec), d.at(now), "a", "", mins)
		assert.Equal(t, want, d.wait(now+2*sec, "a"), "requests that were out together are one refusal")
		assert.EqualValues(t, 2*(i+1), d.o.refusals)
		assert.Zero(t, d.wait(now+2*sec, "b"))
		now += 2*sec + want
	}
	d.done(now, d.send(now, "a"), Report{})
	assert.Zero(t, d.wait(now, "a"))
}
