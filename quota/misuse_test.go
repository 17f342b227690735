package quota_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// Close wakes what waits in the line of a kind, too, and of the first flight.
func TestCloseWakesKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(quota.Accounts).Origin("o")
		l := o.Limiter(quota.Ask{Scope: "s", Kind: func() string { return "/a" }})
		first, err := l.TryAcquire(1)
		require.NoError(t, err)
		first.Settle(&quota.Report{Refused: true, Pause: time.Minute})
		first.Release()
		began := time.Now()
		done := make(chan error)
		go func() {
			_, err := l.Acquire(t.Context(), 1)
			done <- err
		}()
		synctest.Wait()
		l.Close()
		err = <-done
		assert.ErrorIs(t, err, quota.ErrClosed)
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestCloseChainWakesKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(quota.Accounts).Origin("o")
		l := o.Limiter(quota.Ask{Scope: "s", Kind: func() string { return "/a" }})
		first, err := l.TryAcquire(1)
		require.NoError(t, err)
		first.Settle(&quota.Report{Refused: true, Pause: time.Minute})
		first.Release()
		c := quota.Chain(l, quota.PerSecond(10, 10))
		began := time.Now()
		done := make(chan error)
		go func() {
			_, err := c.Acquire(t.Context(), 1)
			done <- err
		}()
		synctest.Wait()
		c.Close()
		assert.ErrorIs(t, <-done, quota.ErrClosed)
		assert.Less(t, time.Since(began), time.Second)
	})
}

func TestCloseWakesFirstFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(quota.Accounts).Origin("o")
		l := o.Limiter(quota.Ask{Scope: "s", FirstFlight: 1})
		first, err := l.TryAcquire(1)
		require.NoError(t, err)
		defer first.Release()
		began := time.Now()
		done := make(chan error)
		go func() {
			_, err := l.Acquire(t.Context(), 1)
			done <- err
		}()
		synctest.Wait()
		l.Close()
		assert.ErrorIs(t, <-done, quota.ErrClosed)
		assert.Less(t, time.Since(began), time.Second/2)
	})
}

// A Kind that panics leaves nothing taken of a Custom limiter.
func TestKindPanics(t *testing.T) {
	o := new(quota.Accounts).Origin("o")
	taken := int64(0)
	own := quota.Custom(quota.CustomFuncs{
		Take:    func(_ context.Context, n int64) quota.Answer { taken += n; return quota.Answer{OK: true} },
		Undo:    func(n int64) { taken -= n },
		Release: func(n int64) { taken -= n },
	})
	var l quota.Lease
	ask := quota.Ask{Scope: "s", MaxDelay: -1}
	require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
	o.Settle(time.Now(), &l, &quota.Report{Refused: true, Pause: time.Minute})
	l.Release()
	ask.Limiter = own
	ask.Kind = func() string { panic("kind") }
	assert.Panics(t, func() { o.Admit(t.Context(), time.Now(), &ask, &l) })
	assert.Zero(t, taken)
}

// A Release of the user that panics leaves nothing taken of other limiters.
func TestReleasePanics(t *testing.T) {
	for name, end := range map[string]func(*quota.Lease){"release": (*quota.Lease).Release, "cancel": (*quota.Lease).Cancel} {
		own := quota.Concurrency(1)
		l, err := quota.Chain(own, quota.Custom(quota.CustomFuncs{
			Release: func(int64) { panic("release") },
			Undo:    func(int64) { panic("undo") },
		})).TryAcquire(1)
		require.NoError(t, err)
		assert.Panics(t, func() { end(l) })
		assert.EqualValues(t, 1, own.Stats().Available, name)
	}
}

// What Save writes can be restored, whatever hosts a client was sent to.
func TestSaveOfHostileHosts(t *testing.T) {
	for _, names := range [][]string{{"http://\xff.example", "http://\xfe.example"}, {"http://" + strings.Repeat("a", 1<<20)}} {
		a := new(quota.Accounts)
		for _, name := range append(names, "http://good") {
			var l quota.Lease
			o := a.Origin(name)
			require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, &l))
			o.Settle(time.Now(), &l, &quota.Report{Unsent: true})
			l.Release()
		}
		var b bytes.Buffer
		require.NoError(t, a.Save(&b, time.Now(), false))
		assert.NoError(t, new(quota.Accounts).Restore(&b, time.Now()))
	}
}

