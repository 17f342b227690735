package parse

// Dialect is a way to describe quotas in response fields. The form of the fields
// determines it, not the server. It is NoDialect, EditorsDraft, Draft08, Draft07, Draft06 or
// VendorFields.
type Dialect uint8

const (
	// NoDialect is a response that says nothing valid about quota, except perhaps
	// Retry-After. It is the zero Dialect.
	NoDialect Dialect = iota

	// EditorsDraft is the editor's draft of April 2026: RateLimit has a, w and c.
	// RateLimit-Policy has the same form in EditorsDraft and Draft08; a response
	// with that field alone is an EditorsDraft.
	EditorsDraft

	// Draft08 is drafts -08 to -11: RateLimit has r and t.
	Draft08

	// Draft07 is draft -07: RateLimit is a Dictionary. A RateLimit-Policy of
	// policies without names, without other fields, is a Draft07, too.
	Draft07

	// Draft06 is drafts -06 and older: RateLimit-Limit, RateLimit-Remaining,
	// RateLimit-Reset.
	Draft06

	// VendorFields is any other set of fields that a [Vendor] describes, among
	// them X-RateLimit-Limit and its variants.
	VendorFields
)

// String returns the name of the dialect, such as "draft -08".
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
