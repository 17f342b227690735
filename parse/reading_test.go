package parse_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// fields returns a header of lines "Name: value".
func fields(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

// saturday is the Date of the responses in tests.
var saturday = time.Date(2026, time.November, 21, 4, 48, 0, 0, time.UTC)

// One response, one dialect: the newest that says something valid.
func TestReadChoosesOneDialect(t *testing.T) {
	const (
		list       = `RateLimit: "api";a=9;w=60`
		dictionary = `RateLimit: limit=5, remaining=4, reset=2`
		newPolicy  = `RateLimit-Policy: "api";q=10;w=60`
		oldPolicy  = `RateLimit-Policy: 5;w=2`
		limit      = `RateLimit-Limit: 7`
		remaining  = `RateLimit-Remaining: 6`
		reset      = `RateLimit-Reset: 3`
		xLimit     = `X-RateLimit-Limit: 11`
		xRemaining = `X-RateLimit-Remaining: 10`
	)
	tests := []struct {
		name   string
		fields []string
		want   string
	}{
		{"the newest", []string{list, newPolicy, limit, remaining, reset, xLimit, xRemaining},
			`editor's draft; policy 'api' 10/1m0s; limit 'api' 9/1m0s`},
		{"-08", []string{`RateLimit: "api";r=9;t=60`, xRemaining}, `draft -08; limit 'api' 9/1m0s`},
		{"-08, a policy alone may be either", []string{newPolicy, xLimit}, `editor's draft; policy 'api' 10/1m0s`},
		{"an item of each", []string{`RateLimit: "a";r=9, "b";a=8`}, `editor's draft; limit 'a' 9; limit 'b' 8`},
		{"the older item is malformed", []string{`RateLimit: "a";r=-9, "b";c=8`}, `editor's draft; limit 'b' ? cost 8; parse: value out of range (RateLimit, item 0, parameter r)`},
		{"the newer item is malformed", []string{`RateLimit: "a";a=-9, "b";r=8`}, `draft -08; limit 'b' 8; parse: value out of range (RateLimit, item 0, parameter a)`},
		{"-07", []string{dictionary, oldPolicy, limit, remaining, xRemaining}, `draft -07; policy '' 5/2s; limit '' 4/2s`},
		{"-07 with a policy of -08", []string{dictionary, newPolicy}, `draft -07; policy 'api' 10/1m0s; policy '' 5; limit '' 4/2s`},
		{"-07 with a policy whose name is empty", []string{dictionary, `RateLimit-Policy: "";q=5;w=2`}, `draft -07; policy '' 5/2s; limit '' 4/2s`},
		{"-06 with a policy of -08", []string{limit, remaining, newPolicy}, `draft -06; policy 'api' 10/1m0s; policy '' 7; limit '' 6`},
		{"-06", []string{limit, remaining, reset, xLimit, xRemaining}, `draft -06; policy '' 7; limit '' 6/3s`},
		{"X-RateLimit", []string{xLimit, xRemaining}, `X-RateLimit; policy '' 11; limit '' 10`},
		{"an unnamed policy alone", []string{oldPolicy, xRemaining}, `draft -07; policy '5;w=2' 5/2s`},
		{"an unnamed policy beside a newer figure", []string{list, oldPolicy},
			`editor's draft; limit 'api' 9/1m0s; parse: value of a wrong type (RateLimit-Policy, item 0)`},

		// A malformed field selects no dialect.
		{"a malformed List", []string{`RateLimit: "api";a=-1`, limit, remaining},
			`draft -06; policy '' 7; limit '' 6; parse: value out of range (RateLimit, item 0, parameter a)`},
		{"a malformed Dictionary", []string{`RateLimit: limit=5, remaining=-4, reset=2`, limit, remaining},
			`draft -06; policy '' 7; limit '' 6; parse: value out of range (RateLimit, parameter remaining)`},
		{"neither", []string{`RateLimit: limit=`, xRemaining}, `X-RateLimit; limit '' 10; parse: malformed field value (RateLimit)`},
		{"an empty RateLimit", []string{`RateLimit: `, xRemaining}, `X-RateLimit; limit '' 10`},
		{"malformed fields of -06", []string{`RateLimit-Limit: many`, `RateLimit-Remaining: -1`, xRemaining},
			`X-RateLimit; limit '' 10; parse: value of a wrong type (RateLimit-Limit, item 0); parse: value out of range (RateLimit-Remaining, item 0)`},
		{"a malformed policy", []string{`RateLimit-Policy: "`, xRemaining}, `X-RateLimit; limit '' 10; parse: malformed field value (RateLimit-Policy)`},
		{"policies that repeat a quota", []string{`RateLimit-Policy: 10;w=1, 10;w=60`, xRemaining},
			`X-RateLimit; limit '' 10; parse: contradicts another item (RateLimit-Policy)`},
		{"too long", []string{`RateLimit: ` + strings.Repeat(" ", 8192) + `a`, xRemaining}, `X-RateLimit; limit '' 10; parse: above a safety cap (RateLimit)`},
		{"nothing valid", []string{`X-RateLimit-Remaining: few`}, `none; parse: value of a wrong type (X-RateLimit-Remaining, item 0)`},
		{"nothing", []string{"Date: Sat, 21 Nov 2026 04:48:00 GMT"}, `none`},

		// Declarations are read with any draft.
		{"a declaration", []string{`RateLimit-Partition: "api";method`, xRemaining}, `editor's draft`},
		{"a malformed declaration", []string{`RateLimit-Partition: "`, xRemaining}, `X-RateLimit; limit '' 10; parse: malformed field value (RateLimit-Partition)`},

		// Never read.
		{"announced, not enforced", []string{`Beta-RateLimit: "x";r=0;t=60`, `Beta-RateLimit-Policy: "x";q=1`, `X-Beta-RateLimit-Reset: 5`}, `none`},
	}
	var r parse.Reader
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tell(r.Read("", 200, fields(tt.fields...), saturday)))
		})
	}
	got := r.Read("", 200, fields(dictionary, `RateLimit-Partition: "api";method`), saturday)
	assert.Equal(t, []parse.Declaration{{Policy: "api", Dimensions: []parse.Dimension{{Name: "method", Varies: true}}}}, got.Declarations)
}

