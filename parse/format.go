package parse

import (
	"fmt"
	"unicode/utf8"

	"github.com/dunglas/httpsfv"
)

// FormatDeclarations returns the value of a RateLimit-Partition field. It writes a
// dimension that was not understood as a Boolean false, which is read so, too, and
// a literal as a String, or as a Display String if it is not printable ASCII.
//
// The error is not nil if the name of a policy is not printable ASCII, the name of
// a dimension is not a key (RFC 9651, Section 3.1.2), or a literal is not UTF-8. It holds
// no values.
func FormatDeclarations(declarations []Declaration) (string, error) {
	list := make(httpsfv.List, len(declarations))
	for i, d := range declarations {
		item, ok := formatDeclaration(d)
		if !ok {
			return "", fmt.Errorf("%w (RateLimit-Partition, item %d)", errSyntax, i)
		}
		list[i] = item
	}
	value, err := httpsfv.Marshal(list)
	if err != nil { // the name of a dimension is not a key
		return "", fmt.Errorf("%w (RateLimit-Partition)", errSyntax)
	}
	return value, nil
}

// formatDeclaration returns a declaration as an item. ok is false if it cannot be
// written; the names of its dimensions are not checked, unless one is empty.
func formatDeclaration(d Declaration) (item httpsfv.Item, ok bool) {
	item = httpsfv.NewItem(d.Policy)
	ok = printable(d.Policy)
	for _, dim := range d.Dimensions {
		switch {
		case dim.Name == "":
			return item, false
		case dim.Varies:
			item.Params.Add(dim.Name, true)
		case !dim.IsLiteral:
			item.Params.Add(dim.Name, false)
		case printable(dim.Literal):
			item.Params.Add(dim.Name, dim.Literal)
		default:
			item.Params.Add(dim.Name, httpsfv.DisplayString(dim.Literal))
			ok = ok && utf8.ValidString(dim.Literal)
		}
	}
	return item, ok
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
