package quota

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requireConsistent requires that every account in an index is found, and that every
// bucket counts the accounts that went past it.
func (x *index) requireConsistent(t require.TestingT) {
	n, passed := 0, make([]uint32, len(x.buckets))
	for i := range x.buckets {
		for j, a := range x.buckets[i].at {
			if a == nil {
				continue
			}
			n++
			h := x.hash(a.owner.String())
			require.Equal(t, h, x.buckets[i].hash[j])
			require.Same(t, a, x.find(a.owner.String()))
			for k := int(h) & (len(x.buckets) - 1); k != i; k = (k + 1) & (len(x.buckets) - 1) {
				passed[k]++
			}
		}
	}
	require.Equal(t, n, x.n)
	require.LessOrEqual(t, n, fill*len(x.buckets))
	require.LessOrEqual(t, len(x.buckets)/2, max(n, 1))
	for i := range passed {
		require.Equal(t, passed[i], x.buckets[i].passed, "bucket %d of %d", i, len(passed))
	}
}

func TestSizeOfSlots(t *testing.T) {
	on64Bits(t)
	assert.Equal(t, uintptr(64), unsafe.Sizeof(slots{}), "a cache line")
}

// An index finds what a map finds, with any hash.
func TestIndex(t *testing.T) {
	for name, hash := range map[string]func(string) uint32{
		"good":         seededHash(),
		"of one value": func(string) uint32 { return 7 },
		"of few bits":  func(s string) uint32 { return uint32(s[0]) % 4 },
		"of high bits": func(s string) uint32 { return uint32(s[0]) << 28 },
		"of neighbours": func(s string) uint32 {
			return ^uint32(0) - uint32(s[0])%2 // the last buckets: the next is the first
		},
	} {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		x, want := index{hash: hash}, map[string]*account{}
		assert.Nil(t, x.find("a"))
		for step := range 3000 {
			owner := fmt.Sprintf("%c%d", 'a'+random.IntN(26), random.IntN(40))
			growing := step/500%2 == 0
			switch a := want[owner]; {
			case a != nil && random.IntN(4) > 0 == !growing:
				x.remove(a)
				delete(want, owner)
				require.Nil(t, x.find(owner), "%s, seed %d, step %d", name, seed, step)
			case a == nil && (growing || random.IntN(4) == 0):
				a = &account{owner: ownerOf(owner)}
				x.add(a)
				want[owner] = a
			}
			require.Same(t, want[owner], x.find(owner), "%s, seed %d, step %d", name, seed, step)
			if step%50 == 0 {
				x.requireConsistent(t)
			}
		}
		x.requireConsistent(t)
		require.Len(t, want, x.n)
		for _, a := range want {
			x.remove(a)
		}
		assert.Zero(t, x.n)
		assert.LessOrEqual(t, len(x.buckets), 1, name)
	}
}

// A search for an unknown owner ends although accounts went past every bucket.
func TestIndexEnds(t *testing.T) {
	home := map[string]uint32{"stranger": 0}
	x := index{hash: func(owner string) uint32 { return home[owner] }}
	x.resize(2)
	for at := range uint32(2) {
		var own []*account
		for i := range 6 {
			a := &account{owner: ownerOf(fmt.Sprint(at, i))}
			home[a.owner.String()] = at
			x.add(a)
			own = append(own, a)
		}
		for _, a := range own[:5] {
			x.remove(a)
		}
	}
	x.requireConsistent(t)
	assert.NotZero(t, x.buckets[0].passed)
	assert.NotZero(t, x.buckets[1].passed)
	assert.Nil(t, x.find("stranger"))
}

// BenchmarkIndex looks up one account out of many, in random order, and reads it; and
// does the same with a map.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{10, 1_000_000} {
		x, m := index{hash: seededHash()}, map[string]*account{}
		for i := range n {
			owner := fmt.Sprintf("user-%07d", i)
			a := &account{owner: ownerOf(owner)}
			x.add(a)
			m[owner] = a
		}
		lookUp := func(name string, find func(string) *account) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, 2))
				owner := make([]byte, 0, 16)
				for b.Loop() {
					owner = fmt.Appendf(owner[:0], "user-%07d", random.IntN(n))
					if find(unsafe.String(&owner[0], len(owner))).Retained != 0 {
						b.Fatal("nothing is retained")
					}
				}
			})
		}
		lookUp("index", x.find)
		lookUp("map", func(owner string) *account { return m[owner] })
	}
}
