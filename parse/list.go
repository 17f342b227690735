package parse

import (
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// A listReader iterates over the items of one List field and records what it ignores.
// Its methods for values read parameters of the current item. A malformed parameter sets
// malformed, which callers check once, after they have read all parameters.
type listReader struct {
	field   string
	caps    Caps
	list    httpsfv.List
	only    httpsfv.Item // the single item, if alone; list is then nil
	alone   bool
	ignored []Ignored

	// The current item.
	item      int // its index; None before the first
	policy    string
	params    *httpsfv.Params
	malformed bool

	// Which parameters the service limits have had so far.
	newest bool // a, w or c
	older  bool // r or t
}

// newListReader returns a listReader of a field that is not a List or not yet parsed.
func newListReader(field string, caps Caps) listReader {
	return listReader{field: field, caps: caps, item: None}
}

// readList returns a listReader before the first item of a List, which all lines of the
// field make together (RFC 9651, Section 4.2). It has no items if they are not a List.
func readList(field string, lines []string, caps Caps) (r listReader) {
	r.field, r.caps = field, caps
	r.read(lines)
	return r
}

// read parses the lines of the field.
func (r *listReader) read(lines []string) {
	r.item = None
	if r.tooLong(lines) {
		return
	}
	if len(lines) == 1 && strings.IndexByte(lines[0], ',') < 0 {
		// An Item is a List of one (RFC 9651, Section 4.2.1) and is parsed faster.
		var err error
		if r.only, err = httpsfv.UnmarshalItem(lines); err == nil {
			r.alone = true
			return
		}
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		text := strings.Join(lines, ", ")
		if with := pad(text); with != text {
			list, err = httpsfv.UnmarshalList([]string{with})
		}
	}
	if err != nil {
		r.ignore("", errSyntax)
		return
	}
	r.list = firstOf(r, list)
}

// pad returns a List with the padding that the parser requires in Byte Sequences that are
// parameters: "parsers SHOULD NOT fail" if it is missing (RFC 9651, Section 4.2.7). They
// begin with "=:", which no other value contains but a String or a Display String.
func pad(line string) string {
	var b strings.Builder
	from, quoted := 0, false
	for i := 0; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(line[i:], "=:"):
			n := strings.IndexByte(line[i+2:], ':')
			if n < 0 {
				return line
			}
			content := strings.TrimRight(line[i+2:i+2+n], "=")
			b.WriteString(line[from : i+2])
			b.WriteString(content)
			b.WriteString("==="[:-len(content)&3])
			from = i + 2 + n
			i = from
		}
	}
	return b.String() + line[from:]
}

// len returns the number of members of the List.
func (r *listReader) len() int {
	if r.alone {
		return 1
	}
	return len(r.list)
}

// current returns the current member. ok is false if it is an Inner List.
func (r *listReader) current() (item httpsfv.Item, ok bool) {
	if r.alone {
		return r.only, true
	}
	item, ok = r.list[r.item].(httpsfv.Item)
	return item, ok
}

// tooLong reports, and records, whether the field is longer than Caps.FieldBytes.
func (r *listReader) tooLong(lines []string) bool {
	n := 0
	for _, line := range lines {
		n += len(line)
	}
	if n <= r.caps.fieldBytes() {
		return false
	}
	r.ignore("", ErrCap)
	return true
}

// firstOf returns the first Caps.Items elements, and records that the others are ignored.
func firstOf[T any](r *listReader, all []T) []T {
	n := r.caps.items()
	if len(all) <= n {
		return all
	}
	r.ignored = append(r.ignored, Ignored{Field: r.field, Item: n, Err: ErrCap})
	return all[:n]
}

// next advances to the next item that names a policy, and reports whether there is
// one. It drops Inner Lists and items of other types.
func (r *listReader) next() bool {
	for r.item+1 < r.len() {
		r.item++
		item, ok := r.current()
		if !ok {
			r.ignore("", errType)
			continue
		}
		if r.policy, ok = r.name(item.Value); ok {
			r.params, r.malformed = item.Params, false
			return true
		}
	}
	return false
}

// name reads the name of a policy.
func (r *listReader) name(v any) (string, bool) {
	name, ok := text(v)
	switch {
	case !ok:
		r.ignore("", errType)
	case len(name) > r.caps.nameBytes():
		r.ignore("", ErrCap)
		ok = false
	}
	return name, ok
}

// A param is a parameter of an item. Its value is nil if it is missing.
type param struct {
	name  string
	value any
}

// units reads a figure in quota units.
func (r *listReader) units(newest, older param) int64 {
	return r.number(r.caps.quota(), newest, older)
}

// window reads a time window.
func (r *listReader) window(newest, older param) time.Duration {
	n := r.number(r.caps.windowSeconds(), newest, older)
	if n == None {
		return None
	}
	return seconds(n)
}

// number reads the first of two parameters that is there and not above limit: an
// Integer that is not negative. It returns None if there is none. If the newer one is
// malformed, so is the item, whatever the older one says.
func (r *listReader) number(limit int64, newest, older param) int64 {
	if newest.value == nil && older.value == nil {
		return None
	}
	if n, ok := newest.value.(int64); ok && n >= 0 && n <= limit {
		return n
	}
	for _, p := range [...]param{newest, older} {
		if p.value == nil {
			continue
		}
		n, ok := p.value.(int64)
		switch {
		case !ok:
			r.drop(p.name, errType)
			return None
		case n < 0:
			r.drop(p.name, errRange)
			return None
		case n > limit:
			r.ignore(p.name, ErrCap)
		default:
			return n
		}
	}
	return None
}

// key reads a partition key, a Byte Sequence (editor's draft, Sections 2.1.4 and
// 3.1.3). Base64 whose pad bits are not zero is accepted, as RFC 9651,
// Section 4.2.7, recommends and the examples of draft -09 need. So is missing padding.
func (r *listReader) key(v any) (key Key, ok bool) {
	if v == nil {
		return "", false
	}
	b, ok := v.([]byte)
	switch {
	case !ok:
		r.drop("pk", errType)
		return "", false
	case len(b) > r.caps.keyBytes():
		r.ignore("pk", ErrCap)
		return "", false
	}
	return Key(b), true
}

// drop records a fault that makes the current item malformed.
func (r *listReader) drop(param string, err error) {
	r.malformed = true
	r.ignore(param, err)
}

// ignore records that something was ignored in the current item.
func (r *listReader) ignore(param string, err error) {
	r.ignored = append(r.ignored, Ignored{Field: r.field, Item: r.item, Param: param, Err: err})
}

// text returns the text of a String or a Token. It clones a Token, which would keep the
// whole field value alive.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case httpsfv.Token:
		return strings.Clone(string(v)), true
	}
	return "", false
}
