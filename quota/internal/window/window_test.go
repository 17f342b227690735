package window

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	ms   = time.Millisecond
	sec  = time.Second
	mins = time.Minute
)

// A ledger is a window with the requests that are out, by name. A table of events
// is played on it.
type ledger struct {
	Window
	server Server
	out    map[string]Charge
}

func newLedger(how Strategy) *ledger {
	return &ledger{Window: New(how), out: make(map[string]Charge)}
}

// An event happens to a ledger.
type event func(l *ledger, t Instant)

func sendN(name string, n int64) event {
	return func(l *ledger, t Instant) {
		l.Roll(t)
		l.out[name] = Charge{Sent: t, Units: n, Mark: l.Take(t, n)}
	}
}

// send lets requests of one unit go, each with its name.
func send(names ...string) event {
	return func(l *ledger, t Instant) {
		for _, name := range names {
			sendN(name, 1)(l, t)
		}
	}
}

// land takes a request out of those that are out.
func (l *ledger) land(name string) Charge {
	c, ok := l.out[name]
	if !ok {
		panic("nothing is out by the name of " + name)
	}
	delete(l.out, name)
	return c
}

// report answers a request with a service limit.
func (l *ledger) report(t Instant, name string, avail int64, w time.Duration, refused bool) (sent Instant) {
	c := l.land(name)
	l.Answered(c, refused)
	l.Report(t, c.Sent, Figure{Available: avail, Window: w}, refused, &l.server)
	return c.Sent
}

// says answers a request with a service limit; w < 0 is no window.
func says(name string, avail int64, w time.Duration) event {
	return func(l *ledger, t Instant) { l.report(t, name, avail, w, false) }
}

// refuses answers a request with a refusal whose service limit would let the
// next one go at once.
func refuses(name string, avail int64, w time.Duration) event {
	return func(l *ledger, t Instant) { l.StartBackOff(t, l.report(t, name, avail, w, true), 0) }
}

// stillRefuses answers a request with a refusal that says for how long.
func stillRefuses(name string, w time.Duration) event {
	return func(l *ledger, t Instant) { l.report(t, name, 0, w, true) }
}

// quiet answers requests without a service limit.
func quiet(names ...string) event {
	return func(l *ledger, t Instant) {
		for _, name := range names {
			l.Silent(t, l.land(name), false, &l.server)
		}
	}
}

func lost(name string) event {
	return func(l *ledger, t Instant) { l.Lost(t, l.land(name)) }
}

func unsent(name string) event {
	return func(l *ledger, t Instant) { l.Refund(l.land(name)) }
}

func pauses(d time.Duration) event {
	return func(l *ledger, t Instant) { l.Pause(t, d, l.server) }
}

func advertises(q int64, w time.Duration) event {
	return func(l *ledger, t Instant) { l.SetPolicy(Requests, q, w) }
}

// counts begins our own count, for a policy without a service limit.
func counts(q int64, w time.Duration) event {
	return func(l *ledger, t Instant) {
		l.SetPolicy(Requests, q, w)
		l.Count(t, 0)
	}
}

// renews takes over a service limit that gives a window and no figure, of a request
// that departed at sent and cost so many units.
func renews(sent Instant, w time.Duration, spent int64) event {
	return func(l *ledger, t Instant) { l.Renew(t, sent, w, spent) }
}

func nothing(*ledger, Instant) {}

func all(es ...event) event {
	return func(l *ledger, t Instant) {
		for _, e := range es {
			e(l, t)
		}
	}
}

// A row is an event and what is true after it: how many requests of one unit
// may go there and then (more than a hundred count as a hundred), and how long
// the next has to wait; unsaid, where no source says it.
type row struct {
	now  time.Duration
	do   event
	go_  int
	wait time.Duration
}

const unsaid = -1

// room is how many requests of one unit may go at t, on a copy of the
// account, and how long the next one waits.
func room(a Window, t Instant) (n int, wait time.Duration) {
	for ; n < 100; n++ {
		again, _ := a.Ready(t, 1)
		if again > t {
			return n, time.Duration(again - t)
		}
		a.Take(t, 1)
	}
	return n, 0
}

func play(t *testing.T, how Strategy, rows []row) {
	t.Helper()
	l := newLedger(how)
	for i, r := range rows {
		r.do(l, Instant(r.now))
		n, wait := room(l.Copy(), Instant(r.now))
		assert.Equal(t, r.go_, n, "row %d, at %v: how many may go", i, r.now)
		if r.wait == unsaid {
			continue
		}
		assert.Equal(t, r.wait, wait, "row %d, at %v: how long the next one waits", i, r.now)
	}
}

// The guard of a window after an answer that took 40 ms, and one that took 400 ms or more.
const (
	guard40  = 10 * ms
	guardMax = 100 * ms
)

