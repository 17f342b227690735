package redisstore

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
)

var (
	turns = flag.Int("turns", 5000, "random turns that Hub and script are compared by")
	seed  = flag.Uint64("seed", 1, "of the random turns")
)

// A server is a redis-server of a test's own.
type server struct {
	t      testing.TB
	dir    string
	socket string
	args   []string
	cmd    *exec.Cmd
}

// start starts a redis-server on a socket, and skips the test if there is none to start.
// REDIS_SERVER is its path, if it is not among the programs.
func start(t testing.TB, args ...string) *server {
	t.Helper()
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		path = "redis-server"
	}
	path, err := exec.LookPath(path)
	if err != nil {
		t.Skip("there is no redis-server; install it, or set REDIS_SERVER to its path")
	}
	dir, err := os.MkdirTemp("", "hw")
	require.NoError(t, err)
	s := &server{t: t, dir: dir, socket: filepath.Join(dir, "s")}
	s.args = append([]string{path, "--port", "0", "--unixsocket", s.socket, "--dir", dir, "--save", "", "--daemonize", "no", "--loglevel", "warning"}, args...)
	s.run()
	t.Cleanup(func() {
		s.kill()
		os.RemoveAll(dir)
	})
	return s
}

// run runs the server and waits until it answers.
func (s *server) run() {
	s.t.Helper()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	require.NoError(s.t, s.cmd.Start())
	rdb := s.client()
	defer rdb.Close()
	for began := time.Now(); rdb.Ping(context.Background()).Err() != nil; time.Sleep(5 * time.Millisecond) {
		require.Less(s.t, time.Since(began), 20*time.Second, "redis-server does not answer")
	}
}

// kill kills the server.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// client returns a client as the documentation advises.
func (s *server) client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: "unix", Addr: s.socket, MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: 200 * time.Millisecond,
		Protocol: 2, DisableIdentity: true,
	})
}

// A pair is a Hub, and the script in a Redis of its own, with one clock.
type pair struct {
	hub   *fleet.Hub
	store *store
	rdb   *redis.Client
	now   time.Time
}

func newPair(t *testing.T) *pair {
	p := &pair{rdb: start(t).client(), now: time.Unix(1_700_000_000, 0)}
	t.Cleanup(func() { p.rdb.Close() })
	p.hub = &fleet.Hub{Clock: func() time.Time { return p.now }}
	p.store = New(p.rdb, "").(*store)
	p.store.now = func() int64 { return p.now.UnixMicro() }
	return p
}

// exchange has both carry out a turn. Their answers have to be equal.
func (p *pair) exchange(t *testing.T, origin exchange.ID, turn *exchange.Turn, what ...any) *exchange.Grant {
	t.Helper()
	want, err := p.hub.Exchange(t.Context(), origin, turn)
	require.NoError(t, err, what...)
	got, err := p.store.Exchange(t.Context(), origin, turn)
	require.NoError(t, err, what...)
	require.Equal(t, want, got, what...)
	return got
}

// Random turns have the same answers from Hub and from the script, and the same words.
func TestScriptIsHub(t *testing.T) {
	ctx := context.Background()
	p := newPair(t)
	for n, world := 0, uint64(0); n < *turns; world++ {
		rnd := rand.New(rand.NewPCG(*seed, world))
		var origin exchange.ID
		origin[0], origin[1], origin[2] = byte(world), byte(world>>8), byte(world>>16)
		var want, got []exchange.Word
		p.hub.Listen(origin, func(w exchange.Word) { want = append(want, w) })
		sub := p.rdb.Subscribe(ctx, p.store.tagged(origin)+"w")
		_, err := sub.Receive(ctx)
		require.NoError(t, err)
		messages := sub.Channel(redis.WithChannelSize(10_000))
		g := newGuesser(rnd)
		until := p.now.Add(9 * time.Minute)
		steps := 0
		for ; steps < 200 && n < *turns && p.now.Before(until); steps++ {
			n++
			p.now = p.now.Add(time.Duration(rnd.ExpFloat64()*float64(g.pace)) / time.Microsecond * time.Microsecond)
			if g.chance(500) { // the clock is set
				p.now = p.now.Add(-g.span(30 * time.Minute).Truncate(time.Microsecond))
			}
			turn := g.turn(p.now)
			g.heard(turn, p.exchange(t, origin, turn, "seed %d, turn %d, world %d, step %d: %+v", *seed, n, world, steps, turn))
		}
		for len(got) < len(want) {
			select {
			case m := <-messages:
				w, err := parseWord(m.Payload)
				require.NoError(t, err)
				got = append(got, *w)
			case <-time.After(10 * time.Second):
				require.Fail(t, "words are missing", "seed %d, world %d", *seed, world)
			}
		}
		assert.Equal(t, want, got, "seed %d, world %d", *seed, world)
		sub.Close()
	}
}

