package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A quota is contradicted by one unit more than it allows in all windows that a time may touch. A quota of very few says nothing.
func TestLongerContradicts(t *testing.T) {
	const began = Instant(time.Minute)
	for _, tt := range []struct {
		served, quota int64
		length, after time.Duration
		want          bool
	}{
		{30, 10, 10 * sec, 10 * sec, false},
		{31, 10, 10 * sec, 10 * sec, true},
		{20, 10, 10 * sec, 0, false},
		{21, 10, 10 * sec, 0, true},
		{1000, minInferred, 10 * sec, 0, true},
		{1000, minInferred - 1, 10 * sec, 0, false},
	} {
		l := longer{began: began, served: tt.served}
		assert.Equal(t, tt.want, l.contradicts(tt.quota, tt.length, began.Add(tt.after)), "%+v", tt)
		l.began = 0
		assert.False(t, l.contradicts(tt.quota, tt.length, began.Add(tt.after)), "%+v", tt)
	}
}

// The next window is expected at the roundest time that refusals leave.
func TestLongerAgain(t *testing.T) {
	const ms100 = 100 * time.Millisecond
	w := New(Adaptive)
	w.travelled(ms100)
	begins := Instant(time.Hour)
	at := func(d time.Duration) Instant { return begins.Add(d) }
	expected := func(l *longer) time.Duration {
		if l.again(&w) == Never {
			return 0
		}
		return time.Duration(l.again(&w)-begins) - w.guard(w.rtt)
	}
	var l longer
	l.refuses(&w, at(0))
	assert.Zero(t, expected(&l), "no window has begun")
	l.serves(begins)
	l.refuses(&w, at(51*sec))
	assert.Zero(t, expected(&l), "it is not known how long one is")
	l.ends(at(83 * sec))
	begins = at(83 * sec)
	assert.Equal(t, 60*sec, expected(&l))
	assert.EqualValues(t, 1, l.served)

	l.refuses(&w, at(60*sec+ms100))
	assert.Equal(t, 70*sec, expected(&l))
	l.refuses(&w, at(84*sec))
	assert.Equal(t, 84*sec-ms100, l.least)
	assert.Equal(t, 83*sec, l.most)
	l.refuses(&w, at(84*sec+1))
	assert.Zero(t, expected(&l), "windows have become longer")
	l.ends(at(125 * sec))
	begins = at(125 * sec)
	assert.Equal(t, 120*sec, expected(&l))

	l.ends(at(126 * sec)) // later than known: the request came late
	begins = at(126 * sec)
	assert.Equal(t, 120*sec, expected(&l))
	l.ends(at(59 * sec)) // and sooner: windows have become shorter
	begins = at(59 * sec)
	assert.Equal(t, 10*sec, expected(&l), "it is not known what is too short")

	l.serves(at(59*sec - 1))
	assert.EqualValues(t, 2, l.served)
	l.serves(at(59 * sec))
	assert.EqualValues(t, 1, l.served, "the next window has begun")
	assert.Equal(t, at(59*sec), l.began)
}

// What is expected ends a back-off sooner, but not within a second, and after it back-off goes on as if there had been none.
func TestHasten(t *testing.T) {
	for _, tt := range []struct {
		expected, backOff, want time.Duration
		over                    time.Duration
		refusals, left          uint8
	}{
		{20 * sec, 30 * sec, 20 * sec, 1, 5, 4},
		{20 * sec, 10 * sec, 10 * sec, 1, 5, 5},
		{ms, 10 * sec, sec, 1, 5, 4},
		{20 * sec, 30 * sec, 20 * sec, 1, 1, 1},
		{20 * sec, 30 * sec, 30 * sec, 0, 5, 5},
	} {
		w := New(Adaptive)
		now := Instant(time.Hour)
		g := Inferred{inferredWindow: inferredWindow{over: tt.over}, longer: longer{began: now - Instant(time.Minute) + Instant(tt.expected-w.guard(0)), most: time.Minute}}
		w.BackOff, w.Refusals = now.Add(tt.backOff), tt.refusals
		g.Hasten(&w, now)
		assert.Equal(t, tt.want, time.Duration(w.BackOff-now), "%+v", tt)
		assert.Equal(t, tt.left, w.Refusals, "%+v", tt)
	}
}