func TestWindow(t *testing.T) {
	const many = 100
	tests := []struct {
		name string
		rows []row
	}{
		{
			// The draft, Section 7: "A client receiving RateLimit header fields MUST NOT
			// assume that future responses will contain [them]", let alone have known before.
			name: "nothing known, everything goes",
			rows: []row{{0, nothing, many, 0}, {sec, send("a"), many, 0}, {2 * sec, quiet("a"), many, 0}},
		},
		{
			// Section 7: "SHOULD NOT exceed the available quota within [...] the effective window".
			name: "within the window no more than the available quota",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 2, 10*sec), 2, 10*sec + guard40 - 40*ms},
				{50 * ms, send("b", "c"), 0, 10*sec + guard40 - 50*ms},
				{90 * ms, all(says("b", 1, 10*sec), says("c", 0, 10*sec)), 0, 9920 * ms},
				{9 * sec, nothing, 0, sec + guard40},
			},
		},
		{
			// Section 3.1.2: what is in flight is used up as far as the client can tell.
			name: "in flight counts until it is answered",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 3, 10*sec), 3, 9970 * ms},
				{50 * ms, send("b"), 2, 9960 * ms},
				{90 * ms, says("b", 2, 10*sec), 2, 9920 * ms},
			},
		},
		{
			name: "in flight counts until its window is over, and its grace",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 3, 10*sec), 3, 9970 * ms},
				{50 * ms, send("b", "c", "d"), 0, 9960 * ms}, // long polls
				{10*sec + guard40, send("e"), 0, sec},
				{10*sec + guard40 + 40*ms, says("e", 2, 10*sec), 0, 40 * ms}, // may still arrive for two trips
				{10*sec + guard40 + 80*ms, nothing, 2, 9930*ms + 0},
			},
		},
		{
			// As many long polls as there is quota must not empty every window after.
			name: "as many stragglers as quota do not empty the next window",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 1, 10*sec), 1, 9970 * ms},
				{50 * ms, send("poll"), 0, 9960 * ms},
				{10*sec + guard40, send("b"), 0, sec},
				{10*sec + guard40 + 40*ms, says("b", 1, 10*sec), 0, 40 * ms},
				{10*sec + guard40 + 80*ms, nothing, 1, 9920*ms + 10*ms},
			},
		},
		{
			name: "an answer without figures costs what it cost",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 3, 10*sec), 3, 9970 * ms},
				{50 * ms, send("b"), 2, 9960 * ms},
				{90 * ms, quiet("b"), 2, 9920 * ms},
			},
		},
		{
			name: "what was lost may have arrived and costs; what never left does not",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 3, 10*sec), 3, 9970 * ms},
				{50 * ms, send("b", "c"), 1, 9960 * ms},
				{60 * ms, lost("b"), 1, 9950 * ms},
				{60 * ms, unsent("c"), 2, 9950 * ms},
			},
		},
		{
			// Section 3.1.1 and 9.5.1: a figure above the quota is not believed.
			name: "a figure above a known quota counts as the quota",
			rows: []row{
				{0, all(advertises(5, 10*sec), send("a")), many, 0},
				{40 * ms, says("a", 1_000_000, 10*sec), 5, 9970 * ms},
			},
		},
		{
			// Section 8.2: a policy may be lowered for a while.
			name: "a lowered policy bounds at once what is presumed, a raised one does not add",
			rows: []row{
				{0, all(advertises(50, 10*sec), send("a")), many, 0},
				{40 * ms, says("a", 49, 10*sec), 49, 9970 * ms},
				{50 * ms, advertises(3, 10*sec), 3, 9960 * ms},
				{60 * ms, advertises(50, 10*sec), 3, 9950 * ms},
			},
		},
		{
			// The window was generated at the answer, but ends counted from the departure
			// of its request, with a guard of a quarter of the trip (Section 7, latency).
			name: "the window ends counted from the departure, and a guard",
			rows: []row{
				{1 * sec, send("a"), many, 0},
				{1*sec + 100*ms, says("a", 0, 5*sec), 0, 5*sec + 25*ms - 100*ms},
				{6*sec + 25*ms - 1, nothing, 0, 1},
				{6*sec + 25*ms, nothing, 1, sec},
			},
		},
		{
			name: "the guard is at least 1 ms and at most 100 ms",
			rows: []row{
				{0, send("a"), many, 0},
				{0, says("a", 0, 5*sec), 0, 5*sec + 1*ms},
				{5*sec + 1*ms, send("b"), 0, sec},
				{9 * sec, says("b", 0, 5*sec), 0, 5*sec + 1*ms + 5*sec + 100*ms - 9*sec},
			},
		},
		{
			// Section 3.1.2: w is OPTIONAL.
			name: "a figure without a window stands until the next answer, and then one asks",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 2, -1), 2, sec},
				{50 * ms, send("b", "c"), 0, 990 * ms},
				{500 * ms, quiet("b", "c"), 0, 540 * ms},
				{1040 * ms, nothing, 1, sec},
				{1040 * ms, send("d"), 0, sec},
				{1080 * ms, says("d", 7, -1), 7, sec},
				{2 * mins, nothing, 8, 1 * sec}, // the figure, and one that asks
			},
		},
		{
			name: "a figure without a window is asked for again after the policy's window",
			rows: []row{
				{0, all(advertises(10, 30*sec), send("a")), many, 0},
				{40 * ms, says("a", 0, -1), 0, 30 * sec},
				{30*sec + 40*ms, nothing, 1, 30 * sec},
			},
		},
		{
			// Requests of one scope may concern two quotas without a name, of different routes.
			name: "an end farther away than the policy's whole window is of another quota",
			rows: []row{
				{0, send("a", "b", "c"), many, 0},
				{40 * ms, says("a", 4999, 60*mins), many, 0},
				{40 * ms, all(advertises(30, mins), says("b", 2, mins)), 1, mins + guard40 - 40*ms},
				{40 * ms, says("c", 1, mins), 1, mins + guard40 - 40*ms},
			},
		},
		{
			name: "of two windows that are no longer than the policy's the later end counts",
			rows: []row{
				{0, send("a", "b"), many, 0},
				{40 * ms, all(advertises(30, mins), says("a", 20, mins)), 19, mins + guard40 - 40*ms},
				{40 * ms, says("b", 2, 30*sec), 2, mins + guard40 - 40*ms},
			},
		},
		{
			// The last second of a server that rounds down.
			name: "nothing left for no time, unrefused, is looked at again within a second",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 0, 0), 0, 960 * ms},
				{sec, nothing, 1, sec},
			},
		},
		{
			name: "a window of 0 with something left is over now",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, send("b"), many, 0},
				{50 * ms, says("b", 0, 30*sec), 0, 30*sec - 10*ms + 2500*time.Microsecond},
				{60 * ms, quiet("a"), 0, 30*sec - 20*ms + 2500*time.Microsecond},
				{31 * sec, send("c"), 0, sec},
				{31*sec + 40*ms, says("c", 0, 0), 0, 960 * ms},
			},
		},
		{
			// Section 3.1.2: "MUST NOT assume that all its service limit will be fully
			// restored": not the quota, but what was left over.
			name: "after the window what was left over may go",
			rows: []row{
				{0, all(advertises(100, 10*sec), send("a")), many, 0},
				{40 * ms, says("a", 5, 10*sec), 5, 9970 * ms},
				{50 * ms, send("b", "c"), 3, 9960 * ms},
				{90 * ms, all(says("b", 4, 10*sec), says("c", 3, 10*sec)), 3, 9920 * ms},
				{11 * sec, nothing, 3, sec},
			},
		},
		{
			name: "after the window at least one goes, and then as the answer says",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 0, 10*sec), 0, 9970 * ms},
				{10*sec + guard40, nothing, 1, sec},
				{10*sec + guard40, send("b"), 0, sec},
				{10*sec + guard40 + 40*ms, says("b", 7, 10*sec), 7, 9970 * ms},
			},
		},
		{
			name: "after the window an answer without figures says that nothing is known",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 0, 10*sec), 0, 9970 * ms},
				{11 * sec, send("b"), 0, sec},
				{11*sec + 40*ms, quiet("b"), many, 0},
			},
		},
		{
			name: "an answer to a request from before the end of the window says nothing of the time after it",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 1, 10*sec), 1, 9970 * ms},
				{50 * ms, send("b"), 0, 9960 * ms},
				{11 * sec, send("c"), 0, sec},
				{11*sec + 1*ms, quiet("b"), 0, 999 * ms},
			},
		},
		{
			name: "never frozen: a silent server is asked after 1, 2, 4 s",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 0, 10*sec), 0, 9970 * ms},
				{11 * sec, send("b"), 0, sec},
				{12 * sec, send("c"), 0, 2 * sec},
				{14 * sec, send("d"), 0, 4 * sec},
				{18 * sec, send("e"), 0, 8 * sec},
			},
		},
		{
			// Section 9.5.1: "implementing retries when the effective window exceeds ten minutes".
			name: "one request per probe interval may look into a long window",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 0, 24*time.Hour), 0, ProbeInterval},
				{10*mins + 40*ms, nothing, 1, ProbeInterval},
				{10*mins + 40*ms, send("b"), 0, ProbeInterval},
				{20 * mins, nothing, 0, 40 * ms},
				{20 * mins, says("b", 0, 24*time.Hour), 0, ProbeInterval},
			},
		},
		{
			// Section 7: "the Retry-After field MUST take precedence".
			name: "Retry-After holds, and nothing looks before it has passed",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 10*sec), pauses(30*mins)), 0, 30 * mins},
				{30 * mins, nothing, 0, 40 * ms},
				{30*mins + 40*ms, nothing, 1, sec},
			},
		},
		{
			// Appendix A.3: "Wait 20 seconds, then slow down!"
			name: "after Retry-After the figure holds for the rest of its window",
			rows: []row{
				{0, all(advertises(100, 60*sec), send("a")), many, 0},
				{40 * ms, all(says("a", 15, 40*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 39*ms, nothing, 0, 1 * ms},
				{20*sec + 40*ms, nothing, 15, 20*sec - 40*ms + guard40},
			},
		},
		{
			// Section 7: "the effective window MAY be ignored".
			name: "Retry-After that is far shorter than an exhausted window lets one ask",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 60*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 40*ms, nothing, 1, sec},
				{20*sec + 40*ms, send("b"), 0, sec},
				{20*sec + 80*ms, says("b", 7, 60*sec), 7, 60*sec - 40*ms + guard40},
			},
		},
		{
			name: "who comes back then and is refused ends that",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 60*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 40*ms, send("b"), 0, sec},
				{20*sec + 80*ms, all(stillRefuses("b", 40*sec), pauses(10*sec)), 0, 40*sec - 40*ms + guard40},
				{61 * sec, send("c"), 0, sec},
				{61*sec + 40*ms, all(stillRefuses("c", 60*sec), pauses(10*sec)), 0, 60*sec - 40*ms + guard40},
			},
		},
		{
			name: "not so those who were out when it was said",
			rows: []row{
				{0, send("a", "b"), many, 0},
				{40 * ms, all(stillRefuses("a", 60*sec), pauses(20*sec)), 0, 20 * sec},
				{50 * ms, all(stillRefuses("b", 60*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 50*ms, nothing, 1, sec},
			},
		},
		{
			name: "not even if they are answered last",
			rows: []row{
				{0, send("a", "b"), many, 0},
				{40 * ms, all(stillRefuses("a", 60*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 40*ms, nothing, 1, sec},
				{21 * sec, all(stillRefuses("b", 60*sec), pauses(20*sec)), 0, 20 * sec},
				{41 * sec, send("c"), 0, sec},
				{41*sec + 40*ms, all(stillRefuses("c", 70*sec), pauses(20*sec)), 0, 20 * sec},
			},
		},
		{
			name: "nor if they were served, and are answered later",
			rows: []row{
				{0, send("a", "b", "c"), many, 0},
				{40 * ms, all(stillRefuses("c", 60*sec), pauses(20*sec)), 0, 20 * sec},
				{50 * ms, says("a", 1, 60*sec), 0, 20*sec - 10*ms},
				{60 * ms, says("b", 0, 60*sec), 0, 20*sec - 20*ms},
				{20*sec + 40*ms, nothing, 1, sec},
			},
		},
		{
			name: "nor who comes after a window that has ended by itself",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 0, 0), 0, 960 * ms},
				{sec, send("b"), 0, sec},
				{sec + 40*ms, stillRefuses("b", sec), 0, sec - 40*ms + guard40},
				{3 * sec, send("c"), 0, sec},
				{3*sec + 40*ms, all(stillRefuses("c", 60*sec), pauses(20*sec)), 0, 20 * sec},
			},
		},
		{
			name: "nor who comes after a back-off",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, refuses("a", 5, 60*sec), 0, sec},
				{2 * sec, send("b"), 0, sec},
				{2*sec + 40*ms, stillRefuses("b", 58*sec), 0, 58*sec - 40*ms + guard40},
				{61 * sec, send("c"), 0, sec},
				{61*sec + 40*ms, all(stillRefuses("c", 60*sec), pauses(20*sec)), 0, 20 * sec},
			},
		},
		{
			name: "nor one that comes after another was served",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(stillRefuses("a", 60*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 40*ms, send("b"), 0, sec},
				{20*sec + 80*ms, says("b", 1, 40*sec), 1, 40*sec - 40*ms + guard40},
				{21 * sec, send("c"), 0, 39*sec + 40*ms + guard40},
				{21*sec + 40*ms, all(stillRefuses("c", 39*sec), pauses(10*sec)), 0, 10 * sec},
			},
		},
		{
			name: "nor who is served, nor who is refused in another window",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 60*sec), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 40*ms, send("b"), 0, sec},
				{20*sec + 80*ms, all(says("b", 0, 40*sec), pauses(10*sec)), 0, 10 * sec},
				{30*sec + 80*ms, send("c"), 0, sec},
				{30*sec + 120*ms, all(stillRefuses("c", 60*sec), pauses(10*sec)), 0, 10 * sec},
				{40*sec + 120*ms, nothing, 1, sec},
			},
		},
		{
			name: "Retry-After says when a figure without a window is to be looked at",
			rows: []row{
				{0, all(advertises(100, 60*sec), send("a")), many, 0},
				{40 * ms, all(stillRefuses("a", -1), pauses(20*sec)), 0, 20 * sec},
				{20*sec + 40*ms, send("b"), 0, sec},
				{20*sec + 80*ms, all(stillRefuses("b", -1), pauses(10*sec)), 0, 10 * sec},
				{30*sec + 80*ms, nothing, 1, sec},
			},
		},
		{
			name: "Retry-After that is as long as the window, but for seconds, says nothing new",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 21*sec), pauses(20*sec)), 0, 20*sec + 960*ms + guard40},
			},
		},
		{
			name: "nor if that is seven times as long as the difference",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 8*sec), pauses(7*sec)), 0, 7*sec + 960*ms + guard40},
			},
		},
		{
			name: "of shorter ones, a second counts",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, all(says("a", 0, 7*sec), pauses(6*sec)), 0, 6 * sec},
			},
		},
		{
			name: "a shorter Retry-After does not end a longer one",
			rows: []row{
				{0, pauses(20 * sec), 0, 20 * sec},
				{sec, pauses(2 * sec), 0, 19 * sec},
			},
		},
		{
			name: "Retry-After of an account of nothing known lets one go first",
			rows: []row{
				{0, pauses(20 * sec), 0, 20 * sec},
				{20 * sec, nothing, 1, sec},
				{20 * sec, send("a"), 0, sec},
				{21*sec - 1, quiet("a"), many, 0},
			},
		},
		{
			name: "a figure of an overlapping request only lowers",
			rows: []row{
				{0, send("a", "b", "c"), many, 0},
				{40 * ms, says("b", 8, 10*sec), 6, 9970 * ms},
				{41 * ms, says("a", 9, 10*sec), 7, 9969 * ms},
				{42 * ms, says("c", 7, 10*sec), 7, 9968 * ms},
			},
		},
		{
			name: "a figure of a request that departed after the one in force had arrived raises",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 1, 10*sec), 1, 9970 * ms},
				{40 * ms, send("b"), 0, 9970 * ms},
				{80 * ms, says("b", 50, 10*sec), 50, 9970 * ms}, // of a window that has begun
			},
		},
		{
			// An answer of the window before, overtaken by one of the new window.
			name: "reordering over the edge of a window does not stall the new one",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 1, 10*sec), 1, 9970 * ms},
				{9 * sec, send("late"), 0, sec + guard40},
				{11 * sec, send("b"), 0, sec},
				{11*sec + 40*ms, says("b", 9, 10*sec), 9, 9970 * ms},
				{11*sec + 50*ms, says("late", 0, 1*sec), 9, 9960 * ms},
			},
		},
		{
			name: "an answer of the window before that comes first does not stall the new one",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 1, 10*sec), 1, 9970 * ms},
				{9 * sec, send("late"), 0, sec + guard40},
				{11 * sec, send("b"), 0, sec},
				{11*sec + 10*ms, says("late", 0, 1*sec), 0, 990 * ms},
				{11*sec + 40*ms, says("b", 9, 10*sec), 9, 9970 * ms},
			},
		},
		{
			name: "windows of a second: a late answer costs one look, not the window",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, says("a", 1, 1*sec), 1, 970 * ms},
				{200 * ms, send("late"), 0, 810 * ms},
				{1*sec + guard40, send("b"), 0, sec},
				{1*sec + guard40 + 40*ms, says("b", 9, 1*sec), 8, 40 * ms},
				{1*sec + 200*ms, nothing, 9, 820 * ms},
				{1*sec + 500*ms, says("late", 0, 1*sec), 1, sec},
			},
		},
		{
			// Section 2 and 7: a policy alone is informative; we keep count ourselves.
			name: "a policy without a service limit is counted by ourselves, from the first request",
			rows: []row{
				{0, counts(3, 10*sec), 3, 10 * sec},
				{5 * sec, send("a", "b"), 1, 10 * sec},
				{6 * sec, quiet("a", "b"), 1, 9*sec + guardMax},
				{7 * sec, send("c"), 0, 8*sec + guardMax},
				{8 * sec, quiet("c"), 0, 7*sec + guardMax},
				{15*sec + guardMax, nothing, 3, 10 * sec},
			},
		},
		{
			name: "a quota of 0 lets one try in each window",
			rows: []row{
				{0, counts(0, 10*sec), 1, 10 * sec},
				{1 * sec, send("a"), 0, 10 * sec},
				{2 * sec, quiet("a"), 0, 9*sec + guardMax},
				{11*sec + guardMax, nothing, 1, 10 * sec},
			},
		},
		{
			name: "a policy that is lowered or raised changes the count at once",
			rows: []row{
				{0, counts(5, 10*sec), 5, 10 * sec},
				{0, send("a", "b"), 3, 10 * sec},
				{sec, advertises(3, 10*sec), 1, 9 * sec},
				{sec, advertises(1, 10*sec), 0, 9 * sec},
				{sec, advertises(9, 10*sec), 7, 9 * sec},
			},
		},
		{
			name: "a policy without a window is not paced",
			rows: []row{{0, counts(1, 0), many, 0}, {sec, send("a", "b"), many, 0}},
		},
		{
			name: "a policy that loses its window is not paced any more",
			rows: []row{{0, counts(1, 10*sec), 1, 10 * sec}, {sec, advertises(1, 0), many, 0}},
		},
		{
			// Draft -09, Appendix B.3.1: "quota;t=1" beside "quota;q=10".
			name: "a service limit without a figure renews our own count when its time has passed",
			rows: []row{
				{0, all(advertises(3, 0), send("a")), many, 0},
				{40 * ms, all(quiet("a"), renews(0, sec, 1)), 2, 960*ms + guard40},
				{50 * ms, send("b"), 1, 950*ms + guard40},
				{90 * ms, quiet("b"), 1, 910*ms + guard40},
				{sec + guard40 - 1, nothing, 1, 1},
				{sec + guard40, nothing, 3, unsaid},
			},
		},
		{
			// RFC 6585, Section 4: a refusal need not say when to come back.
			name: "a refusal costs 1, 2, 4 s, then one goes",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, refuses("a", 5, 10*sec), 0, sec},
				{sec + 40*ms, nothing, 1, sec},
				{sec + 40*ms, send("b"), 0, sec},
				{sec + 80*ms, refuses("b", 5, 10*sec), 0, 2 * sec},
				{4 * sec, send("c"), 0, sec},
				{4*sec + 40*ms, refuses("c", 0, 0), 0, 4 * sec},
			},
		},
		{
			name: "refusals of requests that overlap count once",
			rows: []row{
				{0, send("a", "b", "c"), many, 0},
				{40 * ms, refuses("a", 5, 10*sec), 0, sec},
				{41 * ms, refuses("b", 5, 10*sec), 0, 999 * ms},
				{42 * ms, refuses("c", 5, 10*sec), 0, 998 * ms},
			},
		},
		{
			name: "a request that is served ends the count of refusals",
			rows: []row{
				{0, send("a"), many, 0},
				{40 * ms, refuses("a", 5, 10*sec), 0, sec},
				{2 * sec, send("b"), 0, sec},
				{2*sec + 40*ms, says("b", 5, 10*sec), 5, 9970 * ms},
				{3 * sec, send("c"), 4, 9010 * ms},
				{3*sec + 40*ms, refuses("c", 4, 10*sec), 0, sec},
			},
		},
		{
			name: "a request that departed before the refusal does not end the count",
			rows: []row{
				{0, send("a", "old"), many, 0},
				{40 * ms, refuses("a", 5, 10*sec), 0, sec},
				{50 * ms, quiet("old"), 0, 990 * ms},
				{2 * sec, send("b"), 0, sec},
				{2*sec + 40*ms, refuses("b", 5, 10*sec), 0, 2 * sec},
			},
		},
		{
			// A clock that goes back, as the clocks of two callers may, by a little.
			name: "time running backwards neither panics nor opens a window twice",
			rows: []row{
				{10 * sec, send("a"), many, 0},
				{10*sec + 40*ms, says("a", 2, 10*sec), 2, 9970 * ms},
				{10*sec + 30*ms, send("b"), 1, 9980 * ms},
				{10 * sec, says("b", 0, 10*sec), 0, 10*sec + guard40},
				{20*sec + guard40, send("c"), 0, sec},
				{20*sec + guard40 - 5*ms, nothing, 0, 1005 * ms},
				{20 * sec, says("c", 3, 10*sec), 3, 10*sec + guard40 + 1*ms},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { play(t, Plain, tt.rows) })
	}
}

