package quota

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Names are copied as they are, short ones into the account.
func TestOwner(t *testing.T) {
	names := []string{"", "\x00", "a", "a\x00", "a\x00\x00", "b", "\xff", hashedOwner(digest{})}
	for _, n := range []int{38, 39, 40, 254, 255, 256, 257, 300} {
		names = append(names, strings.Repeat("n", n), strings.Repeat("n", n-1)+"m", strings.Repeat("\x00", n))
	}
	for _, name := range names {
		w := ownerOf(name)
		assert.Equal(t, name, w.String())
		assert.False(t, name != "" && sharesMemory(w.long, name), "%q is cut from something", name)
		for _, other := range names {
			assert.Equal(t, name == other, w.is(other), "%q is %q", name, other)
		}
	}
}

// A short name is part of the account, and comparing it allocates nothing.
func TestShortOwnersNeedNoMemory(t *testing.T) {
	for name, allocs := range map[string]float64{strings.Repeat("n", 39): 0, strings.Repeat("n", 40): 1} {
		var w owner
		assert.Equal(t, allocs, testing.AllocsPerRun(10, func() { w = ownerOf(name) }))
		assert.Zero(t, testing.AllocsPerRun(10, func() { w.is(name) }))
	}
}

// Owners whose hashes collide are told apart, while accounts come and go.
func TestOwnersThatCollide(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		d := boundedDesk(t, 6)
		d.o.hash = func(owner string) uint32 { return uint32(len(owner)) }
		owners := []string{"a", "b", "c", strings.Repeat("d", 40), strings.Repeat("e", 40), strings.Repeat("f", 40), "gg"}
		left := map[string]int64{}
		for i := range 200 {
			now, key := time.Duration(i)*sec, owners[r.IntN(len(owners))]
			if a := d.o.find(accountID{policyID{name: "api", keyed: true}, key}); a != nil {
				require.Equal(t, left[key], spare(a), "seed %d: %s", seed, key)
			}
			left[key] = 100 + r.Int64N(100)
			d.exchange(now, "", Report{Figures: keyedFigure("api", key, left[key], mins)}, keyed("api", key))
			d.consistent()
		}
	}
}

// Owners whose hashes collide are told apart after Restore, too.
func TestOwnersThatCollideAreRestored(t *testing.T) {
	for _, keys := range []bool{false, true} {
		d := newDesk(t)
		owners := []string{"a", "b", "c", strings.Repeat("d", 40), strings.Repeat("e", 40)}
		for i, key := range owners {
			d.exchange(0, "", Report{Figures: keyedFigure("api", key, int64(10+i), mins)}, keyed("api", key))
		}
		again := restored(t, d.saved(sec, keys), d.at(sec))
		for _, b := range again.o.byPolicy {
			rehash(b, func(owner string) uint32 { return uint32(len(owner)) % 2 })
		}
		again.consistent()
		for i, key := range owners {
			a := again.o.known(accountID{policyID{name: "api", keyed: true}, key})
			require.NotNil(t, a, "%t: %s", keys, key)
			assert.Equal(t, int64(10+i), spare(a))
			again.consistent()
		}
	}
}

// rehash makes the index of a policy anew, with another hash.
func rehash(b *policyAccounts, hash func(string) uint32) {
	all := b.all()
	b.accounts, b.origin.hash = index{hash: hash}, hash
	for _, a := range all {
		b.accounts.add(a)
	}
}

// An index that had many accounts is small again when they have been evicted, and goes
// with the last one.
func TestIndexOfAPolicyShrinks(t *testing.T) {
	for _, hash := range []func(string) uint32{
		seededHash(),
		func(owner string) uint32 { return uint32(owner[0]) },
	} {
		d := newDesk(t)
		d.o.hash = hash
		for i := range 1000 {
			key := fmt.Sprintf("%c%d", i%200, i)
			d.exchange(0, "", Report{Figures: keyedFigure("api", key, 100, sec)}, keyed("api", key))
		}
		d.exchange(0, "", Report{Figures: keyedFigure("api", "left", 100, 2*time.Hour)}, keyed("api", "left"))
		d.consistent()
		d.tick(time.Hour)
		d.tick(time.Hour + mins) // those that took the place of others, too
		d.consistent()
		require.Len(t, d.o.byPolicy, 1)
		for _, b := range d.o.byPolicy {
			assert.Len(t, b.all(), 1)
			assert.Less(t, len(b.accounts.buckets), 8)
		}
		d.tick(5 * time.Hour)
		assert.Empty(t, d.o.byPolicy)
	}
}
