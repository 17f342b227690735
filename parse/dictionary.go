package parse

import (
	"time"

	"github.com/dunglas/httpsfv"
)

// A figure is what drafts -07 and -06, and X-RateLimit, say of one account: how many
// quota units there are, how many are left, and when they are renewed. Each is None
// where nothing is said.
type figure struct {
	limit     int64
	remaining int64
	reset     time.Duration
}

// noFigure says nothing. Read-only.
var noFigure = figure{None, None, None}

// readDictionary reads the field lines of RateLimit as draft -07 has it
// (Section 3.1): a Dictionary with limit and reset, which are REQUIRED, and
// remaining. ok is false where the field is no such Dictionary. That a field is a
// List of RateLimit items as well is not possible: "limit=" ends the first item.
//
// The caller has seen to it that the field is not too long.
//
// A reset that is a Unix time is read as one, as in RateLimit-Reset. Parameters
// MUST be ignored.
func readDictionary(lines []string, kind ResetKind, c *clock, caps Caps) (f figure, ok bool, ignored []Ignored) {
	r := newListReader("RateLimit", caps)
	dict, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		r.ignore("", ErrSyntax)
		return noFigure, false, r.ignored
	}
	f = figure{
		limit:     r.units(member(dict, "limit"), param{}),
		remaining: r.units(member(dict, "remaining"), param{}),
		reset:     r.dictionaryReset(member(dict, "reset"), kind, c),
	}
	switch {
	case r.malformed:
	case f.limit == None:
		r.drop("limit", ErrMissing)
	case f.reset == None:
		r.drop("reset", ErrMissing)
	}
	return f, !r.malformed, r.ignored
}

// member is the value of a member of a Dictionary, as a parameter is one of an item.
func member(dict *httpsfv.Dictionary, key string) param {
	m, given := dict.Get(key)
	if !given {
		return param{}
	}
	if item, ok := m.(httpsfv.Item); ok {
		return param{key, item.Value}
	}
	return param{key, m} // an Inner List: of a wrong type
}

// dictionaryReset reads reset. The cap applies to what the number means, not to
// the number.
func (r *listReader) dictionaryReset(p param, kind ResetKind, c *clock) time.Duration {
	n := r.number(maxInteger, p, param{})
	if n == None {
		return None
	}
	return r.capped(p.name, decimal{whole: n}.delay(kind, c).reset())
}

// capped is a window that is not above its cap, or None.
func (r *listReader) capped(param string, d time.Duration) time.Duration {
	if d > r.caps.window() {
		r.ignore(param, ErrCap)
		return None
	}
	return d
}

// maxInteger is the largest Integer (RFC 9651, Section 3.3.1).
const maxInteger = 999_999_999_999_999
