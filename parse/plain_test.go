package parse

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// agree checks that plainLimits and the Structured Fields parser read the same, and
// reports whether plainLimits reads the line.
func agree(t require.TestingT, line string, caps Caps) bool {
	limits, older, ok := plainLimits(line, &caps, nil, nil)
	if ok {
		parsedAs(t, line, caps, limits, older)
	}
	return ok
}

// parsedAs checks that the Structured Fields parser reads the same from a line.
func parsedAs(t require.TestingT, line string, caps Caps, limits []Limit, older bool) {
	want, dialect, ignored := parsedLimits([]string{line}, caps)
	require.Equal(t, want, limits, "%q", line)
	require.Equal(t, dialect, dialectOf(older), "%q", line)
	require.Empty(t, ignored, "%q", line)
}

// plainCaps are low, so that inputs exceed them.
var plainCaps = Caps{Quota: 1e6, Window: 1e12, Items: 3, NameBytes: 8, KeyBytes: 4, FieldBytes: 100}

func TestPlainLimits(t *testing.T) {
	for _, line := range []string{
		`"api";a=99;w=60`,
		`""`,
		`"api"`,
		`"api";w=0`,
		`"api"; a=1;  w=60`,
		`"api";w=60;c=3;a=0`,
		`"api";r=50;t=30`,
		`"api";a=50;t=30`,
		`"api";r=50;w=30`,
		`"api";c=0;r=50`,
		`"api";a=99;w=60;pk=:R0VUH2FsaWNl:`,
		`"api";pk=::`,
		`"api";pk=:YR==:`,
		`"burst";a=9;w=6, "daily";a=99;w=600`,
		"\"burst\";a=9\t ,\t\"daily\"",
		`"b";r=9,"d";a=99`,
		`"a,b;c=d";a=1`,
		`"api";a=000000000000001`,
		`"api";a=999999999999999`,
	} {
		assert.True(t, agree(t, line, Caps{Quota: -1}), line)
	}
}

// plainLimits leaves other lines to the parser, valid or not.
func TestNotPlain(t *testing.T) {
	for _, line := range []string{
		``, ` `, `api`, `"api`, `"api" `, ` "api"`, `"a\"b"`, "\"a\tb\"", `"é"`, "\"\x7f\"",
		`"api";`, `"api";a`, `"api";a=`, `"api";a=-1`, `"api";a=1.5`, `"api";a="1"`, `"api";a=1x`, `"api";A=1`,
		`"api";a=1000000000000000`, `"api";a=1;a=2`, `"api";w=0;w=1`, `"api";a=1;r=1`, `"api";w=1;t=1`, `"api";c=1;c=1`, `"api";x=1`, `"api";ab=1`,
		`"api";p=1`, `"api";pk`, `"api";pk=1`, `"api";pk=YQ`, `"api";pk=:YQ`, `"api";pk=:YQ:`, `"api";pk=:Y Q=:`, "\"api\";pk=:YQ\n==:", `"api";pk=:-_8=:`,
		`"api";pk=:YQ==:;pk=:YQ==:`, `"api" ;a=1`, "\"api\";\ta=1", `"api";a=1 w=2`, `"api",`, `"api", `, `,"api"`, `"api""b"`, `"api";a=1,"api";a=2`, `("api")`,
		`"api" "b"`, `"a",,"b"`,
	} {
		_, _, ok := plainLimits(line, &Caps{}, nil, nil)
		assert.False(t, ok, line)
	}
	_, _, ok := plainLimits(`"api";a=1000000000000000`, &Caps{Quota: -1}, nil, nil)
	assert.False(t, ok, "16 digits are no Integer")
	for _, line := range []string{
		`"a";a=1000001`, `"a";c=1000001`, `"a";w=1001`, `"a", "b", "c", "d"`, `"nine long"`, `"a";pk=:MTIzNDU=:`, `"a";a=` + strings.Repeat("0", 100),
	} {
		_, _, ok := plainLimits(line, &plainCaps, nil, nil)
		assert.False(t, ok, "above a cap: %s", line)
	}
	for _, line := range []string{`"a";a=1000000`, `"a";c=1000000`, `"a";w=1000`, `"a", "b", "c"`, `"eightlng"`, `"a";pk=:MTIzNA==:`} {
		assert.True(t, agree(t, line, plainCaps), "at a cap: %s", line)
	}
}

