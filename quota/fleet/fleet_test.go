package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

var secret = [32]byte{1}

// slowly returns a Base that takes 50 ms.
func slowly(api *transporttest.API) http.RoundTripper {
	return &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }}
}

// client returns a process of a fleet.
func client(f quota.Peers, api *transporttest.API) *http.Client {
	accounts := &quota.Accounts{Secret: &secret}
	if f != nil {
		accounts.Peers = f
	}
	return &http.Client{Transport: &transport.Shaper{Base: slowly(api), Accounts: accounts}}
}

// get makes n requests, all at once, and returns how many were served.
func get(t *testing.T, c *http.Client, n int) (served int64) {
	var ok atomic.Int64
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			resp, err := c.Get("https://api.example/things")
			if assert.NoError(t, err) {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					ok.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return ok.Load()
}

func tenPerTen() *transporttest.API {
	return &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 10, Window: 10 * time.Second}}}
}

// Two processes that share a quota of 10 are served 40 requests in four windows, and none
// is refused. Nothing is left of the fleet afterwards: else synctest would complain.
func TestTwoProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := tenPerTen()
		hub := new(fleet.Hub)
		began := time.Now()
		var wg sync.WaitGroup
		var fleets []*fleet.Fleet
		var linked atomic.Int64
		for range 2 {
			f := fleet.New(hub, fleet.Options{Trace: &fleet.Trace{Linked: func() { linked.Add(1) }}})
			fleets = append(fleets, f)
			wg.Go(func() { assert.EqualValues(t, 20, get(t, client(f, api), 20)) })
		}
		wg.Wait()
		assert.Zero(t, api.Counts().Refused)
		assert.Less(t, time.Since(began), 32*time.Second)
		assert.EqualValues(t, 2, linked.Load())
		for _, f := range fleets {
			s := f.Status()
			assert.True(t, s.Linked)
			assert.Equal(t, 2, s.Peers)
			assert.NoError(t, s.Err)
			require.NoError(t, f.Close())
			require.NoError(t, f.Close())
		}
	})
}

// A process that has given everything back leaves it to the others.
func TestCloseGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := tenPerTen()
		hub := new(fleet.Hub)
		f, g := fleet.New(hub, fleet.Options{}), fleet.New(hub, fleet.Options{})
		defer g.Close()
		one, other := client(f, api), client(g, api)
		get(t, one, 2)
		f.Close()
		began := time.Now()
		get(t, other, 8)
		assert.Less(t, time.Since(began), time.Second)
		assert.Zero(t, api.Counts().Refused)
		get(t, one, 1) // goes on alone
	})
}

// broken is a Store that does not answer.
type broken struct{ hangs bool }

func (b broken) Exchange(ctx context.Context, _ exchange.ID, _ *exchange.Turn) (*exchange.Grant, error) {
	if b.hangs {
		time.Sleep(10 * time.Second) // and does not look at the context
	}
	return nil, errBroken
}

func (b broken) Subscribe(ctx context.Context, _ exchange.ID, _ func(*exchange.Word)) error {
	return errBroken
}

var errBroken = errors.New("broken")

// Without the store, a process does what it does without a fleet, and a little later at
// most: whether the store fails, or does not answer at all.
func TestBrokenStore(t *testing.T) {
	took := func(t *testing.T, b fleet.Store) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			var peers quota.Peers
			var alone atomic.Int64
			var f *fleet.Fleet
			if b != nil {
				f = fleet.New(b, fleet.Options{Trace: &fleet.Trace{Alone: func(err error) {
					assert.Error(t, err)
					alone.Add(1)
				}}})
				defer f.Close()
				peers = f
			}
			c := client(peers, tenPerTen())
			began := time.Now()
			assert.EqualValues(t, 8, get(t, c, 8))
			d = time.Since(began)
			if f != nil {
				time.Sleep(30 * time.Second)
				assert.EqualValues(t, 1, alone.Load(), "told once")
				s := f.Status()
				assert.False(t, s.Linked)
				assert.Error(t, s.Err)
				assert.Less(t, s.Failures, int64(20), "tries become rare")
			}
		})
		return d
	}
	without := took(t, nil)
	for _, b := range []broken{{}, {hangs: true}} {
		with := took(t, b)
		assert.LessOrEqual(t, with, without+100*time.Millisecond, "hangs: %v", b.hangs)
	}
}

// After a refusal that says nothing, those that waited before the store has heard of it go,
// too, as they do without a fleet.
func TestBareRefusal(t *testing.T) {
	for _, processes := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			hub := new(fleet.Hub)
			var calls atomic.Int64
			base := roundTrip(func(r *http.Request) (*http.Response, error) {
				status := http.StatusOK
				if calls.Add(1) == 1 {
					status = http.StatusTooManyRequests
				}
				return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
			})
			began := time.Now()
			var wg sync.WaitGroup
			var served atomic.Int64
			for range processes {
				f := fleet.New(hub, fleet.Options{})
				defer f.Close()
				c := &http.Client{Transport: &transport.Shaper{Base: base, Accounts: &quota.Accounts{Peers: f, Secret: &secret}}}
				wg.Go(func() {
					served.Add(get(t, c, 1))
					served.Add(get(t, c, 12))
				})
			}
			wg.Wait()
			assert.EqualValues(t, 13*processes-1, served.Load())
			assert.Less(t, time.Since(began), 5*time.Second, "a back-off of a second")
		})
	}
}

// Every exchange is told, to the Traces of Options and of Watch, and what became of it.
func TestExchanged(t *testing.T) {
	for name, tt := range map[string]struct {
		store fleet.Store
		took  time.Duration
		err   error
	}{
		"answers": {store: new(fleet.Hub)},
		"fails":   {store: broken{}, err: errBroken},
		"hangs":   {store: broken{hangs: true}, took: 10 * time.Second, err: errBroken},
		"is late": {store: late{new(fleet.Hub)}, took: time.Second, err: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				var told, watched []fleet.ExchangedInfo
				note := func(to *[]fleet.ExchangedInfo) *fleet.Trace {
					return &fleet.Trace{Exchanged: func(i fleet.ExchangedInfo) {
						mu.Lock()
						defer mu.Unlock()
						*to = append(*to, i)
					}}
				}
				f := fleet.New(tt.store, fleet.Options{Trace: note(&told)})
				f.Watch(note(&watched))
				f.Watch(nil)
				get(t, client(f, tenPerTen()), 8)
				time.Sleep(15 * time.Second)
				require.NoError(t, f.Close())
				require.NotEmpty(t, told)
				assert.Equal(t, told, watched)
				for _, i := range told {
					assert.Equal(t, tt.took, i.Took)
					assert.ErrorIs(t, i.Err, tt.err)
				}
				if s := f.Status(); tt.took == 0 {
					assert.EqualValues(t, s.Exchanges+s.Failures, len(told))
				}
			})
		})
	}
}

