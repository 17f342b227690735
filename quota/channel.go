package quota

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// DefaultBuffer is how many items a Channel holds, unless ChannelOptions say
// otherwise.
const DefaultBuffer = 64

// ChannelOptions are the options of a Channel.
type ChannelOptions[T any] struct {
	// Limiter is what sending takes permits of. Nil means that only the buffer
	// limits it. An Advertised, or a Chain that holds one, is an error: nobody
	// could settle its leases.
	Limiter Limiter

	// Weight is how many permits an item takes: its length in bytes, for a limit
	// of bytes per second. An item of 0 takes none, but waits until there are any.
	// It is called with no lock held. Nil means 1.
	Weight func(T) int64

	// Buffer is how many items the channel holds that were sent and not
	// received. Zero means DefaultBuffer, a negative number no bound.
	Buffer int
}

// A Channel carries items from senders to receivers, as fast as a Limiter lets
// it. Sending an item takes its weight in permits, together with its place in
// the buffer: all or none. Receiving it returns the place, and the permits
// where they are of a limit on concurrency: then the limiter bounds the weight
// of what is in the channel.
//
// Items of one sender are received in the order in which it sent them. A
// Channel is safe for concurrent use by any number of senders and receivers,
// must not be copied, and has no goroutine of its own.
type Channel[T any] struct {
	limiter Limiter
	weight  func(T) int64
	places  *Concurrency
	ready   chan struct{} // receives when there may be an item, or Close was called

	mu     sync.Mutex // guards following
	items  []item[T]
	closed bool
}

type item[T any] struct {
	value T
	lease *Lease
}

// NewChannel returns an empty channel. The error says which option makes no
// sense.
func NewChannel[T any](o ChannelOptions[T]) (*Channel[T], error) {
	c := &Channel[T]{limiter: o.Limiter, weight: o.Weight, ready: make(chan struct{}, 1)}
	if absent(c.limiter) {
		c.limiter = newUnlimited()
	}
	if c.limiter.books() != nil {
		return nil, errors.New("quota: ChannelOptions.Limiter holds the quota of an origin")
	}
	if c.weight == nil {
		c.weight = func(T) int64 { return 1 }
	}
	buffer := int64(bounded(o.Buffer, DefaultBuffer))
	if buffer < 0 {
		buffer = math.MaxInt64
	}
	var err error
	c.places, err = NewConcurrency(ConcurrencyOptions{Permits: buffer, Queue: Queue{Limit: -1}})
	return c, err
}

// Send sends v, and waits until the limiter and the buffer let it. The error
// is one of Limiter.Acquire: ErrPermits for a weight that makes no sense, the
// cause of the end of ctx, a *Refusal; or ErrClosed. On failure nothing is
// sent, and nothing is taken.
func (c *Channel[T]) Send(ctx context.Context, v T) error { return c.send(ctx, v, forever) }

// TrySend sends v if that is possible at once. Its errors are those of Send.
func (c *Channel[T]) TrySend(v T) error { return c.send(context.Background(), v, NoDelay) }

func (c *Channel[T]) send(ctx context.Context, v T, maxDelay time.Duration) error {
	n := c.weight(v)
	if n < 0 || n > c.limiter.most() {
		return ErrPermits
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lease := new(Lease)
	gates := c.limiter.gates()
	consultGates(gates, n)
	lease.claims.addAll(gates, n)
	lease.claims.add(c.places.self[0], 1)
	if err := lease.admit(ctx, maxDelay); err != nil {
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

// Receive waits for an item. The error is the cause of the end of ctx; or
// ErrClosed, when the channel is closed and all items were received.
func (c *Channel[T]) Receive(ctx context.Context) (v T, err error) {
	for {
		if ctx.Err() != nil {
			c.signal() // which may have come here
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

// receive takes an item, if there is one, and passes the signal on where there
// is more to see.
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

// signal tells one receiver to look. It never blocks.
func (c *Channel[T]) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Len is how many items were sent and not received.
func (c *Channel[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items)
}

// Close ends sending: those who wait for it, and all later ones, fail with
// ErrClosed. What was sent before can still be received; the permits of those
// items come back at once. The limiter is not closed. A second Close does
// nothing.
func (c *Channel[T]) Close() {
	c.mu.Lock()
	c.closed = true
	unread := make([]*Lease, len(c.items))
	for i, it := range c.items {
		unread[i] = it.lease
		c.items[i].lease = nil
	}
	c.mu.Unlock()
	// Who waits for the limiter finds the places closed.
	c.places.Close()
	wakeAll(c.limiter.gates())
	for _, l := range unread {
		l.Release()
	}
	c.signal()
}
