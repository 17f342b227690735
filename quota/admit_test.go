package quota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// What waits for the end of a window waits exactly as long, then the first
// asks, and its answer lets the others go in order.
func TestWaitsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		var all []*came
		for i := range 4 {
			all = append(all, c.come(t.Context(), fmt.Sprint(i), claimOf("api")))
		}
		time.Sleep(10*sec + ms)
		synctest.Wait()
		assert.Equal(t, []string{"0"}, c.order())
		assert.Equal(t, 10*sec+ms, all[0].after)
		time.Sleep(40 * ms)
		c.o.Settle(time.Now(), &all[0].lease, &Report{Figures: figure("api", 9, 10*sec)})
		synctest.Wait()
		assert.Equal(t, []string{"0", "1", "2", "3"}, c.order())
		assert.Equal(t, 10*sec+41*ms, all[3].after)
		c.noTrace()
	})
}

// First come, first served, within a priority; the higher priority first.
func TestOrderOfTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		for i, priority := range []int{0, 0, 5, -1, 5, 0} {
			ask := claimOf("api")
			ask.Priority = priority
			c.come(t.Context(), fmt.Sprint(i), ask)
			if i%2 == 0 {
				time.Sleep(ms)
			}
		}
		time.Sleep(sec)
		c.tell(Report{Figures: figure("api", 6, 10*sec)})
		synctest.Wait()
		assert.Equal(t, []string{"2", "4", "0", "1", "5", "3"}, c.order())
		c.wg.Wait()
		c.noTrace()
	})
}

// Thousands in line are let go in the order in which they came.
func TestLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2_000
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		tickets := make([]uint64, n) // in the order in which they departed
		for i := range n {
			ask := claimOf("api")
			c.wg.Go(func() {
				var l Lease
				time.Sleep(time.Duration(i) * time.Microsecond)
				if assert.NoError(t, c.o.Admit(t.Context(), time.Now(), &ask, &l)) {
					tickets[i] = l.ticket
					c.o.Settle(time.Now(), &l, &Report{Figures: figure("api", n, 10*sec)})
				}
			})
		}
		c.wg.Wait()
		for i := range tickets[1:] {
			require.Equal(t, tickets[i]+1, tickets[i+1], "in place %d", i+1)
		}
		c.noTrace()
	})
}

// Somebody who comes later does not pass those in line, though there is room;
// the higher priority does.
func TestNobodyPassesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 1, 10*sec)})
		big := claimOf("api")
		big.Claims[0].Units = 2
		c.come(t.Context(), "big", big)
		small := claimOf("api")
		small.MaxDelay = NoDelay
		r := c.come(t.Context(), "small", small).refusal(t)
		assert.Equal(t, ReasonExhausted, r.Reason)
		small.Priority = 1
		require.NoError(t, c.come(t.Context(), "urgent", small).err)
		time.Sleep(11 * sec)
		c.wg.Wait()
		assert.Equal(t, []string{"urgent", "big"}, c.order())
	})
}

// A hot account's line does not stall what is charged to another.
func TestHotLineStallsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: append(figure("hot", 0, 10*sec), figure("cool", 50, 10*sec)...)})
		for i := range 20 {
			c.come(t.Context(), fmt.Sprint(i), claimOf("hot"))
		}
		light := c.come(t.Context(), "light", claimOf("cool"))
		assert.True(t, light.done.Load())
		assert.NoError(t, light.err)
		assert.Zero(t, light.after)
		time.Sleep(10 * mins)
		c.wg.Wait()
	})
}

// Somebody who is let go by one account and refused by another moves to its
// line, with the place that the time of arrival gives.
func TestMovingBetweenLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		both := Ask{Claims: []Claim{{Policy: "a", Units: 1}, {Policy: "b", Units: 1}}}
		c.tell(Report{Figures: append(figure("a", 0, 5*sec), figure("b", 0, 20*sec)...)})
		first := c.come(t.Context(), "both", both)
		time.Sleep(ms)
		c.come(t.Context(), "b", claimOf("b"))
		time.Sleep(8 * sec)
		assert.False(t, first.done.Load())
		assert.Zero(t, c.account("a").InFlight, "who waits holds nothing")
		assert.Nil(t, c.account("a").line)
		assert.Equal(t, 2, c.inLine("b"))
		c.tell(Report{Figures: append(figure("a", 9, 20*sec), figure("b", 2, 20*sec)...)})
		synctest.Wait()
		assert.Equal(t, []string{"both", "b"}, c.order())
		c.wg.Wait()
		c.noTrace()
	})
}

