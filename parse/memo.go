package parse

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

// A Memo remembers what RateLimit-Policy and RateLimit-Partition were read as, so
// that the same bytes are not parsed twice: servers send them with every response
// and hardly ever change them. The zero Memo is empty and ready to use. It holds 16
// field values of at most 1 KiB each, in about 130 bytes and what these are, and
// forgets one when another takes its place. It takes no locks.
//
// A Memo may be used from several goroutines at once, but by one [Reader] only,
// since what a field is read as depends on the caps. It must not be copied.
type Memo struct {
	slots [memoSlots]atomic.Pointer[memory]
}

const (
	memoSlots    = 16
	memoMaxBytes = 1 << 10
)

// memorySeed makes the places of field values unpredictable. Read-only.
var memorySeed = maphash.MakeSeed()

// A memory is what the field lines of one field were read as. It is never modified.
type memory struct {
	partition    bool
	lines        []string
	policies     policyField
	declarations []Declaration
	ignored      []Ignored // of the declarations
}

// A policyField is what RateLimit-Policy was read as, in both of its forms. The
// policies of drafts -06 and -07 are read only if there is none of a newer one.
type policyField struct {
	named          []Policy
	unnamed        []unnamed
	ignored        []Ignored // as the newer form
	ignoredUnnamed []Ignored // as the older form
	older          bool      // the field has the older form, valid or not
}

// readPolicyField reads the field lines of RateLimit-Policy in whatever form.
func readPolicyField(lines []string, caps Caps) (f policyField) {
	f.named, f.ignored = readPolicies(lines, caps)
	if len(f.named) == 0 {
		f.unnamed, f.older, f.ignoredUnnamed = readUnnamed(lines, caps)
	}
	return f
}

// policies is readPolicyField with a memory. The receiver may be nil.
func (m *Memo) policies(lines []string, caps Caps) policyField {
	if m == nil {
		return readPolicyField(lines, caps)
	}
	slot := m.slot(lines, false)
	if known := slot.Load(); known.is(lines, false) {
		return known.policies
	}
	f := readPolicyField(lines, caps)
	remember(slot, memory{lines: lines, policies: f})
	return f
}

// declarations is readDeclarations with a memory. The receiver may be nil.
func (m *Memo) declarations(lines []string, caps Caps) ([]Declaration, []Ignored) {
	if m == nil {
		return readDeclarations(lines, caps)
	}
	slot := m.slot(lines, true)
	if known := slot.Load(); known.is(lines, true) {
		return known.declarations, known.ignored
	}
	declarations, ignored := readDeclarations(lines, caps)
	remember(slot, memory{partition: true, lines: lines, declarations: declarations, ignored: ignored})
	return declarations, ignored
}

// slot is the place of the memory of field lines. The two fields have places of
// their own: of a server that sends one value of each, both are remembered.
func (m *Memo) slot(lines []string, partition bool) *atomic.Pointer[memory] {
	const each = memoSlots / 2
	i := (maphash.String(memorySeed, lines[0]) + uint64(len(lines))) % each
	if partition {
		i += each
	}
	return &m.slots[i]
}

// is reports whether a memory, which may be nil, is of these field lines.
func (m *memory) is(lines []string, partition bool) bool {
	return m != nil && m.partition == partition && slices.Equal(m.lines, lines)
}

// remember puts a memory into its place, unless it is too large. The field lines
// are cloned, so as not to keep the header alive.
func remember(slot *atomic.Pointer[memory], what memory) {
	n := 0
	for _, line := range what.lines {
		n += len(line)
	}
	if n > memoMaxBytes || len(what.lines) > DefaultMaxItems {
		return
	}
	what.lines = slices.Clone(what.lines)
	for i := range what.lines {
		what.lines[i] = strings.Clone(what.lines[i])
	}
	slot.Store(&what)
}
