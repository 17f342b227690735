package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// How much a bucket holds that says when it will be full is known once figures agree while their windows have
// grown twice.
func TestWholly(t *testing.T) {
	says := func(avail int64, seconds time.Duration) func(*wholly) {
		return func(b *wholly) { observeWholly(b, 60, avail, &Figure{Window: seconds * sec}, sec) }
	}
	for name, tt := range map[string]struct {
		figures []func(*wholly)
		want    wholly
		shown   bool
	}{
		"one figure":        {[]func(*wholly){says(50, 10)}, wholly{least: 59, most: 62, window: 10 * sec}, false},
		"grown once":        {[]func(*wholly){says(50, 10), says(30, 30)}, wholly{least: 59, most: 62, window: 30 * sec, grown: 1}, false},
		"grown twice":       {[]func(*wholly){says(50, 10), says(30, 30), says(10, 50)}, wholly{least: 59, most: 62, window: 50 * sec, grown: 2}, true},
		"shorter between":   {[]func(*wholly){says(30, 30), says(50, 10), says(40, 20), says(20, 40)}, wholly{least: 59, most: 62, window: 40 * sec, grown: 2}, true},
		"holds half":        {[]func(*wholly){says(20, 10), says(10, 20), says(0, 30)}, wholly{least: 29, most: 32, window: 30 * sec, grown: 2}, true},
		"full":              {[]func(*wholly){says(50, 10), says(30, 30), says(60, 0), says(10, 50)}, wholly{least: 59, most: 62, window: 50 * sec, grown: 2}, true},
		"a window":          {[]func(*wholly){says(50, 10), says(30, 30), says(10, 50), says(50, 60)}, wholly{}, false},
		"they do not agree": {[]func(*wholly){says(50, 10), says(30, 30), says(10, 50), says(10, 40)}, wholly{least: 49, most: 52, window: 40 * sec}, false},
		"by a second":       {[]func(*wholly){says(50, 10), says(49, 11), says(48, 12)}, wholly{least: 59, most: 62, window: 12 * sec, grown: 1}, false},
	} {
		var b wholly
		for _, f := range tt.figures {
			f(&b)
		}
		assert.Equal(t, tt.want, b, name)
		assert.Equal(t, tt.shown, b.shown(), name)
	}
}

// An instant is the end of a bucket three seconds early, and units that take long say too little.
func TestWhollyIsCoarse(t *testing.T) {
	var b wholly
	observeWholly(&b, 60, 50, &Figure{Window: 10 * sec, Resets: 1}, sec)
	assert.Equal(t, wholly{least: 57, most: 62, window: 10 * sec}, b)

	b = wholly{}
	for i := range int64(3) {
		observeWholly(&b, 4, 3-i, &Figure{Window: time.Duration(i+1) * 15 * sec}, 15*sec)
	}
	assert.Equal(t, wholly{least: 3, most: 5, window: 45 * sec, grown: 2}, b)
	assert.False(t, b.shown())
}

// Requests of a unit each do not need to know it, and it is remembered that there were others.
func TestWhollyOfCosts(t *testing.T) {
	for cost, is := range map[int64]bool{1: false, 2: true} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 60, mins)
		l.works(&tells{drips{holds: 60, unit: sec}}, true, []int64{cost}, 100)
		assert.Equal(t, is, l.IsBucket(), cost)
		assert.Equal(t, is, l.server.steps.costly, cost)
		l.server.steps.fail()
		assert.Equal(t, is, l.server.steps.costly, cost)
	}
}