// Refusals: at once where waiting cannot help, and why.
func TestRefusedAtOnce(t *testing.T) {
	tests := []struct {
		name   string
		ask    Ask
		within time.Duration // the deadline of the context; 0: none
		reason Reason
	}{
		{"no delay", Ask{MaxDelay: NoDelay}, 0, ReasonExhausted},
		{"longer than MaxDelay", Ask{MaxDelay: 5 * sec}, 0, ReasonMaxDelay},
		{"past the deadline", Ask{}, 5 * sec, ReasonDeadline},
		{"past both, the deadline first", Ask{MaxDelay: 5 * sec}, 4 * sec, ReasonDeadline},
		{"past both, MaxDelay first", Ask{MaxDelay: 4 * sec}, 5 * sec, ReasonMaxDelay},
		{"a full line", Ask{MaxQueue: 1}, 0, ReasonQueueFull},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(Report{Figures: figure("api", 0, 10*sec)})
				c.come(t.Context(), "other", claimOf("api"))
				ctx := t.Context()
				if tt.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.within)
					defer cancel()
				}
				tt.ask.Claims = claimOf("api").Claims
				got := c.come(ctx, "", tt.ask)
				require.True(t, got.done.Load(), "it waits")
				assert.Equal(t, Refusal{
					Policy: "api", Cause: ReasonExhausted, Reason: tt.reason, Wait: 10*sec + ms, RetryAfter: 10*sec + ms,
				}, got.refusal(t))
				assert.Equal(t, tt.reason == ReasonDeadline, errors.Is(got.err, context.DeadlineExceeded))
				assert.Equal(t, tt.reason == ReasonDeadline, got.err.(*Refusal).Timeout())
				assert.Zero(t, got.after)
				assert.Equal(t, 1, c.inLine("api"), "the other still waits")
				time.Sleep(mins)
				c.wg.Wait()
				c.noTrace()
			})
		})
	}
}

// MaxQueue counts those in line; negative is no bound.
func TestMaxQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		ask := claimOf("api")
		ask.MaxQueue = 2
		one, two := c.come(t.Context(), "1", ask), c.come(t.Context(), "2", ask)
		three := c.come(t.Context(), "3", ask)
		assert.False(t, one.done.Load())
		assert.False(t, two.done.Load())
		assert.Equal(t, ReasonQueueFull, three.refusal(t).Reason)
		ask.MaxQueue = -1
		assert.False(t, c.come(t.Context(), "4", ask).done.Load())
		time.Sleep(2 * mins)
		c.wg.Wait()
		c.noTrace()
	})
}

// Nobody waits longer than MaxDelay, also where only an event could help.
func TestMaxDelayIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit, err := NewConcurrency(ConcurrencyOptions{Permits: 1})
		require.NoError(t, err)
		held, err := limit.TryAcquire(1)
		require.NoError(t, err)
		got := c.come(t.Context(), "", Ask{Limiter: limit, MaxDelay: 7 * sec})
		usual := c.come(t.Context(), "", Ask{Limiter: limit})
		time.Sleep(DefaultMaxDelay)
		c.wg.Wait()
		assert.Equal(t, 7*sec, got.after)
		assert.Equal(t, Refusal{Cause: ReasonOwnLimit, Reason: ReasonMaxDelay}, got.refusal(t))
		assert.Equal(t, DefaultMaxDelay, usual.after)
		held.Release()
		assert.Nil(t, limit.line)
		assert.Equal(t, int64(1), limit.Stats().Available)
		c.noTrace()
	})
}

// Nor does it help to have to wait for one in front, who has been told to look
// and takes time to do so.
func TestMaxDelayBehindSomebodySlow(t *testing.T) {
	for _, another := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(Report{Figures: figure("api", 0, 5*sec)})
			slow := claimOf("api")
			slow.Again = func() []Claim {
				time.Sleep(20 * sec)
				return slow.Claims
			}
			first := c.come(t.Context(), "first", slow)
			ask := claimOf("api")
			ask.MaxDelay = 8 * sec
			before := c.come(t.Context(), "came before", ask)
			if another {
				time.Sleep(7 * sec)
				ask.MaxDelay = 3 * sec
				after := c.come(t.Context(), "comes meanwhile", ask)
				defer func() { assert.Equal(t, 3*sec, after.after) }()
			}
			c.wg.Wait()
			assert.Equal(t, 8*sec, before.after)
			assert.Equal(t, ReasonMaxDelay, before.refusal(t).Reason)
			assert.Equal(t, 25*sec, first.after.Round(sec))
		})
	}
}