// late is a Store that answers after a second.
type late struct{ fleet.Store }

func (l late) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	time.Sleep(time.Second) // and does not look at the context
	return l.Store.Exchange(ctx, origin, turn)
}

// A Retry-After that one process was told holds the other, too, but for the request that looks.
func TestHoldReachesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(fleet.Hub)
		var calls atomic.Int64
		var until time.Time
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			h := http.Header{}
			status := http.StatusOK
			if n := calls.Add(1); n == 3 {
				until = time.Now().Add(7 * time.Second)
			}
			if time.Now().Before(until) {
				status = http.StatusTooManyRequests
				h.Set("Retry-After", strconv.Itoa(int(time.Until(until).Seconds()+.999)))
			}
			return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
		})
		var cs []*http.Client
		for range 2 {
			f := fleet.New(hub, fleet.Options{})
			defer f.Close()
			cs = append(cs, &http.Client{Transport: &transport.Shaper{Base: base, Accounts: &quota.Accounts{Peers: f, Secret: &secret}}})
		}
		get(t, cs[0], 1)
		get(t, cs[1], 1)
		get(t, cs[0], 1) // refused
		time.Sleep(time.Millisecond)
		began := time.Now()
		assert.EqualValues(t, 2, get(t, cs[1], 3))
		assert.InDelta(t, 7, time.Since(began).Seconds(), .1)
	})
}

// What a request costs is known by what others of its kind have cost, when its turn comes: other
// processes were told something else before. The units that it was granted then do not stop the fleet.
func TestLearnedCosts(t *testing.T) {
	cost := func(r *http.Request) int64 {
		n, _ := strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64)
		return n
	}
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			api := &transporttest.API{
				Policies: []transporttest.Policy{{Name: "api", Quota: 100, Window: 10 * time.Second, Algorithm: transporttest.GCRA, Burst: 10}},
				Cost:     cost,
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer time.AfterFunc(time.Minute, cancel).Stop()
			hub := new(fleet.Hub)
			var units, refused atomic.Int64
			var wg sync.WaitGroup
			for p := range uint64(6) {
				f := fleet.New(hub, fleet.Options{})
				defer f.Close()
				c := client(f, api)
				for worker := range uint64(6) {
					wg.Go(func() {
						rnd := rand.New(rand.NewPCG(seed, 6*p+worker))
						for ctx.Err() == nil {
							r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/things", nil)
							assert.NoError(t, err)
							r.Header.Set("X-Cost", strconv.Itoa(1+rnd.IntN(5)))
							switch resp, err := c.Do(r); {
							case err != nil:
								return // the minute is over
							case resp.StatusCode == http.StatusOK:
								units.Add(cost(r))
							default:
								refused.Add(1)
							}
						}
					})
				}
			}
			wg.Wait()
			t.Log(units.Load(), refused.Load())
			assert.GreaterOrEqual(t, units.Load(), int64(440), "of 600, seed %d", seed)
			assert.LessOrEqual(t, refused.Load(), int64(40), "seed %d", seed)
		})
	}
}

// A process that is always refused holds the others for a second: then one of them looks, and is served.
// A hold that is for all costs that one request.
func TestHoldOfOne(t *testing.T) {
	for name, tt := range map[string]struct {
		status     int
		retryAfter string
		all        bool
		served     int64 // of 6 processes that make 4 requests a second for a minute, at least
		refused    int64 // at most
		figures    bool  // those that are served are told figures: a hold that is told beside one is not looked at
		slow       int64 // of the served requests waited, at most; 0: those that came in the first second
	}{
		"429":              {status: 429, retryAfter: "60", served: 1195, refused: 2},
		"429 for 5 s":      {status: 429, retryAfter: "5", served: 1195, refused: 14},
		"429, figures":     {status: 429, retryAfter: "5", served: 1190, refused: 40, slow: 150, figures: true},
		"429, bare":        {status: 429, served: 1195, refused: 8},
		"503":              {status: 503, retryAfter: "60", served: 1195, refused: 2},
		"429, all of them": {status: 429, retryAfter: "60", all: true, refused: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				hub := new(fleet.Hub)
				began := time.Now()
				var served, refused, slow atomic.Int64
				var wg sync.WaitGroup
				for p := range 6 {
					base := roundTrip(func(r *http.Request) (*http.Response, error) {
						time.Sleep(time.Duration(40+p) * time.Millisecond)
						h, status := http.Header{}, http.StatusOK
						if passed := time.Since(began); passed > 5*time.Second && (tt.all || p == 0) {
							refused.Add(1)
							status = tt.status
							if tt.retryAfter != "" {
								h.Set("Retry-After", tt.retryAfter)
							}
						} else if passed > 5*time.Second {
							served.Add(1)
						}
						if tt.figures && status == http.StatusOK {
							h.Set("X-RateLimit-Limit", "1000")
							h.Set("X-RateLimit-Remaining", "900")
							h.Set("X-RateLimit-Reset", "10")
						}
						return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
					})
					f := fleet.New(hub, fleet.Options{})
					defer f.Close()
					c := &http.Client{Transport: &transport.Shaper{Base: base, Accounts: &quota.Accounts{Peers: f, Secret: &secret}}}
					wg.Go(func() {
						var calls sync.WaitGroup
						time.Sleep(time.Duration(p) * 40 * time.Millisecond)
						for range 4 * 65 {
							calls.Go(func() {
								r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/things", nil)
								came := time.Now()
								if resp, err := c.Do(r); err == nil {
									resp.Body.Close()
									if p > 0 && time.Since(came) > 200*time.Millisecond {
										slow.Add(1)
									}
								}
							})
							time.Sleep(250 * time.Millisecond)
						}
						cancel()
						calls.Wait()
					})
				}
				wg.Wait()
				t.Log(served.Load(), refused.Load(), slow.Load())
				assert.GreaterOrEqual(t, served.Load(), tt.served)
				if !tt.all {
					assert.LessOrEqual(t, slow.Load(), cmp.Or(tt.slow, 25), "waited")
				}
				assert.LessOrEqual(t, refused.Load(), tt.refused)
			})
		})
	}
}

