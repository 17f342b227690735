package tokens_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/tokens"
)

// bucket is the quota of a server: 60,000 tokens, of which 1,000 come back in a second.
// Requests of it depart one after the other, two seconds apart.
type bucket struct {
	*tokens.Learner
	at   time.Duration
	left int64
}

const capacity = 60_000

func newBucket(k tokens.Kind) *bucket {
	return &bucket{Learner: &tokens.Learner{Kind: k}, left: capacity}
}

func (b *bucket) figure() tokens.Figure {
	return tokens.Figure{
		Available: b.left, Limit: capacity, Cost: tokens.None,
		Full: time.Duration(capacity-b.left) * time.Millisecond,
	}
}

// serve serves a request that is charged a number of tokens.
func (b *bucket) serve(r *tokens.Request, charged int64) {
	d := b.Depart(r, b.at)
	b.left -= charged
	b.Served(d, b.figure())
	b.at += 2 * time.Second
	b.left = min(b.left+2000, capacity)
}

func (b *bucket) serveAll(n int, r tokens.Request, charged int64) {
	for range n {
		b.serve(&r, charged)
	}
}

// A server is taken to reserve the longest answer until eight requests were charged less
// than half of it on average.
func TestReserves(t *testing.T) {
	b := newBucket(tokens.All)
	r := tokens.Request{Input: 500, Output: 4000}
	assert.EqualValues(t, 4500, b.Estimate(&r))
	b.serveAll(1, r, 900) // the first figure: nothing to compare it with
	b.serveAll(7, r, 900)
	assert.EqualValues(t, 4500, b.Estimate(&r))
	b.serveAll(1, r, 900)
	assert.EqualValues(t, 900, b.Estimate(&r))
	assert.EqualValues(t, 700, b.Estimate(&tokens.Request{Input: 300, Output: 9000}))
}

// Requests that are charged more than half lead back, and twice as many are needed to
// refute that; so does a refusal.
func TestReservesAgain(t *testing.T) {
	r := tokens.Request{Input: 500, Output: 4000}
	for name, event := range map[string]func(*bucket){
		"falls": func(b *bucket) {
			for range 16 { // some of the eight were less
				if b.serveAll(1, r, 2500); b.Estimate(&r) == 4500 {
					break
				}
			}
			b.Lost(b.Depart(&r, b.at))
		},
		"a refusal": func(b *bucket) { b.Refused(b.Depart(&r, b.at), 0, tokens.None) },
		"its cost":  func(b *bucket) { b.Refused(b.Depart(&r, b.at), 0, 4500) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBucket(tokens.All)
			for _, proof := range []int{8, 16, 32, 64, 128, 256, 512, 512} {
				b.serveAll(1, r, 900)
				b.serveAll(proof-2, r, 900)
				assert.EqualValues(t, 4500, b.Estimate(&r), proof)
				b.serveAll(2, r, 900)
				assert.Less(t, b.Estimate(&r), int64(4500), proof)
				event(b)
				assert.EqualValues(t, 4500, b.Estimate(&r), proof)
			}
		})
	}
}

// A fall that is too large, with one that is too small beside it, because two requests have
// arrived in another order, proves nothing.
func TestOrderOfArrival(t *testing.T) {
	for _, charged := range []int64{900, 4500} {
		b := newBucket(tokens.All)
		r := tokens.Request{Input: 500, Output: 4000}
		b.left = capacity / 2
		b.serve(&r, charged)
		for range 20 {
			first, second := b.Depart(&r, b.at), b.Depart(&r, b.at)
			b.left -= charged
			f := b.figure()
			b.left -= charged
			b.Served(first, b.figure())
			b.Served(second, f)
			b.at += time.Duration(charged) * 2 * time.Millisecond
			b.left += 2 * charged
			if charged == 4500 {
				assert.EqualValues(t, 4500, b.Estimate(&r))
			}
		}
		assert.Equal(t, charged == 900, b.Estimate(&r) < 4500)
	}
}

