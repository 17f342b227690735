package quota_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// Windows, holds and back-offs go on after Restore as if nothing had happened.
func TestRestoredGoesOn(t *testing.T) {
	for _, keys := range []bool{false, true} {
		d := newDesk(t)
		d.exchange(0, "figure", quota.Report{Figures: figure("api", 3, 10*sec), Terms: terms("api", 20, mins)})
		d.exchange(0, "dry", quota.Report{Figures: keyedFigure("user", "dry", 0, 30*sec)})
		d.exchange(0, "unnamed", quota.Report{Figures: figure("", 0, 20*sec)}, unnamed)
		d.exchange(0, "unending", quota.Report{Figures: figure("api", 2, quota.None)})
		d.exchange(0, "held", quota.Report{Figures: figure("api", 1, sec), Pause: mins})
		d.exchange(0, "refused", quota.Report{Refused: true})
		d.exchange(0, "count", quota.Report{Terms: terms("own", 4, mins)})
		d.exchange(0, "paused", quota.Report{Pause: 15 * sec})
		d.exchange(0, "much left", quota.Report{Figures: figure("", 50, mins)}, unnamed)
		d.exchange(0, "much left", retryAfter(15*sec), unnamed)
		d.exchange(0, "bare", quota.Report{Figures: figure("", 50, mins)}, unnamed)
		d.exchange(0, "bare", quota.Report{Refused: true, Wait: 15 * sec}, unnamed)
		d.exchange(0, "c", quota.Report{Terms: concurrentTerms("c", 2)})

		text := d.saved(2*sec, keys)
		assert.Equal(t, keys, strings.Contains(text, `"owner":"ZmlndXJl"`), "the scope named figure")
		r := restored(t, text, d.at(5*sec))
		for _, tt := range []struct {
			scope string
			claim quota.Claim
		}{
			{"figure", api(1)}, {"figure", api(4)}, {"dry", keyed("user", "dry")}, {"", keyed("user", "dry")},
			{"unnamed", quota.Claim{}}, {"unnamed", quota.Claim{Units: 1}}, {"unending", api(2)},
			{"held", api(1)}, {"refused", api(1)}, {"count", quota.Claim{Policy: "own", Units: 3}},
			{"count", quota.Claim{Policy: "own", Units: 4}}, {"paused", api(1)}, {"nobody", api(1)}, {"much left", quota.Claim{Units: 1}}, {"bare", quota.Claim{Units: 1}},
			{"c", quota.Claim{Policy: "c", Units: 2}}, {"c", quota.Claim{Policy: "c", Units: 3}},
		} {
			for _, at := range []time.Duration{0, 3 * sec, 9900 * ms, 20 * sec, 29 * sec, mins + sec} {
				since := d.at(5 * sec).Add(at).Sub(r.begin)
				want := d.wait(5*sec+at, tt.scope, tt.claim)
				got := r.wait(since, tt.scope, tt.claim)
				assert.InDelta(t, want, got, float64(2*ms), "keys %v, %s %+v at %v: %v, not %v", keys, tt.scope, tt.claim, at, got, want)
			}
		}
		assert.Equal(t, d.o.Policies(), r.o.Policies())
		r.o.RequireConsistent(t)
		since := d.at(6 * sec).Sub(r.begin)
		assert.Positive(t, r.wait(since, "unending", api(3)), "it stands until the next answer")
		assert.Equal(t, 3, r.more(since, "figure", api(1)))
	}
}

