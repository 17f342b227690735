package quota

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// defaultBuffer is the buffer of a Channel where it is given as 0.
const defaultBuffer = 64

// bufferName is the name of a channel's buffer, which no limiter of a user has.
const bufferName = "\x00buffer"

// A Channel carries items from senders to receivers at the rate that a Limiter
// allows. Sending an item takes a place in the buffer and permits for its
// weight, both or none. Receiving the item releases both. So a limiter on
// concurrency bounds the weight of all items in the channel.
//
// The items of one sender are received in the order in which they were sent. A
// Channel is safe for concurrent use by any number of senders and receivers,
// must not be copied, and has no goroutine.
type Channel[T any] struct {
	limiter Limiter
	weight  func(T) int64
	places  *Limit
	ready   chan struct{} // has an element if an item may be there, or Close was called

	mu     sync.Mutex // guards following
	items  []item[T]
	closed bool
}

type item[T any] struct {
	value T
	lease *Lease
}

// NewChannel returns an empty channel.
//
// The limiter grants the permits for sending an item. Nil means that only the buffer
// limits sending. The quota of an origin, also in a Chain, is an error: its leases would
// have to be settled.
//
// buffer is how many items may have been sent and not received. Zero means 64, a negative
// number no bound.
//
// weight returns how many permits an item takes, for example its length for a limit of
// bytes per second. An item of weight 0 takes none, but waits until any permit is
// available. It is called with no lock held. Nil means 1 for each item.
func NewChannel[T any](limiter Limiter, buffer int, weight func(T) int64) (*Channel[T], error) {
	c := &Channel[T]{limiter: limiter, weight: weight, ready: make(chan struct{}, 1)}
	if absent(c.limiter) {
		c.limiter = Chain()
	}
	if c.limiter.advertised() != nil {
		return nil, errors.New("quota: the limiter of a Channel holds the quota of an origin")
	}
	if c.weight == nil {
		c.weight = func(T) int64 { return 1 }
	}
	places := int64(bounded(buffer, defaultBuffer))
	if places < 0 {
		places = math.MaxInt64
	}
	c.places = Concurrency(places, Options{Name: bufferName, MaxQueue: -1})
	return c, nil
}

// Send sends v, and waits until the limiter grants the permits and the buffer
// has room. The error is one of Limiter.Acquire: ErrPermits for a negative or too
// large weight, context.Cause(ctx) or a *Refusal; or it is ErrClosed. On failure
// nothing is sent or taken.
func (c *Channel[T]) Send(ctx context.Context, v T) error { return c.send(ctx, v, wait.Forever) }

// TrySend is Send without waiting: where Send would wait, it returns a *Refusal. Its
// Reason is ReasonQueueFull if the buffer is full, and ReasonOwnLimit if the limiter
// refuses.
func (c *Channel[T]) TrySend(v T) error { return c.send(context.Background(), v, noDelay) }

func (c *Channel[T]) send(ctx context.Context, v T, maxDelay time.Duration) error {
	n := c.weight(v)
	if n < 0 || n > c.limiter.capacity() || c.limiter.capacity() < 1 {
		return ErrPermits
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lease := new(Lease)
	all := c.limiter.constraints()
	consult(ctx, all, n)
	lease.claims.addAll(all, n)
	lease.claims.add(c.places.self[0], 1)
	if err := lease.admit(ctx, all, n, maxDelay); err != nil {
		var r *Refusal
		if errors.As(err, &r) && r.Policy == bufferName {
			switch r.Policy = ""; {
			case r.Cause == ReasonClosed:
				return ErrClosed
			case r.Reason == ReasonOwnLimit:
				r.Reason = ReasonQueueFull
			}
		}
		return err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		lease.Cancel()
		return ErrClosed
	}
	c.items = append(c.items, item[T]{v, lease})
	c.mu.Unlock()
	c.signal()
	return nil
}

// Receive returns the next item, and waits for it. The error is
// context.Cause(ctx), or ErrClosed if the channel is closed and all its items
// were received.
func (c *Channel[T]) Receive(ctx context.Context) (v T, err error) {
	for {
		if ctx.Err() != nil {
			c.signal() // the signal may have gone to this receiver
			return v, context.Cause(ctx)
		}
		v, ok, closed := c.receive()
		if ok {
			return v, nil
		}
		if closed {
			return v, ErrClosed
		}
		select {
		case <-c.ready:
		case <-ctx.Done():
		}
	}
}

// TryReceive is Receive without waiting. ok is false if there is no item, or none
// any more.
func (c *Channel[T]) TryReceive() (v T, ok bool) {
	v, ok, _ = c.receive()
	return v, ok
}

// All returns an iterator over the items as they are received. It ends when the
// channel is closed and all its items were received, or when ctx ends.
func (c *Channel[T]) All(ctx context.Context) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			v, err := c.Receive(ctx)
			if err != nil || !yield(v) {
				return
			}
		}
	}
}

// receive takes an item if there is one. It passes the signal on if another
// receiver would not have to wait.
func (c *Channel[T]) receive() (v T, ok, closed bool) {
	c.mu.Lock()
	if len(c.items) == 0 {
		closed = c.closed
		c.mu.Unlock()
		if closed {
			c.signal()
		}
		return v, false, closed
	}
	first := c.items[0]
	c.items[0] = item[T]{}
	c.items = c.items[1:]
	more := len(c.items) > 0 || c.closed
	c.mu.Unlock()
	if more {
		c.signal()
	}
	first.lease.Release()
	return first.value, true, false
}

// signal wakes one receiver, or the next one to come. It never blocks.
func (c *Channel[T]) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Close ends sending: waiting and later calls of Send return ErrClosed. Items
// that were sent can still be received; their permits are released at once. The
// limiter is not closed. A second Close does nothing.
func (c *Channel[T]) Close() {
	c.mu.Lock()
	c.closed = true
	unread := make([]*Lease, len(c.items))
	for i, it := range c.items {
		unread[i] = it.lease
		c.items[i].lease = nil
	}
	c.mu.Unlock()
	// Senders that wait for the limiter find the places closed.
	c.places.Close()
	wakeAll(c.limiter.constraints())
	for _, l := range unread {
		l.Release()
	}
	c.signal()
}
