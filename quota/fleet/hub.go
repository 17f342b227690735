package fleet

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/headway-go/headway/quota/exchange"
)

// A Hub is a Store in memory: for tests, and for several quota.Accounts in one process.
// It is also the specification of other stores: redisstore's script does the same, number
// by number. The zero value is ready. A Hub must not be copied.
//
// All its numbers are integers, and all its times microseconds.
type Hub struct {
	// Clock returns the time. Nil means time.Now. It is set before first use.
	Clock func() time.Time

	mu      sync.Mutex
	records map[recordID]*record
	hearers map[exchange.ID]map[*hearer]struct{}

	listeners map[exchange.ID][]func(exchange.Word)
	flights   map[exchange.ID]map[string]flight
	turns     int
}

// A flight is the requests of a process whose accounts it does not know. They count in
// every account of the origin, for others.
type flight struct{ n, until int64 }

type recordID struct{ origin, account exchange.ID }

// A hearer gets the words of one subscription.
type hearer struct{ words chan exchange.Word }

// The times of a Hub, in microseconds.
const (
	msec = int64(1000)
	sec  = 1000 * msec

	latest        = 150 * msec // a turn that is carried out later than that takes nothing
	lease         = 30 * sec   // after which what a process has is forgotten, if it is silent
	longLease     = 300 * sec  // the same, if the window is long
	returnsWithin = 25 * sec   // a process that lacks units comes again before its lease ends
	longWindow    = 600 * sec
	recovery      = 2 * sec // after a record was made: processes that knew the one before come back
	wokenFor      = 100 * msec
	comesBy       = 2 * sec // that much later than it was told, a process that lacks units is not awaited any more
	returnsEvery  = 20 * msec
	lookShort     = 20 * msec  // a process that lacked nothing comes again, if requests wait
	behind        = 200 * msec // after one that looks what there is, the others come, if they are not woken
	lookReleased  = 200 * msec
	idle          = 10 * sec
	sameWindow    = sec
	maxPatience   = 60 * sec
	forgets       = 600 * sec // beyond what was said
	sweepEvery    = 1000      // turns
	none          = -1
	firstFlight   = 10 // first requests that are out at once
	unlimited     = int64(1) << 50
	maxHeldSecond = 366 * 24 * 3600
)

// Exchange implements Store.
func (h *Hub) Exchange(_ context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	now := time.Now
	if h.Clock != nil {
		now = h.Clock
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	grant, words, err := h.exchange(now().UnixMicro(), origin, turn)
	for i := range words {
		for to := range h.hearers[origin] {
			select {
			case to.words <- words[i]:
			default: // it is only a hint
			}
		}
		for _, hear := range h.listeners[origin] {
			hear(words[i])
		}
	}
	return grant, err
}

// Listen has hear called with all words about an origin, in the goroutine of the
// exchange that they come from, with a lock held: for simulations on one thread.
func (h *Hub) Listen(origin exchange.ID, hear func(exchange.Word)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = make(map[exchange.ID][]func(exchange.Word))
	}
	h.listeners[origin] = append(h.listeners[origin], hear)
}

// Forget loses all that the Hub knows, as a store that starts anew.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records, h.flights = nil, nil
}