// One of the routes that a process calls always refuses with a Retry-After. That is beside the quota, of which
// much is left: it holds neither the other routes of this process nor the other process. If the refusals say so
// themselves, the first of them holds the process that was told it.
func TestDeadRoute(t *testing.T) {
	unnamed := func(reset int64) map[string]string {
		return map[string]string{"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "900", "X-RateLimit-Reset": strconv.FormatInt(reset, 10)}
	}
	for name, tt := range map[string]struct {
		fields  func() map[string]string
		told    bool // the refusals have them, too
		refused int64
		slow    int64 // while it is not known whose the refusal is
	}{
		"instants": {func() map[string]string { return unnamed(time.Now().Truncate(10*time.Second).Unix() + 10) }, false, 2, 5},
		"seconds":  {func() map[string]string { return unnamed(10) }, false, 2, 5},
		"told": {func() map[string]string {
			return map[string]string{"RateLimit-Policy": `"api";q=1000;w=10`, "RateLimit": `"api";r=900;t=10`}
		}, true, 7, 245},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				hub := new(fleet.Hub)
				var served, refused, slow atomic.Int64
				base := roundTrip(func(r *http.Request) (*http.Response, error) {
					time.Sleep(40 * time.Millisecond)
					h, status, dead := http.Header{}, http.StatusOK, r.URL.Path == "/dead"
					if dead {
						refused.Add(1)
						status = http.StatusTooManyRequests
						h.Set("Retry-After", "60")
					} else {
						served.Add(1)
					}
					if !dead || tt.told {
						for name, value := range tt.fields() {
							h.Set(name, value)
						}
					}
					return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
				})
				var wg sync.WaitGroup
				for p := range 2 {
					f := fleet.New(hub, fleet.Options{})
					defer f.Close()
					c := &http.Client{Transport: &transport.Shaper{Base: base, Accounts: &quota.Accounts{Peers: f, Secret: &secret}}}
					for i := range 400 {
						wg.Go(func() {
							time.Sleep(time.Duration(250*i+40*p) * time.Millisecond)
							url := "https://api.example/things"
							if p == 0 && i%40 == 20 {
								url = "https://api.example/dead"
							}
							r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
							came := time.Now()
							if resp, err := c.Do(r); err == nil {
								resp.Body.Close()
								if resp.StatusCode == http.StatusOK && time.Since(came) > 200*time.Millisecond {
									slow.Add(1)
								}
							}
						})
					}
				}
				time.Sleep(101 * time.Second)
				cancel()
				wg.Wait()
				t.Log(served.Load(), refused.Load(), slow.Load())
				assert.EqualValues(t, 790, served.Load())
				assert.LessOrEqual(t, refused.Load(), tt.refused)
				assert.LessOrEqual(t, slow.Load(), tt.slow)
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The accounts of processes without the same secret have nothing in common.
func TestOtherSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(fleet.Hub)
		api := tenPerTen()
		f, g := fleet.New(hub, fleet.Options{}), fleet.New(hub, fleet.Options{})
		defer f.Close()
		defer g.Close()
		get(t, client(f, api), 1)
		other := &http.Client{Transport: &transport.Shaper{Base: slowly(api), Accounts: &quota.Accounts{Peers: g, Secret: &[32]byte{2}}}}
		get(t, other, 1)
		time.Sleep(2 * time.Second)
		assert.Equal(t, 1, f.Status().Peers)
		assert.Equal(t, 1, g.Status().Peers)
	})
}

// A turn that no process can have made is an error.
func TestHubInvalidTurn(t *testing.T) {
	for _, r := range []exchange.Request{
		{N: 1, Claims: []exchange.Claim{{Account: 1, Units: 1}}},
		{N: 1, Claims: []exchange.Claim{{Account: -1, Units: 1}}},
		{N: 1, Claims: []exchange.Claim{{Account: 0, Units: -1}}},
		{N: 0, Claims: []exchange.Claim{{Account: 0, Units: 1}}},
	} {
		_, err := new(fleet.Hub).Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Accounts: make([]exchange.Account, 1), Requests: []exchange.Request{r},
		})
		assert.Error(t, err)
	}
}

// If a process lacks units that another one has in flight, the other one is told: they may
// have been used, and what the server said then may leave more.
func TestHubAsksForWhatWasUsed(t *testing.T) {
	now := time.Unix(1, 0)
	hub := &fleet.Hub{Clock: func() time.Time { return now }}
	var words []exchange.Word
	hub.Listen(exchange.ID{}, func(w exchange.Word) { words = append(words, w) })
	turn := func(process string, seq uint64, a exchange.Account, wants int64) exchange.Granted {
		a.Quota, a.Basis = exchange.None, exchange.None
		turn := &exchange.Turn{Process: process, Seq: seq, Flights: exchange.None, Accounts: []exchange.Account{a}}
		if wants > 0 {
			turn.Requests = []exchange.Request{{N: wants, Claims: []exchange.Claim{{Units: 1}}}}
		}
		g, err := hub.Exchange(t.Context(), exchange.ID{}, turn)
		require.NoError(t, err)
		return g.Accounts[0]
	}
	one := turn("one", 1, exchange.Account{Figure: 3, Left: 10 * time.Second}, 3)
	assert.EqualValues(t, 3, one.Units)
	assert.Empty(t, words)
	now = now.Add(time.Second)
	other := turn("other", 1, exchange.Account{Figure: exchange.None}, 1)
	assert.True(t, other.Lacks)
	assert.Equal(t, []exchange.Word{{Return: true}}, words)
	other = turn("other", 2, exchange.Account{Figure: exchange.None}, 1)
	assert.True(t, other.Lacks)
	assert.Len(t, words, 1, "not again so soon")

	now = now.Add(time.Second)
	turn("one", 2, exchange.Account{Figure: 3, Left: 8 * time.Second, FigureVersion: one.Version}, 0) // the server counts otherwise
	assert.EqualValues(t, 1, turn("other", 3, exchange.Account{Figure: exchange.None}, 1).Units)
}