// Whether Retry-After counts depends on the status and on what stands beside it.
func TestReadRetryAfter(t *testing.T) {
	const (
		wait  = "Retry-After: 2"
		draft = `RateLimit: "api";a=9`
		x     = "X-RateLimit-Remaining: 4"
	)
	tests := []struct {
		name    string
		status  int
		fields  []string
		advised bool
	}{
		{"alone, a success", 200, []string{wait}, false},
		{"alone, accepted", 202, []string{wait}, false},
		{"alone, a redirect", 301, []string{wait}, true},
		{"alone, not found", 404, []string{wait}, false},
		{"alone, forbidden", 403, []string{wait}, true},
		{"alone, too large", 413, []string{wait}, true},
		{"alone, too many", 429, []string{wait}, true},
		{"alone, unavailable", 503, []string{wait}, true},
		{"beside X-RateLimit, a success", 200, []string{wait, x}, false},
		{"beside X-RateLimit, too many", 429, []string{wait, x}, true},
		{"beside a draft, a success", 200, []string{wait, draft}, true},
		{"beside -06, a success", 200, []string{wait, "RateLimit-Remaining: 5"}, true},
		{"beside a policy alone", 200, []string{wait, `RateLimit-Policy: "api";q=5`}, true},
		{"beside a malformed draft", 200, []string{wait, `RateLimit: "api";a=-9`}, false},
		{"beside a draft, not found", 404, []string{wait, draft}, true},
		{"malformed", 429, []string{"Retry-After: soon", draft}, false},
	}
	var r parse.Reader
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := r.Read("", tt.status, fields(tt.fields...), saturday)
			assert.Equal(t, tt.advised, got.Advised)
			if tt.name == "malformed" {
				assert.Equal(t, time.Duration(parse.None), got.RetryAfter)
			} else {
				assert.Equal(t, 2*time.Second, got.RetryAfter)
			}
		})
	}
}

