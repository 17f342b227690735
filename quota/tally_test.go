package quota_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A tally sums up the accounts of each policy, whichever partitions they belong to.
func TestTally(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", quota.Report{
		Figures: append(append(figure("api", 9, 10*sec), keyedFigure("user", "a", 4, 30*sec)...), keyedFigure("user", "b", 0, 30*sec)...),
		Terms:   terms("api", 20, mins),
	})
	d.exchange(0, "bob", quota.Report{Figures: figure("api", 3, 5*sec)})
	d.exchange(0, "zoe", quota.Report{Figures: figure("api", 8, 20*sec)})
	out := d.send(sec, "alice", api(2))
	d.settle(2*sec, d.send(sec, "carol"), quota.Report{Refused: true})
	d.settle(2*sec, d.send(sec, "dora"), quota.Report{Pause: mins, WholeOrigin: true})
	want := d.snapshotAt(2*sec, quota.SnapshotOptions{}) // of the origin, the same
	want.Accounts = []quota.AccountSnapshot{
		{Policy: quota.Policy{Quota: quota.None}, Accounts: 5, Available: quota.None, InFlight: 1, Hold: mins, BackOff: sec},
		{Policy: quota.Policy{Name: "api", Quota: 20}, Accounts: 3, Available: 3, InFlight: 2},
		{Policy: quota.Policy{Name: "user", Quota: quota.None}, Accounts: 2, Available: 0},
	}
	tally := func(now time.Duration) quota.OriginSnapshot {
		return d.snapshotAt(now, quota.SnapshotOptions{ByPolicy: true})
	}
	assert.Equal(t, want, tally(2*sec))
	assert.Equal(t, want, tally(2*sec), "it changes nothing")

	// What is left of a window that is over does not count: it says nothing of now.
	later := tally(8 * sec).Accounts
	assert.EqualValues(t, 7, later[1].Available, "alice's")
	later = tally(time.Hour).Accounts
	assert.EqualValues(t, quota.None, later[1].Available)
	assert.EqualValues(t, quota.None, later[2].Available)
	assert.Zero(t, later[0].Hold)
	out.Release()

	assert.Empty(t, new(quota.Accounts).Snapshot(time.Now(), quota.SnapshotOptions{ByPolicy: true}))
	unused := new(quota.Accounts)
	unused.Origin("https://unused.example")
	assert.Equal(t, []quota.OriginSnapshot{{Name: "https://unused.example"}}, unused.Snapshot(time.Now(), quota.SnapshotOptions{ByPolicy: true}))
}

// Accounts of one policy may have quotas of their own, such as the models of a provider. What
// is left and the quota are of the account that has the smallest part left.
func TestTallyOfDifferentQuotas(t *testing.T) {
	d := newDesk(t)
	tokens := func(q int64) []quota.Policy {
		return []quota.Policy{{Name: "tokens", Quota: q, Unit: "tokens", Window: mins}}
	}
	d.exchange(0, "large", quota.Report{Figures: figure("tokens", 90_000, 10*sec), Terms: tokens(100_000)})
	d.exchange(0, "small", quota.Report{Figures: figure("tokens", 950, 10*sec), Terms: tokens(1_000)})
	least := func(now time.Duration) (available, of int64) {
		sum := d.snapshotAt(now, quota.SnapshotOptions{ByPolicy: true}).Accounts[1]
		return sum.Available, sum.Quota
	}
	available, of := least(sec)
	assert.Equal(t, []int64{90_000, 100_000}, []int64{available, of})
	d.exchange(sec, "small", quota.Report{Figures: figure("tokens", 800, 9*sec)})
	available, of = least(sec)
	assert.Equal(t, []int64{800, 1_000}, []int64{available, of})
	available, of = least(time.Hour)
	assert.Equal(t, []int64{quota.None, 100_000}, []int64{available, of}, "no window is in force")
}

// What is left of a bucket grows meanwhile, until it is full.
func TestTallyOfBucket(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{
		Figures: []quota.Figure{{Policy: "tokens", Available: 400, Window: 6 * sec, Full: 6 * sec}},
		Terms:   []quota.Policy{{Name: "tokens", Quota: 1000, Unit: "tokens", Window: 10 * sec}},
	})
	left := func(now time.Duration) int64 {
		return d.snapshotAt(now, quota.SnapshotOptions{ByPolicy: true}).Accounts[1].Available
	}
	assert.Equal(t, []int64{399, 599, 1000}, []int64{left(0), left(2 * sec), left(time.Hour)}, "rounded down, after a guard of 1 ms")
}

