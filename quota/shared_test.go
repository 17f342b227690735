package quota_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
)

// silentPeers never answer.
type silentPeers struct{ shared atomic.Pointer[quota.Shared] }

func (p *silentPeers) Due(s *quota.Shared) { p.shared.Store(s) }

// Check says of the first request of a fleet what that request does: it waits for the
// others for a moment, however long the origin has been known.
func TestCheckOfTheFirstOfAFleet(t *testing.T) {
	for _, age := range []time.Duration{1, ms, 25 * ms, sec} { // of the origin
		synctest.Test(t, func(t *testing.T) {
			o := (&quota.Accounts{Peers: new(silentPeers)}).Origin(testOrigin)
			check := func() (time.Duration, quota.Reason) {
				ask := claimOf("api")
				r, _ := o.Check(t.Context(), time.Now(), &ask)
				if r == nil {
					return 0, 0
				}
				return r.RetryAfter, r.Cause
			}
			check() // begins the origin
			time.Sleep(age)
			wait, why := check()
			assert.Equal(t, 25*ms, wait, "an origin that is %v old", age)
			assert.Equal(t, quota.ReasonFirstFlight, why)
			began := time.Now()
			var l quota.Lease
			ask := claimOf("api")
			require.NoError(t, o.Admit(t.Context(), began, &ask, &l))
			assert.Equal(t, wait, time.Since(began))
			wait, _ = check()
			assert.Zero(t, wait, "the others have not answered")
		})
	}
}

// Once the first turn has failed, requests do not wait for the others.
func TestFirstTurnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := new(silentPeers)
		o := (&quota.Accounts{Peers: peers}).Origin(testOrigin)
		time.AfterFunc(ms, func() {
			s := peers.shared.Load()
			turn, _ := s.Turn(time.Now())
			assert.NotNil(t, turn)
			s.Failed(time.Now())
		})
		began := time.Now()
		for range 2 {
			var l quota.Lease
			ask := claimOf("api")
			require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
			assert.Equal(t, ms, time.Since(began))
		}
	})
}

// Accounts.Jitter is called once for each turn that fails, with no lock held, whichever call finds that it has failed.
func TestJitterOfTurns(t *testing.T) {
	for name, fails := range map[string]func(k *talk, turn *exchange.Turn){
		"Failed": func(k *talk, turn *exchange.Turn) { k.peers.shared.Load().Failed(k.now) },
		"Void": func(k *talk, turn *exchange.Turn) {
			g := &exchange.Grant{Void: true, Accounts: make([]exchange.Granted, len(turn.Accounts))}
			k.peers.shared.Load().Heard(k.now, k.now, g)
		},
		"late": func(k *talk, turn *exchange.Turn) { k.now = k.now.Add(turn.Timeout) },
		"very late": func(k *talk, turn *exchange.Turn) {
			k.now = k.now.Add(2 * turn.Timeout)
			k.o.Check(k.t.Context(), k.now, k.ask())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				drawn := 0
				var k *talk
				k = newTalkOf(t, &quota.Accounts{Jitter: func() float64 {
					drawn++
					assert.True(t, k.o.Unlocked())
					return 0.5
				}}, 1000, 2*ms)
				k.queue(new(quota.Lease))
				fails(k, k.turn())
				shared := k.peers.shared.Load()
				shared.Turn(k.now)
				_, linked := shared.Peers()
				require.False(t, linked)
				k.due(150 * ms)
				k.due(150 * ms)
				assert.Equal(t, 1, drawn)
				k.now = k.now.Add(150 * ms)
				shared.Goodbye(k.now)
				assert.Equal(t, 1, drawn)
			})
		})
	}
}

// A turn that was not answered in time puts off the next one, and Jitter puts that off further. An answer that comes late
// shows that the others can be reached: then the next turn departs at once.
func TestLateAnswerIsFollowedByATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalkOf(t, &quota.Accounts{Jitter: func() float64 { return 0.5 }}, 1000, 2*ms)
		k.queue(new(quota.Lease))
		sent, turn := k.now, k.turn()
		k.now = k.now.Add(2 * turn.Timeout)
		k.o.Check(t.Context(), k.now, k.ask())
		shared := k.peers.shared.Load()
		shared.Heard(sent, k.now, &exchange.Grant{Accounts: make([]exchange.Granted, len(turn.Accounts))})
		next, _ := shared.Turn(k.now)
		assert.NotNil(t, next)
	})
}