func TestReadFinerRetryAfter(t *testing.T) {
	var r parse.Reader
	tests := []struct {
		fields []string
		want   string
	}{
		{[]string{"Retry-After: 2", "Retry-After-Ms: 1500"}, "none; retry after 1.5s!"},
		{[]string{"x-ms-retry-after-ms: 100"}, "none; retry after 100ms!"},
		{[]string{"Retry-After: 2", "Retry-After-Ms: soon"}, "none; retry after 2s!; parse: malformed field value (Retry-After-Ms, item 0)"},
		{[]string{"Retry-After: 2", "Retry-After-Ms: 86400001"}, "none; retry after 2s!; parse: above a safety cap (Retry-After-Ms, item 0)"},
		{[]string{"Retry-After: 1795236530"}, "none; retry after 50s!"},
		{[]string{"Retry-After: 1795236470"}, "none; retry after 0s!"},
		{[]string{"Retry-After: 2.5"}, "none; retry after 2.5s!"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read("", 429, fields(tt.fields...), saturday)), "%v", tt.fields)
	}
}

// Stored and interim responses are not read. A 304 is.
func TestReadOnlyWhatIsCurrent(t *testing.T) {
	var r parse.Reader
	h := fields(`RateLimit: "api";a=9`, "Retry-After: 5")
	assert.Equal(t, parse.EditorsDraft, r.Read("", 304, h, saturday).Dialect, "revalidated")
	assert.Equal(t, parse.Reading{RetryAfter: parse.None}, r.Read("", 103, h, saturday), "early hints")

	for name, value := range map[string]string{"Age": "1", "Cache-Status": "A;hit", "X-From-Cache": "1", "X-Cache-Status": "HIT", "X-Proxy-Cache": "STALE"} {
		stored := maps.Clone(h)
		stored.Set(name, value)
		for _, status := range []int{200, 304, 429} {
			assert.Equal(t, parse.Reading{RetryAfter: parse.None, Cached: true}, r.Read("", status, stored, saturday), name)
		}
	}
	h.Set("Age", "0")
	assert.Len(t, r.Read("", 200, h, saturday).Limits, 1)
	assert.Equal(t, parse.Reading{RetryAfter: parse.None}, r.Read("", 200, nil, saturday))
	assert.Equal(t, parse.Reading{RetryAfter: parse.None}, r.Read("", 200, http.Header{"Ratelimit": nil, "": {"x"}}, saturday))
}

// Reading nothing does not allocate.
func TestReadAllocatesNothingForNothing(t *testing.T) {
	var r parse.Reader
	h := typical()
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Read("api.example", 200, h, saturday) }))
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Silent(h) }))
	h.Set("Retry-After", "20")
	h.Set("Age", "0")
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.Read("api.example", 429, h, saturday) }))
}

// Reading the newest fields again allocates what Limits allocates. Into the memory of the last
// Reading it allocates nothing: the name is that of the policy.
func TestReadAllocations(t *testing.T) {
	var r parse.Reader
	h := fields(`RateLimit: "api";a=99;w=60`, `RateLimit-Policy: "api";q=100;w=60`, `RateLimit-Partition: "api";user_id`)
	limits := testing.AllocsPerRun(100, func() { parse.Limits(h, parse.Caps{}) })
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.Read("", 200, h, saturday) }), limits)
	var out parse.Reading
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.ReadInto(&out, "", 200, h, saturday) }))
}

func TestReaderIsSafeForConcurrentUse(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{Name: "own", Remaining: []string{"Acme-Left"}}}}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			clone := r.Clone()
			for j := range 200 {
				h := fields("Acme-Left: 5", `RateLimit-Policy: "`+strings.Repeat("n", (i+j)%40)+`";q=1`)
				if j%2 == 0 {
					h.Del("RateLimit-Policy")
				}
				assert.Equal(t, j%2 == 0, r.Read("", 200, h, saturday).Vendor == "own")
				assert.Equal(t, j%2 == 0, clone.Read("", 200, h, saturday).Vendor == "own")
			}
		})
	}
	wg.Wait()
}

