package quota

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// An account that a request waits for is not idle.
func TestPinnedIsNotIdle(t *testing.T) {
	a := account{Window: window.New(window.Plain)}
	assert.True(t, a.idle(10))
	a.pins = 1
	assert.False(t, a.idle(10))
}

// A map keeps the memory of what it once had. One that has become thin is made anew,
// and not at every step.
func TestMapsShrink(t *testing.T) {
	const n = 10_000
	m, most, made := make(map[string]int), 0, 0
	for i := range n {
		m[fmt.Sprint(i)] = i
		most = len(m)
	}
	for i := n - 1; i > 0; i-- {
		delete(m, fmt.Sprint(i))
		before := most
		if m, most = shrunk(m, most); most != before {
			made++
		}
		require.Len(t, m, i)
	}
	assert.Equal(t, 0, m["0"])
	assert.Contains(t, m, "0")
	assert.Less(t, most, 64)
	assert.Equal(t, 3, made)
}

// An origin is quiet if nothing is out, retained or in line, in any scope.
func TestQuiet(t *testing.T) {
	d := newDesk(t)
	quiet := func() bool {
		_, quiet := d.o.quiet()
		return quiet
	}
	require.True(t, quiet())
	l := d.send(0, "alice", api(0))
	assert.False(t, quiet(), "it is out")
	d.done(0, l, Report{Terms: []Policy{{Name: "c", Quota: 5, Unit: UnitConcurrentRequests}}})
	assert.True(t, quiet())

	c := Claim{Policy: "c", Units: 2}
	one, two, three := d.send(0, "alice", c), d.send(0, "alice", c), d.send(0, "bob", c)
	d.settle(0, one, Report{})
	d.settle(0, two, Report{Unsent: true})
	three.Cancel()
	assert.False(t, quiet(), "one is retained")
	one.Release()
	assert.True(t, quiet())

	in := []wait.Claim{{Constraint: &d.o.root}}
	pin(in, 1)
	assert.False(t, quiet(), "a request waits")
	pin(in, -1)
	assert.True(t, quiet())
	used, _ := d.o.quiet()
	assert.Equal(t, d.at(0), used)
}

// Keys and names are copied: what they were cut from is not kept.
func TestKeysAreKeptWithoutWhatTheyAreOf(t *testing.T) {
	d := newDesk(t)
	line := []byte("scope policy key and a lot more")
	text := string(line)
	c := Claim{Policy: text[6:12], Key: text[13:16], Keyed: true, Units: 1}
	d.exchange(0, text[:5], Report{}, c)
	a := d.o.find(accountID{policyID{name: "policy", keyed: true}, "key"})
	require.NotNil(t, a)
	for _, kept := range []string{a.owner.String(), a.policy.name, d.o.scopes["scope"].base.owner.String()} {
		assert.False(t, sharesMemory(kept, text), "%q", kept)
	}
}

func sharesMemory(part, whole string) bool {
	p, w := uintptr(unsafe.Pointer(unsafe.StringData(part))), uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	return p >= w && p < w+uintptr(len(whole))
}