// A guesser makes up turns that might come.
type guesser struct {
	rnd      *rand.Rand
	pace     time.Duration
	accounts []exchange.ID
	seqs     map[string]uint64
	known    map[string]map[exchange.ID]exchange.Granted
	last     map[string]*exchange.Turn

	// how the server of the first account gives units back: in any way, as they were spent,
	// evenly, or as a bucket that tells its next unit or when it will be full, or that has one unit
	// at a time; and what was spent
	back  int
	spent []spending
	out   map[string]int64 // units of the first account that processes have
	seen  bool             // its policy tells no window
	much  int              // how many figures of a bucket that has one unit at a time say that many are left
}

type spending struct {
	at time.Time
	n  int64
}

const (
	guessedQuota  = 50
	guessedWindow = 10 * time.Second
	singleWindow  = 5 * time.Second // of a bucket that has one unit at a time
)

// guessedFirst is the record of first requests.
var guessedFirst = exchange.ID{2}

// figure is what such a server says at an instant: what is left, and for how long.
func (g *guesser) figure(at time.Time) (left int64, rest time.Duration) {
	left, rest = guessedQuota, guessedWindow
	if g.back >= 3 {
		return g.bucket(at)
	}
	for _, s := range g.spent {
		age := at.Sub(s.at)
		switch in, start := at.Truncate(guessedWindow), s.at.Truncate(guessedWindow); {
		case g.back == 1 && age >= guessedWindow:
		case g.back == 1:
			rest = min(rest, guessedWindow-age)
			left -= s.n
		case in.Equal(start):
			left -= s.n
		case in.Sub(start) == guessedWindow:
			left -= int64(float64(s.n) * (1 - float64(at.Sub(in))/float64(guessedWindow)))
		}
	}
	if g.back == 2 {
		rest = guessedWindow - at.Sub(at.Truncate(guessedWindow))
	}
	return max(left, 0), (rest + time.Second - 1).Truncate(time.Second)
}

// bucket is figure of a bucket.
func (g *guesser) bucket(at time.Time) (left int64, rest time.Duration) {
	each, full := guessedWindow/guessedQuota, guessedWindow
	if g.back == 5 {
		each, full = singleWindow/guessedQuota, singleWindow/guessedQuota
	}
	level, last := full, at // how much of the time until it is full is over
	for i, s := range g.spent {
		if i > 0 && s.at.After(last) {
			level = min(level+s.at.Sub(last), full)
		}
		if i == 0 || s.at.After(last) {
			last = s.at
		}
		level = max(level-time.Duration(s.n)*each, 0)
	}
	level = min(level+max(at.Sub(last), 0), full)
	rest = each - level%each
	if g.back == 4 {
		rest = guessedWindow - level
	}
	return int64(level / each), (rest + time.Second - 1).Truncate(time.Second)
}