// A wait for an answer, or for a body to be read, may be over at any moment: a
// deadline before the next look is no reason to refuse.
func TestHopeIsNotVain(t *testing.T) {
	t.Run("concurrent requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(Report{Terms: []Terms{{Policy: Policy{Name: "c", Quota: 1, Unit: UnitConcurrentRequests}}}})
			first := c.come(t.Context(), "first", claimOf("c"))
			ask := claimOf("c")
			ask.MaxDelay = 500 * ms
			second := c.come(t.Context(), "second", ask)
			time.Sleep(20 * ms)
			c.o.Settle(time.Now(), &first.lease, &Report{})
			first.lease.Release()
			c.wg.Wait()
			assert.NoError(t, second.err)
			assert.Equal(t, 20*ms, second.after)
		})
	})
	t.Run("the answer of the one that asks after a window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(Report{Figures: figure("api", 0, sec)})
			time.Sleep(2 * sec)
			probe := c.come(t.Context(), "probe", claimOf("api"))
			require.True(t, probe.done.Load())
			ask := claimOf("api")
			ask.MaxDelay = 500 * ms
			second := c.come(t.Context(), "second", ask)
			time.Sleep(40 * ms)
			c.o.Settle(time.Now(), &probe.lease, &Report{Figures: figure("api", 9, sec)})
			c.wg.Wait()
			assert.NoError(t, second.err)
			assert.Equal(t, 40*ms, second.after)
		})
	})
}

// When a pause makes waiting vain, everybody in line whose time it exceeds is
// refused promptly, and nobody else is.
func TestPauseRefusesThoseInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		patient := c.come(t.Context(), "patient", claimOf("api"))
		hasty := claimOf("api")
		hasty.MaxDelay = 30 * sec
		one, two := c.come(t.Context(), "one", hasty), c.come(t.Context(), "two", hasty)
		ctx, cancel := context.WithTimeout(t.Context(), 20*sec)
		defer cancel()
		three := c.come(ctx, "three", claimOf("api"))
		other := c.come(t.Context(), "other", claimOf("api"))
		time.Sleep(sec)
		c.tell(Report{Refused: true, Pause: mins, Figures: figure("api", 0, 10*sec)})
		synctest.Wait()
		assert.False(t, patient.done.Load())
		assert.False(t, other.done.Load())
		for i, got := range []*came{one, two, three} {
			if assert.True(t, got.done.Load(), "%d still waits, in vain", i+1) {
				assert.Equal(t, sec, got.after)
				assert.Equal(t, ReasonRetryAfter, got.refusal(t).Cause)
			}
		}
		time.Sleep(5 * mins)
		c.wg.Wait()
		c.noTrace()
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		hasty := claimOf("api")
		hasty.MaxDelay = 30 * sec
		var all []*came
		for i := range 10 {
			all = append(all, c.come(t.Context(), fmt.Sprint(i), hasty))
		}
		c.tell(Report{Refused: true, Pause: mins, Figures: figure("api", 0, 10*sec)})
		synctest.Wait()
		for _, got := range all {
			require.True(t, got.done.Load())
			assert.Equal(t, Refusal{Policy: "api", Cause: ReasonRetryAfter, Reason: ReasonMaxDelay, Wait: mins, RetryAfter: mins}, got.refusal(t))
		}
		c.noTrace()
	})
}

// A wait that is cancelled leaves no trace, wherever in line it was; the
// others keep their places.
func TestCancelLeavesNoTrace(t *testing.T) {
	for _, who := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
		t.Run(fmt.Sprint(who), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(Report{Figures: figure("api", 0, 10*sec)})
				before := *c.account("api")
				var cancels []context.CancelCauseFunc
				var all []*came
				for i := range 3 {
					ctx, cancel := context.WithCancelCause(t.Context())
					cancels = append(cancels, cancel)
					all = append(all, c.come(ctx, fmt.Sprint(i), claimOf("api")))
				}
				time.Sleep(sec)
				cause := errors.New("changed my mind")
				for _, i := range who {
					cancels[i](cause)
					synctest.Wait()
					require.True(t, all[i].done.Load())
					assert.True(t, all[i].err == cause, "the cause of the context, bare: %v", all[i].err)
					assert.Equal(t, sec, all[i].after)
					assert.False(t, all[i].lease.charged)
					assert.False(t, all[i].lease.retains())
				}
				var want []string
				for i, got := range all {
					if !got.done.Load() {
						want = append(want, fmt.Sprint(i))
					}
				}
				if len(want) == 0 {
					c.noTrace()
					after := *c.account("api")
					assert.Equal(t, before, after, "as if nobody had come")
				}
				c.tell(Report{Figures: figure("api", 3, 10*sec)})
				synctest.Wait()
				assert.Equal(t, want, c.order())
				for _, cancel := range cancels {
					cancel(nil)
				}
				c.wg.Wait()
				c.noTrace()
			})
		})
	}
}

