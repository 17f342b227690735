package quota

import (
	"container/list"
	"errors"
	"sync"
	"time"
)

// Defaults of a Keyed.
const (
	DefaultMaxKeys   = 100_000
	DefaultIdleAfter = 10 * time.Second
)

// ErrKeys is the error of a Keyed that has no room for another key.
var ErrKeys = errors.New("quota: too many keys in use")

// KeyedOptions are the options of a Keyed.
type KeyedOptions struct {
	// MaxKeys is how many keys have a limiter at a time. Zero means
	// DefaultMaxKeys, a negative number no bound. Beyond it, a new key takes the
	// place of one whose limiter is idle; where there is none among the least
	// recently used, it gets ErrKeys.
	MaxKeys int

	// IdleAfter is how long a limiter is kept after it has become idle and was
	// asked for last. Zero means DefaultIdleAfter, a negative duration that it
	// is kept until there is no room.
	IdleAfter time.Duration
}

func (o KeyedOptions) maxKeys() int { return bounded(o.MaxKeys, DefaultMaxKeys) }

func (o KeyedOptions) idleAfter() time.Duration {
	if o.IdleAfter == 0 {
		return DefaultIdleAfter
	}
	return o.IdleAfter
}

// A Keyed keeps one limiter for each key: for each host, say, or each user. A
// limiter is made when its key is first asked for, and forgotten when it has
// been idle for a while: an idle limiter is as good as a new one. One with a
// permit out, or with somebody in its queue, is never forgotten. (Nor is a Chain
// with a limiter in it that all keys share, as long as that one is in use: chain
// it to the limiter of the key for each piece of work, outside of the Keyed.)
//
// Use a limiter at once, and ask for it again the next time: one that is kept
// may have been forgotten meanwhile, and another one made for the key.
//
// A Keyed is safe for concurrent use. One key never blocks another. It has no
// goroutine and no timer: whoever asks for a limiter looks at two others on
// the way.
type Keyed[K comparable] struct {
	limiter func(K) (Limiter, error)
	options KeyedOptions
	start   time.Time

	mu     sync.Mutex // guards following; taken before the guard of a limiter
	byKey  map[K]*list.Element
	recent list.List // of *keyedLimiter[K], the last asked for first
	closed bool
}

// keyedLimiter is the limiter of a key.
type keyedLimiter[K comparable] struct {
	key  K
	used instant // when it was asked for last

	// made is closed when the limiter is there; nil after that was noticed. The
	// following are written before.
	made    chan struct{}
	limiter Limiter // nil: making it failed
	err     error
}

// NewKeyed returns a Keyed whose limiters are made by the function, which must
// not be nil. It is called once for each key at a time, with no lock held; who
// asks for the same key meanwhile waits for what it returns. A nil Limiter
// means no limit on that key. An error is that of all who wait, and the
// function is called again for the next who asks.
func NewKeyed[K comparable](limiter func(K) (Limiter, error), o KeyedOptions) *Keyed[K] {
	return &Keyed[K]{
		limiter: limiter,
		options: o,
		start:   time.Now(),
		byKey:   make(map[K]*list.Element),
	}
}

// Limiter returns the limiter of a key, and makes it if need be. The error is
// ErrKeys, ErrClosed, or that of the function that makes limiters.
func (k *Keyed[K]) Limiter(key K) (Limiter, error) {
	t := instant(time.Since(k.start))
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil, ErrClosed
	}
	if e, ok := k.byKey[key]; ok {
		l := e.Value.(*keyedLimiter[K])
		l.used = max(l.used, t)
		k.recent.MoveToFront(e)
		k.sweepLocked(t)
		made := l.made
		k.mu.Unlock()
		if made != nil {
			<-made
		}
		return l.limiter, l.err
	}
	k.sweepLocked(t)
	if !k.roomLocked() {
		k.mu.Unlock()
		return nil, ErrKeys
	}
	l := &keyedLimiter[K]{key: key, used: t, made: make(chan struct{})}
	e := k.recent.PushFront(l)
	k.byKey[key] = e
	k.mu.Unlock()
	k.make(e, l)
	return l.limiter, l.err
}