// Restored accounts follow the Strategy that is set, and no other: the next window of a Plain
// one ends with the guard of that Strategy.
func TestRestoreKeepsTheStrategy(t *testing.T) {
	for _, how := range []quota.Strategy{quota.Adaptive, quota.Plain} {
		a := &quota.Accounts{Jitter: noJitter, Strategy: how}
		d := deskOf(t, a, testOrigin)
		d.exchange(0, "", quota.Report{Figures: figure("api", 3, 10*sec)})
		a = &quota.Accounts{Jitter: noJitter, Strategy: how}
		require.NoError(t, a.Restore(strings.NewReader(d.saved(0, true)), d.at(0)))
		again := &desk{t: t, accounts: a, o: a.Origin(testOrigin), name: testOrigin, begin: d.begin}
		var waits []time.Duration
		for _, d := range []*desk{d, again} {
			late := d.send(20*sec, "", api(1))
			d.done(20*sec+300*ms, late, quota.Report{Figures: figure("api", 0, sec)})
			waits = append(waits, d.wait(20*sec+300*ms, "", api(1)))
		}
		assert.Equal(t, waits[0], waits[1], how)
	}
}

// Restored accounts are shared with other processes, too.
func TestRestoreShares(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: figure("api", 3, 10*sec)})
	peers := new(silentPeers)
	a := &quota.Accounts{Jitter: noJitter, Peers: peers}
	require.NoError(t, a.Restore(strings.NewReader(d.saved(0, false)), d.at(0)))
	ask := claimOf("api")
	r, _ := a.Origin(testOrigin).Check(t.Context(), d.at(0), &ask)
	require.Nil(t, r)
	ask.MaxDelay = quota.NoDelay
	err := a.Origin(testOrigin).Try(d.at(0), &ask, new(quota.Lease))
	assert.Error(t, err, "it asks the others first")
	require.NotNil(t, peers.shared.Load())
	turn, _ := peers.shared.Load().Turn(d.at(ms))
	assert.NotNil(t, turn)
}

// Requests that are out while it is saved may arrive: they count as spent.
func TestSavedWhileOut(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: figure("api", 5, mins)})
	d.send(0, "", api(2))
	r := restored(t, d.saved(sec, false), d.at(sec))
	assert.Equal(t, 3, r.more(d.at(sec).Sub(r.begin), "", api(1)))
	assert.Equal(t, int64(2), d.known("", api(0)).InFlight, "Save changes nothing")
}

// Concurrent requests end with the process that made them.
func TestSavedWhileConcurrent(t *testing.T) {
	d := newDesk(t)
	c := quota.Claim{Policy: "c", Units: 1}
	d.exchange(0, "", quota.Report{Figures: figure("c", 3, mins), Terms: concurrentTerms("c", 5)})
	d.exchange(0, "", quota.Report{Figures: figure("c", 3, mins)})
	d.send(0, "", c)
	r := restored(t, d.saved(sec, false), d.at(sec))
	assert.Equal(t, 4, r.more(d.at(sec).Sub(r.begin), "", c), "three, and the one that the last answer was to")
}

// Answers that only lower a restored figure are taken over.
func TestRestoredIsLowered(t *testing.T) {
	for _, w := range []time.Duration{quota.None, mins} {
		d := newDesk(t)
		d.exchange(0, "", quota.Report{Figures: figure("api", 3, w)})
		r := restored(t, d.saved(0, false), d.at(0))
		since := d.at(0).Sub(r.begin)
		one, two := r.send(since, "", api(1)), r.send(since, "", api(1))
		r.settle(since+10*ms, one, quota.Report{})
		r.settle(since+20*ms, two, quota.Report{Figures: figure("api", 0, w)})
		assert.Equal(t, "reported", r.known("", api(0)).State)
		r.refused(since+30*ms, "", api(1))
	}
}

// With a clock that went backwards no time has passed, and with one that jumped ahead
// as much as it says. Nothing overflows.
func TestRestoreWithAnotherClock(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: figure("api", 0, 10*sec)})
	text := d.saved(0, false)
	for _, tt := range []struct {
		later, wait time.Duration
	}{
		{-1000 * time.Hour, 10 * sec}, {-ms, 10 * sec}, {0, 10 * sec}, {4 * sec, 6 * sec}, {time.Hour, 0}, {1 << 62, 0}, {1<<63 - 1, 0},
	} {
		now := d.at(tt.later)
		r := restored(t, text, now)
		assert.InDelta(t, tt.wait, r.wait(now.Sub(r.begin), "", api(1)), float64(2*ms), "%v later", tt.later)
	}
}

