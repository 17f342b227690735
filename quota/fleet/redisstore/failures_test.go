package redisstore

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// These tests break Redis in all ways that the documentation speaks of. They ask whether
// requests go on, and whether the processes find each other again; how many requests are
// refused meanwhile, quota's tests say in simulated time.

// patience is far longer than anything here takes.
const patience = time.Minute

// A process is one of a fleet.
type process struct {
	t      *testing.T
	fleet  *fleet.Fleet
	client *http.Client
}

func newProcess(t *testing.T, rdb redis.UniversalClient, api *transporttest.API) *process {
	f := fleet.New(New(rdb, ""), fleet.Options{})
	t.Cleanup(func() {
		f.Close()
		rdb.Close()
	})
	return &process{t, f, clientOf(f, api)}
}

func clientOf(f *fleet.Fleet, api *transporttest.API) *http.Client {
	accounts := &quota.Accounts{Peers: f, Secret: &[32]byte{1}}
	return &http.Client{Transport: &transport.Shaper{Base: &transporttest.Transport{Handler: api}, Accounts: accounts}}
}

// plenty is an API that never refuses what is sent here.
func plenty() *transporttest.API {
	return &transporttest.API{Policies: []transporttest.Policy{{Name: "policyname", Quota: 1e6, Window: time.Hour}}}
}

// get makes a request, which has to be served.
func (p *process) get() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(partition.WithUserID(p.t.Context(), "alice"), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/things", nil)
	require.NoError(p.t, err)
	resp, err := p.client.Do(r)
	require.NoError(p.t, err)
	resp.Body.Close()
	require.Equal(p.t, http.StatusOK, resp.StatusCode)
}

// until makes requests until the status is as it should be.
func (p *process) until(what string, is func(fleet.Status) bool) fleet.Status {
	p.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		p.get()
		s := p.fleet.Status()
		if is(s) {
			return s
		}
		require.Less(p.t, time.Since(began), patience, "%s: %+v", what, s)
	}
}

func linked(s fleet.Status) bool { return s.Linked }
func alone(s fleet.Status) bool  { return !s.Linked && s.Failures > 0 }

func TestTwoProcesses(t *testing.T) {
	s := start(t)
	api := plenty()
	one, other := newProcess(t, s.client(), api), newProcess(t, s.client(), api)
	two := func(s fleet.Status) bool { other.get(); return s.Linked && s.Peers == 2 }
	one.until("find each other", two)
	assert.Zero(t, api.Counts().Refused)
}

// Redis is not there at first.
func TestBootWithoutRedis(t *testing.T) {
	s := start(t)
	s.kill()
	p := newProcess(t, s.client(), plenty())
	p.until("alone", alone)
	s.run()
	p.until("linked", linked)
}

func TestKilledAndEmpty(t *testing.T) {
	s := start(t)
	p := newProcess(t, s.client(), plenty())
	p.until("linked", linked)
	for range 2 {
		s.kill()
		p.until("alone", alone)
		s.run()
		p.until("linked", linked)
	}
}

// Redis comes back with all that it knew.
func TestKilledWithFile(t *testing.T) {
	s := start(t, "--appendonly", "yes", "--appendfsync", "always")
	p := newProcess(t, s.client(), plenty())
	p.until("linked", linked)
	s.kill()
	p.until("alone", alone)
	s.run()
	p.until("linked", linked)
	rdb := s.client()
	defer rdb.Close()
	assert.NotEmpty(t, rdb.Keys(t.Context(), "hw6:*").Val())
}

func TestStopped(t *testing.T) {
	s := start(t)
	p := newProcess(t, s.client(), plenty())
	p.until("linked", linked)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGSTOP))
	p.until("alone", alone)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGCONT))
	p.until("linked", linked)
}

// loading answers all commands as a server that has not read its file yet, until it is closed.
func loading(t *testing.T, socket string) (end func()) {
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var conns sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { c.Close() })
			conns.Go(func() {
				in := bufio.NewScanner(c)
				for in.Scan() { // *, the number of the arguments; of each $, its length, and itself
					var n int
					if _, err := fmt.Sscanf(in.Text(), "*%d", &n); err != nil {
						continue // a line of a packed turn
					}
					fmt.Fprint(c, "-LOADING Redis is loading the dataset in memory\r\n")
				}
			})
		}
	})
	return func() {
		l.Close()
		cancel()
		conns.Wait()
	}
}