// A context that is done loses, even if there is room.
func TestDoneContextLoses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		cause := errors.New("too late")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		got := c.come(ctx, "", claimOf("api"))
		assert.True(t, got.err == cause)
		assert.Nil(t, c.account("api"), "nothing was opened for it")
		ask := claimOf("api")
		ask.Force = true
		got = c.come(ctx, "", ask)
		assert.True(t, got.err == cause)
	})
	synctest.Test(t, func(t *testing.T) {
		// The context ends at the very moment at which its turn comes.
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		ctx, cancel := context.WithCancel(t.Context())
		got := c.come(ctx, "", claimOf("api"))
		time.Sleep(sec)
		c.o.mu.Lock() // so that it cannot look before it is cancelled
		a := c.o.find(accountID{policyID: policyID{name: "api"}})
		a.Report(c.o.at(time.Now()), c.o.at(time.Now()), window.Figure{Available: 5, Window: 10 * sec}, false, &a.policy.server)
		w := a.line.Kick(time.Now())
		cancel()
		c.o.mu.Unlock()
		w.Wake()
		c.wg.Wait()
		assert.True(t, got.err == context.Canceled)
		assert.Equal(t, int64(5), spare(a))
		c.noTrace()
	})
	synctest.Test(t, func(t *testing.T) {
		// It ends while the hook is told, and then there is room.
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		ctx, cancel := context.WithCancel(t.Context())
		ask := claimOf("api")
		ask.Held = func(Refusal) {
			cancel()
			c.tell(Report{Figures: figure("api", 5, 10*sec)})
		}
		got := c.come(ctx, "", ask)
		c.wg.Wait()
		assert.True(t, got.err == context.Canceled, "%v", got.err)
		c.noTrace()
	})
}

// Held is told what stands in the way, once, with no lock held, before the
// wait; it may take its time and ask for itself.
func TestHeldHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		var told []Refusal
		ask := claimOf("api")
		ask.Held = func(r Refusal) {
			told = append(told, r)
			inner := claimOf("api")
			found, _ := c.o.Check(t.Context(), time.Now(), &inner)
			assert.NotNil(t, found)
		}
		hasty := ask
		hasty.MaxDelay = NoDelay
		require.Error(t, c.come(t.Context(), "", hasty).err)
		assert.Empty(t, told, "it does not wait")

		got := c.come(t.Context(), "", ask)
		time.Sleep(mins)
		c.wg.Wait()
		require.NoError(t, got.err)
		assert.Equal(t, []Refusal{{Policy: "api", Cause: ReasonExhausted, Reason: ReasonExhausted, Wait: 10*sec + ms, RetryAfter: 10*sec + ms}}, told)

	})
	synctest.Test(t, func(t *testing.T) {
		// A hook that takes long stalls nobody else, and its time counts.
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 2*sec)})
		slow := claimOf("api")
		slow.MaxDelay = 30 * sec
		slow.Held = func(Refusal) { time.Sleep(20 * sec) }
		one := c.come(t.Context(), "slow", slow)
		two := c.come(t.Context(), "two", claimOf("api"))
		time.Sleep(2*sec + ms)
		synctest.Wait()
		assert.True(t, two.done.Load(), "the first in line is not there yet")
		c.tell(Report{Figures: figure("api", 0, 5*mins), Pause: 5 * mins})
		c.wg.Wait()
		assert.Error(t, one.err)
		assert.LessOrEqual(t, one.after, 30*sec)
		c.noTrace()
	})
}

