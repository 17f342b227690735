package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
)

// A listener subscribes to the words about an origin, and notes their numbers.
type listener struct {
	origin exchange.ID
	cancel context.CancelFunc
	err    error         // of Subscribe
	ended  chan struct{} // Subscribe has returned

	mu    sync.Mutex
	heard []int64
}

func listen(t *testing.T, st fleet.Store, origin exchange.ID) *listener {
	return listenWith(t, st, origin, func(int64) {})
}

// listenWith is listen, and calls also with each number before it is noted.
func listenWith(t *testing.T, st fleet.Store, origin exchange.ID, also func(int64)) *listener {
	e := &listener{origin: origin, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	t.Cleanup(cancel)
	go func() {
		defer close(e.ended)
		e.err = st.Subscribe(ctx, origin, func(w *exchange.Word) {
			also(w.Hold.Microseconds())
			e.mu.Lock()
			defer e.mu.Unlock()
			e.heard = append(e.heard, w.Hold.Microseconds())
		})
	}()
	return e
}

// numbers returns what was heard so far.
func (e *listener) numbers() []int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]int64(nil), e.heard...)
}

// last returns the number that was heard last, or 0.
func (e *listener) last() int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.heard) == 0 {
		return 0
	}
	return e.heard[len(e.heard)-1]
}

// stop ends the subscription, and waits until Subscribe has returned.
func (e *listener) stop(t *testing.T) {
	t.Helper()
	e.cancel()
	select {
	case <-e.ended:
		assert.ErrorIs(t, e.err, context.Canceled)
	case <-time.After(patience):
		require.Fail(t, "Subscribe does not return")
	}
}

// A publisher publishes numbered words about origins, and asks Redis who is subscribed.
type publisher struct {
	t   *testing.T
	rdb redis.UniversalClient
	st  *store
}

func (m *publisher) channel(origin exchange.ID) string { return m.st.tagged(origin) + "w" }

// say publishes a number, and returns how many subscribers of Redis got it.
func (m *publisher) say(origin exchange.ID, number int64) (int64, error) {
	return m.rdb.Publish(context.Background(), m.channel(origin), fmt.Sprintf("h %s %d", name(exchange.ID{}), number)).Result()
}

// until says numbers from that one on about the origin of each listener, until it hears one of them.
func (m *publisher) until(what string, number int64, listeners ...*listener) {
	m.t.Helper()
	for _, e := range listeners {
		said := number
		eventually(m.t, what, func() bool {
			m.say(e.origin, said)
			said++
			time.Sleep(time.Millisecond)
			return e.last() >= number
		})
	}
}

// subscribers counts the clients that Redis has for the channel of an origin.
func (m *publisher) subscribers(origin exchange.ID) int64 {
	n := m.rdb.(*redis.Client).PubSubNumSub(context.Background(), m.channel(origin)).Val()
	return n[m.channel(origin)]
}

// connections counts the clients that Redis has for subscriptions.
func (m *publisher) connections() int {
	list, err := m.rdb.(*redis.Client).Do(context.Background(), "CLIENT", "LIST", "TYPE", "pubsub").Text()
	require.NoError(m.t, err)
	return strings.Count(list, "\n")
}

func (m *publisher) noConnection() {
	m.t.Helper()
	eventually(m.t, "the connection is closed", func() bool { return m.connections() == 0 })
}

// goroutines counts the goroutines of subscriptions, those of go-redis included.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "(*subscriptions)") || strings.Contains(stack, "go-redis/v9.(*channel)") {
			n++
		}
	}
	return n
}

func nobodyIsLeft(t *testing.T) {
	t.Helper()
	eventually(t, "all goroutines end", func() bool { return goroutines() == 0 })
}

// numberedOrigin is an origin.
func numberedOrigin(n int) exchange.ID { return exchange.ID{1, byte(n), byte(n >> 8)} }

// newStore returns a store on the client, and a publisher that publishes on another one.
func newStore(t *testing.T, s *server, rdb redis.UniversalClient) (fleet.Store, *publisher) {
	admin := s.client()
	t.Cleanup(func() {
		rdb.Close()
		admin.Close()
	})
	st := New(rdb, "")
	return st, &publisher{t, admin, st.(*store)}
}