// A Reader reads the same whatever it has read before.
func TestReaderRemembersNothingElse(t *testing.T) {
	var r parse.Reader
	values := []string{`"a";q=1`, `"a";q=2`, `5;w=2`, `10;w=1, 10;w=60`, `"`, `"a";q=1, 5`, "", `"` + strings.Repeat("n", 2000) + `";q=1`}
	for i := range 40 {
		values = append(values, `"`+strings.Repeat("n", i)+`";q=1`)
	}
	into := parse.Reading{Cached: true, Vendor: "other"}
	for range 3 {
		for _, value := range values {
			for _, h := range []http.Header{
				{"Ratelimit": {`"a";a=1;w=2;c=3;pk=:QQ==:, "b";a=4, "c";r=5`}},
				{"X-Ratelimit-Limit": {"5"}},
				{"Ratelimit": {`"a";w=1`}},
				{"Ratelimit-Limit": {"5"}},
				{"Ratelimit": {`"a";a=1, "a";a=2;x`}},
				{"X-Ratelimit-Remaining": {"7"}, "X-Ratelimit-Remaining-Day": {"8"}},
				{"Ratelimit-Remaining": {"9"}, "Retry-After": {"1"}},
				{"Age": {"1"}},
				{"Ratelimit-Policy": {value}},
				{"Ratelimit-Policy": {value, `"z";q=1`}},
				{"Ratelimit-Partition": {value}},
				{"Ratelimit-Policy": {value}, "Ratelimit-Partition": {value}},
				{"Ratelimit-Policy": {value}, "Ratelimit-Limit": {"5"}},
				{"Ratelimit-Policy": {value}, "Ratelimit": {"limit=5, reset=1"}},
			} {
				want := new(parse.Reader).Read("", 200, h, saturday)
				assert.Equal(t, want, r.Read("", 200, h, saturday))
				r.ReadInto(&into, "", 200, h, saturday)
				assert.Equal(t, want, into)
			}
		}
	}
}

// What a Reader remembers is not changed through a Reading.
func TestReaderMemoryIsNotChanged(t *testing.T) {
	var r parse.Reader
	lines := []string{`"a";q=1, 7`}
	h := http.Header{"Ratelimit-Policy": lines, "Ratelimit": {`limit=5, reset=1`}, "Retry-After": {"x"}}
	want := new(parse.Reader).Read("", 200, h, saturday)
	r.Read("", 200, h, saturday)
	first := r.Read("", 200, h, saturday)
	_ = append(first.Policies[:1], parse.Policy{Name: "x"})
	_ = append(first.Ignored[:1], parse.Ignored{Field: "x"})
	lines[0] = `"b";q=1`
	lines = slices.Clone(lines)
	lines[0] = `"a";q=1, 7`
	h["Ratelimit-Policy"] = lines
	assert.Equal(t, want, r.Read("", 200, h, saturday))
}

// A header that is changed after it was read does not change what a Reader remembers.
func TestReaderKeepsItsOwnLines(t *testing.T) {
	for i := range 200 {
		var r parse.Reader
		lines := []string{`"a";q=1`}
		r.Read("", 200, http.Header{"Ratelimit-Policy": lines}, saturday)
		lines[0] = `"` + strings.Repeat("b", i) + `";q=2`
		got := r.Read("", 200, http.Header{"Ratelimit-Policy": lines}, saturday)
		assert.Equal(t, int64(2), got.Policies[0].Quota)
	}
}

func TestDialectString(t *testing.T) {
	names := map[parse.Dialect]string{
		parse.NoDialect: "none", parse.EditorsDraft: "editor's draft", parse.Draft08: "draft -08",
		parse.Draft07: "draft -07", parse.Draft06: "draft -06", parse.VendorFields: "vendor fields", 99: "none",
	}
	for d, name := range names {
		assert.Equal(t, name, d.String())
	}
}

