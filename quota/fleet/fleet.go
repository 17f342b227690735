package fleet

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
)

const (
	restAfter   = time.Minute            // without a turn, after which an origin rests
	resubscribe = 500 * time.Millisecond // between subscriptions that end
	clockLasts  = time.Minute            // for which the quickest exchange tells the clock of the store
)

// Options of a Fleet.
type Options struct {
	// Trace is told when the store is reached, and when it is not any more. May be nil.
	Trace *Trace
}

// A Trace has functions that are called with what happens. Each may be nil. They are
// called with no lock held, by several goroutines, and hold up turns: they must return
// soon.
type Trace struct {
	// Linked is called when the store answers for the first time, or again.
	Linked func()

	// Alone is called once when the store does not answer any more, or never did, with
	// the error of the first exchange that failed.
	Alone func(err error)

	// Exchanged is called after each exchange with the store.
	Exchanged func(ExchangedInfo)
}

// ExchangedInfo describes an exchange with the store.
type ExchangedInfo struct {
	Took time.Duration // until the store answered, or failed to
	Err  error         // of the store, or context.DeadlineExceeded if it answered too late; nil: it answered in time
	Void bool          // the turn came to the store too late, or repeated, and took nothing
}

// A Fleet carries turns between accounts and a store. It implements quota.Peers: set
// Accounts.Peers to it. It is safe for concurrent use. It has no goroutine until an
// origin is used, and then two for each origin in use.
type Fleet struct {
	store   Store
	process string
	ctx     context.Context // of all exchanges and subscriptions
	end     context.CancelFunc
	running sync.WaitGroup

	exchanges, failures atomic.Int64

	mu      sync.Mutex // protects the following
	origins map[*quota.Shared]*carrier
	traces  []*Trace // never modified, only replaced
	closed  bool
	link    link
	err     error // of the last exchange that failed
}

// A link is what is known of the way to the store.
type link uint8

const (
	untried link = iota
	linked
	alone
)

// New returns a Fleet that uses the store. It does not fail if the store cannot be
// reached. Two Accounts with the same Secret need a Fleet each: a store takes what one Fleet says of an
// origin for the word of one process.
func New(store Store, o Options) *Fleet {
	var name [6]byte
	rand.Read(name[:])
	f := &Fleet{store: store, process: base64.RawURLEncoding.EncodeToString(name[:]), origins: make(map[*quota.Shared]*carrier)}
	f.Watch(o.Trace)
	f.ctx, f.end = context.WithCancel(context.Background())
	return f
}

// Watch has t told of what happens from now on, beside the Traces that are told already.
// Metrics use it. Nil changes nothing.
func (f *Fleet) Watch(t *Trace) {
	if t == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.traces = append(f.traces[:len(f.traces):len(f.traces)], t)
}

// A Status is what a Fleet knows of itself.
type Status struct {
	Linked    bool  // the last exchange was answered in time
	Peers     int   // processes that share an account of the origins in use, this one included; the most of them
	Exchanges int64 // turns that were carried out
	Failures  int64 // turns that were not, or not in time
	Err       error // of the last of these; nil: none
}

// Status returns what the Fleet knows of itself.
func (f *Fleet) Status() Status {
	f.mu.Lock()
	s := Status{Linked: f.link == linked, Err: f.err, Exchanges: f.exchanges.Load(), Failures: f.failures.Load()}
	var origins []*quota.Shared
	for o := range f.origins {
		origins = append(origins, o)
	}
	f.mu.Unlock()
	for _, o := range origins {
		if n, _ := o.Peers(); n > s.Peers {
			s.Peers = n
		}
	}
	return s
}

// Due implements quota.Peers.
func (f *Fleet) Due(s *quota.Shared) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.origins[s]
	if c == nil {
		if f.closed {
			return
		}
		c = &carrier{f: f, s: s, due: make(chan struct{}, 1)}
		f.origins[s] = c
		f.running.Add(1)
		go c.run()
	}
	select {
	case c.due <- struct{}{}:
	default:
	}
}

// Close gives back what the process has, and ends all goroutines of the Fleet. It waits
// for the store, but not for longer than it takes to answer one turn for each 64 accounts of an origin. The
// accounts go on alone. Closing again does nothing. A hook of a Trace must not call it.
func (f *Fleet) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	was := f.link
	var carriers []*carrier
	for _, c := range f.origins {
		carriers = append(carriers, c)
	}
	f.mu.Unlock()
	f.end()
	f.running.Wait()
	var leaving sync.WaitGroup
	for _, c := range carriers {
		if turn := c.s.Goodbye(time.Now()); was == linked {
			leaving.Go(func() { c.leave(turn) })
		}
	}
	leaving.Wait()
	return nil
}

// leave carries turns that give back what the accounts have. If one is not answered, their leases end.
func (c *carrier) leave(turn *exchange.Turn) {
	for ; len(turn.Accounts) > 0; turn = c.s.Goodbye(time.Now()) {
		turn.Process = c.f.process
		ctx, cancel := context.WithTimeout(context.Background(), turn.Timeout)
		_, err := c.f.store.Exchange(ctx, c.s.Origin(), turn)
		if cancel(); err != nil {
			return
		}
	}
}

