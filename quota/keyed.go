package quota

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// maxKeys is how many keys have a limiter at a time. A new key beyond it replaces one
	// whose limiter is idle, and gets errKeys if none of the least recently used limiters is.
	// One that was returned within the last second and has not been used keeps its place.
	maxKeys = 100_000

	// idleAfter is how long a limiter is kept after it became idle and after its last use,
	// whichever is later.
	idleAfter = 10 * time.Second
)

// errKeys is the Err of a refusal by a limiter of By that has no room for another key.
var errKeys = errors.New("quota: too many keys in use")

// A limiters keeps one limiter for each key, for example for each host or user. A
// limiter is made at the first call of Limiter with its key, and dropped when it
// has been idle for a while, because an idle limiter is equal to a new one. A
// limiter is never dropped while a permit is taken or a request waits. That is
// also true of a Chain with a limiter that all keys share: it is not idle while
// any key uses that one. So chain a shared limiter outside of it, to the
// limiter of the key, for each request.
//
// Use a limiter at once, and call Limiter again for the next request: the
// limiter may have been dropped meanwhile, and another one made for the key.
//
// A limiters is safe for concurrent use. One key never blocks another. It has no
// goroutine and no timer: each call of Limiter checks two limiters that have not
// been used for long.
type limiters[K comparable] struct {
	limiter   func(K) Limiter
	maxKeys   int
	idleAfter time.Duration
	began     time.Time // instants are the time since then

	mu     sync.Mutex // guards following; taken before the mutex of a limiter
	byKey  map[K]*keyedLimiter[K]
	recent keyedLimiter[K] // a ring: next is the last used, prev the one used longest ago
}

// keyedLimiter is the limiter of a key.
type keyedLimiter[K comparable] struct {
	key        K
	used       time.Duration    // the last call of Limiter with the key
	uses       int64            // how many calls there were: see inHand
	prev, next *keyedLimiter[K] // in limiters.recent

	// made is closed after the following fields were written; then it is nil.
	made    chan struct{}
	limiter Limiter // nil: it could not be made
	err     error
}

// newLimiters returns a limiters that makes limiters with the given function, which
// must not be nil. The function is called with no lock held, and not twice at
// the same time for one key: concurrent calls of Limiter with the key wait for
// its result. A nil Limiter means no limit for that key.
func newLimiters[K comparable](limiter func(K) Limiter) *limiters[K] {
	k := &limiters[K]{
		limiter:   limiter,
		maxKeys:   maxKeys,
		idleAfter: idleAfter,
		began:     time.Now(),
		byKey:     make(map[K]*keyedLimiter[K]),
	}
	k.recent.prev, k.recent.next = &k.recent, &k.recent
	return k
}

// Limiter returns the limiter of a key, and makes it if there is none. The error
// is errKeys or errMaking.
func (k *limiters[K]) Limiter(key K) (Limiter, error) {
	_ = map[K]struct{}(nil)[key] // panics now if the key has no hash, and not with the mutex locked
	k.mu.Lock()
	now := time.Since(k.began)
	if l := k.byKey[key]; l != nil {
		l.used = now
		l.uses++
		k.moveToFront(l)
		k.sweepLocked(now)
		made := l.made
		k.mu.Unlock()
		if made != nil {
			<-made
		}
		return l.limiter, l.err
	}
	k.sweepLocked(now)
	if !k.roomLocked(now) {
		k.mu.Unlock()
		return nil, errKeys
	}
	l := &keyedLimiter[K]{key: key, used: now, uses: 1, made: make(chan struct{})}
	k.pushFront(l)
	k.byKey[key] = l
	k.mu.Unlock()
	k.make(l)
	return l.limiter, l.err
}

func (k *limiters[K]) pushFront(l *keyedLimiter[K]) {
	l.prev, l.next = &k.recent, k.recent.next
	l.prev.next, l.next.prev = l, l
}

func (k *limiters[K]) moveToFront(l *keyedLimiter[K]) {
	if k.recent.next != l {
		l.unlink()
		k.pushFront(l)
	}
}

func (l *keyedLimiter[K]) unlink() { l.prev.next, l.next.prev = l.next, l.prev }

// make makes the limiter of l, with no lock held.
func (k *limiters[K]) make(l *keyedLimiter[K]) {
	l.err = errMaking // unless the function returns
	defer func() {
		k.mu.Lock()
		if l.err != nil {
			k.dropLocked(l)
		}
		close(l.made)
		l.made = nil
		k.mu.Unlock()
	}()
	if l.limiter = k.limiter(l.key); absent(l.limiter) {
		l.limiter = Chain()
	}
	l.err = nil
}