// The limits do not keep the header alive.
func TestPlainLimitsAreNotCutOut(t *testing.T) {
	line := `"api";a=99;w=60;pk=:R0VUH2FsaWNl:`
	limits, _, ok := plainLimits(line, &Caps{}, nil, nil)
	require.True(t, ok)
	assert.NotSame(t, unsafe.StringData(line[1:]), unsafe.StringData(limits[0].Policy))
	assert.Equal(t, 3.0, testing.AllocsPerRun(100, func() { plainLimits(line, &Caps{}, nil, nil) }), "the limits, a name and a key")
	policies := []Policy{{Name: "other"}, {Name: strings.Clone("api")}}
	limits, _, ok = plainLimits(line, &Caps{}, policies, nil)
	require.True(t, ok)
	assert.Equal(t, "api", limits[0].Policy)
	assert.Same(t, unsafe.StringData(policies[1].Name), unsafe.StringData(limits[0].Policy))
}

// What was read before in the same memory changes nothing, and a key that was read there is not copied again.
func TestPlainLimitsInTheSameMemory(t *testing.T) {
	lines := []string{
		`"api";a=9;pk=:R0VUH2FsaWNl:`, `"api";a=8;pk=:R0VUH2FsaWNl:`, `"api";a=8`, `"b";pk=:Ym9i:;a=7`, `"b";pk=:Ym9i:, "c";pk=::`, `"b";pk=:YW5u:`, `"b", "c";pk=:Ym9i:`, `"b";pk=:YQ`,
	}
	room := make([]Limit, 0, 2)
	for _, before := range lines {
		for _, line := range lines {
			plainLimits(before, &Caps{}, nil, room)
			limits, _, ok := plainLimits(line, &Caps{}, nil, room)
			want, _, valid := plainLimits(line, &Caps{}, nil, nil)
			assert.Equal(t, valid, ok, "%s, %s", before, line)
			assert.Equal(t, want, limits, "%s, %s", before, line)
		}
	}
	policies := []Policy{{Name: "api"}}
	assert.Zero(t, testing.AllocsPerRun(100, func() { plainLimits(lines[0], &Caps{}, policies, room) }))
}

// plainLimits and the parser agree on random lines.
func TestPlainLimitsAgree(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	parts := []string{
		`"api"`, `"a"`, `"b"`, `""`, `;a=1`, `;a=7`, `;r=2`, `;w=3`, `;t=4`, `;c=5`, `;pk=:YQ==:`, `;pk=::`, `, `, `,`, ` `, `; `,
		`;x=1`, `;a=-1`, `;w=1.0`, `"`, `;`, `1`, `=`, `:`, "\t", `a`, `\"`, `;a`, `;pk=:YQ:`,
	}
	plain := 0
	for range 200_000 {
		var line strings.Builder
		line.WriteString(`"n"`)
		for range random.IntN(8) {
			if i := random.IntN(60); i < len(parts) {
				line.WriteString(parts[i])
			} else {
				fmt.Fprintf(&line, ";%c=%d", "arwtc"[random.IntN(5)], random.IntN(100))
			}
		}
		if !assert.NotPanics(t, func() {
			if agree(t, line.String(), plainCaps) {
				plain++
			}
		}, "seed %d", seed) {
			return
		}
	}
	assert.Greater(t, plain, 10_000, "seed %d", seed)
}

// FuzzPlainLimits checks that the parser reads the same as plainLimits.
func FuzzPlainLimits(f *testing.F) {
	for _, line := range []string{
		`"api";a=99;w=60;pk=:R0VUH2FsaWNl:;c=1`, `"default";r=50;t=30`, "\"b\"; a=9 ,\t\"d\";a=99;w=600", `"a\"b";a=-1;w=1.5;x`,
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		agree(t, line, Caps{})
		agree(t, line, plainCaps)
		agree(t, line, Caps{Quota: -1, Window: -1, Items: -1, FieldBytes: -1, NameBytes: -1, KeyBytes: -1})
		if name, ok := (&plain{line: line}).text(); ok {
			agreeOnly(t, name, line, Caps{})
			agreeOnly(t, name, line, plainCaps)
			agreeOnly(t, name, line, Caps{Quota: -1, Window: -1, FieldBytes: -1})
		}
	})
}

// agreeOnly checks that onlyLimit, beside that policy, and the Structured Fields parser read the same,
// and reports whether onlyLimit reads the line.
func agreeOnly(t require.TestingT, policy, line string, caps Caps) bool {
	if len(policy) > caps.nameBytes() {
		return false // the policy was dropped
	}
	f := policyField{named: []Policy{{Name: policy}}, begins: beginsWith(policy)}
	limits, older, ok := f.onlyLimit(line, &caps, nil)
	if ok {
		parsedAs(t, line, caps, limits, older)
	}
	return ok
}