// Unless the options ask for it, nothing is saved that says who the users are. A user
// who comes after Restore gets the accounts that were saved for them.
func TestSavedIsRedacted(t *testing.T) {
	d := newDesk(t)
	scope := d.accounts.CredentialHash("Bearer of-alice")
	d.exchange(0, scope, quota.Report{Figures: append(figure("api", 0, mins), keyedFigure("user", "key-of-alice", 0, mins)...)})
	d.exchange(0, "bobs-scope", quota.Report{Figures: append(figure("api", 9, mins), keyedFigure("user", "key-of-bob", 7, mins)...)})
	text := d.saved(0, false)
	for _, plain := range []string{"alice", "bob", "a2V5LW9m"} {
		assert.NotContains(t, text, plain)
	}
	r := restored(t, text, d.at(0))
	since := d.at(0).Sub(r.begin)
	require.Equal(t, scope, r.accounts.CredentialHash("Bearer of-alice"), "the secret goes with them")
	assert.Equal(t, 4, r.o.HashedOwners())
	r.send(since, scope)
	r.refused(since, scope, api(1))
	r.refused(since, "", keyed("user", "key-of-alice"))
	assert.Equal(t, 7, r.more(since, "", keyed("user", "key-of-bob")))
	assert.Equal(t, 1, r.o.HashedOwners())
	r.o.RequireConsistent(t)

	// An account whose owner did not come is saved again, and evicted like any other.
	again := restored(t, r.saved(since, true), d.at(0))
	assert.Equal(t, 1, again.o.HashedOwners())
	assert.Equal(t, 9, again.more(d.at(0).Sub(again.begin), "bobs-scope", api(1)))
	assert.Zero(t, again.o.HashedOwners())
	r.tick(since + 3*time.Hour)
	assert.Zero(t, r.o.HashedOwners())
	for _, a := range r.accounts.Snapshot(d.at(0), quota.SnapshotOptions{Keys: true})[0].Accounts {
		assert.NotContains(t, a.Key, "sealed")
	}
}

// A scope that comes after Restore has the account that was saved for it.
func TestRestoredScope(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", quota.Report{Figures: figure("", 2, mins)})
	r := restored(t, d.saved(0, false), d.at(0))
	since := d.at(0).Sub(r.begin)
	r.send(since, "bob")
	assert.Equal(t, 1, r.o.HashedOwners())
	assert.Equal(t, 2, r.more(since, "alice", quota.Claim{Units: 1}))
	assert.Equal(t, []string{"alice", "bob"}, r.scopes())
	assert.Zero(t, r.o.HashedOwners())
	r.o.RequireConsistent(t)
}

// An account of which nothing is in force is not saved.
func TestSavedIsSmall(t *testing.T) {
	d := newDesk(t)
	for i := range 100 {
		d.exchange(0, fmt.Sprint(i), quota.Report{})
	}
	d.exchange(0, "", quota.Report{Figures: figure("api", 0, mins)})
	assert.Equal(t, 4, strings.Count(d.saved(0, false), "\n"), "head, origin, account, end")
	assert.Equal(t, 3, strings.Count(d.saved(2*time.Hour, false), "\n"), "it is over")
}

