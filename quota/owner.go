package quota

import "strings"

// An owner is whose an account is: the bytes of the partition key, or the name
// of the scope where there is none. A key of up to 39 bytes, as the text of a UUID
// is, stands in the account itself, so that comparing it looks nowhere else.
type owner struct {
	n     uint8 // how many bytes of short; notShort: it is long
	short [39]byte
	long  string
}

const notShort = 1<<8 - 1

// ownerOf keeps a name, and nothing that it was cut from.
func ownerOf(name string) (w owner) {
	if len(name) > len(w.short) {
		return longOwner(name)
	}
	w.n = uint8(copy(w.short[:], name))
	return w
}

// longOwner is ownerOf for a name that is kept in one piece, however short it is:
// those of scopes are, which others refer to.
func longOwner(name string) owner { return owner{n: notShort, long: strings.Clone(name)} }

// is reports whether that is the name.
func (w *owner) is(name string) bool {
	if w.n == notShort {
		return w.long == name
	}
	return string(w.short[:w.n]) == name
}

// String is the name. It is made anew where it is short.
func (w *owner) String() string {
	if w.n == notShort {
		return w.long
	}
	return string(w.short[:w.n])
}