// The draft, Section 9.5.1, names ten minutes: of a longer window with nothing
// left, one request per probe interval may look, however the server answers
// it. (It need not give a figure in every response, Section 5.1, so the figure
// may be old when it is used up.)
func TestOneLookPerProbeInterval(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name   string
		begin  event
		want   int
		answer func(name string) event
	}{
		{
			"figures on every answer",
			all(send("a"), says("a", 0, day)), 12,
			func(name string) event { return says(name, 0, day-2*time.Hour) },
		},
		{"an old figure, and answers without one", all(send("a"), says("a", 3, day)), 15, func(name string) event { return quiet(name) }},
		{"an old figure, and no answers", all(send("a"), says("a", 3, day)), 15, lost},
		{"our own count, and answers without a figure", counts(3, day), 15, func(name string) event { return quiet(name) }},
		{"our own count, and no answers", counts(3, day), 15, lost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger(Plain)
			tt.begin(l, 0)
			gone := 0
			for now := Instant(time.Hour); now < Instant(3*time.Hour); now += Instant(sec) {
				if again, _ := l.Ready(now, 1); again > now {
					continue
				}
				gone++
				send("x")(l, now)
				tt.answer("x")(l, now+Instant(40*ms))
			}
			assert.Equal(t, tt.want, gone, "what was left, and a probe every ten minutes for two hours")
		})
	}
}