func TestOnlyLimit(t *testing.T) {
	for _, line := range []string{
		`"api";a=99;w=60`, `"api";r=99;t=60`, `"api";a=0;w=0`, `"api";a=000000000000001;w=0`, `"api";a=999999999999;w=31622400`,
	} {
		assert.True(t, agreeOnly(t, "api", line, Caps{}), line)
	}
	assert.True(t, agreeOnly(t, "", `"";a=1;w=2`, Caps{}))
	assert.True(t, agreeOnly(t, "a;b", `"a;b";a=1;w=2`, Caps{}))
	for _, line := range []string{
		``, `"api"`, `"api";`, `"api";a=1;w=`, `"api";a=1;t=1`, `"api";r=1;w=1`, `"api";w=1;a=1`, `"api";a=1; w=1`, `"api"; a=1;w=1`, `"api";a=1,w=1`,
		`"api";a=1;w=1 `, `"api";a=1;w=1;c=1`, `"api";a=1;w=1;pk=:YQ==:`, `"api";a=1;w=1, "b"`, `"apj";a=1;w=1`, `"api2";a=1;w=1`, `api;a=1;w=1`,
		`"api";a=1;w`, `"api";a=1;w:1`, `"api";a:1;w=1`, `"api";a=;w=12`, `"api";c=1;w=1`, `"api";a=-1;w=1`, `"api";a=1;w=-1`, `"api";a=1.;w=1`,
		`"api";a=1000000000000000;w=1`, `"api";a=1;w=1000000000000000`, `"api";a=1000000000001;w=1`, `"api";a=1;w=31622401`, `"api";a=12345678`,
	} {
		assert.False(t, agreeOnly(t, "api", line, Caps{}), line)
	}
	assert.True(t, agreeOnly(t, "a", `"a";a=1000000;w=1000`, plainCaps))
	assert.False(t, agreeOnly(t, "a", `"a";a=1000001;w=1000`, plainCaps))
	assert.False(t, agreeOnly(t, "a", `"a";a=1000000;w=1001`, plainCaps))
	long := strings.Repeat("n", 88)
	assert.True(t, agreeOnly(t, long, `"`+long+`";a=10;w=1`, Caps{FieldBytes: 99}))
	assert.False(t, agreeOnly(t, long, `"`+long+`";a=10;w=1`, Caps{FieldBytes: 98}))
	for _, name := range []string{`a"`, `a\`, "a\n", "é"} {
		assert.Empty(t, beginsWith(name), "%q needs escapes, or is none", name)
		assert.False(t, agreeOnly(t, name, `"`+name+`";a=1;w=1`, Caps{}), "%q", name)
	}
}

// onlyLimit reads nothing that a byte more, less or else makes another line.
func TestOnlyLimitAgrees(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	read := 0
	for range 200_000 {
		line := []byte([]string{`"n";a=12;w=3`, `"n";r=1;t=23`}[random.IntN(2)])
		for range random.IntN(3) {
			i := random.IntN(len(line))
			switch b := "\"n;arwtcpk=0129 ,.-:\\\t"[random.IntN(22)]; random.IntN(3) {
			case 0:
				line[i] = b
			case 1:
				line = slices.Delete(line, i, i+1)
			default:
				line = slices.Insert(line, i, b)
			}
		}
		if agreeOnly(t, "n", string(line), plainCaps) {
			read++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	assert.Greater(t, read, 50_000, "seed %d", seed)
}

// A Reader reads RateLimit beside one policy as it does without it, and takes the name from the policy.
func TestReadOnlyLimit(t *testing.T) {
	var r Reader
	for _, line := range []string{`"api";a=99;w=60`, `"api";a=98;w=60`, `"api";r=97;t=59`, `"api";a=96;w=59;c=2`, `"other";a=95;w=59`} {
		h := http.Header{"Ratelimit": {line}, "Ratelimit-Policy": {`"api";q=100;w=60`}}
		got := r.Read("", 200, h, time.Time{})
		want, ignored := Limits(h, Caps{})
		assert.Equal(t, want, got.Limits)
		assert.Empty(t, ignored)
		assert.Equal(t, strings.Contains(line, "r="), got.Dialect == Draft08, line)
	}
	h := http.Header{"Ratelimit": {`"api";a=99;w=60`}, "Ratelimit-Policy": {`"api";q=100;w=60`}}
	got := r.Read("", 200, h, time.Time{})
	assert.Same(t, unsafe.StringData(got.Policies[0].Name), unsafe.StringData(got.Limits[0].Policy))
	into := got
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.ReadInto(&into, "", 200, h, time.Time{}) }))
	h["Ratelimit-Policy"] = []string{`"api";q=100;w=60, "day";q=1000;w=86400`}
	got = r.Read("", 200, h, time.Time{})
	assert.Len(t, got.Policies, 2)
	assert.Equal(t, int64(99), got.Limits[0].Available)
}