// A server that starts with a file answers LOADING until it has read it: that is as good as
// no server, for as long as it lasts.
func TestLoading(t *testing.T) {
	s := start(t)
	p := newProcess(t, s.client(), plenty())
	p.until("linked", linked)
	s.kill()
	p.until("alone", alone)
	os.Remove(s.socket)
	end := loading(t, s.socket)
	defer end()
	p.until("loading", func(s fleet.Status) bool { return alone(s) && strings.HasPrefix(s.Err.Error(), "LOADING") })
	failures := p.fleet.Status().Failures
	p.until("still loading", func(s fleet.Status) bool { return alone(s) && s.Failures > failures+1 })
	end()
	s.run()
	p.until("linked", linked)
}

// What Redis forgets or refuses on the way is no reason to be alone for longer.
func TestTroubles(t *testing.T) {
	for name, tt := range map[string]struct {
		begin, end []any
		err        string // "": nobody is alone because of it
	}{
		"scripts are flushed":     {begin: []any{"SCRIPT", "FLUSH"}},
		"all is flushed":          {begin: []any{"FLUSHALL"}},
		"no memory":               {begin: []any{"CONFIG", "SET", "maxmemory", "1"}, end: []any{"CONFIG", "SET", "maxmemory", "0"}, err: "OOM"},
		"subscribers are killed":  {begin: []any{"CLIENT", "KILL", "TYPE", "pubsub"}},
		"connections are killed":  {begin: []any{"CLIENT", "KILL", "TYPE", "normal"}},
		"no rights":               {begin: []any{"ACL", "SETUSER", "default", "-evalsha", "-eval"}, end: []any{"ACL", "SETUSER", "default", "+@all"}, err: "NOPERM"},
		"a replica, which is not": {begin: []any{"REPLICAOF", "127.0.0.1", "1"}, end: []any{"REPLICAOF", "NO", "ONE"}, err: "READONLY"},
		"paused":                  {begin: []any{"CLIENT", "PAUSE", "1500", "ALL"}, err: "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			admin := s.client()
			defer admin.Close()
			p := newProcess(t, s.client(), plenty())
			p.until("linked", linked)
			require.NoError(t, admin.Do(t.Context(), tt.begin...).Err())
			before := p.fleet.Status()
			if tt.err != "" {
				p.until("fails", func(s fleet.Status) bool {
					return alone(s) && (strings.Contains(s.Err.Error(), tt.err) || strings.Contains(s.Err.Error(), "timeout"))
				})
			}
			if tt.end != nil {
				require.NoError(t, admin.Do(t.Context(), tt.end...).Err())
			}
			p.until("goes on", func(s fleet.Status) bool { return s.Linked && s.Exchanges > before.Exchanges+3 })
		})
	}
}

// The rights that the documentation names are enough, and foreign keys are out of reach.
func TestRights(t *testing.T) {
	s := start(t)
	admin := s.client()
	defer admin.Close()
	rule := "ACL SETUSER headway on >password ~hw6:* &hw6:* -@all +eval +evalsha +get +set " +
		"+hset +hgetall +hdel +pexpire +time +publish +spublish +subscribe " +
		"+ssubscribe +unsubscribe +sunsubscribe +ping +hello +client"
	var words []any
	for _, w := range strings.Fields(rule) {
		words = append(words, w)
	}
	require.NoError(t, admin.Do(t.Context(), words...).Err())
	limited := redis.NewClient(&redis.Options{
		Network: "unix", Addr: s.socket, Username: "headway", Password: "password",
		MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: 200 * time.Millisecond, DisableIdentity: true,
	})
	api := plenty()
	p, other := newProcess(t, limited, api), newProcess(t, s.client(), api)
	p.until("linked", func(s fleet.Status) bool { other.get(); return s.Linked && s.Peers == 2 && s.Exchanges > 3 })
	assert.Error(t, limited.Set(t.Context(), "other", 1, 0).Err())
	assert.Error(t, limited.FlushAll(t.Context()).Err())
}