// With a scope that is evicted goes the record of its first request, and what it has found, also if the origin
// never answers.
func TestContactsAreEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &talk{t: t, now: time.Now()}
		k.o = (&quota.Accounts{Peers: &k.peers}).Origin(testOrigin)
		for i := range byte(20) {
			ask := claimOf("")
			ask.Scope = fmt.Sprint(i)
			l := new(quota.Lease)
			_ = k.o.Try(k.now, &ask, l)
			k.o.Queue(k.now, &ask, l) // it waits for the store
			if i%2 == 0 {
				var g exchange.Grant
				for range k.turn().Accounts {
					g.Accounts = append(g.Accounts, exchange.Granted{State: exchange.Open, Found: []exchange.ID{{i + 1}}, Left: exchange.None, Again: sec})
				}
				k.peers.shared.Load().Heard(k.now, k.now, &g)
			}
			k.o.Unqueue(l)
			k.now = k.now.Add(sec)
		}
		assert.Equal(t, 1+20+20+20+10, k.o.SharedAccounts())
		k.o.EvictAll()
		assert.Equal(t, 1, k.o.SharedAccounts(), "the origin's")
	})
}

// A talk is one process that talks to a store which says what the test wants. All
// happens at instants of the test, in its own goroutine.
type talk struct {
	t     *testing.T
	peers silentPeers
	o     *quota.Origin
	now   time.Time
	id    exchange.ID      // of the account of the policy
	grant exchange.Granted // of that account
}

// newTalk returns a process that has heard from the store, a round trip away, that so
// many units are left for ten seconds, and of which it has none.
func newTalk(t *testing.T, available int64, trip time.Duration) *talk {
	return newTalkOf(t, new(quota.Accounts), available, trip)
}

func newTalkOf(t *testing.T, a *quota.Accounts, available int64, trip time.Duration) *talk {
	k := &talk{t: t, now: time.Now(), grant: exchange.Granted{
		Version: 1, State: exchange.Reported, Available: available, Left: 10 * sec, Again: 10 * sec, Peers: 2,
	}}
	a.Peers = &k.peers
	k.o = a.Origin(testOrigin)
	err := k.o.Try(k.now, k.ask(), new(quota.Lease))
	require.Error(t, err, "it waits for the store")
	l := k.queue(new(quota.Lease))
	k.heard(trip, k.turn())
	k.o.Unqueue(l)
	k.now = k.now.Add(sec)
	return k
}

func (k *talk) ask() *quota.Ask {
	ask := claimOf("api")
	ask.MaxDelay = quota.NoDelay
	return &ask
}

// queue has a request wait in line, again if it has been there.
func (k *talk) queue(l *quota.Lease) *quota.Lease {
	k.o.Queue(k.now, k.ask(), l)
	return l
}

// goes lets a request go that waits.
func (k *talk) goes(l *quota.Lease) *quota.Lease {
	k.t.Helper()
	gone := new(quota.Lease)
	require.NoError(k.t, k.o.Try(k.now, k.ask(), gone))
	k.o.Unqueue(l)
	return gone
}

// turn takes a turn that is due now.
func (k *talk) turn() *exchange.Turn {
	k.t.Helper()
	turn, _ := k.peers.shared.Load().Turn(k.now)
	require.NotNil(k.t, turn)
	return turn
}

// due requires that the next turn is due after that time, if nothing happens.
func (k *talk) due(after time.Duration) {
	k.t.Helper()
	turn, at := k.peers.shared.Load().Turn(k.now)
	require.Nil(k.t, turn)
	require.Equal(k.t, after, at.Sub(k.now))
}

// heard answers a turn after a round trip.
func (k *talk) heard(trip time.Duration, turn *exchange.Turn) {
	for _, r := range turn.Requests {
		k.id = turn.Accounts[r.Claims[0].Account].ID
	}
	var g exchange.Grant
	for _, a := range turn.Accounts {
		if a.ID == k.id {
			g.Accounts = append(g.Accounts, k.grant)
		} else {
			g.Accounts = append(g.Accounts, exchange.Granted{Version: 1, Left: exchange.None, Again: 10 * sec, Peers: 2})
		}
	}
	sent := k.now
	k.now = k.now.Add(trip)
	k.peers.shared.Load().Heard(sent, k.now, &g)
}

// What has come for those that wait is theirs: the next turn, which deals anew with all
// that they have not taken, leaves them the time to take it.
func TestGrantIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 50, ms)
		k.grant.Units, k.grant.Again = 2, 0
		one, two := k.queue(new(quota.Lease)), k.queue(new(quota.Lease))
		k.heard(ms, k.turn())
		k.due(2 * ms)
		k.goes(one)
		k.due(2 * ms)
		third := k.queue(new(quota.Lease))
		k.goes(two)
		turn := k.turn() // nothing is left to be taken
		assert.EqualValues(t, 1, turn.Requests[0].N)
		k.heard(ms, turn)
		k.now = k.now.Add(2 * ms)
		k.queue(third) // it had its turn and did not depart
		assert.EqualValues(t, 1, k.turn().Requests[0].N)
	})
}