// It counts those in line, of every account.
func TestTallyInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.exchange(0, "", quota.Report{Figures: append(figure("api", 0, 10*sec), keyedFigure("user", "a", 0, 20*sec)...)})
		for i := range 5 {
			ask := &quota.Ask{Claims: []quota.Claim{api(1)}}
			if i < 2 {
				ask.Claims = []quota.Claim{{Policy: "user", Key: "a", Keyed: true, Units: 1}}
			}
			go func() {
				var l quota.Lease
				if d.o.Admit(t.Context(), time.Now(), ask, &l) == nil {
					l.Release()
				}
			}()
		}
		synctest.Wait()
		tally := func() quota.OriginSnapshot {
			return d.accounts.Snapshot(time.Now(), quota.SnapshotOptions{ByPolicy: true})[0]
		}
		got := tally().Accounts
		require.Len(t, got, 3)
		assert.Equal(t, []int{0, 3, 2}, []int{got[0].InLine, got[1].InLine, got[2].InLine})
		assert.Equal(t, 5, tally().InLine)
		time.Sleep(time.Minute)
		assert.Zero(t, tally().Accounts[1].InLine)
		assert.Zero(t, tally().InLine)
	})
}

// A snapshot says who waits for what and until when, and what was learned.
func TestSnapshotOfLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		l := d.send(0, "", api(1))
		time.Sleep(100 * ms)
		d.done(100*ms, l, quota.Report{Figures: figure("api", 0, 10*sec)})
		for i := range 12 {
			go func() {
				time.Sleep(time.Duration(i) * sec / 10)
				var l quota.Lease
				ask := &quota.Ask{Claims: []quota.Claim{api(int64(i + 1))}, MaxDelay: 20 * sec, Priority: i / 11}
				if d.o.Admit(t.Context(), time.Now(), ask, &l) == nil {
					l.Release()
				}
			}()
		}
		time.Sleep(2 * sec)
		at := d.accounts.Snapshot(time.Now(), quota.SnapshotOptions{})[0].Accounts
		assert.Nil(t, at[0].Line)
		assert.Zero(t, at[0].Next)
		got := at[1]
		require.Equal(t, "api", got.Name)
		assert.Equal(t, got.Left, got.Next)
		assert.Equal(t, []string{"round trip 100ms (±0s)"}, got.Learned)
		assert.False(t, got.Probing)
		require.Len(t, got.Line, 10, "the first ten")
		assert.Equal(t, 12, got.InLine)
		for i, w := range got.Line {
			n, priority := i-1, 0
			if i == 0 {
				n, priority = 11, 1 // goes first
			}
			since := d.at(100*ms + time.Duration(n)*sec/10).Round(0)
			assert.Equal(t, quota.Waiter{Priority: priority, Units: int64(n + 1), Since: since, Until: since.Add(20 * sec)}, w)
		}
		time.Sleep(time.Minute)
	})
}

// A snapshot with a bound shows the accounts with the longest lines first, then those under
// a hold, then those with the least left.
func TestSnapshotTroubled(t *testing.T) {
	d := newDesk(t)
	key := func(name string) quota.Claim { return quota.Claim{Policy: "user", Key: name, Keyed: true, Units: 1} }
	for i, name := range []string{"e", "held", "d", "backoff", "c"} {
		r := quota.Report{Figures: keyedFigure("user", name, int64(5-i), mins)}
		switch name {
		case "held":
			r.Pause = mins
		case "backoff":
			r = quota.Report{Refused: true, Figures: keyedFigure("user", name, 9, 0)}
		}
		d.exchange(time.Duration(i)*ms, "", r, key(name))
	}
	var got []string
	for n := range 5 {
		s := d.snapshotAt(10*ms, quota.SnapshotOptions{Keys: true, MaxAccounts: n + 1})
		require.Len(t, s.Accounts, n+1)
		for _, a := range s.Accounts {
			if i := len(got); i == n && !slices.Contains(got, a.Key) {
				got = append(got, a.Key)
			}
		}
	}
	assert.Equal(t, []string{"held", "backoff", "c", "d", "e"}, got)
}

// BenchmarkTally measures a tally, beside a snapshot, of accounts of one policy.
func BenchmarkTally(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		accounts := &quota.Accounts{}
		o := accounts.Origin(testOrigin)
		now := time.Now()
		for i := range n {
			var l quota.Lease
			key := fmt.Sprint(i)
			if err := o.Admit(b.Context(), now, &quota.Ask{Force: true, Claims: []quota.Claim{{Policy: "user", Key: key, Keyed: true, Units: 1}}}, &l); err != nil {
				b.Fatal(err)
			}
			o.Settle(now, &l, &quota.Report{Figures: keyedFigure("user", key, 9, time.Hour)})
			l.Release()
		}
		b.Run(fmt.Sprintf("tally/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				accounts.Snapshot(now, quota.SnapshotOptions{ByPolicy: true})
			}
		})
		b.Run(fmt.Sprintf("snapshot/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				accounts.Snapshot(now, quota.SnapshotOptions{MaxAccounts: 100})
			}
		})
	}
}
