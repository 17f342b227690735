// Package redisstore is a fleet.Store on Redis: many processes use one quota together.
//
//	rdb := redis.NewClient(&redis.Options{
//		Addr:                  "localhost:6379",
//		MaxRetries:            -1,
//		ContextTimeoutEnabled: true,
//		DialTimeout:           200 * time.Millisecond,
//		DialerRetries:         1,
//	})
//	f := fleet.New(redisstore.New(rdb, ""), fleet.Options{})
//	defer f.Close()
//	accounts := &quota.Accounts{Peers: f, Secret: &secret}
//
// # The client
//
// The store sets nothing on the client. The options above are advised: a turn that is
// retried comes too late to grant anything, and a client that does not look at the
// context holds up the next try. Other options never make a request wait longer for Redis:
// package fleet goes on alone after 100 ms. A client of its own is better than one whose
// connections the program needs for other things. A ClusterClient, a client with Sentinel
// and one with TLS are fine.
//
// With a redis.Client, all origins share one connection, beside those of PoolSize, by which they
// hear the others. With a ClusterClient, a Ring or another type, each origin that was used in the
// last minute takes a connection of its own: a crawler of thousands of hosts that shares them
// needs as many (maxclients of Redis).
//
// While Redis is away, go-redis itself writes a line to standard error for each connection
// that fails. Disable of its package logging ends that.
//
// # What Redis needs
//
// Redis 6.2 or newer, or Valkey; with a ClusterClient, Redis 7 or newer, for SPUBLISH. A
// turn is one script, which declares its keys; all keys of an origin have the same hash
// tag, so they are in one slot. The clock is that of Redis. A user with these rights is
// enough (with a ClusterClient also +cluster and +readonly):
//
//	ACL SETUSER headway on >password ~hw6:* &hw6:* -@all +eval +evalsha +get +set
//	    +hset +hgetall +hdel +pexpire +time +publish +spublish +subscribe
//	    +ssubscribe +unsubscribe +sunsubscribe +ping +hello +client
//
// # What it stores
//
// For each account a string, of 490 bytes with eight processes, and of at most 620 if all of
// them wait. It expires 10 minutes after it was used and nothing said of the account is in
// force. For each origin whose
// first answers are awaited, a hash. Names are keyed hashes under
// quota.Accounts.Secret, which Redis never sees; values are numbers, and names that
// processes draw at random. If Redis evicts or loses any of it, the processes say what
// they know.
package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
)

// DefaultPrefix is what the names of keys and channels begin with.
const DefaultPrefix = "hw"

// format follows the prefix: it is the format of what is stored. Processes with different
// formats share nothing: while two versions of a program run beside each other, they are two fleets
// that use one quota, and more requests are refused than in one fleet.
const format = "6"

//go:embed exchange.lua
var source string

var script = redis.NewScript(numbered(source))

// numbered replaces the names that the source begins with by what they stand for.
func numbered(source string) string {
	words := regexp.MustCompile(`[A-Za-z]+(\.\w+)?`)
	numbers := make(map[string]string)
	replace := func(text string) string {
		return words.ReplaceAllStringFunc(text, func(word string) string { return cmp.Or(numbers[word], word) })
	}
	_, rest, _ := strings.Cut(source, "--[[ names\n")
	names, code, _ := strings.Cut(rest, "]]\n")
	for line := range strings.Lines(names) {
		if name, value, ok := strings.Cut(line, " = "); ok {
			numbers[name] = "(" + replace(strings.TrimSpace(value)) + ")"
			continue
		}
		list, fields, _ := strings.Cut(line, ": ")
		for i, field := range strings.Fields(fields) {
			name := list + "." + field
			if list == "m" {
				numbers[name] = fmt.Sprintf("r[m+%d]", i+1)
			} else {
				numbers[name] = fmt.Sprintf("%s[%d]", list, i+1)
			}
		}
	}
	return replace(code)
}

type store struct {
	rdb     redis.UniversalClient
	prefix  string
	sharded bool         // channels are those of one shard
	now     func() int64 // in microseconds; negative: the clock of Redis

	subscriptions *subscriptions // nil: each subscription has a connection of its own
}

// New returns a Store on Redis. The names of keys and channels begin with the prefix, the
// number of the format and a colon, as in "hw6:"; empty means DefaultPrefix. New does not
// connect. Closing the client is left to the caller, after fleet.Fleet.Close.
func New(rdb redis.UniversalClient, prefix string) fleet.Store {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	s := &store{rdb: rdb, prefix: prefix, now: func() int64 { return -1 }}
	switch rdb := rdb.(type) {
	case *redis.ClusterClient:
		s.sharded = true
	case *redis.Client: // others may have several nodes, and an origin is heard only on its own, as with a Ring
		s.subscriptions = &subscriptions{rdb: rdb}
	}
	return s
}