// In windows, too: requests of a burst arrive in any order, and each costs what the figure has
// fallen by since that of the request that arrived before it.
func TestBurstInAnyOrder(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var l tokens.Learner
		for burst := range 4 {
			at := time.Duration(burst) * time.Minute
			left := int64(capacity)
			var departed []*tokens.Departure
			var requests []*tokens.Request
			for range 20 {
				r := &tokens.Request{Input: 200 + rnd.Int64N(2000), Output: 4000}
				requests = append(requests, r)
				departed = append(departed, l.Depart(r, at))
				at += time.Millisecond
			}
			figures := make([]tokens.Figure, len(departed))
			for _, i := range rnd.Perm(len(departed)) { // as they arrive
				left -= requests[i].Input
				figures[i] = tokens.Figure{Available: left, Limit: capacity, Window: time.Minute, Cost: tokens.None}
			}
			for _, i := range rnd.Perm(len(departed)) { // as they are answered
				l.Served(departed[i], figures[i])
			}
		}
		assert.EqualValues(t, 500, l.Estimate(&tokens.Request{Input: 500, Output: 4000}), "seed %d", seed)
		if t.Failed() {
			return
		}
	}
}

// A text may have more tokens than estimated. If the longest answer is reserved, the multiple is learned, and
// never taken for less than one, nor for more than a token a byte.
func TestTextOfMoreTokens(t *testing.T) {
	for multiple, want := range map[float64]int64{0.9: 1400, 1: 1400, 1.05: 1450, 2: 2400, 3.5: 3900, 9: 4400} {
		for seed := range uint64(20) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			b := newBucket(tokens.All)
			b.left = capacity / 2
			for range 20 {
				r := tokens.Request{Input: 200 + rnd.Int64N(2000), Output: 400}
				charged := r.Output + int64(multiple*float64(r.Input))
				b.serve(&r, charged)
				b.at += time.Duration(charged-2000) * time.Millisecond
				b.left += charged - 2000
			}
			assert.InDelta(t, want, b.Estimate(&tokens.Request{Input: 1000, Output: 400}), 2, "seed %d, multiple %v", seed, multiple)
		}
	}
}

// A refusal shows that a request costs more than what is left, until figures tell what it costs.
func TestLeftAtARefusal(t *testing.T) {
	r := tokens.Request{Input: 1000, Output: 400}
	b := newBucket(tokens.All)
	for _, tt := range []struct{ left, want int64 }{{1399, 1400}, {1400, 1650}, {1650, 1963}, {1500, 1963}, {5000, 4400}} {
		b.Refused(b.Depart(&r, b.at), tt.left, tokens.None)
		assert.EqualValues(t, tt.want, b.Estimate(&r), tt.left)
	}
	b.left = capacity / 2
	b.serveAll(40, r, 1600)
	assert.InDelta(t, 1600, b.Estimate(&r), 2)
}

// Between two figures, a request that was refused has cost nothing.
func TestFree(t *testing.T) {
	r := tokens.Request{Input: 500, Output: tokens.None}
	var l tokens.Learner
	first, refused, second := l.Depart(&r, 0), l.Depart(&r, 0), l.Depart(&r, 0)
	l.Served(first, tokens.Figure{Available: 9000, Limit: tokens.None, Cost: tokens.None})
	l.Served(second, tokens.Figure{Available: 8200, Limit: tokens.None, Cost: tokens.None})
	assert.EqualValues(t, 500, l.Estimate(&r))
	l.Free(refused)
	l.Free(refused)
	assert.EqualValues(t, 800, l.Estimate(&r))
}

// What answers cost without a bound on them is learned.
func TestUnbounded(t *testing.T) {
	b := newBucket(tokens.All)
	r := tokens.Request{Input: 500, Output: tokens.None}
	assert.EqualValues(t, 500, b.Estimate(&r))
	b.serveAll(20, r, 900)
	assert.EqualValues(t, 900, b.Estimate(&r))
	for i := range 200 {
		b.serveAll(1, r, 800+200*int64(i%2))
	}
	assert.InDelta(t, 1100, b.Estimate(&r), 25) // 900, and twice the deviation of 100
}

func TestKinds(t *testing.T) {
	r := tokens.Request{Input: 500, Output: 4000}
	in := newBucket(tokens.Input)
	assert.EqualValues(t, 500, in.Estimate(&r))
	in.serveAll(30, r, 700)
	assert.EqualValues(t, 700, in.Estimate(&r))
	in.serveAll(100, r, 20) // the rest was cached
	assert.InDelta(t, 20, in.Estimate(&r), 10)

	out := newBucket(tokens.Output)
	assert.EqualValues(t, 1, out.Estimate(&r))
	out.serveAll(30, r, 370)
	assert.EqualValues(t, 370, out.Estimate(&r))
	out.serveAll(100, r, 2000)
	assert.InDelta(t, 2000, out.Estimate(&r), 40)
}

