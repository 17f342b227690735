package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Ten in a second, of which others take four. Round trips are of 32 ms, so that the guard is 1 ms.
func besideOthers(shown bool) *ledger {
	l := newLedger(Adaptive)
	all(advertises(10, sec), others(60, 100), send("a"))(l, 0)
	says("a", 3, sec)(l, Instant(32*ms))
	send("b")(l, Instant(3*sec))
	says("b", 2, sec)(l, Instant(3*sec+32*ms))
	l.rare.spent.returned.shown = shown
	l.refill.skip = 8 // no trial departs sooner
	return l
}

// While nothing is left, one request departs when one that was spent a second ago is back; and before one that is left to others is
// used, if units were seen to come back.
func TestReturned(t *testing.T) {
	for _, tt := range []struct {
		shown bool
		left  int64
		next  time.Duration
	}{
		{true, 0, 4*sec + 601*ms},
		{true, 1, 4*sec + 601*ms},
		{false, 0, 4*sec + 601*ms},
		{false, 1, 5*sec + 101*ms}, // the end of the window
	} {
		l := besideOthers(tt.shown)
		send("c")(l, Instant(3*sec+600*ms))
		says("c", 1, sec)(l, Instant(3*sec+632*ms))
		send("d")(l, Instant(4*sec+100*ms))
		says("d", tt.left, sec)(l, Instant(4*sec+132*ms))
		again, _ := l.Ready(Instant(4*sec+132*ms), 1)
		assert.InDelta(t, tt.next.Seconds(), time.Duration(again).Seconds(), 1e-5, tt)
		send("e")(l, again)
		more, _ := l.Ready(again, 1)
		assert.Greater(t, more, again, "one at a time, %v", tt)
	}
}

// A request that is refused shows that units come back otherwise: the next one departs 64 windows later, or the same
// after four in a row if units were seen to come back.
func TestReturnedRefused(t *testing.T) {
	for _, shown := range []bool{false, true} {
		l := besideOthers(shown)
		vain := 0
		for at := Instant(3*sec + 32*ms); l.rare.spent.off < at.Add(10*sec) && vain < 20; vain++ {
			l.rare.spent.slots = []slot{{from: at, at: at, units: 1, trip: 32_000}}
			at = at.Add(sec + ms)
			l.State, l.end, l.available = Reported, Never, 0
			assert.Equal(t, at, l.whenReturned(at, 1))
			send("c")(l, at)
			at = at.Add(32 * ms)
			stillRefuses("c", sec)(l, at)
		}
		assert.Equal(t, map[bool]int{false: 1, true: mostVain}[shown], vain)
		assert.False(t, l.returnedShown())
	}
}

// Two rises in less than a window show that units come back otherwise; not two figures that rise above the same one,
// and not two windows.
func TestObserveRises(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // departure of the second one after that of the first
		left  int64
		same  bool
		shown bool
	}{
		{"a unit each", 300 * ms, 3, false, true},
		{"as many, although one was spent", 300 * ms, 2, false, true},
		{"one less", 300 * ms, 1, false, false},
		{"a window later", 900 * ms, 3, false, false},
		{"the same rise", 0, 3, true, false},
	} {
		l := besideOthers(false)
		l.rare.spent.returned = returned{}
		at := Instant(3*sec + 200*ms)
		send("c", "d")(l, at)
		says("c", 2, sec)(l, at.Add(32*ms))
		if tt.same {
			says("d", 2, sec)(l, at.Add(32*ms))
		} else {
			l.Refund(l.land("d"))
			send("e")(l, at.Add(tt.after))
			says("e", tt.left, sec)(l, at.Add(tt.after+32*ms))
		}
		assert.Equal(t, tt.shown, l.returnedShown(), tt.name)
	}
}

// A request that departs because a unit of ours is back may be refused because another client was quicker. That does not show
// that our own log is too short.
func TestReturnedRefusedMakesLogNoLonger(t *testing.T) {
	l := besideOthers(true)
	l.server.Instants, l.server.Span = looseInstants, sec
	l.server.ends.down = true
	l.rare.spent.loose, l.rare.spent.length = true, sec
	at := Instant(3*sec + 32*ms)
	l.rare.spent.slots = []slot{{from: at, at: at, units: 1, trip: 32_000}}
	at = at.Add(sec + ms)
	l.State, l.end, l.available = Reported, Never, 0
	assert.Equal(t, at, l.whenReturned(at, 1))
	send("c")(l, at)
	l.observeSpent(at.Add(32*ms), at, 0, true, true, &l.server)
	assert.False(t, l.server.roundsEnds)
	assert.Equal(t, sec, l.rare.spent.length)
	assert.EqualValues(t, 1, l.rare.spent.returned.vain)
}

// Sharing begins where others use a tenth of the quota, and goes on as long as any are seen once units were seen to come back.
func TestWhoSharesLog(t *testing.T) {
	for _, tt := range []struct {
		ours        float32 // of 100
		shown, want bool
	}{{89, false, true}, {91, false, false}, {91, true, true}, {99, true, true}, {100, true, false}} {
		l := newLedger(Adaptive)
		others(tt.ours, 100)(l, 0)
		l.ownSpent().returned.shown = tt.shown
		assert.Equal(t, tt.want, l.logsReturned(shortReturn), tt)
		assert.False(t, l.logsReturned(shortReturn+1), tt)
	}
}
