package redisstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	backlog   = 1000                   // messages that are kept for a slow hearer; more are lost
	tellAgain = 500 * time.Millisecond // after a SUBSCRIBE that could not be sent
)

// A subscriptions receives the messages of many channels on one connection to Redis. The first
// subscription opens the connection, and the end of the last one closes it.
type subscriptions struct {
	rdb *redis.Client

	mu   sync.Mutex  // protects conn, the maps of connections, and all hearers; never held during I/O
	conn *connection // nil: there is no subscription
}

// A connection has the hearers of one redis.PubSub, which reconnects and subscribes again by
// itself. Only the goroutine run calls the methods of the PubSub, because they block while it
// connects.
type connection struct {
	ctx     context.Context // ends with the last subscription, or when the client is closed
	end     context.CancelFunc
	hearers map[string][]*hearer // by channel, which has at least one
	changed map[string]struct{}  // channels that got their first hearer, or lost their last one; Redis is not told yet
	news    chan struct{}        // changed has entries
}

// A hearer keeps the messages of one subscription until they are heard.
type hearer struct {
	texts []string      // oldest first
	more  chan struct{} // texts has entries
}

// signal sends to a channel of size 1, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// hear calls hear with each message of a channel, one after another, until the context ends
// or the client is closed. It never waits for Redis.
func (s *subscriptions) hear(ctx context.Context, channel string, hear func(text string)) error {
	h := &hearer{more: make(chan struct{}, 1)}
	c := s.add(channel, h)
	defer s.remove(c, channel, h)
	for {
		select {
		case <-h.more:
			for ctx.Err() == nil {
				text, ok := s.next(h)
				if !ok {
					break
				}
				hear(text)
			}
		case <-c.ctx.Done():
			return redis.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *subscriptions) add(channel string, h *hearer) *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conn
	if c == nil {
		c = &connection{hearers: make(map[string][]*hearer), changed: make(map[string]struct{}), news: make(chan struct{}, 1)}
		c.ctx, c.end = context.WithCancel(context.Background())
		s.conn = c
		go s.run(c)
	}
	c.hearers[channel] = append(c.hearers[channel], h)
	if len(c.hearers[channel]) == 1 {
		c.changed[channel] = struct{}{}
		signal(c.news)
	}
	return c
}

func (s *subscriptions) remove(c *connection, channel string, h *hearer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(c.hearers[channel], func(other *hearer) bool { return other == h })
	if c.hearers[channel] = rest; len(rest) > 0 {
		return
	}
	delete(c.hearers, channel)
	c.changed[channel] = struct{}{}
	signal(c.news)
	if len(c.hearers) == 0 {
		s.close(c)
	}
}

// close ends a connection. The next subscription opens a new one.
func (s *subscriptions) close(c *connection) {
	c.end()
	if s.conn == c {
		s.conn = nil
	}
}

// next returns the next message for a hearer, if there is one.
func (s *subscriptions) next(h *hearer) (text string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(h.texts) == 0 {
		h.texts = nil
		return "", false
	}
	text, h.texts = h.texts[0], h.texts[1:]
	return text, true
}

// run delivers messages until the connection ends.
func (s *subscriptions) run(c *connection) {
	pubsub := s.rdb.Subscribe(c.ctx)
	messages := pubsub.Channel()
	defer func() {
		pubsub.Close()
		for range messages { // go-redis waits for up to a minute until a message is read
		}
	}()
	for {
		select {
		case m, ok := <-messages:
			if !ok { // the client was closed
				s.mu.Lock()
				s.close(c)
				s.mu.Unlock()
				return
			}
			s.deliver(c, m)
		case <-c.news:
			s.tell(c, pubsub)
		case <-c.ctx.Done():
			return
		}
	}
}

// deliver hands a message to the hearers of its channel, without waiting for them.
func (s *subscriptions) deliver(c *connection, m *redis.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range c.hearers[m.Channel] {
		if len(h.texts) < backlog {
			h.texts = append(h.texts, m.Payload)
			signal(h.more)
		}
	}
}

// tell subscribes to the changed channels that have hearers, and unsubscribes from the others.
func (s *subscriptions) tell(c *connection, pubsub *redis.PubSub) {
	var heard, unheard []string
	s.mu.Lock()
	for channel := range c.changed {
		if c.hearers[channel] != nil {
			heard = append(heard, channel)
		} else {
			unheard = append(unheard, channel)
		}
	}
	clear(c.changed)
	s.mu.Unlock()

	// If Subscribe cannot write, the PubSub reconnects before it notes the channels: the new
	// connection may lack them, so they are sent again. Unsubscribe forgets its channels first,
	// so the new connection lacks them as it should, and the error does not matter.
	if len(heard) > 0 && pubsub.Subscribe(c.ctx, heard...) != nil {
		s.mu.Lock()
		for _, channel := range heard {
			c.changed[channel] = struct{}{}
		}
		s.mu.Unlock()
		time.AfterFunc(tellAgain, func() { signal(c.news) })
	}
	if len(unheard) > 0 { // without channels, Unsubscribe means all of them
		_ = pubsub.Unsubscribe(c.ctx, unheard...)
	}
}
