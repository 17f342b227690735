package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// spreadWindows serves so many requests before the first refusal, then goes through windows, and serves one request more.
func spreadWindows(began Instant, before int, windows []spreadWindow) (w Window, g *Inferred, now Instant) {
	w, now = New(Adaptive), began
	take := func() Charge { return Charge{Units: 1, Sent: now, Mark: w.Take(now, 1)} }
	serve := func() {
		c := take()
		now = now.Add(ms)
		w.Silent(now, c, false, new(Server))
		if g != nil {
			g.Served(&w, now, c.Sent)
		}
	}
	refuse := func(retryAfter time.Duration, n int) {
		var out []Charge
		for range n {
			out = append(out, take())
		}
		for _, c := range out {
			now++
			w.Silent(now, c, true, new(Server))
			w.Pause(now, retryAfter, Server{})
			if g == nil {
				g = NewInferred(retryAfter)
				g.Began(&w, began, now, c.Sent)
				continue
			}
			g.Refused(&w, now, c.Sent, retryAfter)
		}
		now = max(now, w.Hold).Add(ms)
	}
	for range before {
		serve()
	}
	for _, win := range windows {
		for range win.served {
			serve()
		}
		now = now.Add(win.late)
		refuse(win.retryAfter, max(win.refused, 1))
	}
	serve()
	return w, g, now
}

// A spreadWindow is what is served when it begins, and then refused.
type spreadWindow struct {
	served     int
	retryAfter time.Duration
	refused    int
	late       time.Duration // after which the requests departed that were refused
}

// If a window begins with little, or with a refusal, although a Retry-After has told its end, units are spread.
func TestSpreads(t *testing.T) {
	const began = Instant(sec)
	minute := 60 * sec
	whole := func(units time.Duration) time.Duration { return minute/units + minute/units/units }
	for _, tt := range []struct {
		name    string
		before  int
		windows []spreadWindow
		want    time.Duration // for a unit; 0: there is no pace
		tries   bool          // a quicker one, as soon as two windows were served
	}{
		{"less than the window before", 10, []spreadWindow{{0, minute, 1, 0}, {36, minute, 3, 0}, {24, minute, 3, 0}}, whole(60), false},
		{"not much less", 10, []spreadWindow{{0, minute, 1, 0}, {36, minute, 3, 0}, {32, minute, 3, 0}}, 0, false},
		{"just so much less", 10, []spreadWindow{{0, minute, 1, 0}, {36, minute, 3, 0}, {31, minute, 3, 0}}, whole(67), false},
		{"nothing", 10, []spreadWindow{{0, minute, 1, 0}, {36, minute, 3, 0}, {0, minute, 1, 0}}, whole(36), false},
		{"much before the first refusal", 600, []spreadWindow{{0, minute, 1, 0}, {10, minute, 3, 0}}, minute / 600, true},
		{"one refusal may be by chance", 600, []spreadWindow{{0, minute, 1, 0}, {10, minute, 1, 0}}, 0, false},
		{"late in the window", 600, []spreadWindow{{0, minute, 1, 0}, {10, minute, 3, 15 * sec}}, 0, false},
		{"after a quarter of the window", 600, []spreadWindow{{0, minute, 1, 0}, {10, 48 * sec, 3, 12 * sec}}, 0, false},
		{"just before", 600, []spreadWindow{{0, minute, 1, 0}, {10, 49 * sec, 3, 11 * sec}}, minute / 600, true},
		{"then nothing", 10, []spreadWindow{{0, minute, 1, 0}, {36, 30 * sec, 3, 30 * sec}, {0, minute, 1, 0}}, whole(36), false},
		{"nothing after the first refusal", 600, []spreadWindow{{0, minute, 1, 0}, {0, minute, 1, 0}}, 0, false},
		{"as much before the first refusal", 36, []spreadWindow{{0, minute, 1, 0}, {36, minute, 3, 0}, {24, minute, 3, 0}}, whole(60), false},
		{"a window that ends later", 600, []spreadWindow{{0, minute, 1, 0}, {10, minute, 3, 2 * sec}}, 0, false},
		{"a window that ends with the next", 600, []spreadWindow{{0, minute, 1, 0}, {10, 59 * sec, 3, sec}}, minute / 600, true},
		{"a window that ends sooner", 600, []spreadWindow{{0, minute, 1, 0}, {10, 58 * sec, 3, 0}}, 0, false},
		{"nothing, and the window before was longer", 10, []spreadWindow{{0, minute, 1, 0}, {36, minute, 3, 61 * sec}, {0, minute, 1, 0}}, 0, false},
		{"nothing for far longer", 10, []spreadWindow{{0, 10 * sec, 1, 0}, {100, 10 * sec, 3, 0}, {0, 10 * minute, 1, 0}}, 0, false},
		{"little, and then for far longer", 10, []spreadWindow{{0, 10 * sec, 1, 0}, {100, 10 * sec, 3, 0}, {20, 10 * minute, 3, 0}}, 0, false},
		{"twice as long", 10, []spreadWindow{{0, 5 * sec, 1, 0}, {100, 5 * sec, 3, 0}, {20, 10 * sec, 3, 0}}, 10*sec/120 + 10*sec/120/120, false},
		{"a window of four seconds", 600, []spreadWindow{{0, 4 * sec, 1, 0}, {10, 4 * sec, 3, 0}}, 4 * sec / 600, true},
		{"a window of three seconds", 600, []spreadWindow{{0, 3 * sec, 1, 0}, {10, 3 * sec, 3, 0}}, 0, false},
	} {
		w, g, now := spreadWindows(began, tt.before, tt.windows)
		assert.Equal(t, tt.want, g.pace.unit, tt.name)
		assert.Equal(t, tt.want > 0, w.IsPaced(), tt.name)
		if tt.want == 0 {
			continue
		}
		assert.Equal(t, tt.want, g.pace.slow, "%s: not a try", tt.name)
		assert.Equal(t, tt.tries, g.pace.fast == 0, tt.name)
		again, _ := w.Ready(now, 1)
		assert.LessOrEqual(t, again.Since(now), tt.want, tt.name)
	}
}