// A carrier carries the turns of one origin.
type carrier struct {
	f   *Fleet
	s   *quota.Shared
	due chan struct{}

	clock storeClock // in a cluster, each node has its own; f.mu protects it
}

// run carries turns until the origin rests or the Fleet is closed.
func (c *carrier) run() {
	f := c.f
	defer f.running.Done()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	subscribed := false
	timer := time.NewTimer(restAfter)
	defer timer.Stop()
	last := time.Now()
	for {
		if f.ctx.Err() != nil {
			return
		}
		now := time.Now()
		turn, next := c.s.Turn(now)
		if turn != nil {
			if !subscribed {
				subscribed = true
				f.running.Add(1)
				go c.subscribe(ctx)
			}
			last = now
			c.carry(now, turn)
			continue
		}
		if next.IsZero() {
			next = last.Add(restAfter)
		}
		timer.Reset(time.Until(next))
		select {
		case <-c.due:
		case <-f.ctx.Done():
			return
		case now := <-timer.C:
			if now.Sub(last) >= restAfter && f.rest(c) {
				return
			}
		}
	}
}

// rest ends a carrier that has nothing to do, unless that has just changed.
func (f *Fleet) rest(c *carrier) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(c.due) > 0 {
		return false
	}
	delete(f.origins, c.s)
	return true
}

// carry carries one turn. The accounts are alone as soon as it was not answered in time,
// even if the store takes longer to say so.
func (c *carrier) carry(sent time.Time, turn *exchange.Turn) {
	f := c.f
	turn.Process = f.process
	turn.AsOf = c.asOf(sent)
	ctx, cancel := context.WithTimeout(f.ctx, turn.Timeout)
	defer cancel()
	late := time.AfterFunc(turn.Timeout, func() {
		c.s.Failed(time.Now())
		f.failed(context.DeadlineExceeded)
	})
	grant, err := f.store.Exchange(ctx, c.s.Origin(), turn)
	now := time.Now()
	inTime := late.Stop()
	switch {
	case err != nil && f.ctx.Err() != nil: // closed
		c.s.Failed(now)
	case err != nil:
		c.s.Failed(now)
		if inTime {
			f.failed(err)
		}
		f.exchanged(ExchangedInfo{Took: now.Sub(sent), Err: err})
	default:
		c.heard(sent, now, grant)
		c.s.Heard(sent, now, grant)
		switch {
		case !inTime:
			err = context.DeadlineExceeded
		case grant.Void:
			f.failed(errVoid)
		default:
			f.answered()
		}
		f.exchanged(ExchangedInfo{Took: now.Sub(sent), Err: err, Void: grant.Void})
	}
}

func (f *Fleet) exchanged(i ExchangedInfo) {
	f.mu.Lock()
	traces := f.traces
	f.mu.Unlock()
	for _, t := range traces {
		if t.Exchanged != nil {
			t.Exchanged(i)
		}
	}
}

// subscribe hears the words about the origin.
func (c *carrier) subscribe(ctx context.Context) {
	defer c.f.running.Done()
	for ctx.Err() == nil {
		c.f.store.Subscribe(ctx, c.s.Origin(), func(w *exchange.Word) {
			c.s.Wake(time.Now(), c.f.process, w)
		})
		select {
		case <-ctx.Done():
		case <-time.After(resubscribe):
		}
	}
}

func (f *Fleet) answered() {
	f.exchanges.Add(1)
	f.mu.Lock()
	was, traces := f.link, f.traces
	f.link = linked
	f.mu.Unlock()
	if was == linked {
		return
	}
	for _, t := range traces {
		if t.Linked != nil {
			t.Linked()
		}
	}
}

func (f *Fleet) failed(err error) {
	f.failures.Add(1)
	f.mu.Lock()
	was, traces := f.link, f.traces
	f.link, f.err = alone, err
	f.mu.Unlock()
	if was == alone {
		return
	}
	for _, t := range traces {
		if t.Alone != nil {
			t.Alone(err)
		}
	}
}

// errVoid is what a store says that carries out turns too late.
var errVoid = errors.New("fleet: the store carried out the turn too late")

// A storeClock estimates the clock of the store.
type storeClock struct {
	shown time.Duration // by an answer: at least that much when the answer came
	at    time.Time
	trip  time.Duration
}

// shows returns what the store's clock shows at an instant, at least. It reckons by the
// monotonic clock: the other one may have been set since.
func (c *storeClock) shows(t time.Time) time.Duration { return c.shown + t.Sub(c.at) }

// heard takes over the clock of a grant: that of the quickest recent exchange, unless this
// one shows that it is wrong. The store's clock may have been set, or be another's by now.
func (c *carrier) heard(sent, now time.Time, g *exchange.Grant) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	k, trip := &c.clock, now.Sub(sent)
	if k.at.IsZero() || trip <= k.trip || now.Sub(k.at) > clockLasts || g.Now > k.shows(now) || g.Now < k.shows(sent) {
		*k = storeClock{g.Now, now, trip}
	}
}

// asOf returns what the store's clock shows now, at least; 0: not known.
func (c *carrier) asOf(now time.Time) time.Duration {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.clock.at.IsZero() {
		return 0
	}
	return c.clock.shows(now)
}