// A claim of more units than are left waits, and goes after the window,
// whatever it costs.
func TestLargeClaims(t *testing.T) {
	l := newLedger(Plain)
	sendN("a", 1)(l, 0)
	says("a", 10, 10*sec)(l, Instant(40*ms))
	again, why := l.Ready(Instant(sec), 11)
	assert.Equal(t, Instant(10*sec+guard40), again)
	assert.Equal(t, Exhausted, why)
	again, _ = l.Ready(Instant(sec), 10)
	assert.Equal(t, Instant(sec), again, "as many as are left may go")
	again, _ = l.Ready(Instant(11*sec), 1_000_000)
	assert.Equal(t, Instant(11*sec), again, "after the window one request asks, whatever it costs")

	c := newLedger(Plain)
	counts(5, 10*sec)(c, 0)
	again, _ = c.Ready(0, 8)
	assert.Equal(t, Instant(0), again, "a window of our own count always has room for one")
	sendN("big", 8)(c, 0)
	again, _ = c.Ready(Instant(sec), 1)
	assert.Equal(t, Instant(10*sec), again)
}

// Cause before effect: within one fixed window, and without other clients,
// what may be spent never exceeds what the server would grant, and is exactly
// that once all is answered; in whatever order requests depart, are counted
// by the server, and are answered.
func TestFiguresAreExactInEveryOrder(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		for _, known := range []bool{true, false} {
			orders := 0
			forEveryOrder(n, func(order []int) {
				orders++
				if !t.Failed() { // the first order says enough
					checkOrder(t, order, n, known, nil)
				}
			})
			t.Logf("%d requests, known before: %v: %d orders", n, known, orders)
			require.NotZero(t, orders)
		}
	}
}

