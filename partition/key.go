package partition

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/headway-go/headway/parse"
)

// Key is a partition key: the bytes of pk, which need not be text. string(k) gives
// them.
//
// Keys may identify people (editor's draft, Sections 6 and 9.2), so a Key prints as
// its length, such as "pk[9 bytes]", or "pk[]" where it is empty: in package fmt,
// in log/slog and in encodings that use MarshalText. Four cases are out of the
// type's reach and show the bytes: the verbs %p and %w, which no string has; a
// Key in an unexported field of a struct that is printed; the keys of a map in
// encoding/json.
type Key string

// String returns the redacted form.
func (k Key) String() string {
	if k == "" {
		return "pk[]"
	}
	return "pk[" + strconv.Itoa(len(k)) + " bytes]"
}

// Format writes the redacted form, whatever the verb and its flags.
func (k Key) Format(s fmt.State, _ rune) { io.WriteString(s, k.String()) }

// LogValue returns the redacted form.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns the redacted form. There is no way back from it.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Answer says what is known of the partition that a request falls into.
type Answer uint8

const (
	// Opaque says that the key cannot be computed, and must not be predicted
	// (editor's draft, Section 4.1). It is the zero Answer.
	Opaque Answer = iota

	// Irrelevant says that the policy does not concern the request.
	Irrelevant

	// Known says that the key is the one that the declaration gives.
	Known
)

// String returns the name of the answer.
func (a Answer) String() string {
	switch a {
	case Known:
		return "known"
	case Irrelevant:
		return "irrelevant"
	}
	return "opaque"
}

// separator stands between the values of a key: Unit Separator.
const separator = "\x1f"

// Key computes the partition key of a request under a declaration (editor's draft,
// Section 4.2): the values of the dimensions, sorted by dimension name, in UTF-8,
// with the byte 0x1F between them. A dimension that varies has the request's value,
// a literal its own text. A declaration without dimensions has the empty key.
//
// The answer is
//
//   - Irrelevant if a literal differs from the request's value; that is so even
//     where another dimension would make the key opaque;
//   - Opaque if a dimension is unknown to d, was not understood, or has no value on
//     this request, or if a value or a literal holds the byte 0x1F or is not UTF-8;
//   - Known otherwise. The key is empty in all other cases.
//
// Names and literals are compared byte by byte. Each function of d is called at
// most once. Key allocates the key alone, as long as there are at most 16 dimensions
// in a declaration that comes from [parse.Declarations].
func (d Dimensions) Key(decl parse.Declaration, req *http.Request) (Key, Answer) {
	dimensions := sorted(decl.Dimensions)
	if answer := d.match(dimensions, req); answer != Known {
		return "", answer
	}
	var few [16]string
	values := few[:0]
	for _, dim := range dimensions {
		value := dim.Literal
		if dim.Kind == parse.Varies {
			var ok bool
			if value, ok = d.value(dim.Name, req); !ok {
				return "", Opaque
			}
		}
		values = append(values, value)
	}
	return Key(strings.Join(values, separator)), Known
}

// match compares the literals of a declaration with the request. Known means that
// all of them match and that no dimension was misunderstood.
func (d Dimensions) match(dimensions []parse.Dimension, req *http.Request) Answer {
	answer := Known
	for _, dim := range dimensions {
		switch dim.Kind {
		case parse.Varies:
		case parse.Literal:
			value, ok := d.value(dim.Name, req)
			switch {
			case !ok, !encodable(dim.Literal):
				answer = Opaque
			case value != dim.Literal:
				return Irrelevant
			}
		default:
			answer = Opaque
		}
	}
	return answer
}

// sorted returns the dimensions in the order of Section 4.2, step 2, in which
// parse.Declarations leaves them.
func sorted(dimensions []parse.Dimension) []parse.Dimension {
	if !slices.IsSortedFunc(dimensions, byName) {
		dimensions = slices.SortedFunc(slices.Values(dimensions), byName)
	}
	return dimensions
}

func byName(a, b parse.Dimension) int { return strings.Compare(a.Name, b.Name) }

// encodable reports whether a value can be part of a key: it is UTF-8 (Section 4.2,
// step 3) and does not hold the separator, which it MUST NOT.
func encodable(value string) bool {
	return utf8.ValidString(value) && !strings.Contains(value, separator)
}