// All origins of a Store share one connection, which is closed when the last one is not used any more.
func TestOneConnection(t *testing.T) {
	s := start(t)
	st, m := newStore(t, s, s.client())
	for range 2 {
		assert.Zero(t, m.connections())
		var listeners []*listener
		for i := range 200 {
			listeners = append(listeners, listen(t, st, numberedOrigin(i)))
		}
		m.until("all hear", 1, listeners...)
		assert.Equal(t, 1, m.connections())

		for i, e := range listeners { // each hears what is meant for it
			n, err := m.say(e.origin, int64(1000+i))
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
		}
		for i, e := range listeners {
			eventually(t, "a word", func() bool { return e.last() >= 1000 })
			require.EqualValues(t, 1000+i, e.last())
		}

		gone, rest := listeners[:199], listeners[199]
		for _, e := range gone {
			e.stop(t)
		}
		eventually(t, "Redis sends nothing that nobody hears", func() bool {
			for _, e := range gone {
				if m.subscribers(e.origin) > 0 {
					return false
				}
			}
			return true
		})
		m.until("the last one hears", 2000, rest)
		assert.Equal(t, 1, m.connections())
		rest.stop(t)
		m.noConnection()
		nobodyIsLeft(t)
	}
}

// Two Fleets may use one Store for the same origin. When one of them stops, the other hears on.
func TestTwoHearersOfOneOrigin(t *testing.T) {
	s := start(t)
	st, m := newStore(t, s, s.client())
	one, other := listen(t, st, numberedOrigin(1)), listen(t, st, numberedOrigin(1))
	m.until("both hear", 1, one, other)
	one.stop(t)
	third := listen(t, st, numberedOrigin(2)) // Redis is told of it after the first one has stopped
	m.until("it hears", 1, third)
	_, err := m.say(other.origin, 1000)
	require.NoError(t, err)
	eventually(t, "the other one hears on", func() bool { return other.last() == 1000 })
	assert.Less(t, one.last(), int64(1000))
}

// The connection is lost. Afterwards words arrive again about the origins that were in use before,
// and about those that came meanwhile. Redis is not asked for those that went meanwhile.
func TestWordsArriveAgain(t *testing.T) {
	for name, trouble := range map[string]func(s *server, admin redis.UniversalClient, meanwhile func()){
		"killed": func(s *server, _ redis.UniversalClient, meanwhile func()) {
			s.kill()
			meanwhile()
			s.run()
		},
		"subscribers are killed": func(s *server, admin redis.UniversalClient, meanwhile func()) {
			require.NoError(s.t, admin.Do(context.Background(), "CLIENT", "KILL", "TYPE", "pubsub").Err())
			meanwhile()
		},
	} {
		for _, protocol := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s/protocol=%d", name, protocol), func(t *testing.T) {
				s := start(t)
				st, m := newStore(t, s, redis.NewClient(&redis.Options{
					Network: "unix", Addr: s.socket, MaxRetries: -1, ContextTimeoutEnabled: true,
					DialTimeout: 200 * time.Millisecond, Protocol: protocol,
				}))
				var listeners []*listener
				for i := range 50 {
					listeners = append(listeners, listen(t, st, numberedOrigin(i)))
				}
				m.until("all hear", 1, listeners...)
				for round := range int64(3) {
					gone := listeners[:10]
					trouble(s, m.rdb, func() {
						for _, e := range gone {
							e.stop(t)
						}
						for range gone {
							listeners = append(listeners, listen(t, st, numberedOrigin(int(listeners[len(listeners)-1].origin[1])+1)))
						}
					})
					listeners = listeners[10:]
					m.until("all hear again", 1000*(round+1), listeners...)
					eventually(t, "one connection", func() bool { return m.connections() == 1 })
					for _, e := range listeners {
						require.EqualValues(t, 1, m.subscribers(e.origin))
					}
					for _, e := range gone {
						eventually(t, "those that have gone", func() bool { return m.subscribers(e.origin) == 0 })
					}
				}
				for _, e := range listeners {
					e.stop(t)
				}
				nobodyIsLeft(t)
			})
		}
	}
}

// A failingConn breaks when it writes something that contains the text. That happens once.
type failingConn struct {
	net.Conn
	text *atomic.Pointer[string]
}

func (c failingConn) Write(b []byte) (int, error) {
	if text := c.text.Load(); text != nil && strings.Contains(string(b), *text) && c.text.CompareAndSwap(text, nil) {
		c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// When a SUBSCRIBE cannot be written, go-redis reconnects without its channels: they are sent
// again. When an UNSUBSCRIBE cannot be written, the new connection lacks its channels.
func TestChannelThatRedisIsNotTold(t *testing.T) {
	s := start(t)
	var text atomic.Pointer[string]
	st, m := newStore(t, s, redis.NewClient(&redis.Options{
		MaxRetries: -1, Protocol: 2, DisableIdentity: true,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "unix", s.socket)
			return failingConn{c, &text}, err
		},
	}))
	first := listen(t, st, numberedOrigin(1))
	m.until("the first one hears", 1, first)
	failing := m.channel(numberedOrigin(2))
	text.Store(&failing)
	second := listen(t, st, numberedOrigin(2))
	eventually(t, "Redis is told", func() bool { return text.Load() == nil })
	m.until("both hear", 1000, first, second)

	unsubscribe := "unsubscribe"
	text.Store(&unsubscribe)
	second.stop(t)
	eventually(t, "Redis is told", func() bool { return text.Load() == nil })
	m.until("the first one hears on", 2000, first)
	assert.Zero(t, m.subscribers(second.origin))
}

