package parse

import (
	"time"

	"github.com/dunglas/httpsfv"
)

// A figure is what drafts -07 and -06, and vendors' fields, say of one account.
type figure struct {
	limit     int64 // the quota; None if it is missing, as in remaining and cost
	remaining int64
	cost      int64
	reset     delay         // until the quota is renewed; noDelay if it is missing
	full      time.Duration // until the quota is full, if it is renewed unit by unit; or 0
	next      time.Duration // until the next unit, if full is not 0
}

// serviceLimit returns a figure as the service limit of a policy. ok is false if it has
// nothing but a quota.
func (f *figure) serviceLimit(policy string) (l Limit, ok bool) {
	l = Limit{Policy: policy, Available: f.remaining, Window: f.reset.reset(), Cost: f.cost}
	if f.full > 0 {
		l.Window, l.Full = f.next, f.full
	}
	l.Resets, l.Bare = f.reset.at, f.reset.bare
	return l, f.remaining != None || f.reset != noDelay || f.cost != None
}

// readDictionary reads RateLimit as draft -07 defines it (Section 3.1): a Dictionary
// with limit and reset, which are REQUIRED, and remaining. ok is false if the field is no
// such Dictionary. Such a Dictionary is never a List of RateLimit items: "limit=" ends
// the first item. The caller has checked the length of the field.
//
// A reset may be a Unix time, as in RateLimit-Reset. Parameters MUST be ignored.
func readDictionary(lines []string, kind resetKind, c *clock, caps Caps) (f figure, ok bool, ignored []Ignored) {
	r := newListReader("RateLimit", caps)
	dict, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		r.ignore("", errSyntax)
		return figure{}, false, r.ignored
	}
	f = figure{
		limit:     r.units(member(dict, "limit"), param{}),
		remaining: r.units(member(dict, "remaining"), param{}),
		cost:      None,
		reset:     r.dictionaryReset(member(dict, "reset"), kind, c),
	}
	switch {
	case r.malformed:
	case f.limit == None:
		r.drop("limit", errMissing)
	case f.reset == noDelay:
		r.drop("reset", errMissing)
	}
	return f, !r.malformed, r.ignored
}

// member returns a member of a Dictionary in the form of a parameter.
func member(dict *httpsfv.Dictionary, key string) param {
	m, given := dict.Get(key)
	if !given {
		return param{}
	}
	if item, ok := m.(httpsfv.Item); ok {
		return param{key, item.Value}
	}
	return param{key, m} // an Inner List, which is of the wrong type
}

// dictionaryReset reads reset. Caps.Window applies to the time until the reset, which is
// not the number if that is a Unix time.
func (r *listReader) dictionaryReset(p param, kind resetKind, c *clock) delay {
	n := r.number(maxInteger, p, param{})
	if n == None {
		return noDelay
	}
	d := decimal{whole: n}.delay(kind, c)
	d.bare = false // the draft says seconds
	if r.capped(p.name, d.reset()) == None {
		return noDelay
	}
	return d
}

// capped returns a window, or None if it is above its cap.
func (r *listReader) capped(param string, d time.Duration) time.Duration {
	if d > r.caps.window() {
		r.ignore(param, ErrCap)
		return None
	}
	return d
}

// maxInteger is the largest Integer (RFC 9651, Section 3.3.1).
const maxInteger = 999_999_999_999_999
