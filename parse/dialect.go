package parse

// Dialect is a manner of saying what quota there is. Dialects are told apart by the
// form of their fields, never by who sends them.
type Dialect uint8

const (
	// NoDialect is a response that says nothing valid about quota, save perhaps
	// Retry-After. It is the zero Dialect.
	NoDialect Dialect = iota

	// EditorsDraft is the editor's draft of April 2026: RateLimit has a, w and c.
	// RateLimit-Policy has the same form in EditorsDraft and Draft08; where
	// nothing tells them apart, the newer one is given.
	EditorsDraft

	// Draft08 is drafts -08 to -11: RateLimit has r and t.
	Draft08

	// Draft07 is draft -07: RateLimit is a Dictionary. A RateLimit-Policy alone
	// with policies that have no names is of that draft or of -06.
	Draft07

	// Draft06 is drafts -06 and older: RateLimit-Limit, RateLimit-Remaining,
	// RateLimit-Reset.
	Draft06

	// VendorFields is any other set of fields, read by a row of the table of
	// vendors; X-RateLimit-Limit and its kin are the last row of it.
	VendorFields
)

// String returns a name of the dialect for people.
func (d Dialect) String() string {
	switch d {
	case EditorsDraft:
		return "editor's draft"
	case Draft08:
		return "draft -08"
	case Draft07:
		return "draft -07"
	case Draft06:
		return "draft -06"
	case VendorFields:
		return "vendor fields"
	}
	return "none"
}

// ietf reports whether the dialect is one of the drafts.
func (d Dialect) ietf() bool { return d >= EditorsDraft && d <= Draft06 }