// A figure says something of a request only beside that of the request before, in
// whatever order the responses arrive.
func TestOrderOfResponses(t *testing.T) {
	r := tokens.Request{Input: 500, Output: tokens.None}
	for name, order := range map[string][]int{"in order": {0, 1, 2}, "reversed": {2, 1, 0}, "mixed": {1, 0, 2}} {
		t.Run(name, func(t *testing.T) {
			var l tokens.Learner
			var ds []*tokens.Departure
			for range 3 {
				ds = append(ds, l.Depart(&r, 0))
			}
			for n, i := range order {
				if n == 2 {
					assert.LessOrEqual(t, l.Estimate(&r), int64(800))
				}
				l.Served(ds[i], tokens.Figure{Available: 10_000 - 800*int64(i), Limit: tokens.None, Cost: tokens.None})
				l.Served(ds[i], tokens.Figure{Available: 1, Limit: tokens.None, Cost: tokens.None}) // does nothing
			}
			assert.EqualValues(t, 800, l.Estimate(&r))
		})
	}
}

// Between two figures there was a request that was not served, another window began, or a
// figure is missing: they are not compared.
func TestNotComparable(t *testing.T) {
	const hour = time.Hour
	r := tokens.Request{Input: 500, Output: tokens.None}
	figure := func(left int64) tokens.Figure {
		return tokens.Figure{Available: left, Limit: 10_000, Window: time.Minute, Cost: tokens.None}
	}
	for name, play := range map[string]func(l *tokens.Learner){
		"one is lost": func(l *tokens.Learner) {
			first, lost, second := l.Depart(&r, 0), l.Depart(&r, 0), l.Depart(&r, 0)
			l.Served(first, figure(9000))
			l.Lost(lost)
			l.Served(second, figure(7000))
		},
		"one is refused": func(l *tokens.Learner) {
			first, refused, second := l.Depart(&r, 0), l.Depart(&r, 0), l.Depart(&r, 0)
			l.Served(second, figure(7000))
			l.Refused(refused, 0, tokens.None)
			l.Served(first, figure(9000))
		},
		"one is on its way": func(l *tokens.Learner) {
			first, _, second := l.Depart(&r, 0), l.Depart(&r, 0), l.Depart(&r, 0)
			l.Served(first, figure(9000))
			l.Served(second, figure(7000))
		},
		"a new window": func(l *tokens.Learner) {
			l.Served(l.Depart(&r, 0), figure(9000))
			l.Served(l.Depart(&r, time.Minute), figure(7000))
		},
		"more is left": func(l *tokens.Learner) {
			l.Served(l.Depart(&r, 0), figure(7000))
			l.Served(l.Depart(&r, 1), figure(9000))
		},
		"no figure": func(l *tokens.Learner) {
			l.Served(l.Depart(&r, 0), figure(9000))
			l.Served(l.Depart(&r, 1), figure(tokens.None))
			l.Served(l.Depart(&r, hour), figure(7000))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l tokens.Learner
			play(&l)
			assert.EqualValues(t, 500, l.Estimate(&r))
		})
	}
}

// What the server says that a request costs needs no comparison.
func TestCostThatIsSaid(t *testing.T) {
	var l tokens.Learner
	r := tokens.Request{Input: 500, Output: tokens.None}
	l.Served(l.Depart(&r, 0), tokens.Figure{Available: 9000, Limit: tokens.None, Cost: 800})
	assert.EqualValues(t, 800, l.Estimate(&r))
	l.Served(l.Depart(&r, 1), tokens.Figure{Available: 1000, Limit: tokens.None, Cost: 800})
	assert.EqualValues(t, 800, l.Estimate(&r))
}

// The rate at which tokens come back is that of the most exact figure.
func TestRefillOfCoarseFigures(t *testing.T) {
	var l tokens.Learner
	r := tokens.Request{Input: 500, Output: tokens.None}
	at, left := time.Duration(0), int64(capacity)
	for i := range 200 {
		left -= 1000
		full := (time.Duration(capacity-left)*time.Millisecond + time.Second - 1).Truncate(time.Second) // rounded up
		l.Served(l.Depart(&r, at), tokens.Figure{Available: left, Limit: capacity, Full: full, Cost: tokens.None})
		wait := 700 * time.Millisecond
		if i > 100 {
			wait = 1300 * time.Millisecond
		}
		at += wait
		left = min(left+int64(wait/time.Millisecond), capacity)
	}
	assert.InDelta(t, 1000, l.Estimate(&r), 40)
}

