package quota_test

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

	"github.com/headway-go/headway/quota"
)

// Requests wait exactly until the window ends. Then the first departs as a probe, and
// its answer lets the others go in order.
func TestWaitsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		var all []*request
		for i := range 4 {
			all = append(all, c.come(t.Context(), fmt.Sprint(i), claimOf("api")))
		}
		time.Sleep(10*sec + ms)
		synctest.Wait()
		assert.Equal(t, []string{"0"}, c.order())
		assert.Equal(t, 10*sec+ms, all[0].after)
		time.Sleep(40 * ms)
		c.settle(all[0], quota.Report{Figures: figure("api", 9, 10*sec)})
		synctest.Wait()
		assert.Equal(t, []string{"0", "1", "2", "3"}, c.order())
		assert.Equal(t, 10*sec+41*ms, all[3].after)
		c.requireNoWaiter()
	})
}

// Requests are admitted by priority, the highest first, and within a priority in the
// order of arrival.
func TestOrderOfAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		for i, priority := range []int{0, 0, 5, -1, 5, 0} {
			ask := claimOf("api")
			ask.Priority = priority
			c.come(t.Context(), fmt.Sprint(i), ask)
			if i%2 == 0 {
				time.Sleep(ms)
			}
		}
		time.Sleep(sec)
		c.tell(quota.Report{Figures: figure("api", 6, 10*sec)})
		synctest.Wait()
		assert.Equal(t, []string{"2", "4", "0", "1", "5", "3"}, c.order())
		c.wg.Wait()
		c.requireNoWaiter()
	})
}

// Thousands in line are admitted in the order of arrival.
func TestLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2_000
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		tickets := make([]uint64, n) // in the order in which they departed
		for i := range n {
			ask := claimOf("api")
			c.wg.Go(func() {
				var l quota.Lease
				time.Sleep(time.Duration(i) * time.Microsecond)
				if assert.NoError(t, c.o.Admit(t.Context(), time.Now(), &ask, &l)) {
					tickets[i] = l.Ticket()
					c.o.Settle(time.Now(), &l, &quota.Report{Figures: figure("api", n, 10*sec)})
				}
			})
		}
		c.wg.Wait()
		for i := range tickets[1:] {
			require.Equal(t, tickets[i]+1, tickets[i+1], "at place %d", i+1)
		}
		c.requireNoWaiter()
	})
}

// A request does not pass those in line, although there are units for it. One of a
// higher priority does.
func TestRequestsDoNotPassTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 1, 10*sec)})
		big := claimOf("api")
		big.Claims[0].Units = 2
		c.come(t.Context(), "big", big)
		small := claimOf("api")
		small.MaxDelay = quota.NoDelay
		r := c.come(t.Context(), "small", small).refusal(t)
		assert.Equal(t, quota.ReasonExhausted, r.Reason)
		small.Priority = 1
		require.NoError(t, c.come(t.Context(), "urgent", small).err)
		time.Sleep(11 * sec)
		c.wg.Wait()
		assert.Equal(t, []string{"urgent", "big"}, c.order())
	})
}

// The line of one account does not hold up requests that claim another.
func TestLinesAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: append(figure("hot", 0, 10*sec), figure("cool", 50, 10*sec)...)})
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

// A request that one account admits and another refuses moves to the line of the
// other, to the place that its time of arrival gives.
func TestMovingBetweenLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		both := quota.Ask{Claims: []quota.Claim{{Policy: "a", Units: 1}, {Policy: "b", Units: 1}}}
		c.tell(quota.Report{Figures: append(figure("a", 0, 5*sec), figure("b", 0, 20*sec)...)})
		first := c.come(t.Context(), "both", both)
		time.Sleep(ms)
		c.come(t.Context(), "b", claimOf("b"))
		time.Sleep(8 * sec)
		assert.False(t, first.done.Load())
		assert.Zero(t, c.account("a").InFlight, "a waiting request has taken nothing")
		assert.Zero(t, c.account("a").InLine)
		assert.Equal(t, 2, c.account("b").InLine)
		c.tell(quota.Report{Figures: append(figure("a", 9, 20*sec), figure("b", 2, 20*sec)...)})
		synctest.Wait()
		assert.Equal(t, []string{"both", "b"}, c.order())
		c.wg.Wait()
		c.requireNoWaiter()
	})
}