// What was spent in a window that is over is not spent in the next one, which is counted by the
// quota of the policy.
func TestHubCountsAnew(t *testing.T) {
	now := time.Unix(1, 0)
	hub := &fleet.Hub{Clock: func() time.Time { return now }}
	turn := func(seq uint64, spent, wants int64) exchange.Granted {
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: "one", Seq: seq, Flights: exchange.None,
			Accounts: []exchange.Account{{
				Quota: 10, Window: time.Second, Counts: true, Spent: spent, Served: spent,
				Figure: exchange.None, Left: exchange.None, Basis: exchange.None, BasisLeft: exchange.None,
			}},
			Requests: []exchange.Request{{N: wants, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
		return g.Accounts[0]
	}
	for seq := range uint64(4) {
		assert.EqualValues(t, 10, turn(2*seq+1, min(2, int64(seq)), 20).Units)
		now = now.Add(500 * time.Millisecond)
		assert.Zero(t, turn(2*seq+2, 10, 20).Units)
		now = now.Add(500 * time.Millisecond)
	}
}

// If processes are told different policies of one account, its figures are not those of one
// quota: each process goes by those that it is told.
func TestHubSeveralPolicies(t *testing.T) {
	now := time.Unix(1, 0)
	hub := &fleet.Hub{Clock: func() time.Time { return now }}
	seq := uint64(0)
	turn := func(process string, quota int64, window time.Duration, figure int64) exchange.Granted {
		seq++
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: process, Seq: seq, Flights: exchange.None,
			Accounts: []exchange.Account{{
				Quota: quota, Window: window, Figure: figure, Left: window, Basis: exchange.None, BasisLeft: exchange.None,
			}},
			Requests: []exchange.Request{{N: 1, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
		return g.Accounts[0]
	}
	hour := turn("one", 30, time.Hour, 0)
	assert.Equal(t, exchange.Reported, hour.State)
	assert.True(t, hour.Lacks)
	second := turn("other", 3, time.Second, exchange.None)
	assert.Equal(t, exchange.Open, second.State)
	assert.False(t, second.Lacks)
	second = turn("other", 3, time.Second, 2)
	assert.Equal(t, exchange.Reported, second.State)
	assert.EqualValues(t, 2, second.Available)
	hour = turn("one", 30, time.Hour, 0)
	assert.Equal(t, exchange.Reported, hour.State)
	assert.True(t, hour.Lacks)
	assert.Equal(t, exchange.Open, turn("other", 3, time.Second, exchange.None).State)
}

// Windows of another length are no other quota: what is left stays as it is. Where no policy tells the length,
// processes have seen different parts of a window.
func TestHubSeveralLengths(t *testing.T) {
	now := time.Unix(1, 0)
	hub := &fleet.Hub{Clock: func() time.Time { return now }}
	seq := uint64(0)
	turn := func(window time.Duration, figure int64) exchange.Granted {
		seq++
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: "one", Seq: seq, Flights: exchange.None,
			Accounts: []exchange.Account{{Quota: 30, Window: window, Figure: figure, Left: 5 * time.Second, Basis: exchange.None}},
		})
		require.NoError(t, err)
		return g.Accounts[0]
	}
	first := turn(-5*time.Second, 20)
	require.Equal(t, exchange.Reported, first.State)
	for _, window := range []time.Duration{-10 * time.Second, -5 * time.Second, 10 * time.Second, -11 * time.Second, 10 * time.Second, 0} {
		g := turn(window, exchange.None)
		assert.Equal(t, exchange.Reported, g.State, "%v", window)
		assert.Equal(t, first.Version, g.Version, "%v", window)
		assert.EqualValues(t, 20, g.Available, "%v", window)
	}
}

// turns makes turns at a Hub, one after another. What each of them tells of the account is of the version that the grant
// before told.
type turns struct {
	t       *testing.T
	hub     fleet.Hub
	now     time.Time
	seq     uint64
	version int64
}

func newTurns(t *testing.T) *turns {
	h := &turns{t: t, now: time.Unix(1, 0)}
	h.hub.Clock = func() time.Time { return h.now }
	return h
}

// turn is made so much later than the one before. The process wants as many units, for a request each.
func (h *turns) turn(process string, after time.Duration, a exchange.Account, wants int64) exchange.Granted {
	h.now = h.now.Add(after)
	h.seq++
	a.Basis, a.FigureVersion = exchange.None, h.version
	turn := &exchange.Turn{Process: process, Seq: h.seq, Flights: exchange.None, Accounts: []exchange.Account{a}}
	if wants > 0 {
		turn.Requests = []exchange.Request{{N: wants, Claims: []exchange.Claim{{Units: 1}}}}
	}
	g, err := h.hub.Exchange(h.t.Context(), exchange.ID{}, turn)
	require.NoError(h.t, err)
	h.version = g.Accounts[0].Version
	return g.Accounts[0]
}

// Where no policy tells the length of a window, a process that has seen more of one, or has told of more in error,
// changes nothing of what was spent: weighed windows are found at the first figure that says that all is still used, and
// one request looks. One that has seen less changes nothing at all.
func TestHubSeesLongerWindows(t *testing.T) {
	for _, c := range []struct {
		seen    time.Duration // at first
		shorter bool
		again   time.Duration
	}{
		{-10 * time.Second, false, 1250 * time.Millisecond},
		{-9 * time.Second, false, 1250 * time.Millisecond},
		{-70 * time.Second, true, 1250 * time.Millisecond},
		{-70 * time.Second, false, 10 * time.Second},
	} {
		h := newTurns(t)
		turn := func(after time.Duration, a exchange.Account) exchange.Granted {
			a.Quota = 100
			return h.turn("one", after, a, 1)
		}
		turn(0, exchange.Account{Window: c.seen, Figure: 99, Left: 10 * time.Second, Served: 1})
		turn(time.Second, exchange.Account{Window: c.seen, Figure: 0, Left: 9 * time.Second, Served: 99})
		require.EqualValues(t, 1, turn(9*time.Second, exchange.Account{Window: c.seen, Figure: exchange.None}).Units)
		g := turn(0, exchange.Account{Window: -10 * time.Second, Shorter: c.shorter, Figure: 0, Left: 10 * time.Second, Hold: time.Millisecond})
		g = turn(time.Millisecond, exchange.Account{Window: -10 * time.Second, Figure: exchange.None})
		assert.Equal(t, c.again-time.Millisecond, g.Again, "%+v", c)
	}
}

// Where nothing is left until the next whole second, one request looks when the policy gives one unit back. Others
// follow at that pace if it is served, and not if it is refused, even if the refusal has a figure. There is no such
// look where a figure has shown more than one unit. A process that does not know the length of a window changes nothing.
func TestHubLooksForSingleUnits(t *testing.T) {
	const pace = 66666 * time.Microsecond // of 20 a second
	for _, c := range []struct {
		name   string
		first  int64 // figure
		look   exchange.Account
		window time.Duration // that another process has seen
		again  time.Duration // after the look, for the unit after that of the other process
	}{
		{"served", 0, exchange.Account{Served: 1}, -time.Second, 2*pace - 10*time.Millisecond},
		{"other length", 0, exchange.Account{Served: 1}, 0, 2*pace - 10*time.Millisecond},
		{"refused", 0, exchange.Account{Hold: time.Millisecond}, -time.Second, 900 * time.Millisecond},
		{"several", 2, exchange.Account{}, -time.Second, 0},
	} {
		h := newTurns(t)
		turn := func(process string, after time.Duration, a exchange.Account) exchange.Granted {
			a.Quota = 20
			return h.turn(process, after, a, 2)
		}
		figure := func(a exchange.Account) exchange.Account {
			a.Window, a.Left = -time.Second, time.Second
			return a
		}
		for range 2 {
			turn("one", 0, figure(exchange.Account{Figure: c.first}))
		}
		g := turn("one", 0, figure(exchange.Account{}))
		if c.first > 0 {
			assert.Equal(t, time.Second, g.Again, c.name)
			continue
		}
		require.Equal(t, 90*time.Millisecond, g.Again, c.name)
		require.EqualValues(t, 1, turn("one", g.Again, exchange.Account{Window: -time.Second, Figure: exchange.None}).Units, c.name)
		turn("one", 0, figure(c.look))
		turn("other", 0, exchange.Account{Window: c.window, Figure: exchange.None})
		g = turn("one", 10*time.Millisecond, exchange.Account{Window: -time.Second, Figure: exchange.None})
		assert.Equal(t, c.again, g.Again, c.name)
	}
}

// Where units of weighed windows come back slowly, those that lack one are told to come when it is there: the figure has
// what came back while its request was on its way, 40 ms. If what was ahead of the first of them has gone, it is told at
// once. Where units come back quickly, or that is not known yet, none is.
func TestHubTellsOfUnitsThatComeSooner(t *testing.T) {
	for _, c := range []struct {
		name                  string
		quota                 int64
		looks                 bool          // a request finds that units are back
		first, second, sooner time.Duration // sooner is the second, when the first has gone
		words                 int
	}{
		{"slow", 20, true, 541 * time.Millisecond, 1041 * time.Millisecond, 491 * time.Millisecond, 1},
		{"quick", 100, true, 101 * time.Millisecond, 201 * time.Millisecond, 101 * time.Millisecond, 0},
		{"not known yet", 20, false, 1249 * time.Millisecond, 1249 * time.Millisecond, 1199 * time.Millisecond, 0},
	} {
		h := newTurns(t)
		turn := func(process string, after time.Duration, a exchange.Account, wants int64) exchange.Granted {
			a.Quota, a.Window = c.quota, 10*time.Second
			return h.turn(process, after, a, wants)
		}
		nothing := exchange.Account{Figure: exchange.None}
		turn("one", 0, exchange.Account{Figure: c.quota - 1, Left: 10 * time.Second, Served: 1}, 1)
		turn("one", time.Second, exchange.Account{Figure: 0, Left: 9 * time.Second, Served: c.quota - 1}, 1)
		require.EqualValues(t, 1, turn("one", 9*time.Second, nothing, 1).Units, c.name)
		turn("one", 0, exchange.Account{Figure: 0, Left: 10 * time.Second, Hold: time.Microsecond}, 1)
		if c.looks {
			require.EqualValues(t, 1, turn("one", 1250*time.Millisecond, nothing, 1).Units, c.name)
			for _, served := range []int64{1, 0} {
				turn("one", 0, exchange.Account{Figure: 0, Left: 8750 * time.Millisecond, Served: served}, 0)
			}
		}
		assert.Equal(t, c.first, turn("other", time.Millisecond, nothing, 1).Again, c.name)
		assert.Equal(t, c.second, turn("one", 0, nothing, 1).Again, c.name)
		words := 0
		h.hub.Listen(exchange.ID{}, func(w exchange.Word) {
			words++
			assert.Equal(t, []string{"one"}, w.Processes, c.name)
		})
		turn("other", 50*time.Millisecond, nothing, 0)
		assert.Equal(t, c.words, words, c.name)
		assert.Equal(t, c.sooner, turn("one", 0, nothing, 1).Again, c.name)
	}
}

// Where units come back one at a time, the next one follows the last as soon as that was served, and the process that
// is the first is told. Until then, there is a margin, twice of it while no other unit is in flight.
func TestHubFollowsSingleUnits(t *testing.T) {
	const each, lag = 50 * time.Millisecond, 16666 * time.Microsecond // of 20 a second
	const told = 40 * time.Millisecond                                // after the unit was granted
	for _, c := range []struct {
		name     string
		inFlight int64 // of a third process
		answer   exchange.Account
		next     time.Duration // after the grant
		wakes    int
	}{
		{"served", 0, exchange.Account{Served: 1, ServedAgo: 35 * time.Millisecond}, told - 35*time.Millisecond + each, 1},
		{"late", 0, exchange.Account{Has: 1, Figure: exchange.None}, each + 2*lag, 0},
		{"refused", 0, exchange.Account{Hold: time.Microsecond}, each + 2*lag, 0},
		{"one of two refused", 0, exchange.Account{Served: 1, Refused: true}, each + 2*lag, 0},
		{"one of two", 1, exchange.Account{Served: 1, ServedAgo: 35 * time.Millisecond}, each + lag, 0},
	} {
		h := newTurns(t)
		var words []exchange.Word
		h.hub.Listen(exchange.ID{}, func(w exchange.Word) {
			if !w.Return && w.Hold == 0 {
				words = append(words, w)
			}
		})
		turn := func(process string, after time.Duration, a exchange.Account) exchange.Granted {
			wants := int64(2)
			if a.Has > 0 {
				wants = 0
			}
			a.Quota, a.Window, a.Left = 20, -time.Second, time.Second
			return h.turn(process, after, a, wants)
		}
		nothing := exchange.Account{Figure: exchange.None}
		for range 2 {
			turn("one", 0, exchange.Account{})
		}
		require.EqualValues(t, 1, turn("one", turn("one", 0, exchange.Account{}).Again, nothing).Units, c.name)
		first := turn("one", 0, exchange.Account{Served: 1}).Again
		before := each + 2*lag
		if c.inFlight > 0 {
			before = each + lag
			turn("third", 0, exchange.Account{Has: c.inFlight, Figure: exchange.None})
		}
		require.EqualValues(t, 1, turn("one", first, nothing).Units, c.name)
		assert.Equal(t, before, turn("other", 0, nothing).Again, c.name)
		turn("one", told, c.answer)
		assert.Len(t, words, c.wakes, c.name)
		for _, w := range words {
			assert.Equal(t, []string{"other"}, w.Processes, c.name)
		}
		assert.Equal(t, c.next-told-time.Millisecond, turn("other", time.Millisecond, nothing).Again, c.name)
		assert.EqualValues(t, 1, turn("other", c.next-told-time.Millisecond, nothing).Units, c.name)
	}
}

// Units do not come back one at a time if two figures in a row say that many are left. One alone may be an error.
func TestHubFiguresOfMany(t *testing.T) {
	for _, c := range []struct {
		figures []int64
		units   int64 // after the last one, of two
	}{
		{[]int64{0}, 0},
		{[]int64{19}, 1},
		{[]int64{10, 10}, 1},
		{[]int64{19, 0, 19}, 1},
		{[]int64{19, 18}, 2},
	} {
		h := newTurns(t)
		turn := func(after time.Duration, a exchange.Account) exchange.Granted {
			a.Quota, a.Window, a.Left = 20, time.Second, time.Second
			return h.turn("one", after, a, 2)
		}
		for range 2 {
			turn(0, exchange.Account{})
		}
		require.EqualValues(t, 1, turn(turn(0, exchange.Account{}).Again, exchange.Account{Figure: exchange.None}).Units)
		g := turn(0, exchange.Account{Served: 1})
		for _, figure := range c.figures {
			g = turn(time.Millisecond, exchange.Account{Figure: figure})
		}
		assert.Equal(t, c.units, g.Units, "%v", c.figures)
	}
}

// Of what is left, as much is kept for processes that were to come and have not as would be
// theirs: they may be alive, and alone. But one unit may always go.
func TestHubKeepsThePartOfTheSilent(t *testing.T) {
	now := time.Unix(1, 0)
	hub := &fleet.Hub{Clock: func() time.Time { return now }}
	turn := func(process string, seq uint64, figure, wants int64) exchange.Granted {
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: process, Seq: seq, Flights: exchange.None,
			Accounts: []exchange.Account{{Figure: figure, FigureVersion: 1 << 60, Left: 5 * time.Second, Quota: exchange.None, Basis: exchange.None}},
			Requests: []exchange.Request{{N: wants, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
		return g.Accounts[0]
	}
	for _, process := range []string{"one", "two", "three", "four"} {
		turn(process, 1, 0, 40)
	}
	now = now.Add(6 * time.Second) // another window
	g := turn("one", 2, exchange.None, 40)
	assert.EqualValues(t, 1, g.Units, "finds out")
	now = now.Add(2 * time.Second) // the others were to come
	ask := func(seq uint64, figure int64) int64 {
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: "one", Seq: seq, Flights: exchange.None,
			Accounts: []exchange.Account{{Figure: figure, FigureVersion: g.Version, Left: 3 * time.Second, Quota: exchange.None, Basis: exchange.None}},
			Requests: []exchange.Request{{N: 40, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
		return g.Accounts[0].Units
	}
	assert.EqualValues(t, 5, ask(3, 20), "a quarter")
	assert.EqualValues(t, 1, ask(4, 1))
}

// What a process has spent in a window counts as its share of it. In the next window, what
// it got beyond the mean still does, if others waited for it; else all is forgotten.
func TestHubSharesWhatIsSpent(t *testing.T) {
	for _, c := range []struct {
		first      int64 // what one spends in the first window; the other waits for the rest
		one, other int64
	}{{60, 44, 55}, {100, 49, 50}} {
		now := time.Unix(1, 0)
		hub := &fleet.Hub{Clock: func() time.Time { return now }}
		seq := uint64(0)
		turn := func(process string, wants int64, a exchange.Account) exchange.Granted {
			seq++
			a.Quota, a.Window, a.Basis = 100, 10*time.Second, exchange.None
			turn := &exchange.Turn{Process: process, Seq: seq, Flights: exchange.None, Accounts: []exchange.Account{a}}
			if wants > 0 {
				turn.Requests = []exchange.Request{{N: wants, Claims: []exchange.Claim{{Units: 1}}}}
			}
			g, err := hub.Exchange(t.Context(), exchange.ID{}, turn)
			require.NoError(t, err)
			return g.Accounts[0]
		}
		served := func(units, figure int64, left time.Duration, version int64) exchange.Account {
			return exchange.Account{Figure: figure, FigureVersion: version, Left: left * time.Second, Served: units, Landed: true}
		}
		nothing := exchange.Account{Figure: exchange.None}
		one := turn("one", c.first, served(0, 100, 10, 0))
		assert.Equal(t, c.first, one.Units, "nothing else waits")
		turn("one", 0, served(c.first, 100-c.first, 9, one.Version))
		if c.first < 100 {
			assert.Equal(t, 100-c.first, turn("other", 60, nothing).Units)
			assert.True(t, turn("one", 60, nothing).Lacks)
			assert.True(t, turn("other", 60, served(100-c.first, 0, 9, 1)).Lacks)
		}
		now = now.Add(10 * time.Second)
		one = turn("one", 60, nothing)
		assert.EqualValues(t, 1, one.Units, "finds out")
		assert.True(t, turn("other", 60, nothing).Lacks)
		one = turn("one", 60, served(1, 99, 10, one.Version))
		assert.Equal(t, c.one, one.Units)
		assert.Equal(t, c.other, turn("other", 60, nothing).Units)
	}
}

// While others than the fleet use a window, no more than two fifths of what is left are out:
// no figure is true for long. But one unit may always go.
func TestHubBesideStrangers(t *testing.T) {
	for figure, want := range map[int64]int64{99: 99, 98: 98, 97: 38, 50: 20, 5: 2, 1: 1, 0: 0} { // of 100, of which none is ours
		hub := &fleet.Hub{Clock: func() time.Time { return time.Unix(1, 0) }}
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: "one", Seq: 1, Flights: exchange.None,
			Accounts: []exchange.Account{{Figure: figure, Left: 5 * time.Second, Quota: 100, Window: 10 * time.Second, Basis: exchange.None}},
			Requests: []exchange.Request{{N: 200, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
		assert.Equal(t, want, g.Accounts[0].Units, "%d left", figure)
	}
}

// A refused request that has to wait for longer than the next unit takes, and a figure that has grown as the
// policy says, show a bucket: what costs ten units is not sent as soon as there is one. A figure that has not
// grown so, or a wait for the next unit, shows nothing.
func TestHubFindsABucketByARefusal(t *testing.T) {
	told, seen := []time.Duration{time.Minute}, []time.Duration{-time.Minute, -30 * time.Second} // by one process, and by another
	for _, c := range []struct {
		figure  int64
		hold    time.Duration
		windows []time.Duration
		early   int64 // granted when one unit is there
	}{
		{1, 9 * time.Second, told, 0}, {4, 6 * time.Second, told, 10}, {1, 2 * time.Second, told, 10},
		{1, 9 * time.Second, seen, 0}, {4, 6 * time.Second, seen, 10}, {1, 2 * time.Second, seen, 10},
	} {
		now := time.Unix(100, 0)
		hub := &fleet.Hub{Clock: func() time.Time { return now }}
		seq, version := uint64(0), int64(0)
		turn := func(after time.Duration, a exchange.Account) int64 {
			now = now.Add(after)
			a.Quota, a.Window, a.Basis, a.FigureVersion = 60, c.windows[seq%uint64(len(c.windows))], exchange.None, version
			seq++
			if a.Left = time.Second; a.Figure == exchange.None {
				a.Left = exchange.None
			}
			g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
				Process: "one", Seq: seq, Flights: exchange.None, Accounts: []exchange.Account{a},
				Requests: []exchange.Request{{N: 1, Claims: []exchange.Claim{{Units: 10}}}},
			})
			require.NoError(t, err)
			version = g.Accounts[0].Version
			return g.Accounts[0].Units
		}
		nothing := exchange.Account{Figure: exchange.None}
		turn(0, exchange.Account{Figure: 1})
		turn(0, exchange.Account{Figure: 1})
		turn(9*time.Second, nothing)
		turn(0, exchange.Account{Figure: 0, Served: 10, Landed: true})
		turn(1100*time.Millisecond, nothing)
		turn(0, exchange.Account{Figure: c.figure, Hold: c.hold, Landed: true})
		turn(c.hold+100*time.Millisecond, nothing)
		turn(0, exchange.Account{Figure: 0, Served: 10, Landed: true})
		assert.Equal(t, c.early, turn(1100*time.Millisecond, nothing), "%+v", c)
	}
}

// In real time, too, what is granted arrives: two processes find each other.
func TestRealTime(t *testing.T) {
	hub := new(fleet.Hub)
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1e6, Window: time.Hour}}}
	f, g := fleet.New(hub, fleet.Options{}), fleet.New(hub, fleet.Options{})
	defer f.Close()
	defer g.Close()
	one, other := client(f, api), client(g, api)
	for began := time.Now(); f.Status().Peers != 2; {
		get(t, one, 1)
		get(t, other, 1)
		require.Less(t, time.Since(began), time.Minute)
	}
}

// stuttering is a Hub that is a millisecond away, and does not answer for two of each seven
// seconds, whatever the context says.
type stuttering struct {
	fleet.Hub
	began time.Time
}

func (s *stuttering) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	if in := time.Since(s.began) % (7 * time.Second); in > 5*time.Second {
		time.Sleep(7*time.Second - in)
	}
	time.Sleep(time.Millisecond)
	return s.Hub.Exchange(ctx, origin, turn)
}

// No request waits for the store for longer than 100 ms, whatever the store was about to do
// when it stopped to answer.
func TestWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1e6, Window: time.Hour}}}
		store := &stuttering{began: time.Now()}
		var wg sync.WaitGroup
		var longest, waited atomic.Int64
		for n := range uint64(3) {
			f := fleet.New(store, fleet.Options{})
			defer f.Close()
			c := client(f, api)
			rnd := rand.New(rand.NewPCG(1, n))
			wg.Go(func() {
				for time.Since(store.began) < 70*time.Second {
					time.Sleep(time.Duration(rnd.IntN(int(200 * time.Millisecond))))
					for range 1 + rnd.IntN(60) {
						wg.Go(func() {
							began := time.Now()
							resp, err := c.Get("https://api.example/things")
							if !assert.NoError(t, err) {
								return
							}
							resp.Body.Close()
							wait := int64(time.Since(began) - 50*time.Millisecond)
							if wait > 0 {
								waited.Add(1)
							}
							for l := longest.Load(); wait > l && !longest.CompareAndSwap(l, wait); l = longest.Load() {
							}
						})
					}
				}
			})
		}
		wg.Wait()
		assert.Zero(t, api.Counts().Refused)
		assert.Greater(t, waited.Load(), int64(100), "requests that waited for the store")
		assert.LessOrEqual(t, time.Duration(longest.Load()), 100*time.Millisecond)
		t.Logf("%d waited, for %v at most; %d served", waited.Load(), time.Duration(longest.Load()), api.Counts().Served)
	})
}

