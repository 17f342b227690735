package parse

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/dunglas/httpsfv"
)

// FormatPolicies returns the value of a RateLimit-Policy field, in the form of the
// editor's draft. A window that is no whole number of seconds is rounded up.
//
// It is an error, one of those that an [Ignored] has, if a policy cannot be written:
// ErrSyntax if a name or unit is not printable ASCII, ErrRange if a number is negative
// or has more than 15 digits. The error holds no values. What can be written is read
// by [Policies] as it was, whole seconds provided.
func FormatPolicies(policies []Policy) (string, error) {
	return format("RateLimit-Policy", len(policies), func(i int, item *writer) {
		p := policies[i]
		item.name(p.Name)
		item.number("q", p.Quota)
		if p.Unit != "" && p.Unit != requests {
			item.param("qu", p.Unit)
		}
		if p.Window != 0 {
			item.window(p.Window)
		}
		item.key(p.Key, p.HasKey)
	})
}

// FormatLimits returns the value of a RateLimit field, in the form of the editor's
// draft. Figures that are None are left out. Else it is as FormatPolicies.
func FormatLimits(limits []Limit) (string, error) {
	return format("RateLimit", len(limits), func(i int, item *writer) {
		l := limits[i]
		item.name(l.Policy)
		if l.Available != None {
			item.number("a", l.Available)
		}
		if l.Window != None {
			item.window(l.Window)
		}
		item.key(l.Key, l.HasKey)
		if l.Cost != None {
			item.number("c", l.Cost)
		}
	})
}

// FormatDeclarations returns the value of a RateLimit-Partition field. A dimension
// that is NotUnderstood is written as a Boolean false, which nobody understands. A
// literal is written as a String, or as a Display String if it is not ASCII.
//
// It is an error, one of those that an [Ignored] has, if a declaration cannot be
// written: ErrSyntax if a policy's name is not printable ASCII, the name of a
// dimension no key of RFC 9651, Section 3.1.2, or a literal not UTF-8. The error holds
// no values.
func FormatDeclarations(declarations []Declaration) (string, error) {
	return format("RateLimit-Partition", len(declarations), func(i int, item *writer) {
		d := declarations[i]
		item.name(d.Policy)
		for _, dim := range d.Dimensions {
			item.dimension(dim)
		}
	})
}

// FormatRetryAfter returns the value of a Retry-After field: delay-seconds, rounded
// up. A negative delay is written as 0.
func FormatRetryAfter(d time.Duration) string {
	return strconv.FormatInt(wholeSeconds(max(d, 0)), 10)
}

// wholeSeconds is a duration in seconds, rounded up. It is the inverse of seconds,
// also for the longest Duration.
func wholeSeconds(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}

// A writer makes an item of a List. The first fault is kept.
type writer struct {
	item httpsfv.Item
	err  error
}

// format makes a List of items and writes it.
func format(field string, n int, fill func(i int, item *writer)) (string, error) {
	list := make(httpsfv.List, n)
	for i := range list {
		w := writer{item: httpsfv.NewItem("")}
		fill(i, &w)
		if w.err != nil {
			return "", fmt.Errorf("%w (%s, item %d)", w.err, field, i)
		}
		list[i] = w.item
	}
	value, err := httpsfv.Marshal(list)
	if err != nil {
		// The checks above leave the names of dimensions.
		return "", fmt.Errorf("%w (%s)", ErrSyntax, field)
	}
	return value, nil
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// name writes the name of a policy.
func (w *writer) name(name string) {
	w.item.Value = name
	if !printable(name) {
		w.fail(ErrSyntax)
	}
}

// param writes a parameter that is a String.
func (w *writer) param(key, value string) {
	w.item.Params.Add(key, value)
	if !printable(value) {
		w.fail(ErrSyntax)
	}
}

// number writes an Integer that is not negative.
func (w *writer) number(key string, n int64) {
	w.item.Params.Add(key, n)
	if n < 0 || n > maxInteger {
		w.fail(ErrRange)
	}
}

// window writes a time window.
func (w *writer) window(d time.Duration) {
	if d < 0 {
		w.fail(ErrRange)
	}
	w.number("w", wholeSeconds(d))
}

// key writes a partition key.
func (w *writer) key(key string, hasKey bool) {
	if hasKey {
		w.item.Params.Add("pk", []byte(key))
	}
}

// dimension writes a dimension.
func (w *writer) dimension(d Dimension) {
	switch {
	case d.Name == "":
		w.fail(ErrSyntax)
	case d.Kind == Varies:
		w.item.Params.Add(d.Name, true)
	case d.Kind != Literal:
		w.item.Params.Add(d.Name, false)
	case printable(d.Literal):
		w.item.Params.Add(d.Name, d.Literal)
	case utf8.ValidString(d.Literal):
		w.item.Params.Add(d.Name, httpsfv.DisplayString(d.Literal))
	default:
		w.fail(ErrSyntax)
	}
}

// printable reports whether a text can be a String (RFC 9651, Section 3.3.3).
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