// The time that the hook takes is part of MaxDelay, and what it waits for is
// not dropped meanwhile.
func TestHookThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit, err := NewConcurrency(ConcurrencyOptions{Permits: 1})
		require.NoError(t, err)
		held, err := limit.TryAcquire(1)
		require.NoError(t, err)
		ask := Ask{Limiter: limit, MaxDelay: 30 * sec, Held: func(Refusal) { time.Sleep(20 * sec) }}
		got := c.come(t.Context(), "", ask)
		c.wg.Wait()
		assert.Equal(t, ReasonMaxDelay, got.refusal(t).Reason)
		assert.Equal(t, 30*sec, got.after)
		held.Release()
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.o.accounts.MaxAccounts = 1
		c.tell(Report{Figures: figure("api", 0, 2*sec)})
		ask := claimOf("api")
		ask.Held = func(Refusal) {
			time.Sleep(sec)
			for i := range 5 {
				c.tell(Report{Figures: figure(fmt.Sprint(i), 1, 2*sec)})
			}
		}
		got := c.come(t.Context(), "", ask)
		c.wg.Wait()
		require.NoError(t, got.err)
		if a := c.account("api"); assert.NotNil(t, a, "it was dropped while somebody was coming for it") {
			assert.Equal(t, int64(1), a.InFlight)
		}
	})
}

// Force charges whatever is left and never waits; the hook is told.
func TestForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit, err := NewConcurrency(ConcurrencyOptions{Permits: 1})
		require.NoError(t, err)
		held, err := limit.TryAcquire(1)
		require.NoError(t, err)
		c.tell(Report{Figures: figure("api", 0, 10*sec), Pause: mins})
		var told []Reason
		ask := claimOf("api")
		ask.Force, ask.Limiter = true, limit
		ask.Held = func(r Refusal) { told = append(told, r.Cause) }
		got := c.come(t.Context(), "", ask)
		require.True(t, got.done.Load())
		require.NoError(t, got.err)
		assert.Len(t, told, 1)
		assert.Equal(t, int64(1), c.account("api").InFlight)
		got.lease.Release()
		assert.Zero(t, limit.Stats().Available, "two were out, of one")
		held.Release()
		assert.Equal(t, int64(1), limit.Stats().Available)
	})
}

// Check says what would happen and changes nothing.
func TestCheckChargesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit, err := NewConcurrency(ConcurrencyOptions{Permits: 1})
		require.NoError(t, err)
		r1 := NewRate(rate.NewLimiter(1, 1))
		ask := claimOf("api")
		r, waits := c.o.Check(t.Context(), time.Now(), &ask)
		assert.Nil(t, r)
		assert.False(t, waits)
		assert.Empty(t, c.o.all, "it opens nothing")
		assert.Empty(t, c.o.scopes)
		assert.Empty(t, c.o.byPolicy)
		c.tell(Report{Figures: figure("api", 1, 10*sec)})
		for _, l := range []Limiter{nil, limit, r1} {
			ask.Limiter = l
			before := *c.account("api")
			for range 3 {
				r, _ = c.o.Check(t.Context(), time.Now(), &ask)
				assert.Nil(t, r)
			}
			assert.Equal(t, before, *c.account("api"))
		}
		assert.Equal(t, int64(1), limit.Stats().Available)
		require.NoError(t, c.come(t.Context(), "", claimOf("api")).err)
		ask.Limiter = nil
		r, waits = c.o.Check(t.Context(), time.Now(), &ask)
		assert.Equal(t, &Refusal{Policy: "api", Cause: ReasonExhausted, Reason: ReasonExhausted, Wait: 10*sec + ms, RetryAfter: 10*sec + ms}, r)
		assert.True(t, waits)
		ask.MaxDelay = sec
		r, waits = c.o.Check(t.Context(), time.Now(), &ask)
		assert.Equal(t, ReasonMaxDelay, r.Reason)
		assert.False(t, waits)
	})
}

// A request may have read the clock before the books began, with another one.
// Nothing stands in its way.
func TestClockReadBeforeTheBooksBegan(t *testing.T) {
	now := time.Now()
	o := new(Accounts).Origin("https://api.example")
	o.at(now.Add(ms))
	var l Lease
	ask := claimOf("api")
	ask.MaxDelay = NoDelay
	require.NoError(t, o.Admit(t.Context(), now, &ask, &l))
	o.Settle(now, &l, &Report{Figures: figure("api", 0, sec)})
	r, _ := o.Check(t.Context(), now.Add(500*ms), &ask)
	assert.NotNil(t, r)
}