// The same, where some answers have no service limit: then what may be spent
// errs on the low side only.
func TestSilentAnswersNeverRaise(t *testing.T) {
	for mask := 1; mask < 8; mask++ {
		silent := map[int]bool{0: mask&1 > 0, 1: mask&2 > 0, 2: mask&4 > 0}
		forEveryOrder(3, func(order []int) {
			if !t.Failed() { // the first order says enough
				checkOrder(t, order, 3, true, silent)
			}
		})
	}
}

// forEveryOrder calls f with every order of 3n events, of which n times three
// follow one another: departure, count, arrival of a request. Event i of the
// order is a step of request order[i].
func forEveryOrder(n int, f func(order []int)) {
	left := make([]int, n)
	for i := range left {
		left[i] = 3
	}
	order := make([]int, 0, 3*n)
	var next func()
	next = func() {
		if len(order) == 3*n {
			f(order)
			return
		}
		for i := range left {
			if left[i] == 0 {
				continue
			}
			left[i]--
			order = append(order, i)
			next()
			order = order[:len(order)-1]
			left[i]++
		}
	}
	next()
}

func checkOrder(t *testing.T, order []int, n int, known bool, silent map[int]bool) {
	l := newLedger(Plain)
	remaining := int64(100)
	if known {
		send("first")(l, 0)
		remaining--
		says("first", remaining, 60*sec)(l, 0)
	}
	step := make([]int, n)
	figure := make([]int64, n)
	onTheWay := int64(0)
	for i, r := range order {
		now := Instant(time.Duration(i+1) * ms)
		name := fmt.Sprint(r)
		switch step[r]++; step[r] {
		case 1:
			send(name)(l, now)
			onTheWay++
		case 2:
			remaining--
			onTheWay--
			figure[r] = remaining
		case 3:
			if silent[r] {
				quiet(name)(l, now)
			} else {
				says(name, figure[r], 60*sec)(l, now)
			}
		}
		if l.State == Reported && l.spare() > remaining-onTheWay {
			assert.Fail(t, "more than the server has left", "order %v, event %d, known %v, silent %v: %d > %d",
				order, i, known, silent, l.spare(), remaining-onTheWay)
			return
		}
	}
	if silent == nil && l.spare() != remaining {
		assert.Fail(t, "not exact", "order %v, known %v: %d, want %d", order, known, l.spare(), remaining)
	}
}