// halting is a Hub that answers within a millisecond, once after 30 ms, and then never.
type halting struct {
	fleet.Hub
	slow atomic.Int64 // 0: all answer quickly; 1: the next one does not; 2: it has come
}

func (s *halting) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	switch s.slow.Load() {
	case 0:
		time.Sleep(time.Millisecond)
	case 1:
		s.slow.Store(2)
		time.Sleep(30 * time.Millisecond)
	default:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Hub.Exchange(ctx, origin, turn)
}

// A request that comes while a turn is out waits for that turn and for its own, but no longer than
// 100 ms for both.
func TestWaitsForTwoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1e6, Window: time.Hour}}}
		store := new(halting)
		f := fleet.New(store, fleet.Options{})
		defer f.Close()
		c := client(f, api)
		get(t, c, 1)
		time.Sleep(3 * time.Second)
		store.slow.Store(1)
		var wg sync.WaitGroup
		var longest atomic.Int64
		for n := range 40 {
			time.Sleep(time.Duration(n%2) * time.Millisecond)
			for range 20 {
				wg.Go(func() {
					began := time.Now()
					get(t, c, 1)
					wait := int64(time.Since(began) - 50*time.Millisecond)
					for l := longest.Load(); wait > l && !longest.CompareAndSwap(l, wait); l = longest.Load() {
					}
				})
			}
		}
		wg.Wait()
		assert.EqualValues(t, 2, store.slow.Load())
		// Which requests of one instant the slow turn asks for is not determined. If one of them is among the
		// first that wait for the second turn, but the slow one lets it go, those that wait came 1 ms later.
		wait := time.Duration(longest.Load())
		assert.LessOrEqual(t, wait, 100*time.Millisecond)
		assert.GreaterOrEqual(t, wait, 99*time.Millisecond)
	})
}