// Input that Save has not written, or that is not complete, is refused, and nothing of
// it is restored.
func TestRestoreRefuses(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", quota.Report{Figures: figure("api", 5, mins), Terms: terms("api", 9, mins)})
	good := d.saved(0, false)
	lines := strings.SplitAfter(good, "\n")
	require.Len(t, lines, 5)
	bad := map[string]string{
		"":               "the end is missing",
		"{}":             "another format",
		"garbage":        "record 0 cannot be read",
		"[1,2]":          "record 0 cannot be read",
		"\x00\xff\xfe\n": "record 0 cannot be read",
		strings.Replace(good, `"version":1`, `"version":2`, 1):                                 "version 2, not 1",
		strings.Replace(good, "headway accounts", "other", 1):                                  "another format",
		strings.Replace(good, `"secret":"`, `"secret":"AAAA`, 1):                               "no secret",
		strings.Replace(good, `"digest":"`, `"digest":"AAAA`, 1):                               "record 2 makes no sense",
		strings.Replace(good, `"available":5`, `"available":-5`, 1):                            "record 2 makes no sense",
		strings.Replace(good, `"available":5`, `"available":1e99`, 1):                          "record 1 cannot be read",
		strings.Replace(good, `"basis":1`, `"basis":4`, 1):                                     "record 2 makes no sense",
		strings.Replace(good, `"quota":9,"window"`, `"quota":-2,"window"`, 1):                  "record 1 makes no sense",
		strings.Replace(good, `"end":2`, `"end":3`, 1):                                         "records are missing",
		strings.Replace(good, `"account"`, `"what"`, 1):                                        "record 1 cannot be read",
		lines[0] + lines[2] + lines[3]:                                                         "record 1 makes no sense",
		lines[0] + lines[1] + lines[1] + lines[3]:                                              "record 2 makes no sense",
		lines[0] + lines[1] + lines[2]:                                                         "the end is missing",
		lines[0] + lines[1] + lines[3]:                                                         "records are missing",
		lines[0] + lines[1] + `{}`:                                                             "record 2 makes no sense",
		lines[0] + `{"origin":{"name":"` + strings.Repeat("x", 2*quota.MaxSavedRecord) + `"}}`: "too large",
	}
	for i := range len(good) - 2 {
		bad[good[:i]] = "the end is missing"
	}
	// Of what an origin has, there is no more than there can be.
	origin := func(more string) string { return lines[0] + `{"origin":{"name":"a",` + more + `}}` }
	bad[origin(`"policies":[{"quota":9,"window":-1}]`)] = "record 1 makes no sense"
	bad[origin(`"policies":[`+strings.Repeat(`{"quota":9},`, quota.MaxPolicies)+`{"quota":9}]`)] = "record 1 makes no sense"
	bad[origin(`"attached":{"a":"`+strings.Repeat("AAAA", quota.MaxAttachedBytes/3+1)+`"}`)] = "record 1 makes no sense"
	for text, want := range bad {
		require.NotEqual(t, good, text, "%s", want)
		a := new(quota.Accounts)
		err := a.Restore(strings.NewReader(text), d.at(0))
		require.ErrorIs(t, err, quota.ErrNotSaved, "%.300q", text)
		assert.ErrorContains(t, err, want, "%.300q", text)
		assert.Empty(t, a.Snapshot(d.at(0), quota.SnapshotOptions{}))
		require.NoError(t, a.Restore(strings.NewReader(good), d.at(0)), "nothing is lost")
	}
}

// An error of the reader is returned. Input without end is refused.
func TestRestoreNamesTheSecret(t *testing.T) {
	d := newDesk(t)
	saved := d.saved(0, false)
	a := &quota.Accounts{Secret: &[32]byte{1}}
	assert.EqualError(t, a.Restore(strings.NewReader(saved), d.at(0)), "quota: the accounts were saved with another Secret")
	used := new(quota.Accounts)
	used.CredentialHash("made with a random key")
	assert.Equal(t, quota.ErrInUse, used.Restore(strings.NewReader(saved), d.at(0)))
}