// Redis learns nothing of users, origins and policies, and everything expires.
func TestNothingOfUsersIsStored(t *testing.T) {
	s := start(t)
	rdb := s.client()
	defer rdb.Close()
	api := plenty()
	p, other := newProcess(t, s.client(), api), newProcess(t, s.client(), api)
	p.until("linked", func(s fleet.Status) bool { other.get(); return s.Linked && s.Peers == 2 })
	keys := rdb.Keys(t.Context(), "*").Val()
	assert.NotEmpty(t, keys)
	for _, key := range keys {
		assert.True(t, strings.HasPrefix(key, "hw6:{"), key)
		text := key + rdb.Get(t.Context(), key).Val()
		for k, v := range rdb.HGetAll(t.Context(), key).Val() {
			text += k + v
		}
		for _, secret := range []string{"alice", "api.example", "policyname", "things"} {
			assert.NotContains(t, text, secret, key)
		}
		assert.Positive(t, rdb.PTTL(t.Context(), key).Val(), "%s expires", key)
	}
}

// What an account costs Redis, with eight processes.
func TestMemory(t *testing.T) {
	s := start(t)
	rdb := s.client()
	defer rdb.Close()
	api := plenty()
	var ps []*process
	for range 8 {
		ps = append(ps, newProcess(t, s.client(), api))
	}
	ps[0].until("all are there", func(s fleet.Status) bool {
		for _, p := range ps[1:] {
			p.get()
		}
		return s.Peers == 8
	})
	memory := func() (most int64) {
		for _, key := range rdb.Keys(t.Context(), "hw6:*:a:*").Val() {
			most = max(most, rdb.MemoryUsage(t.Context(), key).Val())
		}
		return most
	}
	idle := memory()

	// The most: all wait, and much is noted of what was spent.
	require.NoError(t, rdb.FlushAll(t.Context()).Err())
	st := New(rdb, "")
	for i := range 200 {
		_, err := st.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: fmt.Sprintf("proc%04d", i%8), Seq: uint64(1000 + i), Flights: exchange.None,
			Accounts: []exchange.Account{{
				Has: 100, Stock: 10, Quota: 1000, Window: time.Minute, Figure: 500, Left: time.Minute, Basis: exchange.None,
				Served: 200, ServedAgo: time.Duration(200-i) * 250 * time.Millisecond, Hold: time.Second,
			}},
			Requests: []exchange.Request{{N: 1000, Priority: -1, Waited: time.Minute, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
	}
	busy := memory()
	t.Logf("%d bytes, at most %d", idle, busy)
	assert.Positive(t, idle)
	assert.LessOrEqual(t, idle, int64(700))
	assert.LessOrEqual(t, busy, int64(700))
}

// A turn that is carried out long after it was sent takes nothing.
func TestLateTurn(t *testing.T) {
	s := start(t)
	rdb := s.client()
	defer rdb.Close()
	st := New(rdb, "")
	turn := func(seq uint64) *exchange.Turn {
		return &exchange.Turn{
			Process: "p", Seq: seq, Flights: exchange.None,
			Accounts: []exchange.Account{{Figure: 10, Left: time.Hour, Quota: exchange.None, Basis: exchange.None}},
			Requests: []exchange.Request{{N: 1, Claims: []exchange.Claim{{Units: 1}}}},
		}
	}
	g, err := st.Exchange(t.Context(), exchange.ID{}, turn(1))
	require.NoError(t, err)
	assert.EqualValues(t, 1, g.Accounts[0].Units)
	late := turn(2)
	late.AsOf = g.Now - time.Second
	g, err = st.Exchange(t.Context(), exchange.ID{}, late)
	require.NoError(t, err)
	assert.True(t, g.Void)
	assert.Zero(t, g.Accounts[0].Units)
	g, err = st.Exchange(t.Context(), exchange.ID{}, late) // again
	require.NoError(t, err)
	assert.True(t, g.Void)
}

// free returns a TCP port that nobody listens on, such that the one of the cluster's bus
// is free, too.
func free(t *testing.T) int {
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port < 55_000 {
			bus, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+10_000))
			if err == nil {
				bus.Close()
				return port
			}
		}
	}
	t.Skip("no ports")
	return 0
}