// single changes what a process says to what it would say of a bucket that has one unit at a time. Figures come with
// answers only, and holds are rare: otherwise units hardly ever seem to come back one by one.
func (g *guesser) single(process string, now time.Time, a *exchange.Account) {
	out := g.out[process]
	a.Has, a.Stock, a.Quota, a.Window, a.Counts = out, 0, guessedQuota, singleWindow, false
	a.Figure, a.Left = exchange.None, exchange.None
	a.Served, a.Spent, a.Silent, a.Refused, a.Hold = 0, 0, 0, false, 0
	if out == 0 && !g.chance(20) || g.chance(4) {
		return
	}
	g.out[process], a.Has = 0, 0
	a.ServedAgo = g.span(60 * time.Millisecond)
	a.FigureAgo = g.span(a.ServedAgo + 1)
	at := now.Add(-a.ServedAgo)
	a.Figure, a.Left = g.bucket(at)
	a.Served, a.Refused = min(out, a.Figure), a.Figure < out
	if a.Served > 0 {
		g.spent = append(g.spent, spending{at, a.Served})
	}
	if a.Refused && g.chance(4) {
		a.Hold = g.span(time.Second)
	}
	a.Figure, a.FigureVersion = a.Figure-a.Served, a.Version
	if g.chance(2) { // the request departed after all else that was heard
		for _, heard := range g.known {
			a.FigureVersion = max(a.FigureVersion, heard[a.ID].Version)
		}
	}
	switch {
	case g.chance(20):
		g.much = g.rnd.IntN(20)
		a.Figure = g.rnd.Int64N(guessedQuota)
	case g.much > 0 && !g.chance(4):
		g.much--
		a.Figure = guessedQuota - 1
	case g.chance(5): // it came a moment later
		a.Figure = 1
	}
}

func newGuesser(rnd *rand.Rand) *guesser {
	g := &guesser{
		rnd: rnd, back: rnd.IntN(6), pace: []time.Duration{time.Millisecond, 30 * time.Millisecond, 200 * time.Millisecond, time.Second, 10 * time.Second}[rnd.IntN(5)],
		seqs: make(map[string]uint64), known: make(map[string]map[exchange.ID]exchange.Granted), last: make(map[string]*exchange.Turn),
		out: make(map[string]int64),
	}
	g.seen = rnd.IntN(3) == 0
	for i := range 1 + rnd.IntN(3) {
		g.accounts = append(g.accounts, exchange.ID{1, byte(i)})
	}
	if g.back == 5 {
		g.pace = []time.Duration{10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond}[rnd.IntN(3)]
	}
	return g
}

// chance reports true in one of n cases.
func (g *guesser) chance(n int) bool { return g.rnd.IntN(n) == 0 }

func (g *guesser) span(most time.Duration) time.Duration {
	return time.Duration(g.rnd.Int64N(int64(most)))
}