// A request is refused at once, and told why, if it could not be admitted in time.
func TestRefusedAtOnce(t *testing.T) {
	tests := []struct {
		name   string
		ask    quota.Ask
		within time.Duration // the deadline of the context; 0: none
		reason quota.Reason
	}{
		{"no delay", quota.Ask{MaxDelay: quota.NoDelay}, 0, quota.ReasonExhausted},
		{"longer than MaxDelay", quota.Ask{MaxDelay: 5 * sec}, 0, quota.ReasonMaxDelay},
		{"past the deadline", quota.Ask{}, 5 * sec, quota.ReasonDeadline},
		{"past both, the deadline first", quota.Ask{MaxDelay: 5 * sec}, 4 * sec, quota.ReasonDeadline},
		{"past both, MaxDelay first", quota.Ask{MaxDelay: 4 * sec}, 5 * sec, quota.ReasonMaxDelay},
		{"the line is full", quota.Ask{MaxQueue: 1}, 0, quota.ReasonQueueFull},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
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
				assert.Equal(t, quota.Refusal{
					Policy: "api", Cause: quota.ReasonExhausted, Reason: tt.reason, Wait: 10*sec + ms, RetryAfter: 10*sec + ms,
				}, got.refusal(t))
				assert.Equal(t, tt.reason == quota.ReasonDeadline, errors.Is(got.err, context.DeadlineExceeded))
				assert.Equal(t, tt.reason == quota.ReasonDeadline, got.err.(*quota.Refusal).Timeout())
				assert.Zero(t, got.after)
				assert.Equal(t, 1, c.account("api").InLine, "the other still waits")
				time.Sleep(mins)
				c.wg.Wait()
				c.requireNoWaiter()
			})
		})
	}
}

// MaxQueue bounds how many are in line; negative is no bound.
func TestMaxQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		ask := claimOf("api")
		ask.MaxQueue = 2
		one, two := c.come(t.Context(), "1", ask), c.come(t.Context(), "2", ask)
		three := c.come(t.Context(), "3", ask)
		assert.False(t, one.done.Load())
		assert.False(t, two.done.Load())
		assert.Equal(t, quota.ReasonQueueFull, three.refusal(t).Reason)
		ask.MaxQueue = -1
		assert.False(t, c.come(t.Context(), "4", ask).done.Load())
		time.Sleep(2 * mins)
		c.wg.Wait()
		c.requireNoWaiter()
	})
}

// A request waits MaxDelay at most, also for permits that come back at no known time.
func TestMaxDelayIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit := concurrencyOf(t, 1)
		taken := take(t, limit, 1)
		got := c.come(t.Context(), "", quota.Ask{Limiter: limit, MaxDelay: 7 * sec})
		usual := c.come(t.Context(), "", quota.Ask{Limiter: limit})
		time.Sleep(quota.DefaultMaxDelay)
		c.wg.Wait()
		assert.Equal(t, 7*sec, got.after)
		assert.Equal(t, quota.Refusal{Cause: quota.ReasonOwnLimit, Reason: quota.ReasonMaxDelay}, got.refusal(t))
		assert.Equal(t, quota.DefaultMaxDelay, usual.after)
		taken.Release()
		assert.Equal(t, quota.Stats{Available: 1, Granted: 1, Refused: 2, IdleSince: time.Now()}, limit.Stats())
		c.requireNoWaiter()
	})
}

// MaxDelay is exact behind a request that has been woken and takes long to make its
// claims again.
func TestMaxDelayBehindASlowRequest(t *testing.T) {
	for _, another := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(quota.Report{Figures: figure("api", 0, 5*sec)})
			slow := claimOf("api")
			slow.Again = func() []quota.Claim {
				time.Sleep(20 * sec)
				return slow.Claims
			}
			first := c.come(t.Context(), "first", slow)
			ask := claimOf("api")
			ask.MaxDelay = 8 * sec
			before := c.come(t.Context(), "came before it woke", ask)
			if another {
				time.Sleep(7 * sec)
				ask.MaxDelay = 3 * sec
				after := c.come(t.Context(), "comes while it is slow", ask)
				defer func() { assert.Equal(t, 3*sec, after.after) }()
			}
			c.wg.Wait()
			assert.Equal(t, 8*sec, before.after)
			assert.Equal(t, quota.ReasonMaxDelay, before.refusal(t).Reason)
			assert.Equal(t, 25*sec+ms, first.after)
		})
	}
}