// Where most requests are served that were out when the first refusal came, requests are refused by chance.
func TestSpreadsNotByChance(t *testing.T) {
	for served, want := range map[int64]bool{0: true, 3: true, 8: true, 9: false, 10: false} {
		w, g := New(Adaptive), NewInferred(60*sec)
		g.spread = spreading{progress{600, 60 * sec}, Instant(100 * sec), 60 * sec}
		e := ending{inferredWindow: g.inferredWindow}
		e.opened, e.dry, e.until, e.served = Instant(100*sec), Instant(101*sec), Instant(160*sec), 20
		e.out, e.balance = 12, 3-served
		assert.Equal(t, want, g.spreads(&w, &e, Instant(160*sec)), served)
	}
	w, g := New(Adaptive), NewInferred(60*sec)
	w.Hold = Instant(60 * sec)
	g.Served(&w, Instant(3*sec), Instant(sec))
	assert.Zero(t, g.balance, "of the first window it is not known")
	g.refused, g.came = true, Instant(2*sec)
	g.Refused(&w, Instant(3*sec), Instant(sec), 60*sec)
	g.Refused(&w, Instant(3*sec), Instant(2*sec), 60*sec)
	g.Refused(&w, Instant(3*sec), Instant(2*sec)+1, 60*sec)
	assert.EqualValues(t, 2, g.balance, "of those that were out")
	for range 5 {
		g.Served(&w, Instant(3*sec), Instant(sec))
	}
	assert.EqualValues(t, -3, g.balance)
}

// After a pace that was given up there is no other, because a server that refuses at random ends each.
func TestSpreadsOnce(t *testing.T) {
	for gaveUp, want := range []bool{true, false} {
		w, g := New(Adaptive), NewInferred(60*sec)
		g.spread = spreading{progress{600, 60 * sec}, Instant(100 * sec), 60 * sec}
		g.pace.gaveUp = uint8(gaveUp)
		e := ending{inferredWindow: g.inferredWindow}
		e.opened, e.dry, e.until, e.served = Instant(100*sec), Instant(101*sec), Instant(160*sec), 20
		assert.Equal(t, want, g.spreads(&w, &e, Instant(160*sec)), gaveUp)
	}
}

