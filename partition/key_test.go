package partition_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// declare parses the only item of a RateLimit-Partition.
func declare(t testing.TB, value string) parse.Declaration {
	declarations, ignored := parse.Declarations(http.Header{"Ratelimit-Partition": {value}}, parse.Caps{})
	require.Empty(t, ignored)
	require.Len(t, declarations, 1)
	return declarations[0]
}

// The example of the editor's draft, Section 4.2.
func TestKeyOfTheDraft(t *testing.T) {
	want, err := base64.StdEncoding.DecodeString("R0VUH2FsaWNl")
	require.NoError(t, err)
	req := (&http.Request{Method: "GET"}).WithContext(partition.WithUserID(t.Context(), "alice"))

	key, answer := partition.Dimensions(nil).Key(declare(t, `"api";user_id;method`), req)

	assert.Equal(t, partition.Known, answer)
	assert.Equal(t, string(want), string(key))
}

// The rules of the editor's draft, Sections 4.1 and 4.2, for GET by alice.
func TestKey(t *testing.T) {
	dimensions := partition.Dimensions{
		"number": always("42"),
		"name":   always("ü"),
		"split":  always("a\x1fb"),
		"none":   never,
	}
	tests := []struct {
		name   string
		field  string
		want   string
		answer partition.Answer
	}{
		{"sorted by name", `"api";user_id;method`, "GET\x1falice", partition.Known},
		{"a literal's text", `"reads";user_id;method=GET`, "GET\x1falice", partition.Known},
		{"a literal String", `"reads";method="GET"`, "GET", partition.Known},
		{"a literal Integer", `"api";number=42`, "42", partition.Known},
		{"a literal Display String", `"api";name=%"%c3%bc"`, "ü", partition.Known},
		{"no dimension", `"api"`, "", partition.Known},

		{"another method", `"writes";method=POST`, "", partition.Irrelevant},
		{"another user", `"api";user_id=bob;method`, "", partition.Irrelevant},
		{"another number", `"api";number=43`, "", partition.Irrelevant},
		{"literals are compared byte by byte", `"reads";method=get`, "", partition.Irrelevant},
		{"irrelevant wins over unknown", `"api";aaa;method=POST;zzz=1`, "", partition.Irrelevant},
		{"irrelevant wins over not understood", `"api";aaa=?0;method=POST;zzz=1.5`, "", partition.Irrelevant},
		{"irrelevant wins over no value", `"api";client_id;method=POST;none=x`, "", partition.Irrelevant},

		{"unknown", `"api";method;tenant`, "", partition.Opaque},
		{"unknown literal", `"api";method=GET;tenant=t1`, "", partition.Opaque},
		{"no value", `"api";client_id;method`, "", partition.Opaque},
		{"literal without a value on the request", `"api";client_id=app`, "", partition.Opaque},
		{"false", `"api";method=?0`, "", partition.Opaque},
		{"a Decimal", `"api";number=42.0`, "", partition.Opaque},
		{"a Byte Sequence", `"api";method=:R0VU:`, "", partition.Opaque},
		{"a Date", `"api";number=@42`, "", partition.Opaque},
		{"a value holds the separator", `"api";split`, "", partition.Opaque},
		{"a value holds the separator, against a literal", `"api";split=x`, "", partition.Opaque},
		{"a literal holds the separator", `"api";split=%"a%1fb"`, "", partition.Opaque},
		{"a literal holds the separator, the value does not", `"api";method=%"a%1fb"`, "", partition.Opaque},
	}
	req := (&http.Request{Method: "GET"}).WithContext(partition.WithUserID(t.Context(), "alice"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, answer := dimensions.Key(declare(t, tt.field), req)
			assert.Equal(t, tt.answer, answer, "got %v, want %v", answer, tt.answer)
			assert.Equal(t, tt.want, string(key))
		})
	}
}

func TestKeyOfHandMadeDeclarations(t *testing.T) {
	req := (&http.Request{}).WithContext(partition.WithUserID(t.Context(), "alice"))
	unsorted := varying("user_id", "method")

	key, answer := partition.Dimensions(nil).Key(unsorted, req)
	assert.Equal(t, partition.Known, answer)
	assert.Equal(t, "GET\x1falice", string(key))
	assert.Equal(t, varying("user_id", "method"), unsorted, "the declaration is not changed")

	_, answer = partition.Dimensions(nil).Key(parse.Declaration{Dimensions: []parse.Dimension{{Name: "method"}}}, req)
	assert.Equal(t, partition.Opaque, answer, "neither varies nor literal: not understood")

	key, answer = partition.Dimensions{"method": always("\xff")}.Key(
		parse.Declaration{Dimensions: []parse.Dimension{{Name: "method", IsLiteral: true, Literal: "\xff"}}}, req)
	assert.Equal(t, partition.Opaque, answer, "a literal that is not UTF-8")
	assert.Empty(t, string(key))
}

