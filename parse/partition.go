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

// Dimension is one partition dimension: a parameter of a declaration. One that neither
// Varies nor IsLiteral has a value that the draft does not define, such as a Boolean
// false, a Decimal, a Byte Sequence or a Date. It makes the partition key opaque. So does
// the zero Dimension.
type Dimension struct {
	// Name is the parameter's key, such as "user_id". It is empty only in the
	// single dimension of a policy whose declarations contradict each other.
	Name string

	// Varies says that there is a partition for each value: the parameter is a Boolean
	// true.
	Varies bool

	// IsLiteral says that the policy concerns only requests whose value is Literal: the
	// parameter is a String, Token or Display String, meaning its text, or an Integer,
	// meaning its digits.
	IsLiteral bool
	Literal   string
}

// Declarations returns what a response declares about partitions, in the order of
// the items, and what was ignored. Both are empty if there is no RateLimit-Partition.
//
// Every parameter is a dimension, known to the caller or not. Items that repeat a policy
// and declare the same are merged into the first of them. If they contradict each other,
// the declaration gets a single dimension, the zero one, which makes every key opaque.
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
			declarations[i].Dimensions = []Dimension{{}}
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
		dimensions[i] = newDimension(strings.Clone(name), v)
	}
	slices.SortFunc(dimensions, func(a, b Dimension) int { return strings.Compare(a.Name, b.Name) })
	return dimensions
}

// newDimension reads a dimension parameter (Section 4.1).
func newDimension(name string, v any) Dimension {
	literal := func(text string) Dimension { return Dimension{Name: name, IsLiteral: true, Literal: text} }
	switch v := v.(type) {
	case bool:
		return Dimension{Name: name, Varies: v}
	case httpsfv.DisplayString:
		return literal(string(v))
	case int64:
		return literal(strconv.FormatInt(v, 10))
	}
	if text, ok := text(v); ok {
		return literal(text)
	}
	return Dimension{Name: name}
}

func (d Declaration) identity() identity { return identity{policy: d.Policy} }