// A Reader remembers one value of each of the two fields, whatever the values.
func TestReaderRemembersBothFields(t *testing.T) {
	var r parse.Reader
	for i := range 64 {
		r := r.Clone()
		h := fields(fmt.Sprintf(`RateLimit-Policy: "p%d";q=100;w=60`, i), fmt.Sprintf(`RateLimit-Partition: "p%d";user_id`, i))
		read := func() { r.Read("", 200, h, saturday) }
		read()
		assert.Zero(t, testing.AllocsPerRun(10, read), i)
	}
}

// A Reader remembers the last Date, and reads every other one.
func TestReaderRemembersDate(t *testing.T) {
	var r parse.Reader
	dates := []string{
		saturday.Format(http.TimeFormat), saturday.Add(time.Second).Format(http.TimeFormat), "?", " " + saturday.Format(http.TimeFormat),
		saturday.Add(time.Minute).Format(time.RFC850), "", strings.Repeat(" ", 200) + saturday.Format(http.TimeFormat),
	}
	for i := range dates {
		for j := range dates {
			for _, date := range [...]string{dates[i], dates[j], dates[j], dates[i]} {
				h := fields("X-RateLimit-Limit: 9", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: "+strconv.FormatInt(saturday.Unix()+90, 10), "Date: "+date)
				var other parse.Reader
				want := other.Read("", 200, h, saturday.Add(time.Hour))
				assert.Equal(t, want, r.Read("", 200, h, saturday.Add(time.Hour)), date)
				assert.Equal(t, strings.ContainsAny(date, "0123456789"), !want.Date.IsZero(), date)
			}
		}
	}
}

// A Reader does not remember a large value.
func TestReaderForgetsLargeValues(t *testing.T) {
	var r parse.Reader
	h := fields(`RateLimit-Policy: "p";q=100;w=60;x="` + strings.Repeat("x", 1<<10) + `"`)
	read := func() { r.Read("", 200, h, saturday) }
	read()
	assert.NotZero(t, testing.AllocsPerRun(10, read))
}

// A clone has the caps and the rows of its Reader, and shares what is made of them.
func TestReaderClone(t *testing.T) {
	r := &parse.Reader{Caps: parse.Caps{Quota: 5}, Vendors: []parse.Vendor{{Name: "own", Remaining: []string{"Acme-Left"}}}}
	h, above := fields("Acme-Left: 5"), fields("Acme-Left: 6")
	clone := r.Clone()
	assert.Equal(t, r.Read("", 200, h, saturday), clone.Read("", 200, h, saturday))
	assert.Equal(t, "own", clone.Read("", 200, h, saturday).Vendor)
	assert.ErrorIs(t, clone.Read("", 200, above, saturday).Ignored[0].Err, parse.ErrCap)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() { r.Clone() }), 1.0)
}

// Silent reports whether there is nothing to read.
func TestSilent(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{Name: "own", Remaining: []string{"Acme-*-Left"}, Reset: []string{"Date"}}}}
	for line, silent := range map[string]bool{
		"Content-Type: text/plain":     true,
		"Content-Length: 12":           true,
		"X-Request-Id: 1":              true,
		"RateLimit: 1":                 false,
		"RateLimit-Policy: 1":          false,
		"RateLimit-Partition: 1":       false,
		"Retry-After: 1":               false,
		"Age: 0":                       false,
		"X-RateLimit-Remaining: 1":     false,
		"X-RateLimit-Remaining-Day: 1": false,
		"Acme-Jobs-Left: 5":            false,
		"Date: 5":                      false, // named by a row
	} {
		h := fields(line)
		assert.Equal(t, silent, r.Silent(h), line)
		for name := range h {
			assert.True(t, r.Silent(http.Header{name: {}}), "no line of %s", name)
		}
	}
	var plain parse.Reader
	assert.True(t, plain.Silent(http.Header{"Date": {"x"}, "": {"x"}}))
	assert.True(t, plain.Silent(nil))
}
