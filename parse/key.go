package parse

import (
	"fmt"
	"io"
	"strconv"
)

// Key is a partition key: the bytes of pk, which need not be text. string(k) gives
// them.
//
// Keys may identify people (editor's draft, Sections 6 and 9.2), so a Key prints as its
// length, such as "pk[9 bytes]", or "pk[]" if it is empty: in package fmt, in log/slog
// and in encodings that use MarshalText. The bytes show in four cases: with the verbs %p
// and %w, which are not for strings; in an unexported field of a printed struct; as a
// map key in encoding/json.
type Key string

// redacted returns what is shown of the key.
func (k Key) redacted() string {
	if k == "" {
		return "pk[]"
	}
	return "pk[" + strconv.Itoa(len(k)) + " bytes]"
}

// Format writes the redacted form, whatever the verb and its flags.
func (k Key) Format(s fmt.State, _ rune) { io.WriteString(s, k.redacted()) }

// MarshalText returns the redacted form, which cannot be unmarshaled.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.redacted()), nil }