// A request that was woken, and goes on waiting, does not ask again before the store has
// told it to.
func TestWokenInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 50, ms)
		k.grant.Again = sec
		l := k.queue(new(quota.Lease))
		k.heard(ms, k.turn())
		k.due(sec)
		k.queue(l)
		k.due(sec)
	})
}

// If a request that has asked for units does not wait any more, the store is told soon: it keeps
// none for it then.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 50, ms)
		time.Sleep(time.Until(k.now))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ask := claimOf("api")
			ended <- k.o.Admit(ctx, time.Now(), &ask, new(quota.Lease))
		}()
		synctest.Wait()
		turn := k.turn()
		require.Len(t, turn.Requests, 1)
		k.heard(ms, turn)
		time.Sleep(ms)
		k.due(10*sec - ms)
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		k.due(19 * ms)
		k.now = k.now.Add(19 * ms)
		assert.Empty(t, k.turn().Requests)
	})
}

// Work that does not wait, or less long than the store takes to answer, departs if it could
// without the others. Then they are told of it. What only looks changes nothing.
func TestHurried(t *testing.T) {
	for delay, trip := range map[time.Duration]time.Duration{quota.NoDelay: ms, 39 * ms: 20 * ms} {
		synctest.Test(t, func(t *testing.T) {
			k := newTalk(t, 2, trip)
			ask := k.ask()
			ask.MaxDelay = delay
			for range 3 {
				r, _ := k.o.Check(t.Context(), k.now, ask)
				require.Nil(t, r)
				stock, out := k.o.SharedUnits(k.now)
				require.Zero(t, stock+out)
			}
			for range 2 {
				require.NoError(t, k.o.Admit(t.Context(), k.now, ask, new(quota.Lease)))
			}
			err := k.o.Admit(t.Context(), k.now, ask, new(quota.Lease))
			assert.Error(t, err, "that is all that is left")
			k.now = k.now.Add(20 * ms)
			turn := k.turn()
			require.Len(t, turn.Accounts, 1)
			assert.EqualValues(t, 2, turn.Accounts[0].Has)
		})
	}
}

// What Check lends while it looks is never seen by other work: it is taken back before the mutex is unlocked.
func TestCheckLendsToNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 2, ms)
		unlocked := 0
		ask := k.ask()
		ask.Limiter = quota.WatchMutex(quota.Concurrency(1), func() {
			if !k.o.Unlocked() {
				return
			}
			unlocked++
			stock, out := k.o.SharedUnits(k.now)
			assert.Zero(t, stock+out)
		})
		r, _ := k.o.Check(t.Context(), k.now, ask)
		require.Nil(t, r)
		assert.Equal(t, 1, unlocked, "the mutex of the origin is unlocked first")
	})
}

// What is asked for at the end of a window is asked for a round trip before, so that it
// gets there at the end.
func TestAsksAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 0, 20*ms)
		k.queue(new(quota.Lease))
		k.heard(20*ms, k.turn())
		k.due(10*sec - 20*ms)
		k.now = k.now.Add(10*sec - 20*ms)
		k.grant.Left, k.grant.Again = sec, 100*ms // what others have
		k.heard(20*ms, k.turn())
		k.due(100 * ms)
	})
}

// answered has the requests of the leases answered, with what is left after all.
func (k *talk) answered(left int64, ls ...*quota.Lease) {
	for _, l := range ls {
		k.o.Settle(k.now, l, &quota.Report{
			Terms:   []quota.Policy{{Name: "api", Quota: 50, Window: 10 * sec}},
			Figures: []quota.Figure{{Policy: "api", Available: left, Window: 10 * sec}},
		})
		l.Release()
	}
}

// Units that were used are told soon where others wait, and answers that come together
// are told together.
func TestTellsWhatWasUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 50, ms)
		k.grant.Units = 4
		var ls []*quota.Lease
		for range 4 {
			ls = append(ls, k.queue(new(quota.Lease)))
		}
		k.heard(ms, k.turn())
		k.grant.Units = 0
		for i := range ls {
			ls[i] = k.goes(ls[i])
		}
		k.now = k.now.Add(50 * ms)
		k.answered(49, ls[0])
		k.now = k.now.Add(6 * ms) // less was granted than wished for
		k.heard(ms, k.turn())
		one, two, three := ls[1], ls[2], ls[3]
		k.now = k.now.Add(29 * ms)
		k.answered(47, one)
		told := k.now
		k.due(sec - 30*ms) // the question can wait
		k.now = k.now.Add(500 * time.Microsecond)
		k.answered(46, two)
		k.peers.shared.Load().Wake(k.now, "me", &exchange.Word{Account: k.id, Return: true})
		k.due(6 * ms)
		k.now = told.Add(6500 * time.Microsecond)
		turn := k.turn()
		require.Len(t, turn.Accounts, 1)
		assert.EqualValues(t, 46, turn.Accounts[0].Figure)
		assert.EqualValues(t, 1, turn.Accounts[0].Has)
		k.grant.Hungry = 1
		k.heard(ms, turn)
		k.answered(45, three)
		k.due(19 * ms)
	})
}