func TestRestoreReads(t *testing.T) {
	broken := errors.New("broken")
	a := new(quota.Accounts)
	assert.ErrorIs(t, a.Restore(iotest.ErrReader(broken), time.Now()), broken)
	assert.NotErrorIs(t, a.Restore(iotest.ErrReader(broken), time.Now()), quota.ErrNotSaved)

	d := newDesk(t)
	d.exchange(0, "alice", quota.Report{Figures: figure("api", 5, mins)})
	good := d.saved(0, false)
	assert.NoError(t, new(quota.Accounts).Restore(iotest.OneByteReader(strings.NewReader(good)), d.at(0)))
	assert.NoError(t, new(quota.Accounts).Restore(iotest.DataErrReader(strings.NewReader(good)), d.at(0)))
	lines := strings.SplitAfter(good, "\n")
	n, err := a.RestoreAtMost(10<<20, io.MultiReader(strings.NewReader(lines[0]+lines[1]), &endless{of: lines[2]}), d.at(0))
	assert.ErrorIs(t, err, quota.ErrNotSaved)
	assert.Equal(t, 1, n, "an account that is repeated is restored once")
}

type endless struct {
	of   string
	left string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == "" {
		e.left = e.of
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

// An error of the writer is returned.
func TestSaveFails(t *testing.T) {
	d := newDesk(t)
	for i := range 1_000 {
		d.exchange(0, fmt.Sprint(i), quota.Report{Figures: figure("api", 0, mins)})
	}
	for _, n := range []int64{0, 10, 5_000, 100_000} {
		assert.ErrorIs(t, d.accounts.Save(&fullWriter{n}, d.at(0), false), io.ErrShortWrite)
	}
}

type fullWriter struct{ room int64 }

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.room -= int64(len(p)); w.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// Accounts that are in use are not restored over.
func TestRestoreOverAccountsInUse(t *testing.T) {
	d := newDesk(t)
	text := d.saved(0, false)
	assert.ErrorIs(t, d.accounts.Restore(strings.NewReader(text), d.at(0)), quota.ErrInUse)
	var a quota.Accounts
	a.CredentialHash("Bearer x")
	assert.ErrorIs(t, a.Restore(strings.NewReader(text), d.at(0)), quota.ErrInUse, "it has a secret of its own")
}

// In a long window of which nothing is left, and in a long hold of the origin, one request looks in ten minutes, also
// of programs that run for a moment each.
func TestLooksBetweenRuns(t *testing.T) {
	for name, says := range map[string]quota.Report{
		"window": {Refused: true, Figures: figure("api", 0, 24*time.Hour)},
		"hold":   {Failed: true, Pause: 24 * time.Hour, WholeOrigin: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			now := d.begin
			d.exchange(0, "", says, api(1))
			var looked []int
			for minute := range 35 {
				now = now.Add(mins)
				d = restored(t, d.saved(now.Sub(d.begin), false), now)
				if l, refused := d.try(0, "", api(1)); refused == nil {
					d.done(0, l, says)
					looked = append(looked, minute+1)
				}
			}
			assert.Equal(t, []int{10, 20, 30}, looked)
		})
	}
}

// Restored accounts keep the bounds.
func TestRestoreKeepsBounds(t *testing.T) {
	d := newDesk(t)
	for i := range 100 {
		d.exchange(0, fmt.Sprint(i), quota.Report{Figures: figure("", 0, mins)})
	}
	d.accounts.Origin("https://b.example").Check(t.Context(), d.at(0), &quota.Ask{})
	text := d.saved(0, false)
	a := quota.Accounts{MaxAccounts: 30, MaxOrigins: 1}
	require.NoError(t, a.Restore(strings.NewReader(text), d.at(0)))
	s := a.Snapshot(d.at(0), quota.SnapshotOptions{})
	require.Len(t, s, 1)
	assert.Len(t, s[0].Accounts, 30)
	b := quota.Accounts{MaxTotal: 40, MaxOrigins: 4}
	require.NoError(t, b.Restore(strings.NewReader(text), d.at(0)))
	assert.Len(t, originOf(t, b.Snapshot(d.at(0), quota.SnapshotOptions{}), testOrigin).Accounts, 5+20)
	assert.EqualValues(t, 20, b.BeyondShares())
}

// What is attached to an origin is saved and restored as it is, up to a bound.
func TestAttached(t *testing.T) {
	d := newDesk(t)
	assert.Nil(t, d.o.Attached("declarations"))
	data := []byte(`"user";user_id`)
	require.True(t, d.o.Attach("declarations", data))
	data[1] = 'x'
	d.send(0, "").Release()
	r := restored(t, d.saved(0, false), d.at(0))
	assert.Equal(t, `"user";user_id`, string(r.o.Attached("declarations")))

	assert.False(t, r.o.Attach("large", make([]byte, quota.MaxAttachedBytes+1)))
	for i := range quota.MaxAttached - 1 {
		assert.True(t, r.o.Attach(fmt.Sprint(i), make([]byte, quota.MaxAttachedBytes)))
	}
	assert.False(t, r.o.Attach("one more", data))
	assert.True(t, r.o.Attach("declarations", []byte("other")))
	r = restored(t, r.saved(0, false), d.at(0))
	assert.Equal(t, "other", string(r.o.Attached("declarations")), "all that could be attached can be restored")
	assert.True(t, r.o.Attach("0", nil))
	assert.True(t, r.o.Attach("one more", data))
}

// Save is safe while other goroutines admit and settle, and what it writes then can be
// restored.
func TestSaveMeanwhile(t *testing.T) {
	a := quota.Accounts{MaxAccounts: 3 * quota.Chunk}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 2_000 {
				var l quota.Lease
				o, key := a.Origin(fmt.Sprint(g%2)), fmt.Sprint(r.IntN(5*quota.Chunk))
				ask := quota.Ask{Scope: key, Claims: []quota.Claim{keyed("api", key)}, Force: true}
				if err := o.Admit(t.Context(), time.Now(), &ask, &l); err != nil {
					t.Error(err)
					return
				}
				o.Settle(time.Now(), &l, &quota.Report{Figures: keyedFigure("api", key, 5, time.Minute)})
			}
		})
	}
	for range 20 {
		var b bytes.Buffer
		require.NoError(t, a.Save(&b, time.Now(), false))
		require.NoError(t, new(quota.Accounts).Restore(&b, time.Now()))
	}
	wg.Wait()
}