// errMaking is returned to concurrent callers if making the limiter panicked. The next call
// of Limiter makes it again.
var errMaking = errors.New("quota: making the limiter of a key panicked")

// sweepLength is how many limiters each call of Limiter checks.
const sweepLength = 2

// sweepLocked drops limiters that have been idle for long enough. It moves those
// that are in use to the front, so that the next sweep checks others.
func (k *limiters[K]) sweepLocked(now time.Duration) {
	for range sweepLength {
		l := k.recent.prev
		if l == &k.recent {
			return
		}
		if now-l.used < k.idleAfter {
			return // all others were used later
		}
		if since, idle := idleLocked(l); !idle || now-since.Sub(k.began) < k.idleAfter {
			l.used = now
			k.moveToFront(l)
			continue
		}
		k.dropLocked(l)
	}
}

// roomLocked makes room for one more key, and reports whether it could.
func (k *limiters[K]) roomLocked(now time.Duration) bool {
	if len(k.byKey) < k.maxKeys {
		return true
	}
	for range sample {
		l := k.recent.prev
		if l == &k.recent {
			break
		}
		if _, idle := idleLocked(l); idle && !inHand(l, now) {
			k.dropLocked(l)
			return true
		}
		k.moveToFront(l)
	}
	return false
}

// idleLocked reports since when a limiter has been idle, and whether it is. A
// limiter that is being made is not, nor is one that a request claims which waits
// for something else.
func idleLocked[K comparable](l *keyedLimiter[K]) (since time.Time, idle bool) {
	if l.made != nil || l.limiter.awaited() {
		return time.Time{}, false
	}
	since = l.limiter.Stats().IdleSince
	return since, !since.IsZero()
}

// handTime is how long a limiter that was returned and not used keeps its place.
const handTime = time.Second

// inHand reports whether a caller may have been given the limiter and not used it yet. If
// it were replaced by a new one now, both would grant all their permits.
func inHand[K comparable](l *keyedLimiter[K], now time.Duration) bool {
	if now-l.used >= handTime {
		return false
	}
	s := l.limiter.Stats()
	return l.uses > s.Granted+s.Refused
}

func (k *limiters[K]) dropLocked(l *keyedLimiter[K]) {
	delete(k.byKey, l.key)
	l.unlink()
}

// By returns a function that returns the limiter of a T by the T's key, for
// example that of an HTTP request by its host, as transport.Shaper.Limits needs
// it:
//
//	quota.By(
//		func(r *http.Request) string { return r.URL.Host },
//		func(host string) quota.Limiter { return quota.PerSecond(2, 2) })
//
// The second function makes the limiter of a key at its first use, with no lock
// held. A nil Limiter means no limit for that key. A limiter is dropped when it has
// been idle for 10 s, because an idle limiter is equal to a new one, and never while
// a permit is taken or a request waits. A Chain with a limiter that all keys share is
// not idle while any key uses that one: use Together instead. There are at most
// 100,000 limiters at a time. If none of the least recently used is idle then, a new
// key gets one that refuses everything with a *Refusal that says so.
//
// Use a limiter at once, and ask again for the next request: a second after it was
// returned, another key may take its place. One key never blocks another. There is no goroutine and no timer.
func By[T any, K comparable](key func(T) K, limiter func(K) Limiter) func(T) Limiter {
	return of(newLimiters(limiter), key)
}

// of returns a function that returns the limiter of a T by the T's key.
func of[T any, K comparable](k *limiters[K], key func(T) K) func(T) Limiter {
	return func(t T) Limiter {
		l, err := k.Limiter(key(t))
		if err != nil {
			return refuser(err)
		}
		return l
	}
}

// Always returns a function that returns l for each T, as transport.Shaper.Limits
// needs it:
//
//	quota.Always[*http.Request](quota.PerSecond(10, 20))
func Always[T any](l Limiter) func(T) Limiter { return func(T) Limiter { return l } }

// Together returns a function that returns a Chain of what the functions return
// for a T: a limit for each host and one for all hosts, for example. None of the
// functions is nil.
func Together[T any](limits ...func(T) Limiter) func(T) Limiter {
	return func(t T) Limiter {
		all := make([]Limiter, len(limits))
		for i, limit := range limits {
			all[i] = limit(t)
		}
		return Chain(all...)
	}
}

// refuser returns a limiter that refuses everything with err, without a wait.
func refuser(err error) Limiter {
	answer := Answer{Err: err, never: true}
	return Custom(CustomFuncs{Take: func(context.Context, int64) Answer { return answer }}, Options{MaxQueue: 1})
}
