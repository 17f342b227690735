package quota

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
)

// What is known before is known after, whoever asks: windows, holds and
// back-offs go on as if nothing had happened in between.
func TestRestoredGoesOn(t *testing.T) {
	for _, keys := range []bool{false, true} {
		d := newDesk(t)
		d.exchange(0, "figure", Report{Figures: figure("api", 3, 10*sec), Terms: terms("api", 20, mins)})
		d.exchange(0, "dry", Report{Figures: keyedFigure("user", "dry", 0, 30*sec)})
		d.exchange(0, "unnamed", Report{Figures: figure("", 0, 20*sec)})
		d.exchange(0, "unending", Report{Figures: figure("api", 2, None)})
		d.exchange(0, "held", Report{Figures: figure("api", 1, sec), Pause: mins})
		d.exchange(0, "refused", Report{Refused: true})
		d.exchange(0, "count", Report{Terms: terms("own", 4, mins)})
		d.exchange(0, "paused", Report{Pause: 15 * sec})
		d.exchange(0, "c", Report{Terms: []Terms{{Policy: Policy{Name: "c", Quota: 2, Unit: UnitConcurrentRequests}}}})

		text := d.saved(2*sec, SaveOptions{Keys: keys})
		assert.Equal(t, keys, strings.Contains(text, `"owner":"ZmlndXJl"`), "the scope named figure")
		r := restored(t, text, d.at(5*sec))
		for _, tt := range []struct {
			scope string
			claim Claim
		}{
			{"figure", api(1)}, {"figure", api(4)}, {"dry", keyed("user", "dry")}, {"", keyed("user", "dry")},
			{"unnamed", Claim{}}, {"unnamed", Claim{Units: 1}}, {"unending", api(2)},
			{"held", api(1)}, {"refused", api(1)}, {"count", Claim{Policy: "own", Units: 3}},
			{"count", Claim{Policy: "own", Units: 4}}, {"paused", api(1)}, {"nobody", api(1)},
			{"c", Claim{Policy: "c", Units: 2}}, {"c", Claim{Policy: "c", Units: 3}},
		} {
			for _, at := range []time.Duration{0, 3 * sec, 9900 * ms, 20 * sec, 29 * sec, mins + sec} {
				since := d.at(5 * sec).Add(at).Sub(r.o.start)
				want := d.wait(5*sec+at, tt.scope, tt.claim)
				got := r.wait(since, tt.scope, tt.claim)
				assert.InDelta(t, want, got, float64(2*ms), "keys %v, %s %+v at %v: %v, not %v", keys, tt.scope, tt.claim, at, got, want)
			}
		}
		assert.Equal(t, d.o.Policies(), r.o.Policies())
		r.consistent()
		since := d.at(6 * sec).Sub(r.o.start)
		assert.Positive(t, r.wait(since, "unending", api(3)), "it stands until the next answer")
		assert.Equal(t, 3, r.more(since, "figure", api(1)))
	}
}

// What was out when it was saved may have arrived: it counts as spent.
func TestSavedWhileOut(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Figures: figure("api", 5, mins)})
	d.send(0, "", api(2))
	r := restored(t, d.saved(sec, SaveOptions{}), d.at(sec))
	assert.Equal(t, 3, r.more(d.at(sec).Sub(r.o.start), "", api(1)))
	assert.Equal(t, int64(2), d.o.find(accountID{policyID: policyID{name: "api"}}).InFlight, "saving changes nothing")
}

// Concurrent requests end with the process that made them.
func TestSavedWhileHeld(t *testing.T) {
	d := newDesk(t)
	c := Claim{Policy: "c", Units: 1}
	d.exchange(0, "", Report{Figures: figure("c", 3, mins), Terms: []Terms{{Policy: Policy{Name: "c", Quota: 5, Unit: UnitConcurrentRequests}}}})
	d.exchange(0, "", Report{Figures: figure("c", 3, mins)})
	d.send(0, "", c)
	r := restored(t, d.saved(sec, SaveOptions{}), d.at(sec))
	assert.Equal(t, 4, r.more(d.at(sec).Sub(r.o.start), "", c), "three, and that of who asked")
}