// What was restored and saved again is the same.
func TestSaveRestoreSave(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := newDesk(t)
		now := time.Duration(0)
		for range 50 {
			scope := fmt.Sprint(r.IntN(4))
			report := quota.Report{Refused: r.IntN(5) == 0}
			for range r.IntN(3) {
				f := quota.Figure{Policy: fmt.Sprint(r.IntN(3)), Available: r.Int64N(5) - 1, Window: time.Duration(r.IntN(30)-1) * sec}
				if f.Keyed = r.IntN(2) == 0; f.Keyed {
					f.Key = fmt.Sprint(r.IntN(3))
				}
				report.Figures = append(report.Figures, f)
			}
			if r.IntN(4) == 0 {
				report.Pause = time.Duration(r.IntN(100)) * sec
			}
			l := new(quota.Lease)
			require.NoError(t, d.o.Admit(t.Context(), d.at(now), &quota.Ask{Scope: scope, Force: true, Claims: []quota.Claim{{Policy: "0", Units: 1}}}, l))
			now += time.Duration(r.IntN(3000)) * ms
			d.settle(now, l, report)
		}
		first := d.saved(now, true)
		second := restored(t, first, d.at(now))
		assert.Equal(t, sorted(first), sorted(second.saved(d.at(now).Sub(second.begin), true)), "seed %d", seed)
	}
}

// sorted returns the lines of a text in order.
func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	return lines
}