// If the quota changes, so does the rate, after a while.
func TestRefillChanges(t *testing.T) {
	var l tokens.Learner
	r := tokens.Request{Input: 500, Output: tokens.None}
	at, left, perSecond := time.Duration(0), int64(1000), int64(1000)
	for i := range 500 {
		if i == 100 {
			perSecond = 500
		}
		left -= 500
		full := time.Duration(float64(capacity-left) / float64(perSecond) * float64(time.Second))
		if i > 100 {
			full = min(full, 20*time.Second)
			left = capacity - int64(full.Seconds()*float64(perSecond))
		}
		l.Served(l.Depart(&r, at), tokens.Figure{Available: left, Limit: capacity, Full: full, Cost: tokens.None})
		at += time.Second
		left += perSecond
	}
	assert.InDelta(t, 500, l.Estimate(&r), 20)
}

// Departures do not stay in memory, whatever becomes of them and of one before; nor if what departed with that one
// was served.
func TestMemoryOfDepartures(t *testing.T) {
	for _, besideServed := range []bool{false, true} {
		var l tokens.Learner
		f := tokens.Figure{Available: 1, Limit: tokens.None, Cost: tokens.None}
		var beside *tokens.Departure
		if besideServed {
			beside = l.Depart(nil, 0)
		}
		never := l.Depart(nil, 0)
		if besideServed {
			l.Served(beside, f)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 60_000 {
			switch d := l.Depart(nil, 0); i / 15_000 {
			case 0:
				l.Served(d, f)
			case 1:
				l.Lost(d)
			case 2:
				l.Refused(d, 0, tokens.None)
			case 3:
				l.Free(d)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		assert.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(1<<20), "beside one that was served: %t", besideServed)
		runtime.KeepAlive(&l)
		runtime.KeepAlive(never)
	}
}

// A server that counts a request when its answer ends counts in another order than that of the
// departures. The figures that rise in a window count as those that fall do, so that the falls
// between them, which are of several requests, do not look like reserved answers.
func TestCountedAtTheEnd(t *testing.T) {
	r := tokens.Request{Input: 500, Output: 4096}
	var l tokens.Learner
	left := int64(100_000)
	for i := range 40 {
		at := time.Duration(i) * time.Second
		figure := left - 2000 // of every two requests, the second one ends first
		if i%2 == 1 {
			figure, left = left-1000, left-2000
		}
		l.Served(l.Depart(&r, at), tokens.Figure{Available: figure, Limit: 100_000, Window: time.Minute - at, Cost: tokens.None})
	}
	assert.Less(t, l.Estimate(&r), r.Input+r.Output, "it does not reserve the longest answer")
}

// A server whose figures are those of the end of an answer counts in the order of answers, and not
// in that of departures. The order in which all requests seem to cost the same is taken.
func TestFiguresOfTheEnd(t *testing.T) {
	for seed := range uint64(20) {
		for _, atEnd := range []bool{false, true} {
			rnd := rand.New(rand.NewPCG(seed, 2))
			l := tokens.Learner{Kind: tokens.All}
			left := int64(1_000_000)
			var out []*tokens.Departure
			var figures []int64 // when they arrived
			for i := range 400 {
				at := time.Duration(i+1) * time.Second
				r := &tokens.Request{Input: 200 + rnd.Int64N(3000), Output: 4000}
				left -= r.Input
				out, figures = append(out, l.Depart(r, at)), append(figures, left)
				if len(out) < 10 {
					continue
				}
				ends := rnd.IntN(len(out))
				f := tokens.Figure{Available: figures[ends], Limit: tokens.None, Window: time.Hour - at, Cost: tokens.None, At: at + time.Second/2}
				if atEnd {
					f.Available = left
				}
				l.Served(out[ends], f)
				out, figures = slices.Delete(out, ends, ends+1), slices.Delete(figures, ends, ends+1)
			}
			assert.InDelta(t, 500, l.Estimate(&tokens.Request{Input: 500, Output: 4000}), 50, "seed %d, at the end %v", seed, atEnd)
		}
	}
}
