package quota

import "strings"

// An owner is the partition key that an account belongs to, or the name of the scope
// where there is no key. A key of up to 39 bytes, the length of a UUID with some
// prefix, is stored in the account itself, so that comparing it needs no other memory.
type owner struct {
	n     uint8 // bytes of short in use; notShort: the owner is long
	short [39]byte
	long  string
}

const notShort = 1<<8 - 1

// ownerOf returns an owner with a copy of the name.
func ownerOf(name string) (w owner) {
	if len(name) > len(w.short) {
		return longOwner(name)
	}
	w.n = uint8(copy(w.short[:], name))
	return w
}

// longOwner is ownerOf for a name that is kept as a string, however short it is: the
// names of scopes are also keys of a map.
func longOwner(name string) owner { return owner{n: notShort, long: strings.Clone(name)} }

// is reports whether that is the name.
func (w *owner) is(name string) bool {
	if w.n == notShort {
		return w.long == name
	}
	return string(w.short[:w.n]) == name
}

// String returns the name. It allocates if the name is short.
func (w *owner) String() string {
	if w.n == notShort {
		return w.long
	}
	return string(w.short[:w.n])
}