// A node is a server of a cluster.
type node struct {
	*server
	port int
	rdb  *redis.Client
	id   string
}

func newNode(t *testing.T) *node {
	port := free(t)
	s := start(t, "--port", strconv.Itoa(port), "--cluster-enabled", "yes", "--cluster-config-file", "nodes",
		"--cluster-node-timeout", "500", "--bind", "127.0.0.1", "--repl-diskless-sync-delay", "0")
	n := &node{server: s, port: port, rdb: s.client()}
	t.Cleanup(func() { n.rdb.Close() })
	n.id = n.rdb.Do(t.Context(), "CLUSTER", "MYID").Val().(string)
	return n
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		require.Less(t, time.Since(began), patience, what)
	}
}

// Three nodes: all accounts of an origin are in one slot. The slot moves to another node,
// with what is known, and a master is lost, whose replica takes over.
func TestCluster(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("there is no redis-server")
	}
	ctx := t.Context()
	var nodes []*node
	for range 4 { // the last one is a replica of the first
		nodes = append(nodes, newNode(t))
	}
	masters, replica := nodes[:3], nodes[3]
	for i, n := range masters {
		require.NoError(t, n.rdb.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", i*16384/3, (i+1)*16384/3-1).Err())
	}
	for _, n := range nodes[1:] {
		require.NoError(t, n.rdb.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", nodes[0].port).Err())
	}
	whole := func() bool {
		for _, n := range nodes {
			info := n.rdb.ClusterInfo(ctx).Val()
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:4") {
				return false
			}
		}
		return true
	}
	eventually(t, "the cluster is whole", whole)
	eventually(t, "the replica follows", func() bool {
		return replica.rdb.Do(ctx, "CLUSTER", "REPLICATE", masters[0].id).Err() == nil
	})
	eventually(t, "the replica is in touch", func() bool {
		return strings.Contains(replica.rdb.Info(ctx, "replication").Val(), "master_link_status:up")
	})

	var addrs []string
	for _, n := range nodes {
		addrs = append(addrs, "127.0.0.1:"+strconv.Itoa(n.port))
	}
	client := func() redis.UniversalClient {
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, DialTimeout: 200 * time.Millisecond, ContextTimeoutEnabled: true, DisableIdentity: true, DialerRetries: 1, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: 5 * time.Millisecond})
	}
	api := plenty()
	p, other := newProcess(t, client(), api), newProcess(t, client(), api)
	both := func(s fleet.Status) bool { other.get(); return s.Linked && other.fleet.Status().Linked && s.Peers == 2 }
	p.until("both are linked", both)

	// Turns about other origins go to other nodes, and several accounts to one.
	st, rdb := New(client(), ""), client()
	defer rdb.Close()
	var origin exchange.ID
	var version int64
	for i := range 8 {
		origin[0] = byte(i)
		turn := &exchange.Turn{Process: "p", Seq: 1, Flights: 1, Accounts: []exchange.Account{{ID: exchange.ID{1}, Figure: 9, Left: time.Hour, Basis: exchange.None}, {ID: exchange.ID{2}, Figure: exchange.None, Basis: exchange.None}}}
		g, err := st.Exchange(ctx, origin, turn)
		require.NoError(t, err)
		version = g.Accounts[0].Version
	}

	// The slot of the last one moves, with its keys.
	key := st.(*store).tagged(origin) + "f"
	slot := rdb.ClusterKeySlot(ctx, key).Val()
	from := masters[0]
	for _, n := range masters {
		if n.rdb.Do(ctx, "EXISTS", key).Err() == nil {
			from = n
		}
	}
	to := masters[1]
	if from == to {
		to = masters[2]
	}
	require.NoError(t, to.rdb.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id).Err())
	require.NoError(t, from.rdb.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id).Err())
	for _, k := range from.rdb.ClusterGetKeysInSlot(ctx, int(slot), 100).Val() {
		require.NoError(t, from.rdb.Do(ctx, "MIGRATE", "127.0.0.1", to.port, k, 0, 5000).Err())
	}
	for _, n := range []*node{to, from} {
		require.NoError(t, n.rdb.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", to.id).Err())
	}
	eventually(t, "the account is found again", func() bool {
		g, err := st.Exchange(ctx, origin, &exchange.Turn{Process: "p", Seq: uint64(time.Now().UnixNano()), Flights: exchange.None,
			Accounts: []exchange.Account{{ID: exchange.ID{1}, Figure: exchange.None, Basis: exchange.None}}})
		return err == nil && g.Accounts[0].Version == version && g.Accounts[0].Available == 9
	})

	// A master is lost.
	masters[0].kill()
	eventually(t, "the replica takes over", func() bool {
		p.get()
		return strings.Contains(replica.rdb.Info(ctx, "replication").Val(), "role:master")
	})
	p.until("both are linked again", func(s fleet.Status) bool { return both(s) && whole3(nodes[1:]) })
}