// A wait for an answer, or for work to end, may be over at any moment: a request is not
// refused because its deadline is before the time of the next look.
func TestWaitThatMayEndSoonerIsNotRefused(t *testing.T) {
	t.Run("concurrent requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(quota.Report{Terms: concurrentTerms("c", 1)})
			first := c.come(t.Context(), "first", claimOf("c"))
			ask := claimOf("c")
			ask.MaxDelay = 500 * ms
			second := c.come(t.Context(), "second", ask)
			time.Sleep(20 * ms)
			c.settle(first, quota.Report{})
			first.lease.Release()
			c.wg.Wait()
			assert.NoError(t, second.err)
			assert.Equal(t, 20*ms, second.after)
		})
	})
	t.Run("the answer to the probe after a window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(quota.Report{Figures: figure("api", 0, sec)})
			time.Sleep(2 * sec)
			probe := c.come(t.Context(), "probe", claimOf("api"))
			require.True(t, probe.done.Load())
			ask := claimOf("api")
			ask.MaxDelay = 500 * ms
			second := c.come(t.Context(), "second", ask)
			time.Sleep(40 * ms)
			c.settle(probe, quota.Report{Figures: figure("api", 9, sec)})
			c.wg.Wait()
			assert.NoError(t, second.err)
			assert.Equal(t, 40*ms, second.after)
		})
	})
}

// A pause refuses at once exactly those in line that cannot be admitted in time.
func TestPauseRefusesThoseInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		patient := c.come(t.Context(), "patient", claimOf("api"))
		hasty := claimOf("api")
		hasty.MaxDelay = 30 * sec
		one, two := c.come(t.Context(), "one", hasty), c.come(t.Context(), "two", hasty)
		ctx, cancel := context.WithTimeout(t.Context(), 20*sec)
		defer cancel()
		three := c.come(ctx, "three", claimOf("api"))
		other := c.come(t.Context(), "other", claimOf("api"))
		time.Sleep(sec)
		c.tell(quota.Report{Refused: true, Pause: mins, Figures: figure("api", 0, 10*sec)})
		synctest.Wait()
		assert.False(t, patient.done.Load())
		assert.False(t, other.done.Load())
		for i, got := range []*request{one, two, three} {
			if assert.True(t, got.done.Load(), "%d still waits, and is too late", i+1) {
				assert.Equal(t, sec, got.after)
				assert.Equal(t, quota.ReasonRetryAfter, got.refusal(t).Cause)
			}
		}
		time.Sleep(5 * mins)
		c.wg.Wait()
		c.requireNoWaiter()
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		hasty := claimOf("api")
		hasty.MaxDelay = 30 * sec
		var all []*request
		for i := range 10 {
			all = append(all, c.come(t.Context(), fmt.Sprint(i), hasty))
		}
		c.tell(quota.Report{Refused: true, Pause: mins, Figures: figure("api", 0, 10*sec)})
		synctest.Wait()
		for _, got := range all {
			require.True(t, got.done.Load())
			assert.Equal(t, quota.Refusal{Policy: "api", Cause: quota.ReasonRetryAfter, Reason: quota.ReasonMaxDelay, Wait: mins, RetryAfter: mins}, got.refusal(t))
		}
		c.requireNoWaiter()
	})
}

// A wait that is cancelled, at any place in the line, leaves nothing behind. The
// others keep their places.
func TestCancelLeavesNoTrace(t *testing.T) {
	for _, cancelled := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 0}, {0, 1, 2}} {
		t.Run(fmt.Sprint(cancelled), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
				before := c.account("api")
				var cancels []context.CancelCauseFunc
				var all []*request
				for i := range 3 {
					ctx, cancel := context.WithCancelCause(t.Context())
					cancels = append(cancels, cancel)
					all = append(all, c.come(ctx, fmt.Sprint(i), claimOf("api")))
				}
				time.Sleep(sec)
				cause := errors.New("changed my mind")
				for _, i := range cancelled {
					cancels[i](cause)
					synctest.Wait()
					require.True(t, all[i].done.Load())
					assert.True(t, all[i].err == cause, "the cause of the context, bare: %v", all[i].err)
					assert.Equal(t, sec, all[i].after)
					assert.Nil(t, all[i].lease.Retained())
					assert.Zero(t, all[i].lease.Sent(), "nothing is charged")
				}
				var want []string
				for i, got := range all {
					if !got.done.Load() {
						want = append(want, fmt.Sprint(i))
					}
				}
				if len(want) == 0 {
					c.requireNoWaiter()
					before.Used, before.Left = c.account("api").Used, before.Left-sec
					assert.Equal(t, before, c.account("api"), "as if none had come")
				}
				c.tell(quota.Report{Figures: figure("api", 3, 10*sec)})
				synctest.Wait()
				assert.Equal(t, want, c.order())
				for _, cancel := range cancels {
					cancel(nil)
				}
				c.wg.Wait()
				c.requireNoWaiter()
			})
		})
	}
}