func (g *guesser) turn(now time.Time) *exchange.Turn {
	process := fmt.Sprint("p", g.rnd.IntN(6))
	if last := g.last[process]; last != nil && g.chance(30) {
		return last // again
	}
	g.seqs[process]++
	t := &exchange.Turn{Process: process, Seq: g.seqs[process], Peers: g.rnd.IntN(9), Flights: exchange.None, Bye: g.chance(60)}
	if g.chance(2) {
		t.AsOf = time.Duration(now.UnixNano()) - g.span(100*time.Millisecond)
		if g.chance(20) {
			t.AsOf -= time.Second
		}
	}
	if g.chance(10) {
		t.Flights = int64(g.rnd.IntN(3))
	}
	for _, id := range g.accounts {
		if g.chance(4) {
			continue
		}
		heard := g.known[process][id]
		a := exchange.Account{
			ID: id, Has: int64(g.rnd.IntN(8)), Wish: int64(g.rnd.IntN(20)), Version: heard.Version,
			Concurrent: id[1] == 2, Quota: exchange.None, Figure: exchange.None, Left: exchange.None, Basis: exchange.None, BasisLeft: exchange.None,
			Landed: g.chance(2),
		}
		if g.chance(2) {
			a.Served, a.ServedAgo = g.rnd.Int64N(12), g.span(200*time.Millisecond)
		}
		a.Stock = g.rnd.Int64N(a.Has + 1)
		if g.chance(2) {
			told := int(id[1]) % 3
			if g.chance(8) { // of another quota
				told = g.rnd.IntN(3)
			}
			a.Quota, a.Window, a.Counts = 50, []time.Duration{time.Second, 10 * time.Second, time.Hour}[told], g.chance(4)
		}
		if g.chance(4) { // the policy tells none
			a.Window, a.Shorter = -a.Window, g.chance(2)
		}
		if g.chance(3) {
			a.FigureAgo = g.span(300 * time.Millisecond)
			a.Figure, a.FigureVersion = g.rnd.Int64N(60), heard.Version-int64(g.rnd.IntN(3)/2)
			if !g.chance(6) {
				a.Left = g.span([]time.Duration{2 * time.Second, 12 * time.Second, time.Hour}[g.rnd.IntN(3)])
			}
		} else if g.chance(4) {
			a.Silent, a.Spent = heard.Version, g.rnd.Int64N(4)
		}
		if g.chance(10) {
			a.Basis, a.BasisLeft, a.Version = g.rnd.Int64N(60), g.span(12*time.Second), g.rnd.Int64N(1000)
		}
		if g.chance(40) {
			a.Version += g.rnd.Int64N(3) // of what the store has lost
		}
		if g.chance(25) {
			a.Refused = g.chance(2)
			a.Hold = g.span(5 * time.Second)
		} else if g.chance(50) {
			a.Hold = -time.Microsecond
		}
		switch {
		case id[1] != 0:
		case g.back == 5:
			g.single(process, now, &a)
		case g.back > 0:
			a.Quota, a.Window, a.Counts, a.Spent, a.Silent, a.FigureAgo = guessedQuota, guessedWindow, false, 0, 0, g.span(60*time.Millisecond)
			a.Figure, a.Left = g.figure(now.Add(-a.FigureAgo))
			a.FigureVersion = heard.Version - int64(g.rnd.IntN(4)/3)
			if a.Shorter = false; g.seen {
				a.Window = -a.Window
				if g.chance(20) {
					a.Window *= 2 // in error
				} else {
					a.Shorter = g.chance(8)
				}
			}
			a.Served, a.ServedAgo = min(heard.Units, a.Figure), a.FigureAgo
			if a.Served > 0 {
				g.spent = append(g.spent, spending{now.Add(-a.ServedAgo), a.Served})
			}
			a.Figure -= a.Served
		}
		t.Accounts = append(t.Accounts, a)
	}
	if g.chance(3) { // of a first request
		heard := g.known[process][guessedFirst]
		a := exchange.Account{
			ID: guessedFirst, First: true, Has: int64(g.rnd.IntN(2)), Version: heard.Version,
			Quota: exchange.None, Figure: exchange.None, Left: exchange.None, Basis: exchange.None, BasisLeft: exchange.None, Refused: g.chance(20),
		}
		if g.chance(20) {
			a.Silent = heard.Version
			for range g.rnd.IntN(5) {
				a.Found = append(a.Found, exchange.ID{1, byte(g.rnd.IntN(4)), 15: byte(g.rnd.IntN(256) / 255)})
			}
		}
		t.Accounts = append(t.Accounts, a)
	}
	if g.back == 5 && len(t.Accounts) > 0 && t.Accounts[0].ID == g.accounts[0] && !t.Bye {
		t.Requests = append(t.Requests, exchange.Request{N: 1 + g.rnd.Int64N(3), Waited: g.span(20 * time.Second), Claims: []exchange.Claim{{Account: 0, Units: 1}}})
	}
	if len(t.Accounts) > 0 && !t.Bye {
		for range g.rnd.IntN(4) {
			r := exchange.Request{N: 1 + g.rnd.Int64N(9), Waited: g.span(20 * time.Second)}
			if g.chance(5) {
				r.Priority = g.rnd.IntN(5) - 2
			}
			for i := range t.Accounts {
				if g.chance(2) {
					r.Claims = append(r.Claims, exchange.Claim{Account: i, Units: []int64{1, 1, 1, 0, 5, 70}[g.rnd.IntN(6)]})
				}
			}
			t.Requests = append(t.Requests, r)
		}
	}
	g.last[process] = t
	return t
}

