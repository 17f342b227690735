package parse

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A memo keeps what RateLimit-Policy and RateLimit-Partition were read as: servers
// send them with every response and rarely change them. It holds up to 16 field values
// of at most 1 KiB each. A new value replaces the one in its slot.
//
// The zero memo is empty. A memo may be used from several goroutines at once and takes
// no locks. It must not be copied, and belongs to one Reader, since the caps decide
// what a field is read as.
type memo struct {
	common commonMemo
	host   atomic.Pointer[hostMemo]  // of the last host
	date   atomic.Pointer[dateMemo]  // of the last Date that was needed
	latest atomic.Pointer[memoEntry] // the last of policies: most servers have one
	slots  [memoSlots]atomic.Pointer[memoEntry]
}

const (
	memoSlots    = 16
	memoMaxBytes = 1 << 10
)

// memoSeed makes the slots of field values unpredictable. Read-only.
var memoSeed = maphash.MakeSeed()

// A memoEntry is what the lines of one field were read as. It is never modified.
type memoEntry struct {
	partition    bool // RateLimit-Partition, not RateLimit-Policy
	lines        []string
	policies     policyField
	declarations []Declaration
	ignored      []Ignored // of the declarations
}

// A policyField is what RateLimit-Policy was read as, in each of its two forms. It is
// read as the form of drafts -06 and -07 only if it has no policy of the newer form.
type policyField struct {
	named          []Policy
	begins         string // how the limit of the only policy named begins: see beginsWith
	unnamed        []unnamed
	labelled       []Policy  // the unnamed ones, if all have a parameter name
	ignored        []Ignored // by the newer form
	ignoredUnnamed []Ignored // by the older form
	older          bool      // the field has the older form, valid or not
}

// noPolicyField is that of a response without one. Read-only.
var noPolicyField policyField

// readPolicyField reads the lines of RateLimit-Policy in either form.
func readPolicyField(lines []string, caps Caps) (f policyField) {
	f.named, f.ignored = readPolicies(lines, caps)
	if len(f.named) == 1 {
		f.begins = beginsWith(f.named[0].Name)
	}
	if len(f.named) == 0 {
		f.unnamed, f.older, f.ignoredUnnamed = readUnnamed(lines, caps)
		if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "name=") }) {
			f.labelled = readLabelled(lines, caps)
		}
	}
	return f
}

// policies is readPolicyField with a memory. What it returns is not modified.
func (m *memo) policies(lines []string, caps *Caps) *policyField {
	if e := m.latest.Load(); e.is(lines, false) {
		return &e.policies
	}
	slot := m.slot(lines, false)
	if e := slot.Load(); e.is(lines, false) {
		m.latest.Store(e)
		return &e.policies
	}
	f := readPolicyField(lines, *caps)
	remember(slot, memoEntry{lines: lines, policies: f})
	return &f
}

// declarations is readDeclarations with a memory.
func (m *memo) declarations(lines []string, caps *Caps) ([]Declaration, []Ignored) {
	slot := m.slot(lines, true)
	if e := slot.Load(); e.is(lines, true) {
		return e.declarations, e.ignored
	}
	declarations, ignored := readDeclarations(lines, *caps)
	remember(slot, memoEntry{partition: true, lines: lines, declarations: declarations, ignored: ignored})
	return declarations, ignored
}

// A hostMemo is the rows for a host. Most Readers read the responses of one host.
type hostMemo struct {
	host string
	rows []*row
}

// hostRows is table.host with a memory.
func (m *memo) hostRows(t *table, host string) []*row {
	if e := m.host.Load(); e != nil && e.host == host {
		return e.rows
	}
	e := &hostMemo{strings.Clone(host), t.host(host)}
	m.host.Store(e)
	return e.rows
}

// A dateMemo is a Date and its time. All responses of a second have the same.
type dateMemo struct {
	text string
	time time.Time
}

// slot returns the slot for the lines of a field. Half of the slots belong to each of
// the two fields, so that neither replaces the other.
func (m *memo) slot(lines []string, partition bool) *atomic.Pointer[memoEntry] {
	const each = memoSlots / 2
	i := (maphash.String(memoSeed, lines[0]) + uint64(len(lines))) % each
	if partition {
		i += each
	}
	return &m.slots[i]
}

// is reports whether an entry, which may be nil, is of these lines.
func (e *memoEntry) is(lines []string, partition bool) bool {
	return e != nil && e.partition == partition && slices.Equal(e.lines, lines)
}

// remember puts an entry into its slot, unless it is too large. It clones the lines, so
// that the entry does not keep the header alive.
func remember(slot *atomic.Pointer[memoEntry], e memoEntry) {
	n := 0
	for _, line := range e.lines {
		n += len(line)
	}
	if n > memoMaxBytes || len(e.lines) > memoSlots {
		return
	}
	e.lines = slices.Clone(e.lines)
	for i := range e.lines {
		e.lines[i] = strings.Clone(e.lines[i])
	}
	slot.Store(&e)
}
