package quota_test

import (
	"container/heap"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// A world is an event queue on one goroutine: a server with quotas in fixed windows,
// and callers that ask an origin and come back when it says. No request waits in line.
// Its time is an argument.
type world struct {
	r      *rand.Rand
	d      *desk
	now    time.Duration
	events happenings
	seq    int

	servers []*fixedWindow
	refused int
	served  []time.Duration
	problem string
}

type fixedWindow struct {
	name   string
	quota  int64
	window time.Duration
	up     bool  // rounds the rest of its window up
	used   int64 // in the window that is open
	opened time.Duration
	open   bool
}

type happening struct {
	at  time.Duration
	seq int
	do  func()
}

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.events, happening{w.now + d, w.seq, do})
}

func (w *world) run(until time.Duration) {
	for len(w.events) > 0 && w.now < until {
		e := heap.Pop(&w.events).(happening)
		w.now = e.at
		e.do()
	}
}

// serve counts a request, as it arrives at the server, and says what is left.
func (w *world) serve() (ok bool, figures []quota.Figure) {
	ok = true
	for _, s := range w.servers {
		if !s.open || w.now >= s.opened+s.window {
			s.open, s.opened, s.used = true, w.now, 0
		}
		if s.used >= s.quota {
			ok = false
		}
	}
	for _, s := range w.servers {
		if ok {
			s.used++
		}
		rest := (s.opened + s.window - w.now) / sec * sec
		if s.up && rest < s.opened+s.window-w.now {
			rest += sec
		}
		figures = append(figures, quota.Figure{Policy: s.name, Available: s.quota - s.used, Window: rest})
	}
	return ok, figures
}

// caller sends n requests, one after the other.
func (w *world) caller(n int) {
	var next func()
	ask := quota.Ask{MaxDelay: quota.NoDelay}
	for _, s := range w.servers {
		ask.Claims = append(ask.Claims, quota.Claim{Policy: s.name, Units: 1})
	}
	next = func() {
		if n == 0 {
			return
		}
		l := new(quota.Lease)
		err := w.d.o.Admit(context.Background(), w.d.at(w.now), &ask, l)
		if r, ok := err.(*quota.Refusal); ok {
			if r.RetryAfter <= 0 {
				w.problem = fmt.Sprintf("at %v: come back at once: %+v", w.now, *r)
			}
			w.after(min(max(r.RetryAfter, ms), 100*ms), next)
			return
		}
		there, back := w.trip(), w.trip()
		w.after(there, func() {
			ok, figures := w.serve()
			w.after(back, func() {
				w.d.settle(w.now, l, quota.Report{Refused: !ok, Figures: figures})
				if ok {
					n--
					w.served = append(w.served, w.now)
				} else {
					w.refused++
				}
				next()
			})
		})
	}
	next()
}

func (w *world) trip() time.Duration { return 20*ms + time.Duration(w.r.IntN(20))*ms }

func newWorld(t *testing.T, seed uint64, servers ...*fixedWindow) *world {
	return &world{r: rand.New(rand.NewPCG(seed, 5)), d: newDesk(t), servers: servers}
}

func randomServer(r *rand.Rand, name string) *fixedWindow {
	return &fixedWindow{
		name: name, quota: 5 + r.Int64N(30), up: true,
		window: []time.Duration{sec, 5 * sec, 10 * sec, 30 * sec}[r.IntN(4)],
	}
}

// No more than the available quota is used within the window (the draft, Section 7): a
// server that enforces what it says refuses what departed before anything was known,
// and else one request in fifty at most. Every caller is served in the end.
func TestLawAvailableQuota(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		s := randomServer(r, "api")
		w := newWorld(t, seed, s)
		callers, each := 1+r.IntN(20), 1+r.IntN(20)
		for range callers {
			w.caller(each)
		}
		w.run(time.Hour)
		if w.problem != "" {
			assert.Fail(t, "a wait of nothing", "seed %d: %s", seed, w.problem)
			return
		}
		first := max(callers-int(s.quota), 0) // departed before anything was known
		if allowed := first + callers*each/50 + 1; w.refused > allowed {
			assert.Fail(t, "refused", "seed %d: %d of %d, %d in the first wave; quota %d in %v",
				seed, w.refused, callers*each, first, s.quota, s.window)
			return
		}
		if !assert.Len(t, w.served, callers*each, "seed %d: a caller was not served", seed) {
			return
		}
		// It takes no longer than two windows for each that it needs.
		windows := time.Duration(int64(callers*each)/s.quota + 2)
		if took := w.served[len(w.served)-1]; took > 2*windows*(s.window+sec) {
			assert.Fail(t, "slow", "seed %d: %v for %d windows of %v", seed, took, windows, s.window)
			return
		}
	}
}

// No more is admitted on a figure within its window than it says is available.
func TestLawNeverMoreThanTheFigure(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 7))
		d := newDesk(t)
		avail, w := r.Int64N(20), time.Duration(2+r.IntN(500))*sec
		d.settle(0, d.send(0, "", api(1)), quota.Report{Figures: figure("api", avail, w)})
		gone := int64(0)
		var out []*quota.Lease
		for now := time.Duration(0); now < w; now += time.Duration(r.Int64N(int64(w) / 50)) {
			n := int64(1 + r.IntN(3))
			if l, refused := d.try(now, "", api(n)); refused == nil {
				gone += n
				out = append(out, l)
			}
			if len(out) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(out))
				d.settle(now, out[i], quota.Report{Lost: r.IntN(2) == 1})
				out = append(out[:i], out[i+1:]...)
			}
		}
		if gone > avail {
			assert.Fail(t, "more than the available quota", "seed %d: %d of %d in %v", seed, gone, avail, w)
			return
		}
	}
}

// One more policy never makes a wait shorter: what is admitted under two policies would
// have been admitted under each of them alone.
func TestLawOneMorePolicy(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 8))
		d := newDesk(t)
		a, b := quota.Claim{Policy: "a", Units: 1}, quota.Claim{Policy: "b", Units: 1}
		now := time.Duration(0)
		var out []*quota.Lease
		for step := range 200 {
			now += time.Duration(r.Int64N(int64(2 * sec)))
			alone := max(d.wait(now, "", a), d.wait(now, "", b))
			both := d.wait(now, "", a, b)
			if both < alone {
				assert.Fail(t, "faster", "seed %d, step %d: %v for both, %v alone", seed, step, both, alone)
				return
			}
			if l, refused := d.try(now, "", a, b); refused == nil {
				if alone > 0 {
					assert.Fail(t, "it was admitted, and under one policy alone it would wait", "seed %d, step %d", seed, step)
					return
				}
				out = append(out, l)
			}
			if len(out) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(out))
				rep := quota.Report{Refused: r.IntN(4) == 0}
				for _, name := range []string{"a", "b"} {
					if r.IntN(2) == 0 {
						rep.Figures = append(rep.Figures, figure(name, r.Int64N(5), time.Duration(r.IntN(8)-1)*sec)...)
					}
				}
				if r.IntN(8) == 0 {
					rep.Pause = time.Duration(r.IntN(5)) * sec
				}
				d.settle(now, out[i], rep)
				out = append(out[:i], out[i+1:]...)
			}
		}
	}
}