// A request whose context is done is not admitted, even if there are units.
func TestDoneContextIsNotAdmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		cause := errors.New("too late")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		got := c.come(ctx, "", claimOf("api"))
		assert.True(t, got.err == cause)
		assert.Nil(t, c.account("api"), "no account was created")
		ask := claimOf("api")
		ask.Force = true
		got = c.come(ctx, "", ask)
		assert.True(t, got.err == cause)
	})
	synctest.Test(t, func(t *testing.T) {
		// The context ends after the request was woken, and before it is admitted.
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		ctx, cancel := context.WithCancel(t.Context())
		ask := claimOf("api")
		ask.Again = func() []quota.Claim { // is called between the two
			cancel()
			return ask.Claims
		}
		got := c.come(ctx, "", ask)
		time.Sleep(sec)
		c.tell(quota.Report{Figures: figure("api", 5, 10*sec)})
		c.wg.Wait()
		assert.True(t, got.err == context.Canceled)
		assert.Equal(t, int64(5), c.account("api").Available)
		assert.Zero(t, c.account("api").InFlight)
		c.requireNoWaiter()
	})
	synctest.Test(t, func(t *testing.T) {
		// It ends in the hook, and then there are units.
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		ctx, cancel := context.WithCancel(t.Context())
		ask := claimOf("api")
		ask.Held = func(quota.Refusal, quota.Limiter) {
			cancel()
			c.tell(quota.Report{Figures: figure("api", 5, 10*sec)})
		}
		got := c.come(ctx, "", ask)
		c.wg.Wait()
		assert.True(t, got.err == context.Canceled, "%v", got.err)
		c.requireNoWaiter()
	})
}

// Held is called before the wait, with what the request waits for; not again if it goes
// on waiting for that. No lock is held: it may take its time, and call the origin.
func TestHeldHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		var told []quota.Refusal
		ask := claimOf("api")
		ask.Held = func(r quota.Refusal, _ quota.Limiter) {
			told = append(told, r)
			inner := claimOf("api")
			found, _ := c.o.Check(t.Context(), time.Now(), &inner)
			assert.NotNil(t, found)
		}
		hasty := ask
		hasty.MaxDelay = quota.NoDelay
		require.Error(t, c.come(t.Context(), "", hasty).err)
		assert.Empty(t, told, "the request does not wait")

		got := c.come(t.Context(), "", ask)
		time.Sleep(mins)
		c.wg.Wait()
		require.NoError(t, got.err)
		assert.Equal(t, []quota.Refusal{{Policy: "api", Cause: quota.ReasonExhausted, Reason: quota.ReasonExhausted, Wait: 10*sec + ms, RetryAfter: 10*sec + ms}}, told)

	})
	synctest.Test(t, func(t *testing.T) {
		// A hook that takes long holds up no other request, and its time counts.
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 2*sec)})
		slow := claimOf("api")
		slow.MaxDelay = 30 * sec
		slow.Held = func(quota.Refusal, quota.Limiter) { time.Sleep(20 * sec) }
		one := c.come(t.Context(), "slow", slow)
		two := c.come(t.Context(), "two", claimOf("api"))
		time.Sleep(2*sec + ms)
		synctest.Wait()
		assert.True(t, two.done.Load(), "the first is not in line yet")
		c.tell(quota.Report{Figures: figure("api", 0, 5*mins), Pause: 5 * mins})
		c.wg.Wait()
		assert.Error(t, one.err)
		assert.Equal(t, 20*sec, one.after, "it is too late when the hook returns")
		c.requireNoWaiter()
	})
}