// name is an identifier in a key.
func name(id exchange.ID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// tagged is what all names of an origin begin with.
func (s *store) tagged(origin exchange.ID) string {
	return s.prefix + format + ":{" + name(origin) + "}:"
}

// Exchange implements fleet.Store.
func (s *store) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	tag := s.tagged(origin)
	keys := make([]string, 1, 1+len(turn.Accounts))
	keys[0] = tag + "f"
	var args packer
	args.ints(s.now())
	args.text(turn.Process)
	args.ints(int64(turn.Seq), turn.AsOf.Microseconds(), int64(turn.Peers), turn.Flights)
	args.bits(turn.Bye, s.sharded)
	args.size(len(turn.Accounts))
	args.size(len(turn.Requests))
	for i := range turn.Accounts {
		a := &turn.Accounts[i]
		keys = append(keys, tag+"a:"+name(a.ID))
		args.bits(a.Concurrent, a.Counts, a.Landed, a.Refused, a.First, a.Shorter)
		args.ints(a.Has, a.Stock, a.Wish, a.Version, a.Quota, a.Window.Microseconds(),
			a.Figure, micros(a.Left), a.FigureVersion, a.FigureAgo.Microseconds(), a.Basis, micros(a.BasisLeft),
			a.Spent, a.Served, a.ServedAgo.Microseconds(), a.Silent, micros(a.Hold))
		args.ids(a.Found)
	}
	for _, r := range turn.Requests {
		args.ints(r.N, int64(r.Priority), r.Waited.Microseconds())
		args.size(len(r.Claims))
		for _, c := range r.Claims {
			args.size(c.Account)
			args.ints(c.Units)
		}
	}
	reply, err := script.Run(ctx, s.rdb, keys, []byte(args)).Text()
	if err != nil {
		if cluster, ok := s.rdb.(*redis.ClusterClient); ok {
			cluster.ReloadState(ctx) // in the background: a master may have been replaced
		}
		return nil, err
	}
	return granted(reply, len(turn.Accounts))
}

// A packer packs what the script unpacks at once: little-endian integers of eight bytes,
// sizes of two, and bits of one.
type packer []byte

func (p *packer) ints(ns ...int64) {
	for _, n := range ns {
		*p = binary.LittleEndian.AppendUint64(*p, uint64(n))
	}
}

func (p *packer) size(n int) { *p = binary.LittleEndian.AppendUint16(*p, uint16(n)) }

func (p *packer) text(s string) {
	p.size(len(s))
	*p = append(*p, s...)
}

func (p *packer) ids(ids []exchange.ID) {
	p.size(len(ids) * len(exchange.ID{}))
	for i := range ids {
		*p = append(*p, ids[i][:]...)
	}
}

func (p *packer) bits(bs ...bool) {
	for _, b := range bs {
		if b {
			*p = append(*p, 1)
		} else {
			*p = append(*p, 0)
		}
	}
}

// micros is a time in microseconds; negative, which stands for none, is -1.
func micros(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Microseconds()
}

var errReply = errors.New("redisstore: unexpected reply")

// An unpacker reads what the script packs. What is missing is 0, and bad is set.
type unpacker struct {
	rest string
	bad  bool
}

func (u *unpacker) next(n int) string {
	if n > len(u.rest) {
		u.bad = true
		return string(make([]byte, n))
	}
	next := u.rest[:n]
	u.rest = u.rest[n:]
	return next
}

func (u *unpacker) int() int64 { return int64(binary.LittleEndian.Uint64([]byte(u.next(8)))) }

func (u *unpacker) size() int { return int(int16(binary.LittleEndian.Uint16([]byte(u.next(2))))) }

func (u *unpacker) bit() bool { return u.next(1) == "\x01" }

// span is a time in microseconds; negative is none.
func (u *unpacker) span() time.Duration {
	us := u.int()
	if us < 0 {
		return exchange.None
	}
	return time.Duration(min(us, math.MaxInt64/int64(time.Microsecond))) * time.Microsecond
}

// granted reads the reply of the script.
func granted(reply string, accounts int) (*exchange.Grant, error) {
	u := unpacker{rest: reply}
	g := &exchange.Grant{Now: u.span(), Void: u.bit()}
	for range accounts {
		a := exchange.Granted{
			Version: u.int(), State: exchange.State(u.int()), Available: u.int(), Units: u.int(),
			Left: u.span(), Hold: u.span(), Again: u.span(),
			Peers: int(u.int()), Hungry: int(u.int()), Lacks: u.bit(),
		}
		if found := u.size(); found >= 0 { // bytes; -1: none was told
			a.Found = make([]exchange.ID, found/len(exchange.ID{}))
			for i := range a.Found {
				copy(a.Found[i][:], u.next(len(exchange.ID{})))
			}
		}
		g.Accounts = append(g.Accounts, a)
	}
	if u.bad || u.rest != "" {
		return nil, errReply
	}
	return g, nil
}

// Subscribe implements fleet.Store.
func (s *store) Subscribe(ctx context.Context, origin exchange.ID, hear func(*exchange.Word)) error {
	channel := s.tagged(origin) + "w"
	hearText := func(text string) {
		if w, err := parseWord(text); err == nil {
			hear(w)
		}
	}
	if s.subscriptions != nil {
		return s.subscriptions.hear(ctx, channel, hearText)
	}
	subscribe := s.rdb.Subscribe
	if s.sharded {
		subscribe = s.rdb.SSubscribe
	}
	sub := subscribe(ctx, channel)
	defer sub.Close()
	messages := sub.Channel()
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				return redis.ErrClosed
			}
			hearText(m.Payload)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// parseWord reads a message: "w", "r" or "h", the account, and what belongs to it.
func parseWord(text string) (*exchange.Word, error) {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return nil, errReply
	}
	var w exchange.Word
	if n, err := base64.RawURLEncoding.Decode(w.Account[:], []byte(fields[1])[:min(len(fields[1]), 22)]); err != nil || n != len(w.Account) {
		return nil, errReply
	}
	switch rest := fields[2:]; {
	case fields[0] == "w":
		w.Processes = rest
	case fields[0] == "r":
		w.Return = true
	case fields[0] == "h" && len(rest) > 0:
		us, err := strconv.ParseInt(rest[0], 10, 64)
		if err != nil || us < -1 || us > int64(366*24*time.Hour/time.Microsecond) {
			return nil, fmt.Errorf("%w: a hold of %q", errReply, rest[0])
		}
		w.Hold = time.Duration(us) * time.Microsecond
		if len(rest) > 1 {
			w.Processes = rest[1:]
		}
	default:
		return nil, errReply
	}
	return &w, nil
}