// The clock of a store that is set, or that is another's after a failover, costs one turn.
func TestClockOfTheStore(t *testing.T) {
	for _, d := range []time.Duration{time.Second, -time.Second, time.Hour, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var ahead atomic.Int64
			hub := &away{Hub: fleet.Hub{Clock: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}}
			var voids atomic.Int64
			f := fleet.New(hub, fleet.Options{Trace: &fleet.Trace{Exchanged: func(i fleet.ExchangedInfo) {
				if i.Void {
					voids.Add(1)
				}
			}}})
			defer f.Close()
			api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1e6, Window: 24 * time.Hour}}}
			c := client(f, api)
			assert.EqualValues(t, 50, get(t, c, 50))
			hub.takes.Store(int64(10 * time.Millisecond)) // the quickest answer was before
			assert.EqualValues(t, 50, get(t, c, 50))
			time.Sleep(time.Second)
			ahead.Store(int64(d))
			for range 20 {
				began := time.Now()
				assert.EqualValues(t, 50, get(t, c, 50))
				assert.LessOrEqual(t, time.Since(began), 150*time.Millisecond, "set by %v", d)
				time.Sleep(time.Second)
			}
			assert.LessOrEqual(t, voids.Load(), int64(1), "set by %v", d)
			assert.True(t, f.Status().Linked)
			hub.late.Store(true)
			assert.EqualValues(t, 50, get(t, c, 50))
			time.Sleep(time.Second)
			assert.False(t, f.Status().Linked, "set by %v: what takes nothing is as good as no store", d)
		})
	}
}