// The time that the hook takes is part of MaxDelay, and the account that the request
// waits for is not evicted meanwhile.
func TestHookThatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit := concurrencyOf(t, 1)
		taken := take(t, limit, 1)
		ask := quota.Ask{Limiter: limit, MaxDelay: 30 * sec, Held: func(quota.Refusal, quota.Limiter) { time.Sleep(20 * sec) }}
		got := c.come(t.Context(), "", ask)
		c.wg.Wait()
		assert.Equal(t, quota.ReasonMaxDelay, got.refusal(t).Reason)
		assert.Equal(t, 30*sec, got.after)
		taken.Release()
	})
	synctest.Test(t, func(t *testing.T) {
		c := counterOf(t, &quota.Accounts{Jitter: noJitter, MaxAccounts: 1})
		c.tell(quota.Report{Figures: figure("api", 0, 2*sec)})
		ask := claimOf("api")
		ask.Held = func(quota.Refusal, quota.Limiter) {
			time.Sleep(sec)
			for i := range 5 {
				c.tell(quota.Report{Figures: figure(fmt.Sprint(i), 1, 2*sec)})
			}
		}
		got := c.come(t.Context(), "", ask)
		c.wg.Wait()
		require.NoError(t, got.err)
		if a := c.account("api"); assert.NotNil(t, a, "it was evicted while a request was about to wait for it") {
			assert.Equal(t, int64(1), a.InFlight)
		}
	})
}

// Force charges, whatever is left, and never waits. Held is called.
func TestForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit := concurrencyOf(t, 1)
		taken := take(t, limit, 1)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec), Pause: mins})
		var told []quota.Reason
		ask := claimOf("api")
		ask.Force, ask.Limiter = true, limit
		ask.Held = func(r quota.Refusal, _ quota.Limiter) { told = append(told, r.Cause) }
		got := c.come(t.Context(), "", ask)
		require.True(t, got.done.Load())
		require.NoError(t, got.err)
		assert.Equal(t, []quota.Reason{quota.ReasonRetryAfter}, told)
		assert.Equal(t, int64(1), c.account("api").InFlight)
		got.lease.Release()
		assert.Zero(t, limit.Stats().Available, "two were out, of one")
		taken.Release()
		assert.Equal(t, int64(1), limit.Stats().Available)
	})
}

// Check says what would happen and changes nothing.
func TestCheckChargesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		limit := concurrencyOf(t, 1)
		r1 := quota.Rate(rate.NewLimiter(1, 1))
		ask := claimOf("api")
		r, waits := c.o.Check(t.Context(), time.Now(), &ask)
		assert.Nil(t, r)
		assert.False(t, waits)
		assert.Empty(t, c.snapshot().Accounts, "it creates none")
		c.tell(quota.Report{Figures: figure("api", 1, 10*sec)})
		time.Sleep(sec) // so that it counts nothing that is in flight
		for _, l := range []quota.Limiter{nil, limit, r1} {
			ask.Limiter = l
			before := c.snapshot()
			for range 3 {
				r, _ = c.o.Check(t.Context(), time.Now(), &ask)
				assert.Nil(t, r)
			}
			assert.Equal(t, before, c.snapshot())
		}
		assert.Equal(t, int64(1), limit.Stats().Available)
		require.NoError(t, c.come(t.Context(), "", claimOf("api")).err)
		ask.Limiter = nil
		r, waits = c.o.Check(t.Context(), time.Now(), &ask)
		assert.Equal(t, &quota.Refusal{Policy: "api", Cause: quota.ReasonExhausted, Reason: quota.ReasonExhausted, Wait: 9*sec + ms, RetryAfter: 9*sec + ms}, r)
		assert.True(t, waits)
		ask.MaxDelay = sec
		r, waits = c.o.Check(t.Context(), time.Now(), &ask)
		assert.Equal(t, quota.ReasonMaxDelay, r.Reason)
		assert.False(t, waits)
	})
}