// What was restored goes on through answers that only lower it.
func TestRestoredIsLowered(t *testing.T) {
	for _, w := range []time.Duration{None, mins} {
		d := newDesk(t)
		d.exchange(0, "", Report{Figures: figure("api", 3, w)})
		r := restored(t, d.saved(0, SaveOptions{}), d.at(0))
		since := d.at(0).Sub(r.o.start)
		one, two := r.send(since, "", api(1)), r.send(since, "", api(1))
		r.settle(since+10*ms, one, Report{})
		r.settle(since+20*ms, two, Report{Figures: figure("api", 0, w)})
		assert.Equal(t, "reported", r.o.find(accountID{policyID: policyID{name: "api"}}).State.String())
		r.refused(since+30*ms, "", api(1))
	}
}

// A clock that went backwards counts as no age at all, and one that jumped
// ahead as much: nothing overflows.
func TestRestoreWithAnotherClock(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Figures: figure("api", 0, 10*sec)})
	text := d.saved(0, SaveOptions{})
	for _, tt := range []struct {
		later, wait time.Duration
	}{
		{-1000 * time.Hour, 10 * sec}, {-ms, 10 * sec}, {0, 10 * sec}, {4 * sec, 6 * sec}, {time.Hour, 0}, {1 << 62, 0}, {1<<63 - 1, 0},
	} {
		now := d.at(tt.later)
		r := restored(t, text, now)
		assert.InDelta(t, tt.wait, r.wait(now.Sub(r.o.start), "", api(1)), float64(2*ms), "%v later", tt.later)
	}
}

// Without being asked for, nothing is saved that says who the users are; those
// who come up are recognised, each by their own.
func TestSavedIsRedacted(t *testing.T) {
	d := newDesk(t)
	scope := d.o.accounts.CredentialHash("Bearer of-alice")
	d.exchange(0, scope, Report{Figures: append(figure("api", 0, mins), keyedFigure("user", "key-of-alice", 0, mins)...)})
	d.exchange(0, "bobs-scope", Report{Figures: append(figure("api", 9, mins), keyedFigure("user", "key-of-bob", 7, mins)...)})
	text := d.saved(0, SaveOptions{})
	for _, plain := range []string{"alice", "bob", "a2V5LW9m"} {
		assert.NotContains(t, text, plain)
	}
	r := restored(t, text, d.at(0))
	since := d.at(0).Sub(r.o.start)
	require.Equal(t, scope, r.o.accounts.CredentialHash("Bearer of-alice"), "the secret goes with them")
	assert.Equal(t, 4, r.o.hashedOwners)
	r.send(since, scope)
	r.refused(since, scope, api(1))
	r.refused(since, "", keyed("user", "key-of-alice"))
	assert.Equal(t, 7, r.more(since, "", keyed("user", "key-of-bob")))
	assert.Equal(t, 1, r.o.hashedOwners)
	r.consistent()

	// What nobody has come for is saved again, and goes like any other.
	again := restored(t, r.saved(since, SaveOptions{Keys: true}), d.at(0))
	assert.Equal(t, 1, again.o.hashedOwners)
	assert.Equal(t, 9, again.more(d.at(0).Sub(again.o.start), "bobs-scope", api(1)))
	assert.Zero(t, again.o.hashedOwners)
	r.tick(since + 3*time.Hour)
	assert.Zero(t, r.o.hashedOwners)
	for _, a := range r.o.accounts.Snapshot(d.at(0), SnapshotOptions{Keys: true}).Origins[0].Accounts {
		assert.NotContains(t, a.Key, "sealed")
	}
}

// A scope that comes up again is the one that was saved.
func TestRestoredScope(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", Report{Figures: figure("", 2, mins)})
	r := restored(t, d.saved(0, SaveOptions{}), d.at(0))
	since := d.at(0).Sub(r.o.start)
	r.send(since, "bob")
	assert.Equal(t, 1, r.o.hashedOwners)
	assert.Equal(t, 2, r.more(since, "alice", Claim{Units: 1}))
	assert.Len(t, r.o.scopes, 2)
	assert.Zero(t, r.o.hashedOwners)
	r.consistent()
}