// away is a Hub that is some time away, and that may carry out turns too late.
type away struct {
	fleet.Hub
	takes atomic.Int64
	late  atomic.Bool
}

func (a *away) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	time.Sleep(time.Duration(a.takes.Load()) + time.Millisecond)
	if a.late.Load() {
		turn.AsOf -= time.Second
	}
	return a.Hub.Exchange(ctx, origin, turn)
}

// If the clock of the store is set back, what was to be over soon is over as soon as it was
// to be.
func TestHubClockSetBack(t *testing.T) {
	now := time.Unix(10_000, 0)
	hub := &fleet.Hub{Clock: func() time.Time { return now }}
	seq := uint64(0)
	turn := func(a exchange.Account) exchange.Granted {
		seq++
		a.Quota, a.Window, a.Basis = 100, 10*time.Second, exchange.None
		g, err := hub.Exchange(t.Context(), exchange.ID{}, &exchange.Turn{
			Process: "one", Seq: seq, Flights: exchange.None, Accounts: []exchange.Account{a},
			Requests: []exchange.Request{{N: 1, Claims: []exchange.Claim{{Units: 1}}}},
		})
		require.NoError(t, err)
		return g.Accounts[0]
	}
	g := turn(exchange.Account{Figure: 0, Left: 4 * time.Second, Hold: 5 * time.Second, Refused: true})
	assert.Equal(t, 5*time.Second, g.Hold)
	now = now.Add(2 * time.Second)
	g = turn(exchange.Account{Figure: exchange.None, Left: exchange.None})
	assert.Equal(t, 3*time.Second, g.Hold)
	now = now.Add(-time.Hour)
	g = turn(exchange.Account{Figure: exchange.None, Left: exchange.None})
	assert.Equal(t, 3*time.Second, g.Hold)
	assert.EqualValues(t, 0, g.Units)
	now = now.Add(3 * time.Second)
	g = turn(exchange.Account{Figure: exchange.None, Left: exchange.None})
	assert.EqualValues(t, 1, g.Units, "one looks what there is")
}