// A request may have read the clock before the origin began with another one. It is
// admitted.
func TestClockReadBeforeTheOriginBegan(t *testing.T) {
	now := time.Now()
	o := new(quota.Accounts).Origin(testOrigin)
	r, _ := o.Check(t.Context(), now.Add(ms), &quota.Ask{})
	require.Nil(t, r)
	var l quota.Lease
	ask := claimOf("api")
	ask.MaxDelay = quota.NoDelay
	require.NoError(t, o.Admit(t.Context(), now, &ask, &l))
	o.Settle(now, &l, &quota.Report{Figures: figure("api", 0, sec)})
	r, _ = o.Check(t.Context(), now.Add(500*ms), &ask)
	require.NotNil(t, r)
	assert.Equal(t, 502*ms, r.RetryAfter, "from the beginning, with a guard")
}

// The text of a Refusal names the policy, and not the key of the partition.
func TestRefusalText(t *testing.T) {
	r := &quota.Refusal{Policy: "api", Key: "alice", Cause: quota.ReasonExhausted, Reason: quota.ReasonMaxDelay, RetryAfter: 1500 * ms}
	assert.EqualError(t, r, `quota: not admitted: max delay: quota exhausted, policy "api", retry after 1.5s`)
	for _, tt := range []struct {
		policy        string
		cause, reason quota.Reason
		text          string
	}{
		{"", 0, quota.ReasonOwnLimit, "own limit"},
		{"", quota.ReasonOwnLimit, quota.ReasonOwnLimit, "own limit"},
		{"mine", quota.ReasonOwnLimit, quota.ReasonOwnLimit, `own limit "mine"`},
		{"", quota.ReasonBackOff, quota.ReasonQueueFull, "queue full: backing off"},
		{"mine", quota.ReasonOwnLimit, quota.ReasonQueueFull, `queue full: own limit "mine"`},
		{"mine", quota.ReasonClosed, quota.ReasonClosed, `limiter closed, own limit "mine"`},
		{"api", quota.ReasonExhausted, quota.ReasonExhausted, `quota exhausted, policy "api"`},
	} {
		assert.EqualError(t, &quota.Refusal{Policy: tt.policy, Cause: tt.cause, Reason: tt.reason}, "quota: not admitted: "+tt.text)
	}
	seen := make(map[string]bool)
	for reason := quota.ReasonExhausted; reason <= quota.ReasonQueueFull; reason++ {
		seen[reason.String()] = true
	}
	assert.Len(t, seen, int(quota.ReasonQueueFull), "each reason has words of its own")
	assert.NotContains(t, seen, quota.Reason(0).String())
	assert.Equal(t, quota.Reason(200).String(), quota.Reason(0).String())
}

// When an admission is refused or cancelled, every account and limiter is as it was
// before.
func TestAllOrNone(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			c := newCounter(t)
			limits := []*quota.Limit{concurrencyOf(t, 1+r.Int64N(3)), concurrencyOf(t, 1+r.Int64N(3))}
			tokensOf := rate.NewLimiter(1, 1+r.IntN(3))
			rates := quota.Rate(tokensOf)
			all := quota.NewUnsorted(limits[0], limits[1], rates)
			names := []string{"a", "b", "c", "d"}
			for _, name := range names {
				c.tell(quota.Report{Figures: figure(name, r.Int64N(4), time.Duration(1+r.IntN(60))*sec)})
			}
			admitted := 0
			for step := range 30 {
				ask := quota.Ask{Limiter: all, MaxDelay: []time.Duration{quota.NoDelay, 500 * ms, 3 * sec}[r.IntN(3)]}
				for _, i := range r.Perm(len(names))[:r.IntN(4)] {
					ask.Claims = append(ask.Claims, quota.Claim{Policy: names[i], Units: r.Int64N(3)})
				}
				available := func() [2]int64 {
					return [2]int64{limits[0].Stats().Available, limits[1].Stats().Available}
				}
				before, copied, tokens := available(), c.o.CopyAccounts(names), tokensOf.TokensAt(time.Now())
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(3) == 0 {
					time.AfterFunc(time.Duration(r.IntN(2000))*ms, cancel)
				}
				began := time.Now()
				var lease quota.Lease
				err := c.o.Admit(ctx, began, &ask, &lease)
				cancel()
				waited := time.Since(began)
				if err == nil {
					admitted++
					if step%3 == 0 {
						c.o.Settle(time.Now(), &lease, &quota.Report{})
						lease.Release()
					} else if step%3 == 1 {
						lease.Cancel()
					}
					continue
				}
				assert.Equal(t, before, available(), "seed %d, step %d", seed, step)
				burst := float64(tokensOf.Burst())
				assert.InDelta(t, min(tokens+waited.Seconds(), burst), tokensOf.TokensAt(time.Now()), 1e-6, "seed %d, step %d", seed, step)
				assert.Equal(t, copied(time.Now()), c.o.CopyAccounts(names)(time.Now()), "seed %d, step %d: %v", seed, step, err)
			}
			assert.NotZero(t, admitted, "seed %d", seed)
		})
		if t.Failed() {
			return
		}
	}
}