// What says nothing is not saved.
func TestSavedIsSmall(t *testing.T) {
	d := newDesk(t)
	for i := range 100 {
		d.exchange(0, fmt.Sprint(i), Report{})
	}
	d.exchange(0, "", Report{Figures: figure("api", 0, mins)})
	assert.Equal(t, 4, strings.Count(d.saved(0, SaveOptions{}), "\n"), "head, origin, account, end")
	assert.Equal(t, 3, strings.Count(d.saved(2*time.Hour, SaveOptions{}), "\n"), "it is over")
}

// What is not what was saved, or not all of it, is refused, and nothing is
// restored of it.
func TestRestoreRefuses(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", Report{Figures: figure("api", 5, mins), Terms: terms("api", 9, mins)})
	good := d.saved(0, SaveOptions{})
	lines := strings.SplitAfter(good, "\n")
	require.Len(t, lines, 5)
	bad := map[string]string{
		"":               "the end is missing",
		"{}":             "another format",
		"garbage":        "record 0 cannot be read",
		"[1,2]":          "record 0 cannot be read",
		"\x00\xff\xfe\n": "record 0 cannot be read",
		strings.Replace(good, `"version":1`, `"version":2`, 1):                           "version 2, not 1",
		strings.Replace(good, savedFormat, "other", 1):                                   "another format",
		strings.Replace(good, `"secret":"`, `"secret":"AAAA`, 1):                         "no secret",
		strings.Replace(good, `"digest":"`, `"digest":"AAAA`, 1):                         "record 2 makes no sense",
		strings.Replace(good, `"available":5`, `"available":-5`, 1):                      "record 2 makes no sense",
		strings.Replace(good, `"available":5`, `"available":1e99`, 1):                    "record 1 cannot be read",
		strings.Replace(good, `"basis":1`, `"basis":4`, 1):                               "record 2 makes no sense",
		strings.Replace(good, `"quota":9,"window"`, `"quota":-2,"window"`, 1):            "record 1 makes no sense",
		strings.Replace(good, `"end":2`, `"end":3`, 1):                                   "records are missing",
		strings.Replace(good, `"account"`, `"what"`, 1):                                  "record 1 cannot be read",
		lines[0] + lines[2] + lines[3]:                                                   "record 1 makes no sense",
		lines[0] + lines[1] + lines[1] + lines[3]:                                        "record 2 makes no sense",
		lines[0] + lines[1] + lines[2]:                                                   "the end is missing",
		lines[0] + lines[1] + lines[3]:                                                   "records are missing",
		lines[0] + lines[1] + `{}`:                                                       "record 2 makes no sense",
		lines[0] + `{"origin":{"name":"` + strings.Repeat("x", 2*maxSavedRecord) + `"}}`: "too large",
	}
	for i := range len(good) - 2 {
		bad[good[:i]] = "the end is missing"
	}
	// Of what an origin has, there is no more than there can be.
	origin := func(more string) string { return lines[0] + `{"origin":{"name":"a",` + more + `}}` }
	bad[origin(`"policies":[{"quota":9,"window":-1}]`)] = "record 1 makes no sense"
	bad[origin(`"policies":[`+strings.Repeat(`{"quota":9},`, maxPolicies)+`{"quota":9}]`)] = "record 1 makes no sense"
	bad[origin(`"attached":{"a":"`+strings.Repeat("AAAA", maxAttachedBytes/3+1)+`"}`)] = "record 1 makes no sense"
	for text, want := range bad {
		require.NotEqual(t, good, text, "%s", want)
		a := new(Accounts)
		err := a.Restore(strings.NewReader(text), d.at(0))
		require.ErrorIs(t, err, ErrNotSaved, "%.300q", text)
		assert.ErrorContains(t, err, want, "%.300q", text)
		assert.Empty(t, a.origins)
		require.NoError(t, a.Restore(strings.NewReader(good), d.at(0)), "nothing is lost")
	}
}