// A pause ends the window of a longer quota only if it is long, no Retry-After told it, and more was served before than what is
// inferred allows. Then that stays, or nothing is inferred.
func TestLongerPause(t *testing.T) {
	const began, again = Instant(time.Hour), Instant(time.Hour + 2*time.Minute)
	for _, tt := range []struct {
		name                       string
		opened, dry                time.Duration // before the request that is served again
		served, last, quota, since int64
		told                       bool
		ends                       bool
		want                       int64 // is inferred
		few                        uint8
	}{
		{"beside what is inferred", 60 * sec, 59 * sec, 10, 10, 10, 600, false, true, 10, 0},
		{"nothing is inferred", 60 * sec, 59 * sec, 10, 10, None, 600, false, true, None, 0},
		{"a short pause", 5 * sec, 4 * sec, 10, 10, None, 600, false, false, 10, 0},
		{"a Retry-After", 60 * sec, 59 * sec, 10, 10, None, 600, true, false, 10, 0},
		{"little was served", 60 * sec, 59 * sec, 4, 4, 10, 30, false, false, 4, 0},
		{"few in this window", 60 * sec, 60 * sec, 1, 10, 10, 600, false, true, 10, 0},
		{"few in all", 60 * sec, 60 * sec, 1, 1, None, 600, false, false, None, 1},
	} {
		w := New(Adaptive)
		w.travelled(50 * ms)
		w.SetPolicy(Requests, tt.quota, time.Duration(max(tt.quota, 0))*100*ms)
		g := Inferred{inferredWindow: inferredWindow{opened: again - Instant(tt.opened), dry: again - Instant(tt.dry), served: tt.served, refused: true, several: true, until: Never}, last: tt.last}
		if g.longer = (longer{began: began, served: tt.since}); tt.told {
			g.until = again
		}
		w.BackOff = again
		g.Served(&w, again+1, again)
		assert.Equal(t, tt.ends, g.longer.began == again, tt.name)
		assert.Equal(t, tt.want, w.Quota, tt.name)
		assert.Equal(t, tt.few, g.pace.few, tt.name)
	}
}

// A window that ended without a refusal is the one before the next.
func TestNextIsTheLastWindow(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 10, 10*sec)
	g := Inferred{inferredWindow: inferredWindow{opened: 1, served: 7}, last: 1, brief: sec}
	g.next(&w)
	assert.EqualValues(t, 7, g.last)
	assert.Zero(t, g.brief)
}

// A refusal after the end of a window that was used up counts from its beginning: the window is longer. Not where
// back-off takes longer than a window.
func TestRefusedAfterTheEnd(t *testing.T) {
	for _, tt := range []struct {
		length, after time.Duration
		served        int64
		want          time.Duration
	}{
		{10 * sec, 10*sec + 1, 20, 0},
		{10 * sec, 10 * sec, 20, 10 * sec},
		{10 * sec, 10*sec + 1, 19, 10*sec + 1},
		{4 * sec, 4*sec + 1, 20, 0},
		{4*sec - 1, 4*sec + 1, 20, 4*sec + 1},
	} {
		const opened = Instant(time.Hour)
		w := New(Adaptive)
		w.SetPolicy(Requests, 20, tt.length)
		g := Inferred{inferredWindow: inferredWindow{opened: opened, served: tt.served, until: Never}}
		g.Refused(&w, opened.Add(tt.after+ms), opened.Add(tt.after), 0)
		assert.Equal(t, tt.want, time.Duration(g.dry-opened), "%+v", tt)
	}
}