func TestSaveOfLongScopes(t *testing.T) {
	a := new(quota.Accounts)
	var l quota.Lease
	o := a.Origin("http://good")
	require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{Scope: strings.Repeat("a", 1<<20)}, &l))
	o.Settle(time.Now(), &l, &quota.Report{Refused: true, Pause: time.Minute})
	l.Release()
	var b bytes.Buffer
	require.NoError(t, a.Save(&b, time.Now(), true))
	assert.NoError(t, new(quota.Accounts).Restore(&b, time.Now()))
}

// Origins beyond the bound that were all in use go once others come.
func TestOriginsShrink(t *testing.T) {
	a := &quota.Accounts{MaxOrigins: 10}
	ls := make([]quota.Lease, 1000)
	for i := range ls {
		o := a.Origin(fmt.Sprint(i))
		require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, &ls[i]))
	}
	for i := range ls {
		ls[i].Settle(&quota.Report{})
		ls[i].Release()
	}
	for i := range 5000 {
		a.Origin(fmt.Sprint("later", i))
	}
	assert.LessOrEqual(t, len(a.Snapshot(time.Now(), quota.SnapshotOptions{})), 10)
}

// A key without a hash panics, and leaves others as they were.
func TestByUnhashable(t *testing.T) {
	limit := quota.By(func(k any) any { return k }, func(any) quota.Limiter { return quota.PerSecond(1, 1) })
	assert.Panics(t, func() { limit([]int{1}) })
	_, err := limit("good").TryAcquire(1)
	assert.NoError(t, err)
}

// All permits of a sliding window are back after one window, however many were forced.
func TestSlidingForced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := quota.SlidingWindow(1, 10*time.Second, 10)
		o := new(quota.Accounts).Origin("o")
		ask := quota.Ask{Limiter: own, Force: true}
		for range 25 {
			var l quota.Lease
			require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
			l.Settle(&quota.Report{})
			l.Release()
		}
		go func() {
			l, err := own.Acquire(t.Context(), 1)
			assert.NoError(t, err)
			l.Release()
		}()
		synctest.Wait()
		_, err := own.TryAcquire(1)
		var r *quota.Refusal
		require.True(t, errors.As(err, &r))
		assert.LessOrEqual(t, r.RetryAfter, 20*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		_, err = own.Acquire(ctx, 1)
		assert.NoError(t, err)
	})
}

// Work that was forced past a Custom limiter which refused it gives nothing back.
func TestForcedCustom(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		used := int64(0)
		own := quota.Custom(quota.CustomFuncs{
			Take: func(_ context.Context, n int64) quota.Answer {
				if used+n > 1 {
					return quota.Answer{}
				}
				used += n
				return quota.Answer{OK: true}
			},
			Undo:    func(n int64) { used -= n },
			Release: func(n int64) { used -= n },
		})
		o := new(quota.Accounts).Origin("o")
		first, err := own.TryAcquire(1)
		require.NoError(t, err)
		ask := quota.Ask{Limiter: own, Force: true}
		var l quota.Lease
		require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
		if cancel {
			l.Cancel()
		} else {
			l.Settle(&quota.Report{})
			l.Release()
		}
		assert.EqualValues(t, 1, used, "first has it still")
		_, err = own.TryAcquire(1)
		assert.Error(t, err, "there is one permit, and first has it")
		first.Release()
		assert.Zero(t, used)
	}
}

// A limiter that grants nothing refuses an item without weight, too.
func TestChannelOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := quota.NewChannel(quota.FixedWindow(0, time.Second), 0, func(string) int64 { return 0 })
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		assert.ErrorIs(t, c.Send(ctx, "x"), quota.ErrPermits)
	})
}

// Check of forced work says that it goes at once.
func TestCheckForce(t *testing.T) {
	o := new(quota.Accounts).Origin("o")
	var l quota.Lease
	ask := quota.Ask{Scope: "s"}
	require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
	o.Settle(time.Now(), &l, &quota.Report{Refused: true, Pause: time.Minute})
	l.Release()
	ask.Force = true
	r, waits := o.Check(t.Context(), time.Now(), &ask)
	assert.Nil(t, r)
	assert.False(t, waits)
	require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l))
}