func TestKeyCallsEachFunctionOnce(t *testing.T) {
	calls := map[string]int{}
	dimensions := partition.Dimensions{}
	for _, name := range []string{"a", "b", "c"} {
		dimensions[name] = func(*http.Request) (string, bool) { calls[name]++; return name, true }
	}
	key, _ := dimensions.Key(declare(t, `"api";a;b=b;c`), &http.Request{})
	assert.Equal(t, "a\x1fb\x1fc", string(key))
	assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1}, calls)
}

func TestKeyOfManyDimensions(t *testing.T) {
	dimensions := partition.Dimensions{}
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("d%02d", i)
		names = append(names, name)
		dimensions[name] = always(name)
	}
	key, answer := dimensions.Key(varying(names...), &http.Request{})
	assert.Equal(t, partition.Known, answer)
	assert.Equal(t, strings.Join(names, "\x1f"), string(key))
}

// Law: the key does not depend on the order of the parameters, and cutting it at
// the separator gives the values in the order of their names.
func TestKeyDoesNotDependOnOrder(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		dimensions, values := partition.Dimensions{}, map[string]string{}
		var names, params []string
		for i := range 1 + random.IntN(6) {
			name, value := fmt.Sprintf("d%d", i), fmt.Sprint(random.IntN(3))
			dimensions[name], values[name] = always(value), value
			names = append(names, name)
			if random.IntN(2) == 0 {
				params = append(params, ";"+name)
			} else {
				params = append(params, ";"+name+"="+value)
			}
		}
		random.Shuffle(len(params), func(i, j int) { params[i], params[j] = params[j], params[i] })

		key, answer := dimensions.Key(declare(t, `"api"`+strings.Join(params, "")), &http.Request{})

		require.Equal(t, partition.Known, answer, "seed %d", seed)
		slices.Sort(names)
		var want []string
		for _, name := range names {
			want = append(want, values[name])
		}
		require.Equal(t, want, strings.Split(string(key), "\x1f"), "seed %d", seed)
	}
}

func TestKeyIsRedacted(t *testing.T) {
	const secret = "GET\x1falice"
	key := partition.Key(secret)
	assert.Equal(t, secret, string(key))
	assert.Equal(t, "pk[9 bytes]", fmt.Sprint(key))
	assert.Equal(t, "pk[]", fmt.Sprint(partition.Key("")))

	for _, verb := range "vsqxXdbcoOUeEfFgGtz" {
		for _, flags := range []string{"", "+", "#", " ", "-20", "020", ".2"} {
			printed := fmt.Sprintf("%"+flags+string(verb), key)
			assert.Equal(t, "pk[9 bytes]", printed, "%%%s%c", flags, verb)
		}
	}
	assert.Equal(t, "{pk[9 bytes]}", fmt.Sprintf("%v", struct{ Key partition.Key }{key}))
	assert.Equal(t, "map[pk[9 bytes]:1]", fmt.Sprint(map[partition.Key]int{key: 1}))

	text, err := json.Marshal(map[string]any{"key": key})
	require.NoError(t, err)
	assert.JSONEq(t, `{"key":"pk[9 bytes]"}`, string(text))

	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("held", "key", key)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("held", "key", key, "in", struct{ Key partition.Key }{key})
	assert.NotContains(t, log.String(), "alice")
	assert.Equal(t, 3, strings.Count(log.String(), "pk[9 bytes]"), log.String())
}

func TestAnswerString(t *testing.T) {
	assert.Equal(t, "known", partition.Known.String())
	assert.Equal(t, "irrelevant", partition.Irrelevant.String())
	assert.Equal(t, "opaque", partition.Opaque.String())
	assert.Equal(t, partition.Opaque, *new(partition.Answer), "the zero Answer promises nothing")
}

func TestKeyAllocations(t *testing.T) {
	ctx := partition.WithUserID(t.Context(), "alice")
	req := (&http.Request{Method: "GET"}).WithContext(ctx)
	tests := []struct {
		name  string
		field string
		max   float64
	}{
		{"known", `"api";user_id;method`, 1},
		{"irrelevant", `"api";user_id;method=POST`, 0},
		{"opaque", `"api";user_id;tenant`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			decl := declare(t, tt.field)
			var d partition.Dimensions
			assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { d.Key(decl, req) }), tt.max)
		})
	}
}

func BenchmarkKey(b *testing.B) {
	ctx := partition.WithUserID(b.Context(), "alice")
	req := (&http.Request{Method: "GET"}).WithContext(ctx)
	for name, field := range map[string]string{
		"known":      `"api";user_id;method`,
		"irrelevant": `"api";user_id;method=POST`,
		"opaque":     `"api";user_id;tenant`,
	} {
		b.Run(name, func(b *testing.B) {
			decl := declare(b, field)
			var d partition.Dimensions
			b.ReportAllocs()
			for b.Loop() {
				d.Key(decl, req)
			}
		})
	}
}