// make makes a limiter, with no lock held.
func (k *Keyed[K]) make(e *list.Element, l *keyedLimiter[K]) {
	l.err = errMaking // unless the function returns
	defer func() {
		k.mu.Lock()
		if l.err != nil {
			k.forgetLocked(e, l)
		} else if k.closed {
			l.limiter.Close()
		}
		close(l.made)
		l.made = nil
		k.mu.Unlock()
	}()
	limiter, err := k.limiter(l.key)
	if l.err = err; err != nil {
		return
	}
	if absent(limiter) {
		limiter = newUnlimited()
	}
	l.limiter = limiter
}

// errMaking is for those who wait for a limiter whose making panicked.
var errMaking = errors.New("quota: making the limiter of a key panicked")

// look is how many limiters are looked at on the way.
const look = 2

// sweepLocked forgets limiters that have been idle for long enough, and moves
// those that are in use out of the way of the next look.
func (k *Keyed[K]) sweepLocked(t instant) {
	after := k.options.idleAfter()
	if after < 0 {
		return
	}
	for range look {
		e := k.recent.Back()
		if e == nil {
			return
		}
		l := e.Value.(*keyedLimiter[K])
		if t < l.used.Add(after) {
			return // all others were asked for later
		}
		if idle, since := k.idleLocked(l); !idle || t < since.Add(after) {
			l.used = t
			k.recent.MoveToFront(e)
			continue
		}
		k.forgetLocked(e, l)
	}
}

// roomLocked makes room for one more key, and reports whether there is any.
func (k *Keyed[K]) roomLocked() bool {
	most := k.options.maxKeys()
	if most < 0 || len(k.byKey) < most {
		return true
	}
	for range sample {
		e := k.recent.Back()
		if e == nil {
			break
		}
		l := e.Value.(*keyedLimiter[K])
		if idle, _ := k.idleLocked(l); idle {
			k.forgetLocked(e, l)
			return true
		}
		k.recent.MoveToFront(e)
	}
	return false
}

// idleLocked reports whether a limiter is idle, and since when.
func (k *Keyed[K]) idleLocked(l *keyedLimiter[K]) (idle bool, since instant) {
	if l.made != nil {
		return false, 0
	}
	at := l.limiter.Stats().IdleSince
	return !at.IsZero(), instant(at.Sub(k.start))
}

func (k *Keyed[K]) forgetLocked(e *list.Element, l *keyedLimiter[K]) {
	if k.byKey[l.key] == e {
		delete(k.byKey, l.key)
		k.recent.Remove(e)
	}
}

// Len is how many keys have a limiter.
func (k *Keyed[K]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.byKey)
}

// Close closes all limiters there are, and gives out no more: the error is
// ErrClosed. A second Close does nothing.
func (k *Keyed[K]) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	for _, e := range k.byKey {
		if l := e.Value.(*keyedLimiter[K]); l.made == nil {
			l.limiter.Close()
		}
	}
	clear(k.byKey)
	k.recent.Init()
}

// By returns a function that finds the limiter of a T by a key that it has: of
// a request by its host, say. It fits transport.Shaper.Limits. Where there is
// no limiter to be had, it returns one that refuses with the reason: see
// Keyed.Limiter.
func By[T any, K comparable](k *Keyed[K], key func(T) K) func(T) Limiter {
	return func(t T) Limiter {
		l, err := k.Limiter(key(t))
		if err != nil {
			return refuser(err)
		}
		return l
	}
}

// refuser is a limiter that refuses everything with err, and lets nobody wait.
func refuser(err error) *Custom {
	answer := Answer{Phrase: err.Error(), Detail: err, never: true}
	c := &Custom{ask: func(int64) Answer { return answer }}
	c.open(&c.state, Queue{Limit: 1})
	return c
}
