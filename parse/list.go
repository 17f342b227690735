package parse

import (
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// A listReader goes through the items of one List field and notes what it ignores.
// The methods named after a kind of value read parameters of the current item; a
// malformed parameter marks the item, so that a caller reads all it wants and
// looks at malformed once.
type listReader struct {
	field   string
	caps    Caps
	list    httpsfv.List
	only    httpsfv.Item // of a List that is not in list because it is this Item
	alone   bool         // there is such an Item
	ignored []Ignored

	// The current item.
	item      int // its index; None before the first
	policy    string
	params    *httpsfv.Params
	malformed bool

	// Which names the service limits so far have used, of the drafts that have
	// some in common.
	newest bool // a, w, c
	older  bool // r, t
}

// newListReader returns a listReader of a field that is not a List, or not yet parsed.
func newListReader(field string, caps Caps) listReader {
	return listReader{field: field, caps: caps, item: None}
}

// readList returns a listReader placed before the first item of the List that the
// field lines make together (RFC 9651, Section 4.2). There is no item where they
// do not make a List.
func readList(field string, lines []string, caps Caps) (r listReader) {
	r.field, r.caps = field, caps
	r.read(lines)
	return r
}

// read is readList for a listReader that has its field and caps.
func (r *listReader) read(lines []string) {
	r.item = None
	if r.tooLong(lines) {
		return
	}
	if len(lines) == 1 && strings.IndexByte(lines[0], ',') < 0 {
		// As most fields are: an Item, which is a List of one (RFC 9651, Section
		// 4.2.1) and is parsed with less ado.
		var err error
		if r.only, err = httpsfv.UnmarshalItem(lines); err == nil {
			r.alone = true
			return
		}
	}
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		r.ignore("", ErrSyntax)
		return
	}
	r.list = firstOf(r, list)
}

// len is how many members the List has.
func (r *listReader) len() int {
	if r.alone {
		return 1
	}
	return len(r.list)
}

// current is the member that the reader is at; not ok, if it is an Inner List.
func (r *listReader) current() (item httpsfv.Item, ok bool) {
	if r.alone {
		return r.only, true
	}
	item, ok = r.list[r.item].(httpsfv.Item)
	return item, ok
}

// tooLong notes and reports whether the field is longer than its cap.
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

// firstOf returns as many elements as the cap on items allows, and notes where
// the rest begins.
func firstOf[T any](r *listReader, all []T) []T {
	most := r.caps.items()
	if len(all) <= most {
		return all
	}
	r.ignored = append(r.ignored, Ignored{Field: r.field, Item: most, Err: ErrCap})
	return all[:most]
}

// next goes to the next item that names a policy, and reports whether there is
// one. A member that is an Inner List, or an item of another type, is dropped.
func (r *listReader) next() bool {
	for r.item+1 < r.len() {
		r.item++
		item, ok := r.current()
		if !ok {
			r.ignore("", ErrType)
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
		r.ignore("", ErrType)
	case len(name) > r.caps.nameBytes():
		r.ignore("", ErrCap)
		ok = false
	}
	return name, ok
}

// A param is a parameter of an item: nil where it was not given.
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

// number reads the first of two parameters that is given and not above most: a
// non-negative Integer. None means that there is none. A malformed one spoils the
// item, whatever the older one says.
func (r *listReader) number(most int64, newest, older param) int64 {
	if newest.value == nil && older.value == nil {
		return None
	}
	if n, ok := newest.value.(int64); ok && n >= 0 && n <= most {
		return n
	}
	for _, p := range [...]param{newest, older} {
		if p.value == nil {
			continue
		}
		n, ok := p.value.(int64)
		switch {
		case !ok:
			r.drop(p.name, ErrType)
			return None
		case n < 0:
			r.drop(p.name, ErrRange)
			return None
		case n > most:
			r.ignore(p.name, ErrCap)
		default:
			return n
		}
	}
	return None
}

// key reads a partition key, a Byte Sequence (editor's draft, Sections 2.1.4 and
// 3.1.3). Base64 whose pad bits are not zero is accepted, as RFC 9651,
// Section 4.2.7, recommends and draft -09 needs for its own examples.
func (r *listReader) key(v any) (key string, ok bool) {
	if v == nil {
		return "", false
	}
	b, ok := v.([]byte)
	switch {
	case !ok:
		r.drop("pk", ErrType)
		return "", false
	case len(b) > r.caps.keyBytes():
		r.ignore("pk", ErrCap)
		return "", false
	}
	return string(b), true
}

// drop notes a fault of the current item that makes it malformed.
func (r *listReader) drop(param string, err error) {
	r.malformed = true
	r.ignore(param, err)
}

// ignore notes that something was ignored at its place.
func (r *listReader) ignore(param string, err error) {
	r.ignored = append(r.ignored, Ignored{Field: r.field, Item: r.item, Param: param, Err: err})
}

// text is the text of a String or a Token. A Token is cut out of the field value
// and is cloned, so as not to keep the whole of that alive.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case httpsfv.Token:
		return strings.Clone(string(v)), true
	}
	return "", false
}
