package partition

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/headway-go/headway/parse"
)

// Key is a partition key, as package parse reads it. string(k) gives the bytes; printed
// or logged, it shows its length only.
type Key = parse.Key

// Answer says what is known about the partition of a request: Opaque, Irrelevant or Known.
type Answer uint8

const (
	// Opaque says that the key cannot be computed, and must not be predicted
	// (editor's draft, Section 4.1). It is the zero Answer.
	Opaque Answer = iota

	// Irrelevant says that the policy does not apply to the request.
	Irrelevant

	// Known says that the key was computed.
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

// separator joins the values of a key: Unit Separator.
const separator = "\x1f"

// Key computes the partition key of a request under a declaration (editor's draft,
// Section 4.2): the values of the dimensions, sorted by dimension name, in UTF-8,
// with the byte 0x1F between them. The value of a dimension that varies is the
// request's, that of a literal is its text. Without dimensions the key is empty.
//
// The answer is
//
//   - Irrelevant if a literal differs from the request's value, even if another
//     dimension makes the key opaque;
//   - Opaque if a dimension is unknown to d, was not understood, or has no value on
//     this request, or if a value or a literal holds the byte 0x1F or is not UTF-8;
//   - Known otherwise. The key is empty in all other cases.
//
// Names and literals are compared byte by byte. Each function of d is called at most
// once. Key allocates only the key, for a declaration of at most 16 dimensions from
// [parse.Declarations].
func (d Dimensions) Key(decl parse.Declaration, req *http.Request) (Key, Answer) {
	dimensions := sorted(decl.Dimensions)
	if answer := d.match(dimensions, req); answer != Known {
		return "", answer
	}
	var few [16]string
	values := few[:0]
	for _, dim := range dimensions {
		value := dim.Literal
		if dim.Varies {
			var ok bool
			if value, ok = d.value(dim.Name, req); !ok {
				return "", Opaque
			}
		}
		values = append(values, value)
	}
	return Key(strings.Join(values, separator)), Known
}

// match compares the literals of a declaration with the request. It returns Known if
// all of them match and every dimension was understood.
func (d Dimensions) match(dimensions []parse.Dimension, req *http.Request) Answer {
	answer := Known
	for _, dim := range dimensions {
		switch {
		case dim.Varies:
		case dim.IsLiteral:
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

// sorted returns the dimensions in the order of Section 4.2, step 2. Those of
// parse.Declarations are sorted already.
func sorted(dimensions []parse.Dimension) []parse.Dimension {
	if !slices.IsSortedFunc(dimensions, byName) {
		dimensions = slices.SortedFunc(slices.Values(dimensions), byName)
	}
	return dimensions
}

func byName(a, b parse.Dimension) int { return strings.Compare(a.Name, b.Name) }

// encodable reports whether a value can be part of a key: it must be UTF-8 (Section 4.2,
// step 3) and must not contain the separator.
func encodable(value string) bool {
	return utf8.ValidString(value) && !strings.Contains(value, separator)
}