// An error names the policy, never the key of a partition.
func TestRefusalText(t *testing.T) {
	r := &Refusal{Policy: "api", Key: "alice", Keyed: true, Cause: ReasonExhausted, Reason: ReasonMaxDelay, RetryAfter: 1500 * ms}
	assert.EqualError(t, r, `quota: not admitted: max delay, policy "api", retry after 1.5s`)
	assert.EqualError(t, &Refusal{Reason: ReasonOwnLimit}, "quota: not admitted: own limit")
	seen := make(map[string]bool)
	for reason := ReasonExhausted; reason <= ReasonQueueFull; reason++ {
		seen[reason.String()] = true
	}
	assert.Len(t, seen, int(ReasonQueueFull), "each reason has words of its own")
	assert.NotContains(t, seen, Reason(0).String())
	assert.Equal(t, Reason(200).String(), Reason(0).String())
}

// All or none: when an admission is refused or cancelled, every account and
// limiter is as it was before.
func TestAllOrNone(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			c := newCounter(t)
			limits := []*Concurrency{}
			for range 2 {
				l, err := NewConcurrency(ConcurrencyOptions{Permits: 1 + r.Int64N(3)})
				require.NoError(t, err)
				limits = append(limits, l)
			}
			tokensOf := rate.NewLimiter(1, 1+r.IntN(3))
			rates := NewRate(tokensOf)
			all := bothOf{Limiter: limits[0], all: []wait.Constraint{limits[0].self[0], limits[1].self[0], rates.self[0]}}
			names := []string{"a", "b", "c", "d"}
			for _, name := range names {
				c.tell(Report{Figures: figure(name, r.Int64N(4), time.Duration(1+r.IntN(60))*sec)})
			}
			admitted := 0
			for step := range 30 {
				ask := Ask{Limiter: all, MaxDelay: []time.Duration{NoDelay, 500 * ms, 3 * sec}[r.IntN(3)]}
				for _, i := range r.Perm(len(names))[:r.IntN(4)] {
					ask.Claims = append(ask.Claims, Claim{Policy: names[i], Units: r.Int64N(3)})
				}
				type state struct {
					accounts []account
					out      [2]int64
				}
				look := func() (s state) {
					for _, name := range names {
						a := *c.account(name)
						a.Roll(c.o.at(time.Now())) // time passes for both
						a.Roll(c.o.at(time.Now()))
						a.Used, a.policy = 0, nil
						s.accounts = append(s.accounts, a)
					}
					s.out = [2]int64{limits[0].Stats().Available, limits[1].Stats().Available}
					return s
				}
				before, tokens := look(), tokensOf.TokensAt(time.Now())
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(3) == 0 {
					time.AfterFunc(time.Duration(r.IntN(2000))*ms, cancel)
				}
				began := time.Now()
				var lease Lease
				err := c.o.Admit(ctx, began, &ask, &lease)
				cancel()
				waited := time.Since(began)
				if err == nil {
					admitted++
					if step%3 == 0 {
						c.o.Settle(time.Now(), &lease, &Report{})
						lease.Release()
					} else if step%3 == 1 {
						lease.Cancel()
					}
					continue
				}
				after := look()
				assert.Equal(t, before.out, after.out, "seed %d, step %d", seed, step)
				burst := float64(tokensOf.Burst())
				assert.InDelta(t, min(tokens+waited.Seconds(), burst), tokensOf.TokensAt(time.Now()), 1e-6, "seed %d, step %d", seed, step)
				for i := range before.accounts {
					b := before.accounts[i]
					b.Roll(c.o.at(time.Now()))
					b.Roll(c.o.at(time.Now()))
					assert.Equal(t, b, after.accounts[i], "seed %d, step %d, account %s: %v", seed, step, names[i], err)
				}
			}
			assert.NotZero(t, admitted, "seed %d", seed)
		})
		if t.Failed() {
			return
		}
	}
}

// What is in vain is not waited for because of something else that may end any
// moment.
func TestVainBehindHope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{
			Terms:   []Terms{{Policy: Policy{Name: "c", Quota: 1, Unit: UnitConcurrentRequests}}},
			Figures: figure("api", 0, sec),
		})
		first := c.come(t.Context(), "first", claimOf("c"))
		time.Sleep(300 * ms)
		ask := Ask{Claims: []Claim{{Policy: "c", Units: 1}, {Policy: "api", Units: 1}}, MaxDelay: 500 * ms}
		second := c.come(t.Context(), "second", ask)
		assert.Zero(t, second.after)
		r := second.refusal(t)
		assert.Equal(t, "api", r.Policy)
		assert.Equal(t, ReasonMaxDelay, r.Reason)
		c.o.Settle(time.Now(), &first.lease, &Report{})
		first.lease.Release()
	})
}