// FuzzRestore restores any input, and uses what was restored.
func FuzzRestore(f *testing.F) {
	begin := time.Unix(1<<30, 0)
	var from quota.Accounts
	o := from.Origin(testOrigin)
	for scope, r := range map[string]quota.Report{
		"alice": {Figures: append(figure("api", 5, mins), keyedFigure("user", "a", 0, mins)...), Terms: terms("api", 9, mins)},
		"bob":   {Figures: figure("", 1, quota.None), Refused: true, Pause: sec},
	} {
		l := new(quota.Lease)
		if err := o.Admit(f.Context(), begin, &quota.Ask{Scope: scope}, l); err != nil {
			f.Fatal(err)
		}
		o.Settle(begin, l, &r)
	}
	for _, keys := range []bool{false, true} {
		var b bytes.Buffer
		if err := from.Save(&b, begin, keys); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), int64(sec))
	}
	f.Fuzz(func(t *testing.T, text []byte, later int64) {
		now := begin.Add(time.Duration(later))
		a := &quota.Accounts{MaxAccounts: 100, MaxOrigins: 10}
		if err := a.Restore(bytes.NewReader(text), now); err != nil {
			require.ErrorIs(t, err, quota.ErrNotSaved)
			require.Empty(t, a.Snapshot(now, quota.SnapshotOptions{}))
			return
		}
		restored := a.Snapshot(now, quota.SnapshotOptions{})
		require.LessOrEqual(t, len(restored), 10)
		for _, r := range restored {
			o := a.Origin(r.Name)
			o.RequireConsistent(t)
			ask := quota.Ask{Scope: "alice", Claims: []quota.Claim{api(1), keyed("user", "a"), {Units: 1}}, MaxDelay: quota.NoDelay}
			for i := range 5 {
				at := now.Add(time.Duration(i) * sec)
				if r, _ := o.Check(t.Context(), at, &ask); r != nil {
					require.GreaterOrEqual(t, r.Wait, time.Duration(0))
				}
				l := new(quota.Lease)
				if o.Admit(t.Context(), at, &ask, l) == nil {
					o.Settle(at.Add(ms), l, &quota.Report{Figures: figure("api", 3, sec)})
				}
			}
			o.RequireConsistent(t)
			require.Same(t, o, a.Origin(r.Name))
		}
		var again bytes.Buffer
		require.NoError(t, a.Save(&again, now, false))
		require.NoError(t, new(quota.Accounts).Restore(&again, now))
	})
}

// The hold of a whole origin is restored, and the first request does not look at once
// whether it is over.
func TestHoldOfOriginIsRestored(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{Refused: true, WholeOrigin: true, Pause: mins})
	require.Equal(t, mins, d.refused(0, "").Wait)
	var data bytes.Buffer
	require.NoError(t, d.accounts.Save(&data, d.at(sec), false))
	a := new(quota.Accounts)
	require.NoError(t, a.Restore(&data, d.at(2*sec)))
	r, _ := a.Origin(testOrigin).Check(t.Context(), d.at(2*sec), new(quota.Ask))
	require.NotNil(t, r)
	assert.Equal(t, mins-2*sec, r.RetryAfter)
}

// An inferred quota may be wrong, and a process that knows nothing of how it was inferred would not find that
// out: only the hold beside it is saved.
func TestInferredIsNotSaved(t *testing.T) {
	learned := newDesk(t)
	for window := range 3 {
		left := 10
		for learned.bare(time.Duration(window)*11*sec, &left, 10*sec) > 0 {
		}
	}
	now := 22 * sec
	assert.EqualValues(t, 10, learned.known("", quota.Claim{}).Quota)
	require.Positive(t, learned.wait(now, "", quota.Claim{Units: 1}), "nothing is left")
	r := restored(t, learned.saved(now, true), learned.at(now))
	assert.Zero(t, r.count())
	assert.Zero(t, r.wait(0, "", quota.Claim{Units: 1}))

	learned.exchange(40*sec, "", quota.Report{Refused: true, Pause: 30 * sec})
	r = restored(t, learned.saved(41*sec, true), learned.at(41*sec))
	assert.Equal(t, 29*sec, r.wait(0, "", quota.Claim{Units: 1}))
	assert.Zero(t, r.wait(29*sec, "", quota.Claim{Units: 1}))
	left := 50
	for _, together := range []int{3, 5, 10, 20} { // after a hold, ever more; and not ten in 10 s
		assert.Equal(t, together, r.bare(29*sec, &left, 0))
	}
	r.o.RequireConsistent(t)
}