// A try is an eighth quicker, the next ones are more, and each is kept once it was served for two windows. After one that was refused, the next one
// is made when sixteen windows were served.
func TestSpreadTries(t *testing.T) {
	const minute = 60 * sec
	w, now := New(Adaptive), Instant(sec)
	var p pace
	p.spread(60, minute, false, now)
	p.start(&w, now)
	served := func() (windows time.Duration) {
		began := p.unit
		for p.unit == began {
			now = now.Add(p.unit)
			windows += p.unit
			assert.True(t, p.servedAt(&w, now, now, minute))
		}
		return windows
	}
	assert.Less(t, served(), minute, "six are enough at the pace that was served before")
	assert.Equal(t, sec-sec/8, p.unit)
	took := served()
	assert.GreaterOrEqual(t, took, 2*minute)
	assert.Less(t, took, 2*minute+sec)
	assert.Equal(t, sec-sec/8, p.slow)
	for range 2 {
		assert.Equal(t, p.slow-p.slow>>3, p.unit, "three times")
		served()
	}
	for range 3 {
		assert.Equal(t, p.slow-p.slow>>2, p.unit, "then by a quarter, three times")
		served()
	}
	assert.Equal(t, p.slow-p.slow>>1, p.unit, "then by a half")
	served()
	assert.Equal(t, p.slow-p.slow>>1, p.unit)
	slow := p.slow
	assert.True(t, p.refusedAt(&w, now.Add(sec), now.Add(sec), minute))
	assert.Equal(t, slow, p.unit, "that of the last try which was kept")
	assert.Zero(t, p.kept)
	now = now.Add(minute)
	took = served()
	assert.GreaterOrEqual(t, took, 16*minute)
	assert.Less(t, took, 16*minute+2*sec, "the first one after a hold does not count")
	assert.Less(t, p.unit, p.slow)
	assert.Greater(t, p.unit, p.fast)
}

// It is given up if units come more than twice as slowly in spite of it.
func TestSpreadIsGivenUp(t *testing.T) {
	const minute = 60 * sec
	for units, kept := range map[int]bool{80: true, 40: false} {
		w, now := New(Adaptive), Instant(sec)
		var p pace
		p.spread(60, minute, true, now)
		p.start(&w, now)
		for i := range lostUnits {
			for range units {
				now = now.Add(p.unit)
				assert.True(t, p.servedAt(&w, now, now, minute))
			}
			w.Pause(now, minute, Server{})
			assert.Equal(t, kept || i < lostUnits-1, p.refusedAt(&w, now, now, minute), units)
			now = w.Hold
		}
	}
}

// The time before the first refusal shows that a Retry-After may be a window, if it was half as long or longer.
func TestSpreadsNoPenalty(t *testing.T) {
	for took, want := range map[time.Duration]bool{30 * sec: true, 30*sec - 1: false} {
		w, g := New(Adaptive), NewInferred(60*sec)
		g.spread = spreading{progress{600, took}, Instant(100 * sec), sec}
		e := ending{inferredWindow: g.inferredWindow}
		e.opened, e.dry, e.until, e.served = Instant(100*sec), Instant(101*sec), Instant(160*sec), 20
		assert.Equal(t, want, g.spreads(&w, &e, Instant(160*sec)), took)
	}
}

// A quota that is known stays, if a window begins with nothing, because others may have used it.
func TestSpreadsWhatIsKnown(t *testing.T) {
	for _, quota := range []int64{None, 20, 100} {
		w, g := New(Adaptive), NewInferred(60*sec)
		w.Quota, w.Length = quota, 60*sec
		e := ending{inferredWindow: g.inferredWindow}
		e.opened, e.dry, e.until, e.served, e.nothing = Instant(100*sec), Instant(101*sec), Instant(160*sec), 20, true
		assert.True(t, g.spreads(&w, &e, Instant(160*sec)))
		assert.Equal(t, max(quota, 20), g.pace.quota)
		assert.Equal(t, 60*sec, g.pace.window)
	}
}