// A hearer that takes long does not delay the words about other origins, nor subscriptions that
// begin or end. It hears the first words of its own origin later, in their order.
func TestSlowHearer(t *testing.T) {
	s := start(t)
	st, m := newStore(t, s, s.client())
	hears, release := make(chan struct{}, 1), make(chan struct{})
	var once sync.Once
	slow := listenWith(t, st, numberedOrigin(0), func(int64) {
		once.Do(func() {
			hears <- struct{}{}
			<-release
		})
	})
	quick := listen(t, st, numberedOrigin(1))
	m.until("it hears", 1, quick)
	eventually(t, "it hears", func() bool {
		n, _ := m.say(slow.origin, 1)
		return n == 1
	})
	<-hears
	const words = 2 * backlog
	pipe := m.rdb.Pipeline()
	for i := range words {
		pipe.Publish(t.Context(), m.channel(slow.origin), fmt.Sprintf("h %s %d", name(exchange.ID{}), 2+i))
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	m.until("others hear", 1000, quick)
	other := listen(t, st, numberedOrigin(2))
	m.until("those that come hear", 1000, other)
	quick.stop(t)
	eventually(t, "those that go have gone", func() bool { return m.subscribers(quick.origin) == 0 })
	assert.Empty(t, slow.numbers())

	close(release)
	eventually(t, "it hears what there was", func() bool { return len(slow.numbers()) >= backlog+1 })
	for i, n := range slow.numbers() {
		require.EqualValues(t, i+1, n)
	}
	m.until("it hears on", 10_000, slow)
	slow.stop(t)
}

// When a subscription ends while a word is being heard, the words after it are not heard.
func TestStopWithWordsToHear(t *testing.T) {
	s := start(t)
	st, m := newStore(t, s, s.client())
	release := make(chan struct{})
	hears := make(chan struct{}, 10)
	e := listenWith(t, st, numberedOrigin(0), func(int64) {
		hears <- struct{}{}
		<-release
	})
	other := listen(t, st, numberedOrigin(1))
	eventually(t, "it hears", func() bool {
		n, _ := m.say(e.origin, 1)
		return n == 1
	})
	<-hears
	m.say(e.origin, 2)
	m.until("what was said is there", 1, other)
	e.cancel()
	close(release)
	e.stop(t)
	assert.Len(t, e.numbers(), 1)
}

// When a connection ends while many words are on their way, go-redis does not wait for a minute
// until they are read.
func TestEndWithWordsOnTheirWay(t *testing.T) {
	s := start(t)
	st, m := newStore(t, s, s.client())
	e := listen(t, st, numberedOrigin(0))
	m.until("it hears", 1, e)
	subs := m.st.subscriptions
	subs.mu.Lock() // no word is delivered
	for i := range int64(500) {
		_, err := m.say(e.origin, i)
		require.NoError(t, err)
	}
	time.Sleep(100 * time.Millisecond) // until go-redis waits
	subs.close(subs.conn)
	subs.mu.Unlock()
	<-e.ended
	began := time.Now()
	nobodyIsLeft(t)
	assert.Less(t, time.Since(began), 30*time.Second)
}

// A subscription that ends does not wait until a connection is made.
func TestSubscribeDoesNotWait(t *testing.T) {
	dials, release := make(chan struct{}, 100), make(chan struct{})
	rdb := redis.NewClient(&redis.Options{MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		dials <- struct{}{}
		<-release
		return nil, net.ErrClosed
	}})
	st := New(rdb, "")
	var listeners []*listener
	for i := range 3 {
		listeners = append(listeners, listen(t, st, numberedOrigin(i)))
	}
	<-dials
	for _, e := range listeners {
		e.stop(t)
	}
	close(release)
	rdb.Close()
	nobodyIsLeft(t)
}

// When the client is closed, subscriptions end, and so do later ones.
func TestClientIsClosed(t *testing.T) {
	s := start(t)
	rdb := s.client()
	st, m := newStore(t, s, rdb)
	listeners := []*listener{listen(t, st, numberedOrigin(0)), listen(t, st, numberedOrigin(1))}
	m.until("all hear", 1, listeners...)
	require.NoError(t, rdb.Close())
	for _, e := range append(listeners, listen(t, st, numberedOrigin(2))) {
		select {
		case <-e.ended:
			assert.ErrorIs(t, e.err, redis.ErrClosed)
		case <-time.After(patience):
			require.Fail(t, "Subscribe does not return")
		}
	}
	nobodyIsLeft(t)
	m.noConnection()
}

