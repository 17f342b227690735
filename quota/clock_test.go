package quota

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/window"
)

// wallAhead returns a time whose wall clock reading is ahead by whole seconds; its
// monotonic reading stays as it is.
func wallAhead(at time.Time, d time.Duration) time.Time {
	first := (*uint64)(unsafe.Pointer(&at)) // a bit for the monotonic reading, 33 bits of seconds, 30 of nanoseconds
	*first = uint64(int64(*first) + int64(d/time.Second)<<30)
	return at
}

func TestWallAhead(t *testing.T) {
	now := time.Now()
	assert.Equal(t, time.Hour, wallAhead(now, time.Hour).Round(0).Sub(now.Round(0)))
	assert.Equal(t, -time.Hour, wallAhead(now, -time.Hour).Round(0).Sub(now.Round(0)))
	assert.Zero(t, wallAhead(now, time.Hour).Sub(now))
}

// A deadline without a monotonic reading, as of another process, is as far away as
// the wall clock says when the work asks, whatever it said before.
func TestDeadlineAfterWallClockWasSet(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"as it was": 0, "back": -time.Hour, "forward": 50 * sec} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.done(0, d.send(0, ""), Report{Figures: figure("api", 0, 10*sec)})
			now := wallAhead(d.at(sec), ahead)
			for left, want := range map[time.Duration]Reason{30 * sec: ReasonExhausted, 5 * sec: ReasonDeadline} {
				ctx, cancel := context.WithDeadline(t.Context(), now.Round(0).Add(left+time.Hour))
				defer cancel()
				r, waits := d.o.Check(deadlineAt{ctx, now.Round(0).Add(left)}, now, &Ask{Claims: []Claim{api(1)}})
				require.NotNil(t, r)
				assert.Equal(t, want.String(), r.Reason.String(), "%v", left)
				assert.Equal(t, want != ReasonDeadline, waits)
			}
		})
	}
}

// deadlineAt is a context with a deadline of its own.
type deadlineAt struct {
	context.Context
	at time.Time
}

func (c deadlineAt) Deadline() (time.Time, bool) { return c.at, true }

// A delay of Retry-After goes on while the machine is suspended (RFC 9110, Section
// 10.2.3, counts from the response), although the monotonic clock does not.
func TestSuspension(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ahead []time.Duration // the wall clock, at one request a second
		want  time.Duration   // of the wait after them
	}{
		{"eight hours", []time.Duration{8 * time.Hour}, 0},
		{"half an hour", []time.Duration{30 * mins}, 30*mins - sec},
		{"twice", []time.Duration{20 * mins, 30 * mins}, 30*mins - 2*sec},
		{"too short to tell", []time.Duration{59 * sec}, time.Hour - sec},
		{"set back", []time.Duration{-8 * time.Hour}, time.Hour - sec},
		{"set back and right again", []time.Duration{-8 * time.Hour, 0}, time.Hour - 2*sec},
		{"slowly", []time.Duration{30 * sec, 60 * sec, 90 * sec}, time.Hour - 3*sec},
		{"for ever", []time.Duration{100 * 365 * 24 * time.Hour}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.done(0, d.send(0, ""), Report{Refused: true, Pause: time.Hour})
			began := d.o.start
			var wait time.Duration
			for i, ahead := range tt.ahead {
				now := wallAhead(began.Add(time.Duration(i+1)*sec), ahead)
				l := new(Lease)
				err := d.o.Admit(t.Context(), now, &Ask{MaxDelay: noDelay}, l)
				if r, ok := err.(*Refusal); ok {
					wait = r.RetryAfter
				} else {
					require.NoError(t, err)
					wait = 0
				}
				l.Release()
			}
			assert.Equal(t, tt.want, wait)
		})
	}
	t.Run("Check", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), Report{Refused: true, Pause: time.Hour})
		r, _ := d.o.Check(t.Context(), wallAhead(d.at(sec), 8*time.Hour), &Ask{})
		assert.Nil(t, r)
	})
}

// What is restored may have been changed: no hold is longer than a day, the default
// cap on Retry-After (the draft, Section 9.5.1).
func TestRestoredHoldIsBounded(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Refused: true, Pause: 2 * time.Hour})
	var saved strings.Builder
	require.NoError(t, d.o.accounts.Save(&saved, d.at(0), false))
	hours := func(n int64) string {
		b, err := json.Marshal(time.Duration(n) * time.Hour)
		require.NoError(t, err)
		return `"hold":` + string(b)
	}
	for n, want := range map[int64]time.Duration{2: 2 * time.Hour, 24: 24 * time.Hour, 366 * 24: 24 * time.Hour} {
		var a Accounts
		text := strings.ReplaceAll(saved.String(), hours(2), hours(n))
		require.NoError(t, a.Restore(strings.NewReader(text), d.at(0)))
		r, _ := a.Origin("https://api.example").Check(t.Context(), d.at(0), &Ask{})
		require.NotNil(t, r)
		assert.Equal(t, want, r.RetryAfter)
	}
	w := window.New(window.Adaptive)
	w.Restore(0, window.Saved{BackOff: window.MaxSavedTime, Quota: None})
	assert.Equal(t, window.Instant(mins), w.BackOff)
}

// Work that is admitted at the zero time is admitted now.
func TestAdmitReadsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(Accounts).Origin("https://api.example")
		time.Sleep(3 * sec)
		for i, ask := range []Ask{{}, {}, {NotBefore: time.Now()}, {Limiter: Concurrency(1)}, {Claims: []Claim{api(1)}}} {
			var l Lease
			require.NoError(t, o.Admit(t.Context(), time.Time{}, &ask, &l))
			assert.Equal(t, time.Now(), l.Sent(), i)
			time.Sleep(sweepInterval / 8)
			o.Settle(time.Time{}, &l, &Report{})
			l.Release()
		}
		var l Lease
		ask := Ask{Claims: []Claim{api(1)}}
		require.NoError(t, o.Admit(t.Context(), time.Time{}, &ask, &l))
		o.Settle(time.Time{}, &l, &Report{Figures: figure("api", 0, 10*sec)})
		before := time.Now()
		require.NoError(t, o.Admit(t.Context(), time.Time{}, &ask, &l))
		assert.GreaterOrEqual(t, time.Since(before), 10*sec)
		assert.Equal(t, time.Now(), l.Sent())
		l.Release()
	})
	t.Run("after a suspension", func(t *testing.T) {
		o := new(Accounts).Origin("https://api.example")
		for i := range 3 {
			before := time.Now()
			var l Lease
			require.NoError(t, o.Admit(t.Context(), time.Time{}, &Ask{}, &l))
			assert.False(t, l.Sent().Before(before))
			assert.False(t, l.Sent().After(time.Now()))
			o.Settle(time.Now(), &l, &Report{})
			require.True(t, o.awake(wallAhead(time.Now(), time.Duration(i+1)*8*time.Hour)))
			o.swept = o.at(time.Now().Add(time.Hour)) // the next admission need not sweep
		}
	})
}