// A distant is a Store that is so far away.
type distant struct {
	fleet.Store
	trip time.Duration
}

func (d *distant) Exchange(ctx context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	time.Sleep(d.trip / 2)
	defer time.Sleep(d.trip / 2)
	return d.Store.Exchange(ctx, origin, turn)
}

// Requests that do not wait, or less long than the store takes to answer, are not worse off
// because their process belongs to a fleet: what they ask for fits into the quota, so all are served.
func TestNoDelay(t *testing.T) {
	for name, tt := range map[string]struct {
		maxDelay, deadline, trip time.Duration
	}{
		"no delay":            {maxDelay: transport.NoDelay, trip: time.Millisecond},
		"a distant store":     {maxDelay: 5 * time.Millisecond, trip: 20 * time.Millisecond},
		"a deadline":          {deadline: 60 * time.Millisecond, trip: 80 * time.Millisecond},
		"more than the store": {maxDelay: 5 * time.Millisecond, trip: time.Millisecond},
	} {
		for _, p := range []transporttest.Policy{
			{Name: "api", Quota: 20, Window: 2 * time.Second},
			{Name: "api", Quota: 10, Window: time.Second, Algorithm: transporttest.TokenBucket},
			{Name: "api", Quota: 2, Algorithm: transporttest.Concurrency},
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					api := &transporttest.API{Policies: []transporttest.Policy{p}}
					base := &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 10 * time.Millisecond }}
					hub := new(fleet.Hub)
					var all sync.WaitGroup
					for i := range 2 {
						f := fleet.New(&distant{hub, tt.trip}, fleet.Options{})
						shaper := &transport.Shaper{
							Base: base, MaxDelay: tt.maxDelay,
							Accounts: &quota.Accounts{Peers: f, Secret: &secret},
						}
						all.Go(func() {
							defer f.Close()
							time.Sleep(time.Duration(i) * 203 * time.Millisecond)
							for range 50 {
								ctx, cancel := context.Background(), func() {}
								if tt.deadline > 0 {
									ctx, cancel = context.WithTimeout(ctx, tt.deadline)
								}
								r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/things", nil)
								require.NoError(t, err)
								resp, err := shaper.RoundTrip(r)
								if assert.NoError(t, err) {
									assert.Equal(t, http.StatusOK, resp.StatusCode)
									resp.Body.Close()
								}
								cancel()
								time.Sleep(400 * time.Millisecond)
							}
						})
					}
					all.Wait()
					assert.EqualValues(t, 100, api.Counts().Served)
				})
			})
		}
	}
}

// Of 30 processes that come to an unknown server at once, ten send a request. The others wait for an answer, and then
// for what it says is left; also if the policy has no name.
func TestFirstContact(t *testing.T) {
	for name, c := range map[string]*struct {
		api     transporttest.API
		refused int64
		within  time.Duration
	}{
		"a draft":       {transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 7, Window: 10 * time.Second}}}, 3, 42 * time.Second},
		"X-RateLimit":   {transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 7, Window: 10 * time.Second}}, Dialect: parse.VendorFields}, 3, 42 * time.Second},
		"tells nothing": {transporttest.API{}, 0, 150 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, hub := &c.api, new(fleet.Hub)
				var sent atomic.Int64
				base := &transporttest.Transport{Handler: api, Latency: func() time.Duration {
					return 50*time.Millisecond + time.Duration(sent.Add(1))*time.Microsecond // no two answers at once
				}}
				began := time.Now()
				var wg sync.WaitGroup
				for i := range 30 {
					f := fleet.New(hub, fleet.Options{})
					defer f.Close()
					a := &quota.Accounts{Secret: &secret, Peers: f, Jitter: func() float64 { return .5 }}
					client := &http.Client{Transport: &transport.Shaper{Base: base, Accounts: a}}
					wg.Go(func() {
						time.Sleep(time.Duration(i) * time.Microsecond)
						for get(t, client, 1) == 0 {
						}
					})
				}
				wg.Wait()
				t.Log(api.Counts(), time.Since(began))
				assert.LessOrEqual(t, api.Counts().Refused, c.refused)
				assert.LessOrEqual(t, time.Since(began), c.within)
			})
		})
	}
}