// The shards of a Ring do not pass on words: each origin has to listen to its own shard.
func TestRing(t *testing.T) {
	shards := map[string]*server{"one": start(t), "other": start(t)}
	addrs := make(map[string]string)
	for name, s := range shards {
		addrs[name] = s.socket
	}
	client := func() redis.UniversalClient {
		return redis.NewRing(&redis.RingOptions{Addrs: addrs, NewClient: func(o *redis.Options) *redis.Client {
			o.Network = "unix"
			return redis.NewClient(o)
		}})
	}
	st, m := newStore(t, shards["one"], client())
	m.rdb = client()
	defer m.rdb.Close()
	var listeners []*listener
	for i := range 20 {
		listeners = append(listeners, listen(t, st, numberedOrigin(i)))
	}
	m.until("all hear", 1, listeners...)
	for _, s := range shards {
		rdb := s.client()
		n := len(rdb.PubSubChannels(t.Context(), "*").Val())
		assert.True(t, 0 < n && n < 20, "%d", n)
		rdb.Close()
	}
	for _, e := range listeners {
		e.stop(t)
	}
	nobodyIsLeft(t)
}

// Many subscriptions begin and end at once while words are published. What has to hold:
//
//   - Where an origin has one subscription at a time: each word that is published after Redis
//     has confirmed the subscription, and before it ends, is heard once and in order.
//   - Where another subscription to the same origin lasts all the time: from the first word that
//     is heard on, none is missing.
//   - Where all subscriptions to an origin begin and end at random: words are heard, and in order.
//     Some may be missing after the first ones, which the subscription before has asked for.
func TestSubscriptionsInDisorder(t *testing.T) {
	s := start(t)
	st, m := newStore(t, s, s.client())
	const origins, rounds = 4, 40
	var publishing, hearing sync.WaitGroup
	stop := make(chan struct{})
	said := make([]atomic.Int64, 2*origins)
	for i := range said { // words are published all the time
		publishing.Go(func() {
			for n := int64(1); ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(1000)) * time.Microsecond):
				}
				if _, err := m.say(numberedOrigin(i), n); !assert.NoError(t, err) {
					return
				}
				said[i].Store(n)
			}
		})
	}
	assertNothingIsMissing := func(numbers []int64) {
		t.Helper()
		for i, n := range numbers {
			if !assert.Equal(t, numbers[0]+int64(i), n, "after %d others", i) {
				return
			}
		}
	}
	var steady []*listener
	for i := range origins {
		steady = append(steady, listen(t, st, numberedOrigin(i)))
	}
	for _, e := range steady {
		eventually(t, "it hears", func() bool { return e.last() > 0 })
	}
	for i := range said {
		for range 3 {
			hearing.Go(func() {
				for range rounds {
					e := listen(t, st, numberedOrigin(i))
					enough := 1 + rand.IntN(5)
					eventually(t, "it hears", func() bool { return len(e.numbers()) >= enough })
					e.stop(t)
					numbers := e.numbers()
					if i < origins {
						assertNothingIsMissing(numbers)
					}
					for j := range numbers[1:] {
						assert.Less(t, numbers[j], numbers[j+1])
					}
				}
			})
		}
	}
	for i := range origins {
		hearing.Go(func() {
			origin := numberedOrigin(100 + i)
			for range rounds {
				e := listen(t, st, origin)
				eventually(t, "Redis confirms", func() bool { return m.subscribers(origin) == 1 })
				count := int64(rand.IntN(20))
				for n := range count {
					got, err := m.say(origin, n+1)
					assert.NoError(t, err)
					assert.EqualValues(t, 1, got)
				}
				eventually(t, "it hears all", func() bool { return int64(len(e.numbers())) >= count })
				e.stop(t)
				assertNothingIsMissing(append([]int64{0}, e.numbers()...))
				assert.Equal(t, count, e.last())
				eventually(t, "Redis knows that it has gone", func() bool { return m.subscribers(origin) == 0 })
			}
		})
	}
	hearing.Wait()
	assert.Equal(t, 1, m.connections())
	close(stop)
	publishing.Wait()
	for i, e := range steady {
		eventually(t, "it hears the last word", func() bool { return e.last() == said[i].Load() })
		e.stop(t)
		assertNothingIsMissing(e.numbers())
	}
	nobodyIsLeft(t)
	m.noConnection()
}
