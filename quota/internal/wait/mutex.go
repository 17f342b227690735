package wait

import (
	"sync"
	"sync/atomic"
)

// A Mutex guards one constraint, or several that belong together.
//
// Lock order: whatever needs the mutexes of several constraints takes them by
// rank, the lowest first, and each once. The zero Mutex has the rank 0, which
// all accounts of one origin share; TakeRank gives each limiter a rank of its
// own, above those before. Claims of one admission may include one Mutex of
// rank 0 at most.
//
// An origin has one Mutex, not one for each account: an exchange needs two of
// its accounts or more at one instant, twice, so that finer locks would cost
// each exchange more than they spare a few of them. What is done under the
// Mutex is a few hundred nanoseconds of arithmetic. By BenchmarkGoroutines, 64
// goroutines on one origin get as much done as one alone where there is one
// core for them, and 1.1 times that on two; with an origin for each, which is
// what the finest locks could give, it would be 1.7 times.
type Mutex struct {
	sync.Mutex
	rank uint64
}

// serial numbers the ranks of mutexes and the tickets of waiters.
var serial atomic.Uint64

// TakeRank gives m a rank above those given before. It is called once, before m
// is used.
func (m *Mutex) TakeRank() { m.rank = serial.Add(1) }

// Lock takes the mutexes of all claims, each once, by rank. Claims that share a
// mutex stand side by side.
func Lock(claims []Claim) {
	if !ranked(claims) {
		lockByRank(claims)
		return
	}
	var last *Mutex
	for i := range claims {
		if m := claims[i].Constraint.Mutex(); m != last {
			m.Lock()
			last = m
		}
	}
}

// Unlock unlocks the mutexes that Lock took.
func Unlock(claims []Claim) {
	var last *Mutex
	for i := range claims {
		if m := claims[i].Constraint.Mutex(); m != last {
			m.Unlock()
			last = m
		}
	}
}

// ranked reports whether the claims stand in the order of their ranks.
func ranked(claims []Claim) bool {
	for i := 1; i < len(claims); i++ {
		if claims[i].Constraint.Mutex().rank < claims[i-1].Constraint.Mutex().rank {
			return false
		}
	}
	return true
}

// lockByRank locks claims in any order.
func lockByRank(claims []Claim) {
	var few [8]*Mutex
	ms := few[:0]
	for i := range claims {
		ms = append(ms, claims[i].Constraint.Mutex())
		for at := i; at > 0 && ms[at].rank < ms[at-1].rank; at-- { // claims are few
			ms[at], ms[at-1] = ms[at-1], ms[at]
		}
	}
	for i, m := range ms {
		if i == 0 || m != ms[i-1] {
			m.Lock()
		}
	}
}
