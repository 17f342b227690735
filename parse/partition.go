package parse

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// Declaration declares the dimensions that partition a policy's quota: an item of
// RateLimit-Partition (editor's draft, Section 4.1).
type Declaration struct {
	// Policy is the name of the policy. It may be empty.
	Policy string

	// Dimensions are sorted by name in lexicographic order (Section 4.2, step 2).
	// Without dimensions there is one partition.
	Dimensions []Dimension
}

// Dimension is one partition dimension: a parameter of a declaration.
type Dimension struct {
	// Name is the parameter's key, such as "user_id". It is empty only in the
	// single dimension of a policy whose declarations contradict each other.
	Name string

	// Kind says how to read the dimension.
	Kind DimensionKind

	// Literal is the text that a request's value must equal for the policy to
	// concern it. It is valid only if Kind is Literal.
	Literal string
}

// DimensionKind says how to read a dimension. It follows from the type of its
// parameter.
type DimensionKind uint8

const (
	// NotUnderstood is any value that the draft does not define: a Boolean false, a
	// Decimal, a Byte Sequence, a Date. It makes the partition key opaque. It is
	// the zero DimensionKind.
	NotUnderstood DimensionKind = iota

	// Varies is a Boolean true: there is a partition for each value.
	Varies

	// Literal is a String, Token or Display String, meaning its text, or an
	// Integer, meaning its digits: the policy concerns only requests with that value.
	Literal
)

// String returns the name of the kind.
func (k DimensionKind) String() string {
	switch k {
	case Varies:
		return "varies"
	case Literal:
		return "literal"
	}
	return "not understood"
}

// Declarations returns what a response declares about partitions, in the order of
// the items, and what was ignored. Both are empty if there is no RateLimit-Partition.
//
// Every parameter is a dimension, known to the caller or not. Items that repeat a policy
// and declare the same are merged into the first of them. If they contradict each other,
// the declaration gets a single dimension without a name that is NotUnderstood, which
// makes every key opaque.
func Declarations(h http.Header, caps Caps) ([]Declaration, []Ignored) {
	lines := h["Ratelimit-Partition"]
	if len(lines) == 0 {
		return nil, nil
	}
	return readDeclarations(lines, caps)
}

// readDeclarations reads the lines of RateLimit-Partition.
func readDeclarations(lines []string, caps Caps) ([]Declaration, []Ignored) {
	r := readList("RateLimit-Partition", lines, caps)
	declarations := make([]Declaration, 0, r.len())
	var seen index
	for r.next() {
		d := Declaration{Policy: r.policy, Dimensions: r.dimensions()}
		i := find(&seen, declarations, d)
		switch {
		case i == None:
			declarations = append(declarations, d)
		case !slices.Equal(d.Dimensions, declarations[i].Dimensions):
			declarations[i].Dimensions = []Dimension{{Kind: NotUnderstood}}
			r.ignore("", errConflict)
		}
	}
	return declarations, r.ignored
}

// dimensions reads the parameters of the current item.
func (r *listReader) dimensions() []Dimension {
	names := r.params.Names()
	if len(names) == 0 {
		return nil
	}
	dimensions := make([]Dimension, len(names))
	for i, name := range names {
		v, _ := r.params.Get(name)
		kind, literal := dimensionValue(v)
		dimensions[i] = Dimension{strings.Clone(name), kind, literal}
	}
	slices.SortFunc(dimensions, func(a, b Dimension) int { return strings.Compare(a.Name, b.Name) })
	return dimensions
}

// dimensionValue reads the value of a dimension parameter (Section 4.1).
func dimensionValue(v any) (kind DimensionKind, literal string) {
	switch v := v.(type) {
	case bool:
		if v {
			return Varies, ""
		}
	case httpsfv.DisplayString:
		return Literal, string(v)
	case int64:
		return Literal, strconv.FormatInt(v, 10)
	default:
		if literal, ok := text(v); ok {
			return Literal, literal
		}
	}
	return NotUnderstood, ""
}

func (d Declaration) identity() identity { return identity{policy: d.Policy} }
