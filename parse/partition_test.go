package parse_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// ofPartition is an Ignored of RateLimit-Partition.
func ofPartition(item int, err error) parse.Ignored {
	return parse.Ignored{Field: "RateLimit-Partition", Item: item, Err: err}
}

func TestDeclarations(t *testing.T) {
	varies := func(name string) parse.Dimension { return parse.Dimension{Name: name, Varies: true} }
	literal := func(name, text string) parse.Dimension {
		return parse.Dimension{Name: name, IsLiteral: true, Literal: text}
	}
	unclear := func(name string) parse.Dimension { return parse.Dimension{Name: name} }
	api := func(dimensions ...parse.Dimension) []parse.Declaration {
		return []parse.Declaration{{Policy: "api", Dimensions: dimensions}}
	}

	tests := []struct {
		name    string
		lines   []string
		want    []parse.Declaration
		ignored []parse.Ignored
	}{
		// Section 4: a List.
		{"absent", nil, nil, nil},
		{"empty", []string{""}, nil, nil},
		{"sorted by name", []string{`"api";user_id;method`}, api(varies("method"), varies("user_id")), nil},
		{"sorted byte by byte", []string{`"api";b;a_;a-;a1;*;a`}, api(varies("*"), varies("a"), varies("a-"), varies("a1"), varies("a_"), varies("b")), nil},
		{"Token", []string{`api;method`}, api(varies("method")), nil},
		{"no dimension", []string{`"api"`}, api(), nil},
		{"two lines", []string{`"api";method`, `"reads";user_id;method=GET`}, []parse.Declaration{
			{Policy: "api", Dimensions: []parse.Dimension{varies("method")}},
			{Policy: "reads", Dimensions: []parse.Dimension{literal("method", "GET"), varies("user_id")}}}, nil},
		{"no List", []string{`"api";User`}, nil, []parse.Ignored{ofPartition(parse.None, parse.ErrSyntax)}},
		{"a wrong name keeps its neighbours", []string{`1;method, ("api");method, "api";method`}, api(varies("method")),
			[]parse.Ignored{ofPartition(0, parse.ErrType), ofPartition(1, parse.ErrType)}},

		// Section 4.1: a Boolean true varies, anything else is a literal.
		{"true, spelled out", []string{`"api";method=?1`}, api(varies("method")), nil},
		{"String", []string{`"api";path="/a b"`}, api(literal("path", "/a b")), nil},
		{"empty String", []string{`"api";path=""`}, api(literal("path", "")), nil},
		{"Token as literal", []string{`"api";method=GET`}, api(literal("method", "GET")), nil},
		{"Display String", []string{`"api";city=%"%c5%81%c3%b3d%c5%ba"`}, api(literal("city", "Łódź")), nil},
		{"Integer", []string{`"api";shard=12`}, api(literal("shard", "12")), nil},
		{"Integer, leading zero", []string{`"api";shard=007`}, api(literal("shard", "7")), nil},
		{"negative Integer", []string{`"api";shard=-12`}, api(literal("shard", "-12")), nil},

		// Not defined by any draft.
		{"false", []string{`"api";method=?0`}, api(unclear("method")), nil},
		{"Decimal", []string{`"api";shard=1.5`}, api(unclear("shard")), nil},
		{"Byte Sequence", []string{`"api";user_id=:YQ==:`}, api(unclear("user_id")), nil},
		{"Date", []string{`"api";since=@1`}, api(unclear("since")), nil},

		// A repeated parameter: the last one counts (RFC 9651, Section 4.2.3.2).
		{"repeated parameter", []string{`"api";method;user_id;method=GET`}, api(literal("method", "GET"), varies("user_id")), nil},

		// A repeated policy.
		{"repeated and equal", []string{`"api";user_id;method, "api";method;user_id`}, api(varies("method"), varies("user_id")), nil},
		{"repeated, another dimension", []string{`"api";user_id, "api";method`}, api(unclear("")), []parse.Ignored{ofPartition(1, parse.ErrConflict)}},
		{"repeated, one dimension more", []string{`"api";user_id, "api";user_id;method`}, api(unclear("")), []parse.Ignored{ofPartition(1, parse.ErrConflict)}},
		{"repeated, another literal", []string{`"api";method=GET, "api";method=POST`}, api(unclear("")), []parse.Ignored{ofPartition(1, parse.ErrConflict)}},
		{"a conflict stays", []string{`"api";a, "api";b, "api";a`}, api(unclear("")),
			[]parse.Ignored{ofPartition(1, parse.ErrConflict), ofPartition(2, parse.ErrConflict)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			declarations, ignored := parse.Declarations(header("RateLimit-Partition", tt.lines...), parse.Caps{})
			assertValues(t, tt.want, declarations)
			assertValues(t, tt.ignored, ignored)
		})
	}
}

// Declarations do not keep the field value alive, although the parser returns parts of it
// as Tokens and keys.
func TestNothingKeepsTheFieldAlive(t *testing.T) {
	value := strings.Clone(`api;method=GET;q=1;qu=bytes`)
	within := func(part string) bool {
		start, at := uintptr(unsafe.Pointer(unsafe.StringData(value))), uintptr(unsafe.Pointer(unsafe.StringData(part)))
		return at >= start && at < start+uintptr(len(value))
	}
	require.True(t, within(value[4:10]))

	got := readAll(parse.Caps{}, value)

	assert.False(t, within(got.Limits[0].Policy))
	assert.False(t, within(got.Policies[0].Name))
	assert.False(t, within(got.Policies[0].Unit))
	assert.False(t, within(got.Declarations[0].Policy))
	for _, d := range got.Declarations[0].Dimensions {
		assert.False(t, within(d.Name), d.Name)
		assert.False(t, within(d.Literal), d.Name)
	}
}