// An error of the reader is its own; what goes on for ever is refused.
func TestRestoreReads(t *testing.T) {
	broken := errors.New("broken")
	a := new(Accounts)
	assert.ErrorIs(t, a.Restore(iotest.ErrReader(broken), time.Now()), broken)
	assert.NotErrorIs(t, a.Restore(iotest.ErrReader(broken), time.Now()), ErrNotSaved)

	d := newDesk(t)
	d.exchange(0, "alice", Report{Figures: figure("api", 5, mins)})
	good := d.saved(0, SaveOptions{})
	assert.NoError(t, new(Accounts).Restore(iotest.OneByteReader(strings.NewReader(good)), d.at(0)))
	assert.NoError(t, new(Accounts).Restore(iotest.DataErrReader(strings.NewReader(good)), d.at(0)))
	lines := strings.SplitAfter(good, "\n")
	in := newRestorer(a, io.MultiReader(strings.NewReader(lines[0]+lines[1]), &endless{of: lines[2]}), d.at(0))
	in.left = 10 << 20
	assert.ErrorIs(t, in.run(), ErrNotSaved)
	assert.Less(t, len(in.to.origins["https://api.example"].all), 3)
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

// A writer's error is Save's.
func TestSaveFails(t *testing.T) {
	d := newDesk(t)
	for i := range 1_000 {
		d.exchange(0, fmt.Sprint(i), Report{Figures: figure("api", 0, mins)})
	}
	for _, n := range []int64{0, 10, 5_000, 100_000} {
		assert.ErrorIs(t, d.o.accounts.Save(&fullWriter{n}, d.at(0), SaveOptions{}), io.ErrShortWrite)
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
	text := d.saved(0, SaveOptions{})
	assert.ErrorIs(t, d.o.accounts.Restore(strings.NewReader(text), d.at(0)), ErrInUse)
	var a Accounts
	a.CredentialHash("Bearer x")
	assert.ErrorIs(t, a.Restore(strings.NewReader(text), d.at(0)), ErrInUse, "it has a secret of its own")
}

// Restored accounts keep the bounds.
func TestRestoreKeepsBounds(t *testing.T) {
	d := newDesk(t)
	for i := range 100 {
		d.exchange(0, fmt.Sprint(i), Report{Figures: figure("", 0, mins)})
	}
	d.o.accounts.Origin("https://b.example").Check(t.Context(), d.at(0), &Ask{})
	text := d.saved(0, SaveOptions{})
	a := Accounts{MaxAccounts: 30, MaxOrigins: 1}
	require.NoError(t, a.Restore(strings.NewReader(text), d.at(0)))
	assert.Len(t, a.origins, 1)
	assert.Len(t, a.origins["https://api.example"].all, 30)
	b := Accounts{MaxTotal: 40, MaxOrigins: 4}
	require.NoError(t, b.Restore(strings.NewReader(text), d.at(0)))
	assert.Len(t, b.origins["https://api.example"].all, 5+20)
	assert.EqualValues(t, 20, b.beyond.Load())
}

// What others have attached to an origin is saved and restored as it is. There
// is little room for it.
func TestAttached(t *testing.T) {
	d := newDesk(t)
	assert.Nil(t, d.o.Attached("declarations"))
	data := []byte(`"user";user_id`)
	require.True(t, d.o.Attach("declarations", data))
	data[1] = 'x'
	d.send(0, "").Release()
	r := restored(t, d.saved(0, SaveOptions{}), d.at(0))
	assert.Equal(t, `"user";user_id`, string(r.o.Attached("declarations")))

	assert.False(t, r.o.Attach("large", make([]byte, maxAttachedBytes+1)))
	for i := range maxAttached - 1 {
		assert.True(t, r.o.Attach(fmt.Sprint(i), make([]byte, maxAttachedBytes)))
	}
	assert.False(t, r.o.Attach("one more", data))
	assert.True(t, r.o.Attach("declarations", []byte("other")))
	r = restored(t, r.saved(0, SaveOptions{}), d.at(0))
	assert.Equal(t, "other", string(r.o.Attached("declarations")), "all that has room can be restored")
	assert.True(t, r.o.Attach("0", nil))
	assert.True(t, r.o.Attach("one more", data))
}

// Saving and showing while others work is safe, and what was saved then can be
// restored.
func TestSaveMeanwhile(t *testing.T) {
	a := Accounts{MaxAccounts: 3 * chunk}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 2_000 {
				var l Lease
				o, key := a.Origin(fmt.Sprint(g%2)), fmt.Sprint(r.IntN(5*chunk))
				ask := Ask{Scope: key, Claims: []Claim{keyed("api", key)}, Force: true}
				if err := o.Admit(t.Context(), time.Now(), &ask, &l); err != nil {
					t.Error(err)
					return
				}
				o.Settle(time.Now(), &l, &Report{Figures: keyedFigure("api", key, 5, time.Minute)})
			}
		})
	}
	for range 20 {
		var b bytes.Buffer
		require.NoError(t, a.Save(&b, time.Now(), SaveOptions{}))
		require.NoError(t, new(Accounts).Restore(&b, time.Now()))
	}
	wg.Wait()
}