// concurrent-requests (the draft, Section 2.1.2): our own in flight are
// bounded by the quota, and a figure is on top of what we hold.
func TestConcurrentRequests(t *testing.T) {
	conc := func(q int64) *ledger {
		l := newLedger(Plain)
		l.SetPolicy(Concurrent, q, 0)
		return l
	}
	release := func(l *ledger, n int64) { l.Retained -= n }
	may := func(l *ledger, t Instant) bool {
		again, _ := l.Ready(t, 1)
		return again <= t
	}

	t.Run("bounded by the quota, until the work is over", func(t *testing.T) {
		l := conc(2)
		send("a", "b")(l, 0)
		assert.False(t, may(l, 0))
		quiet("a")(l, Instant(ms))
		assert.False(t, may(l, Instant(ms)), "answered, but its body is not read")
		release(l, 1)
		assert.True(t, may(l, Instant(ms)))
	})
	t.Run("a figure is not reduced by what we hold a second time", func(t *testing.T) {
		l := conc(10)
		send("a", "b", "c")(l, 0)
		says("a", 2, -1)(l, Instant(ms)) // others hold 5 of 10
		send("d")(l, Instant(ms))
		assert.True(t, may(l, Instant(ms)))
		send("e")(l, Instant(ms))
		assert.False(t, may(l, Instant(ms)))
	})
	t.Run("a figure above the quota counts as the quota", func(t *testing.T) {
		l := conc(1)
		send("a")(l, 0)
		says("a", math.MaxInt64, -1)(l, Instant(ms))
		assert.False(t, may(l, Instant(ms)))
	})
	t.Run("answers without a figure leave the bound alone", func(t *testing.T) {
		l := conc(10)
		send("a")(l, 0)
		says("a", 9, -1)(l, Instant(ms))
		release(l, 1)
		for i := range 20 {
			now := Instant(time.Duration(i+2) * ms)
			send("x")(l, now)
			quiet("x")(l, now)
			release(l, 1)
		}
		n, _ := room(l.Window, Instant(sec))
		assert.Equal(t, 10, n, "ten at a time, as the server said, and nothing has changed")
	})
	t.Run("figures of overlapping requests only lower", func(t *testing.T) {
		l := conc(10)
		send("a", "b", "c")(l, 0)
		says("a", 2, -1)(l, Instant(ms)) // five of 10
		says("b", 5, -1)(l, Instant(2*ms))
		n, _ := room(l.Window, Instant(2*ms))
		assert.Equal(t, 2, n, "raised by a request that departed before")
		says("c", 1, -1)(l, Instant(3*ms))
		n, _ = room(l.Window, Instant(3*ms))
		assert.Equal(t, 1, n)
		send("d")(l, Instant(3*ms))
		says("d", 5, -1)(l, Instant(4*ms))
		n, _ = room(l.Window, Instant(4*ms))
		assert.Equal(t, 5, n, "cause before effect")
	})
	t.Run("nothing left is never frozen", func(t *testing.T) {
		l := conc(10)
		send("a")(l, 0)
		says("a", 0, -1)(l, Instant(ms))
		release(l, 1)
		assert.True(t, may(l, Instant(ms)))
	})
	t.Run("while a probe is out, the next look is when its patience ends", func(t *testing.T) {
		l := conc(0)
		send("a")(l, 0)
		says("a", 0, -1)(l, 0)
		send("b", "c")(l, 0) // c is a probe
		l.Unretain(3)
		for _, now := range []time.Duration{0, 300 * ms, sec - 1, sec, 3 * sec} {
			again, _ := l.Ready(Instant(now), 1)
			assert.Equal(t, max(sec, now), time.Duration(again), "at %v", now)
		}
	})
	t.Run("a quota of 0 lets one try", func(t *testing.T) {
		l := conc(0)
		assert.True(t, may(l, 0))
		send("a")(l, 0)
		assert.False(t, may(l, 0))
	})
}