// A cluster that serves no slots yet, or no more, is as good as none.
func TestClusterDown(t *testing.T) {
	n := newNode(t)
	p := newProcess(t, redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: []string{"127.0.0.1:" + strconv.Itoa(n.port)}, DialTimeout: 200 * time.Millisecond,
		ContextTimeoutEnabled: true, DisableIdentity: true, DialerRetries: 1,
	}), plenty())
	p.until("alone", alone)
	require.NoError(t, n.rdb.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
	p.until("linked", linked)
	require.NoError(t, n.rdb.Do(t.Context(), "CLUSTER", "DELSLOTSRANGE", 0, 16383).Err())
	p.until("alone again", alone)
}

// whole3 reports whether the nodes that are left serve all slots.
func whole3(nodes []*node) bool {
	for _, n := range nodes {
		if !strings.Contains(n.rdb.ClusterInfo(context.Background()).Val(), "cluster_state:ok") {
			return false
		}
	}
	return true
}

// A replica that takes over without the last writes has forgotten the last grants: no more than
// these are granted twice, and what the processes say next tells of them.
func TestLostWrites(t *testing.T) {
	s := start(t)
	rdb := s.client()
	defer rdb.Close()
	st, seq := New(rdb, ""), uint64(0)
	turn := func(process string, a exchange.Account, wants int64) exchange.Granted {
		seq++
		a.Quota, a.Window, a.Basis, a.BasisLeft = 100, time.Hour, exchange.None, exchange.None
		turn := &exchange.Turn{Process: process, Seq: seq, Flights: exchange.None, Accounts: []exchange.Account{a}}
		if wants > 0 {
			turn.Requests = []exchange.Request{{N: wants, Claims: []exchange.Claim{{Units: 1}}}}
		}
		g, err := st.Exchange(t.Context(), exchange.ID{}, turn)
		require.NoError(t, err)
		return g.Accounts[0]
	}
	silent := exchange.Account{Figure: exchange.None, Left: exchange.None}
	has := func(n int64) exchange.Account {
		a := silent
		a.Has = n
		return a
	}
	one := turn("one", exchange.Account{Figure: 100, Left: time.Hour}, 10)
	require.EqualValues(t, 10, one.Units)
	keys := rdb.Keys(t.Context(), "hw6:*:a:*").Val()
	require.Len(t, keys, 1)
	before, err := rdb.Get(t.Context(), keys[0]).Bytes()
	require.NoError(t, err)

	require.EqualValues(t, 20, turn("two", silent, 20).Units)
	late := turn("one", exchange.Account{Has: 10, Figure: 95, Left: time.Hour, FigureVersion: one.Version}, 0)
	require.EqualValues(t, 95, late.Available)
	require.Greater(t, late.Version, one.Version)
	require.NoError(t, rdb.Set(t.Context(), keys[0], before, time.Hour).Err())

	assert.EqualValues(t, 90, turn("three", silent, 200).Units, "of 100, of which one has 10; two had 20")
	turn("two", has(20), 0)
	turn("three", has(90), 0)
	assert.Zero(t, turn("four", silent, 1).Units)
	again := turn("one", exchange.Account{Has: 10, Figure: 97, Left: time.Hour, Version: late.Version, FigureVersion: late.Version}, 0)
	assert.EqualValues(t, 97, again.Available, "it lowers what is known")
	again = turn("one", exchange.Account{Has: 10, Figure: 99, Left: time.Hour, Version: again.Version, FigureVersion: late.Version}, 0)
	assert.EqualValues(t, 97, again.Available, "under a version that was lost, it raises nothing")
}