// A request that cannot be admitted in time is refused at once, although it also waits
// for work that may end at any moment.
func TestTooLateBesideAWaitThatMayEndSooner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{
			Terms:   concurrentTerms("c", 1),
			Figures: figure("api", 0, sec),
		})
		first := c.come(t.Context(), "first", claimOf("c"))
		time.Sleep(300 * ms)
		ask := quota.Ask{Claims: []quota.Claim{{Policy: "c", Units: 1}, {Policy: "api", Units: 1}}, MaxDelay: 500 * ms}
		second := c.come(t.Context(), "second", ask)
		assert.Zero(t, second.after)
		r := second.refusal(t)
		assert.Equal(t, "api", r.Policy)
		assert.Equal(t, quota.ReasonMaxDelay, r.Reason)
		c.settle(first, quota.Report{})
		first.lease.Release()
	})
}

// Who waits for a server's quota is not refused because of those ahead, unlike behind a
// limiter of the client's own: the server may have more than it has said. The next answer
// decides: all go, or those that cannot go in time are refused.
func TestLineOfAnAccountIsNotForetold(t *testing.T) {
	for _, left := range []int64{9, 0} {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			c.tell(quota.Report{Figures: figure("api", 0, mins), Terms: terms("api", 1, mins)})
			var rs []*request
			for i := range 3 {
				rs = append(rs, c.come(t.Context(), fmt.Sprint(i), quota.Ask{Claims: []quota.Claim{api(1)}, MaxDelay: 90 * sec}))
			}
			time.Sleep(mins + 10*ms)
			synctest.Wait()
			require.True(t, rs[0].done.Load() && !rs[1].done.Load() && !rs[2].done.Load())
			c.settle(rs[0], quota.Report{Figures: figure("api", left, mins), Terms: terms("api", 1+left, mins)})
			c.wg.Wait()
			for _, r := range rs[1:] {
				assert.Equal(t, mins+10*ms, r.after, "%d left", left)
				if left == 0 {
					assert.Equal(t, quota.ReasonMaxDelay, r.refusal(t).Reason)
				}
			}
		})
	}
}

// A retry is useful once all of several quotas are back, in whatever order they are asked.
func TestRefusalOfSeveral(t *testing.T) {
	hour := quota.Figure{Policy: "hour", Window: time.Hour}
	short := quota.Figure{Policy: "short", Window: 20 * sec}
	for _, figures := range [][]quota.Figure{{hour, short}, {short, hour}} {
		d := newDesk(t)
		claims := []quota.Claim{{Policy: figures[0].Policy, Units: 1}, {Policy: figures[1].Policy, Units: 1}}
		d.done(0, d.send(0, "", claims...), quota.Report{Figures: figures})
		r := d.refused(sec, "", claims...)
		assert.Equal(t, quota.ProbeInterval, r.Wait+sec)
		assert.Equal(t, time.Hour, (r.RetryAfter + sec).Round(10*ms))
	}
}

// In a hold of the whole origin one request looks every ten minutes. In one of requests without a scope none does, and
// others do not wait for it.
func TestHoldWithoutScopeAfterOneOfOrigin(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Pause: 10 * sec, WholeOrigin: true})
	refusal := quota.Report{Figures: []quota.Figure{{Available: 0, Window: time.Hour}}, Refused: true, Pause: 20 * mins}
	d.done(9*mins, d.send(9*mins, "", unnamed), refusal)
	for _, now := range []time.Duration{9*mins + sec, 10 * mins, 19 * mins, 29*mins - ms} {
		assert.Equal(t, 29*mins, now+d.wait(now, "", unnamed), now)
		assert.Zero(t, d.wait(now, "alice", unnamed), now)
	}
}