func (g *guesser) heard(t *exchange.Turn, x *exchange.Grant) {
	if g.known[t.Process] == nil {
		g.known[t.Process] = make(map[exchange.ID]exchange.Granted)
	}
	for i, a := range x.Accounts {
		g.known[t.Process][t.Accounts[i].ID] = a
		if t.Accounts[i].ID == g.accounts[0] {
			g.out[t.Process] += a.Units
		}
	}
}

// What was spent is noted in few places, anywhere among the others: a log shows whether each of them
// is where the Hub has it.
func TestSpendingsOfALog(t *testing.T) {
	p := newPair(t)
	rnd := rand.New(rand.NewPCG(*seed, 1))
	const quota, window = 200, time.Minute
	type unit struct {
		at time.Time
		n  int64
	}
	var log []unit // of the server
	var has [4]int64
	var version int64
	sums := make(map[int64]bool)
	for step := range 3000 {
		p.now = p.now.Add(time.Duration(rnd.ExpFloat64() * float64(time.Second)).Truncate(time.Microsecond))
		i := rnd.IntN(len(has))
		a := exchange.Account{Quota: quota, Window: window, Figure: exchange.None, Left: exchange.None, FigureVersion: version, Basis: exchange.None}
		if a.Served, has[i] = has[i], 0; a.Served > 0 {
			a.ServedAgo = time.Duration(rnd.Int64N(int64(8 * time.Second))).Truncate(time.Microsecond)
			log = append(log, unit{p.now.Add(-a.ServedAgo), a.Served})
		}
		if step%8 == 0 { // the others are told none
			a.Figure, a.Left = quota, window
			for _, u := range log {
				if back := u.at.Add(window).Sub(p.now); back > 0 {
					a.Figure -= u.n
					a.Left = min(a.Left, (back + time.Second - 1).Truncate(time.Second))
				}
			}
			a.Figure = max(a.Figure, 0)
		}
		turn := &exchange.Turn{
			Process: fmt.Sprintf("proc%04d", i), Seq: uint64(step + 1), Flights: exchange.None, Accounts: []exchange.Account{a},
			Requests: []exchange.Request{{N: 1 + rnd.Int64N(9), Claims: []exchange.Claim{{Units: 1}}}},
		}
		got := p.exchange(t, exchange.ID{}, turn, "seed %d, step %d", *seed, step)
		version, has[i] = got.Accounts[0].Version, has[i]+got.Accounts[0].Units
		sums[got.Accounts[0].Available] = true
	}
	assert.Greater(t, len(sums), quota/4, "it is known as a log") // figures alone are far fewer
}