// A unit that nobody has registered (the draft, Section 11.3), such as tokens, holds like
// any other.
func TestOtherUnits(t *testing.T) {
	l := newLedger(Plain)
	l.SetPolicy(Other, 1_000, 10*sec)
	l.Count(0, 0)
	sendN("a", 700)(l, 0)
	again, _ := l.Ready(0, 301)
	assert.Equal(t, Instant(10*sec), again)
	says("a", 0, 60*sec)(l, Instant(ms))
	again, why := l.Ready(Instant(ms), 1)
	assert.Equal(t, Instant(60*sec+ms), again)
	assert.Equal(t, Exhausted, why)
}

// Content bytes are counted by the units of the claim (the draft, Section 2.1.2).
func TestContentBytes(t *testing.T) {
	l := newLedger(Plain)
	l.SetPolicy(Bytes, 1_000, 10*sec)
	l.Count(0, 0)
	sendN("a", 700)(l, 0)
	again, _ := l.Ready(0, 300)
	assert.Equal(t, Instant(0), again)
	again, _ = l.Ready(0, 301)
	assert.Equal(t, Instant(10*sec), again)
}

// Whatever the numbers, nothing overflows: no wait is negative, and nothing
// that was exhausted is free again because a sum went round.
func TestHugeNumbers(t *testing.T) {
	const huge = math.MaxInt64
	units := []int64{0, 1, 1_000_000_000_000_000, huge}
	windows := []time.Duration{-1, 0, sec, 1<<63 - 1}
	nows := []Instant{0, 1, Instant(time.Hour), Never - 1, Never}
	for _, unit := range []Unit{Requests, Bytes, Concurrent, Other} {
		for _, q := range units {
			for _, w := range windows {
				for _, n := range units {
					l := newLedger(Plain)
					for i, t1 := range nows {
						l.SetPolicy(unit, q, w)
						l.Count(t1, n)
						sendN(fmt.Sprint(i), n)(l, t1)
						sendN(fmt.Sprint(i, "x"), n)(l, t1)
						says(fmt.Sprint(i), q, w)(l, t1)
						if again, _ := l.Ready(t1, n); again < t1 {
							t.Fatalf("negative wait: unit %d, q %d, w %d, n %d, t %d", unit, q, w, n, t1)
						}
						if l.InFlight < 0 || l.Retained < 0 || l.available < 0 || l.before < 0 {
							t.Errorf("a sum went round: unit %d, q %d, w %d, n %d, t %d: inflight %d, held %d, available %d",
								unit, q, w, n, t1, l.InFlight, l.Retained, l.available)
							return
						}
						l.Pause(t1, w, Server{})
						l.StartBackOff(t1, t1, 0.999)
					}
				}
			}
		}
	}
}