// Subscribe implements Store.
func (h *Hub) Subscribe(ctx context.Context, origin exchange.ID, hear func(*exchange.Word)) error {
	to := &hearer{make(chan exchange.Word, 64)}
	h.mu.Lock()
	if h.hearers == nil {
		h.hearers = make(map[exchange.ID]map[*hearer]struct{})
	}
	if h.hearers[origin] == nil {
		h.hearers[origin] = make(map[*hearer]struct{})
	}
	h.hearers[origin][to] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.hearers[origin], to); len(h.hearers[origin]) == 0 {
			delete(h.hearers, origin)
		}
	}()
	for {
		select {
		case w := <-to.words:
			hear(&w)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// An execution is one turn being carried out.
type execution struct {
	now     int64
	turn    *exchange.Turn
	records []*record
	mine    []*member
	left    []int64     // units that no process holds and that this turn may take
	allowed []int64     // of these, what the process may take
	kept    []int64     // units that are kept for those that go before
	hungry  [][]*member // others, in their order
	ahead   []int64     // the first units of those that go before
	granted []int64
	probed  []bool
	stopped []bool // a request lacked units here: none goes before it
	blocked []int  // the account that the first request which claims this one lacked; negative: none
	words   []exchange.Word
	flights int64 // of others
}

var errTurn = errors.New("fleet: invalid turn")

func (h *Hub) exchange(now int64, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, []exchange.Word, error) {
	n := len(turn.Accounts)
	for _, r := range turn.Requests {
		for _, c := range r.Claims {
			if c.Account < 0 || c.Account >= n || c.Units < 0 || r.N < 1 {
				return nil, nil, errTurn
			}
		}
	}
	x := &execution{
		now: now, turn: turn, records: make([]*record, n), mine: make([]*member, n),
		left: make([]int64, n), allowed: make([]int64, n), kept: make([]int64, n), hungry: make([][]*member, n), ahead: make([]int64, n),
		granted: make([]int64, n), probed: make([]bool, n), stopped: make([]bool, n), blocked: make([]int, n),
	}
	asOf := turn.AsOf.Microseconds()
	void := asOf > 0 && now-asOf > latest
	if h.records == nil {
		h.records = make(map[recordID]*record)
	}
	h.sweep(now)
	for i := range x.blocked {
		x.blocked[i] = none
	}
	repeated := false
	for i := range turn.Accounts {
		id := recordID{origin, turn.Accounts[i].ID}
		r := h.records[id]
		if r == nil {
			r = &record{made: now, version: now, members: make(map[string]*member), renewal: renewal{quota: none}}
			h.records[id] = r
		}
		x.records[i], r.used = r, now
		if m := r.members[turn.Process]; m != nil && m.seq >= int64(turn.Seq) {
			repeated = true
		}
	}
	if repeated {
		void = true
	} else {
		x.flights = h.fly(now, origin, turn)
		for i := range turn.Accounts {
			x.tell(i, void)
		}
	}
	for i := range turn.Accounts {
		x.count(i)
	}
	if !void && !turn.Bye {
		x.deal()
		for i := range turn.Accounts {
			if turn.Accounts[i].First && x.mine[i].want > 0 {
				delete(h.flights[origin], turn.Process) // its first request waits
			}
		}
	}
	grant := &exchange.Grant{Now: time.Duration(now) * time.Microsecond, Void: void}
	for i := range turn.Accounts {
		grant.Accounts = append(grant.Accounts, x.reply(i, void))
	}
	return grant, x.words, nil
}

// sweep forgets records that were not used for long, and flights whose time is over, now and then.
func (h *Hub) sweep(now int64) {
	if h.turns++; h.turns%sweepEvery != 0 {
		return
	}
	for id, r := range h.records {
		if now > max(r.used, r.end, r.hold)+forgets {
			delete(h.records, id)
		}
	}
	for origin, all := range h.flights {
		maps.DeleteFunc(all, func(_ string, f flight) bool { return f.until <= now })
		if len(all) == 0 {
			delete(h.flights, origin)
		}
	}
}

// fly takes over the flights of the turn, and returns those of others.
func (h *Hub) fly(now int64, origin exchange.ID, turn *exchange.Turn) (others int64) {
	all := h.flights[origin]
	if turn.Flights > 0 {
		if all == nil {
			all = make(map[string]flight)
			if h.flights == nil {
				h.flights = make(map[exchange.ID]map[string]flight)
			}
			h.flights[origin] = all
		}
		all[turn.Process] = flight{turn.Flights, now + lease}
	} else if turn.Flights == 0 {
		delete(all, turn.Process)
	}
	for process, f := range all {
		if f.until <= now {
			delete(all, process)
		} else if process != turn.Process {
			others += f.n
		}
	}
	return others
}