// Weighed windows are found, and one of two processes that wait gives up: the other is told if units come back slowly.
func TestWeighedWindows(t *testing.T) {
	for quota, words := range map[int64]int{20: 2, 100: 1} { // the hold is told in any case
		p := newPair(t)
		var want []exchange.Word
		p.hub.Listen(exchange.ID{}, func(w exchange.Word) { want = append(want, w) })
		sub := p.rdb.Subscribe(t.Context(), p.store.tagged(exchange.ID{})+"w")
		defer sub.Close()
		_, err := sub.Receive(t.Context())
		require.NoError(t, err)

		var version int64
		for i, step := range []struct {
			process string
			after   time.Duration
			figure  int64
			left    time.Duration
			served  int64
			hold    time.Duration
			n       int64
		}{
			{"one", 0, quota - 1, 10 * time.Second, 1, 0, 1},
			{"one", time.Second, 0, 9 * time.Second, quota - 1, 0, 1},
			{"one", 9 * time.Second, exchange.None, exchange.None, 0, 0, 1},
			{"one", 0, 0, 10 * time.Second, 0, time.Microsecond, 1},
			{"one", 1250 * time.Millisecond, exchange.None, exchange.None, 0, 0, 1},
			{"one", 0, 0, 8750 * time.Millisecond, 1, 0, 0},
			{"one", 0, 0, 8750 * time.Millisecond, 0, 0, 0},
			{"other", time.Millisecond, exchange.None, exchange.None, 0, 0, 1},
			{"one", 0, exchange.None, exchange.None, 0, 0, 1},
			{"other", 50 * time.Millisecond, exchange.None, exchange.None, 0, 0, 0},
			{"one", 0, exchange.None, exchange.None, 0, 0, 1},
		} {
			p.now = p.now.Add(step.after)
			turn := &exchange.Turn{Process: step.process, Seq: uint64(i + 1), Flights: exchange.None, Accounts: []exchange.Account{{
				Quota: quota, Window: 10 * time.Second, Figure: step.figure, Left: step.left, FigureVersion: version,
				Served: step.served, Hold: step.hold, Basis: exchange.None,
			}}}
			if step.n > 0 {
				turn.Requests = []exchange.Request{{N: step.n, Claims: []exchange.Claim{{Units: 1}}}}
			}
			version = p.exchange(t, exchange.ID{}, turn, "quota %d, step %d", quota, i).Accounts[0].Version
		}
		require.NoError(t, p.rdb.Publish(t.Context(), p.store.tagged(exchange.ID{})+"w", "end").Err())
		var got []exchange.Word
		for m := range sub.Channel() {
			w, err := parseWord(m.Payload)
			if err != nil {
				break
			}
			got = append(got, *w)
		}
		assert.Equal(t, want, got, "quota %d", quota)
		assert.Len(t, got, words, "quota %d", quota)
	}
}

// A record of more numbers than Lua has room for at once is read as well.
func TestThousandProcesses(t *testing.T) {
	p := newPair(t)
	for i := range uint64(1000) {
		p.now = p.now.Add(time.Millisecond)
		turn := &exchange.Turn{
			Process: fmt.Sprintf("proc%04d", i), Seq: i + 1, Flights: exchange.None,
			Accounts: []exchange.Account{{
				Has: 1, Quota: 1000, Window: time.Minute, Figure: 1, Left: time.Minute, Basis: exchange.None, Served: 1,
			}},
			Requests: []exchange.Request{{N: 5, Waited: time.Second, Claims: []exchange.Claim{{Units: 1}}}},
		}
		p.exchange(t, exchange.ID{}, turn, i)
	}
}

func TestParseWord(t *testing.T) {
	id := exchange.ID{1, 2, 3}
	for text, want := range map[string]*exchange.Word{
		"w " + name(id) + " a b":               {Account: id, Processes: []string{"a", "b"}},
		"r " + name(id):                        {Account: id, Return: true},
		"h " + name(id) + " 1500000":           {Account: id, Hold: 1500 * time.Millisecond},
		"h " + name(id):                        nil,
		"h " + name(id) + " 1500000 a":         {Account: id, Hold: 1500 * time.Millisecond, Processes: []string{"a"}},
		"h " + name(id) + " -1":                {Account: id, Hold: -time.Microsecond},
		"h " + name(id) + " -2":                nil,
		"h " + name(id) + " 1e9":               nil,
		"h " + name(id) + " 99999999999999999": nil,
		"x " + name(id):                        nil,
		"w short":                              nil,
		"w " + name(id) + "AAAA x":             {Account: id, Processes: []string{"x"}},
		"":                                     nil,
		"w":                                    nil,
	} {
		w, err := parseWord(text)
		assert.Equal(t, want, w, "%q", text)
		assert.Equal(t, want == nil, err != nil, "%q", text)
	}
}

func TestReplyOfAnotherLength(t *testing.T) {
	whole := strings.Repeat("\x01", 9+9*8+1) + "\x10\x00" + strings.Repeat("\x02", 16) // one account has found another
	for n := range 2 * len(whole) {
		g, err := granted((whole + whole)[:n], 1)
		assert.Equal(t, n == len(whole), err == nil, n)
		if err == nil {
			assert.Equal(t, []exchange.ID{exchange.ID([]byte(whole[len(whole)-16:]))}, g.Accounts[0].Found)
		}
	}
}