// Where no policy tells the length of a window, the longest that answers have told is told to the others. If eight have
// told more than a second less than the first one, that was an error, and the turn says so, until one of these is answered.
func TestTellsOfShorterWindows(t *testing.T) {
	for _, less := range []time.Duration{9 * sec, 11 * sec} {
		synctest.Test(t, func(t *testing.T) { tellsOfShorterWindows(t, less) })
	}
}

func tellsOfShorterWindows(t *testing.T, less time.Duration) {
	k := newTalk(t, 50, ms)
	k.grant.Units = 16
	var ls []*quota.Lease
	for range 16 {
		ls = append(ls, k.queue(new(quota.Lease)))
	}
	k.heard(ms, k.turn())
	for i := range ls {
		ls[i] = k.goes(ls[i])
	}
	answered := func(window time.Duration) {
		k.now = k.now.Add(50 * ms)
		k.o.Settle(k.now, ls[0], &quota.Report{
			Terms:   []quota.Policy{{Name: "api", Quota: 50}},
			Figures: []quota.Figure{{Policy: "api", Available: 40, Window: window}},
		})
		ls[0].Release()
		ls = ls[1:]
	}
	tells := func(window time.Duration, shorter bool) *exchange.Turn {
		t.Helper()
		k.now = k.now.Add(sec)
		turn := k.turn()
		i := slices.IndexFunc(turn.Accounts, func(a exchange.Account) bool { return a.ID == k.id })
		require.GreaterOrEqual(t, i, 0)
		assert.Equal(t, -window, turn.Accounts[i].Window)
		assert.Equal(t, shorter, turn.Accounts[i].Shorter)
		return turn
	}
	answered(12 * sec)
	k.heard(ms, tells(12*sec, false))
	for range 7 {
		answered(less)
	}
	k.heard(ms, tells(12*sec, false))
	answered(less)
	if less == 11*sec { // that may be rounding
		k.heard(ms, tells(12*sec, false))
		return
	}
	tells(less, true)
	k.peers.shared.Load().Failed(k.now)
	k.heard(ms, tells(less, true))
	answered(11 * sec) // with the one of 12, two have told as much
	k.heard(ms, tells(11*sec, false))
	answered(20 * sec)
	k.heard(ms, tells(12*sec, false))
}

// A request asks at once, but for when others of the process are out: those that follow
// their answers come together, too, and ask together. They have a little more time where
// less was granted than was wished for.
func TestAsksTogether(t *testing.T) {
	for units, gathers := range map[int64]time.Duration{1: 6 * ms, 2: 6 * ms, 3: ms} {
		synctest.Test(t, func(t *testing.T) {
			k := newTalk(t, 50, ms)
			k.grant.Units = units
			one := k.queue(new(quota.Lease))
			k.heard(ms, k.turn())
			one = k.goes(one)
			for range units - 1 {
				require.NoError(t, k.o.Try(k.now, k.ask(), new(quota.Lease)))
			}
			k.now = k.now.Add(5 * ms)
			k.queue(new(quota.Lease))
			k.due(gathers)
			k.now = k.now.Add(500 * time.Microsecond)
			k.queue(new(quota.Lease))
			k.due(gathers - 500*time.Microsecond)
			k.answered(49, one)
			k.now = k.now.Add(gathers - 500*time.Microsecond)
			turn := k.turn()
			assert.EqualValues(t, 2, turn.Requests[0].N, "%d units", units)
			assert.EqualValues(t, 49, turn.Accounts[0].Figure)
		})
	}
}

// A process that has units and makes no requests says so every ten seconds, and not more
// often.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, 50, ms)
		k.grant.Units, k.grant.Left = 5, 1000*sec
		l := k.queue(new(quota.Lease))
		k.heard(ms, k.turn())
		l = k.goes(l)
		k.grant.Units = 0
		k.now = k.now.Add(50 * ms)
		k.answered(49, l)
		turns := 0
		for began := k.now; k.now.Sub(began) < 100*sec; {
			turn, at := k.peers.shared.Load().Turn(k.now)
			if turn != nil {
				turns++
				k.heard(ms, turn)
				continue
			}
			require.False(t, at.IsZero())
			k.now = at
		}
		stock, _ := k.o.SharedUnits(k.now)
		assert.Positive(t, stock, "it renews what it has")
		assert.GreaterOrEqual(t, turns, 9)
		assert.LessOrEqual(t, turns, 12) // with those that tell of the request
	})
}