// What is in flight of huge claims does not go round to make room.
func TestHugeClaimsInFlight(t *testing.T) {
	l := newLedger(Plain)
	send("a")(l, 0)
	sendN("b", math.MaxInt64)(l, 0)
	sendN("c", math.MaxInt64)(l, 0)
	says("a", 10, 10*sec)(l, Instant(ms))
	n, _ := room(l.Window, Instant(ms))
	assert.Equal(t, 0, n, "two huge claims are out, ten units are left")
}

// idle accounts say nothing that is still in force.
func TestIdle(t *testing.T) {
	l := newLedger(Plain)
	assert.True(t, l.Idle(0))
	send("a")(l, 0)
	assert.False(t, l.Idle(0), "a request is out")
	says("a", 3, 10*sec)(l, Instant(40*ms))
	assert.False(t, l.Idle(Instant(sec)), "its figure is in force")
	assert.True(t, l.Idle(Instant(11*sec)))
	l.Pause(Instant(11*sec), sec, Server{})
	assert.False(t, l.Idle(Instant(11*sec)), "it is under a hold")
	assert.True(t, l.Idle(Instant(12*sec)))
	l.StartBackOff(Instant(12*sec), Instant(12*sec), 0)
	assert.False(t, l.Idle(Instant(12*sec)), "it backs off")
	assert.True(t, l.Idle(Instant(13*sec)))
}

// Which windows are idle.
func TestIdleStates(t *testing.T) {
	for _, tt := range []struct {
		name string
		a    Window
		want bool
	}{
		{"nothing known", Window{end: Never}, true},
		{"a window that is over", Window{State: Reported, end: 5}, true},
		{"a window", Window{State: Reported, end: 11}, false},
		{"a figure without one", Window{State: Reported, end: Never}, false},
		{"our own count", Window{State: Counting, end: 11}, false},
		{"our own count of nothing", Window{State: Counting, end: Never}, true},
		{"after a window", Window{State: Expired, end: Never}, true},
		{"held", Window{end: Never, Hold: 11}, false},
		{"backing off", Window{end: Never, BackOff: 11}, false},
		{"a request out", Window{end: Never, InFlight: 1}, false},
		{"a request of the window before out", Window{end: Never, before: 1}, false},
		{"a unit in use", Window{end: Never, Retained: 1}, false},
	} {
		assert.Equal(t, tt.want, tt.a.Idle(10), tt.name)
	}
}

// A pause that turns out to concern others gives back the end of the window, also where
// it had ended the window earlier.
func TestUndoOfPause(t *testing.T) {
	for name, left := range map[string]int64{"nothing is left": 0, "something is left": 3} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Adaptive)
			send("a")(l, 0)
			l.report(Instant(40*ms), "a", left, 60*sec, false)
			before := l.Copy()
			l.Pause(Instant(50*ms), 10*sec, l.server)
			after := l.Copy()
			require.Equal(t, left == 0, after.End() != before.End())
			l.Undo(&before, &after)
			assert.Equal(t, before, l.Window)
		})
	}
}

// A Retry-After that was too short once is not believed again. Where others may have used what had come back, it takes
// four refusals in a row; and where units come back, it is always believed.
func TestHastyRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name       string
		ours, fall float32
		again      uint8
		creeps     bool
		instants   Instants
		want       time.Duration
	}{
		{"alone", 20, 20, 0, false, 0, 9 * sec},
		{"a unit that others took", 14, 15, 0, false, 0, 9 * sec},
		{"others", 19, 20, 3, false, 0, sec},
		{"others, and four refusals in a row", 19, 20, 4, false, 0, 9 * sec},
		{"units come back", 19, 20, 4, true, 0, sec},
		{"before an instant", 20, 20, 0, false, looseInstants, sec},
	} {
		l, at := newLedger(Adaptive), Instant(32*ms)
		all(later, others(tt.ours, tt.fall), advertises(100, 10*sec), send("a"))(l, 0)
		l.set(creeping, tt.creeps)
		l.ownRare().again = tt.again
		l.server.Hasty, l.server.Instants = true, tt.instants
		all(stillRefuses("a", 9*sec), pauses(sec))(l, at)
		assert.Equal(t, tt.want, l.End().Since(at).Round(sec), tt.name)
	}
}