// Whatever was saved is the same when it is restored and saved again.
func TestSaveRestoreSave(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := newDesk(t)
		now := time.Duration(0)
		for range 50 {
			scope := fmt.Sprint(r.IntN(4))
			report := Report{Refused: r.IntN(5) == 0}
			for range r.IntN(3) {
				f := Figure{Policy: fmt.Sprint(r.IntN(3)), Available: r.Int64N(5) - 1, Window: time.Duration(r.IntN(30)-1) * sec}
				if f.Keyed = r.IntN(2) == 0; f.Keyed {
					f.Key = fmt.Sprint(r.IntN(3))
				}
				report.Figures = append(report.Figures, f)
			}
			if r.IntN(4) == 0 {
				report.Pause = time.Duration(r.IntN(100)) * sec
			}
			l := new(Lease)
			require.NoError(t, d.o.Admit(t.Context(), d.at(now), &Ask{Scope: scope, Force: true, Claims: []Claim{{Policy: "0", Units: 1}}}, l))
			now += time.Duration(r.IntN(3000)) * ms
			d.settle(now, l, report)
		}
		first := d.saved(now, SaveOptions{Keys: true})
		second := restored(t, first, d.at(now))
		assert.Equal(t, sorted(first), sorted(second.saved(d.at(now).Sub(second.o.start), SaveOptions{Keys: true})), "seed %d", seed)
	}
}

// sorted are the lines of a text in order.
func sorted(text string) []string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	return lines
}

// FuzzRestore restores whatever it is given, and uses it.
func FuzzRestore(f *testing.F) {
	begin := time.Unix(1<<30, 0)
	var from Accounts
	o := from.Origin("https://api.example")
	for scope, r := range map[string]Report{
		"alice": {Figures: append(figure("api", 5, mins), keyedFigure("user", "a", 0, mins)...), Terms: terms("api", 9, mins)},
		"bob":   {Figures: figure("", 1, None), Refused: true, Pause: sec},
	} {
		l := new(Lease)
		if err := o.Admit(f.Context(), begin, &Ask{Scope: scope}, l); err != nil {
			f.Fatal(err)
		}
		o.Settle(begin, l, &r)
	}
	for _, keys := range []bool{false, true} {
		var b bytes.Buffer
		if err := from.Save(&b, begin, SaveOptions{Keys: keys}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), int64(sec))
	}
	f.Fuzz(func(t *testing.T, text []byte, later int64) {
		now := begin.Add(time.Duration(later))
		a := &Accounts{MaxAccounts: 100, MaxOrigins: 10}
		if err := a.Restore(bytes.NewReader(text), now); err != nil {
			require.ErrorIs(t, err, ErrNotSaved)
			require.Empty(t, a.origins)
			return
		}
		require.LessOrEqual(t, len(a.origins), 10)
		for name, o := range a.origins {
			d := &desk{t, o}
			d.consistent()
			ask := Ask{Scope: "alice", Claims: []Claim{api(1), keyed("user", "a"), {Units: 1}}, MaxDelay: NoDelay}
			for i := range 5 {
				at := now.Add(time.Duration(i) * sec)
				if r, _ := o.Check(t.Context(), at, &ask); r != nil {
					require.GreaterOrEqual(t, r.Wait, time.Duration(0))
				}
				l := new(Lease)
				if o.Admit(t.Context(), at, &ask, l) == nil {
					o.Settle(at.Add(ms), l, &Report{Figures: figure("api", 3, sec)})
				}
			}
			d.consistent()
			require.Same(t, o, a.Origin(name))
		}
		var again bytes.Buffer
		require.NoError(t, a.Save(&again, now, SaveOptions{}))
		require.NoError(t, new(Accounts).Restore(&again, now))
	})
}
