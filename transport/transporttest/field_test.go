package transporttest

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// fields returns the fields that advertise quota, "-" for each that is missing.
func fields(h http.Header) [3]string {
	var got [3]string
	for i, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Partition"} {
		got[i] = "-"
		if values := h.Values(name); len(values) > 0 {
			got[i] = values[0]
		}
	}
	return got
}

func TestFields(t *testing.T) {
	alice := &http.Request{Method: "GET", Header: http.Header{"X-User": {"alice"}}}
	perUser := Policy{Name: "api", Quota: 100, Window: time.Minute, PartitionBy: []string{"user_id", "method"}}
	all := Policy{Name: "all", Quota: 5, Window: time.Hour}
	reads := Policy{Name: "reads", Quota: 7, Window: time.Second, PartitionBy: []string{"user_id", "method=GET"}}
	writes := Policy{Name: "writes", Quota: 7, Window: time.Second, PartitionBy: []string{"method=POST"}}
	two := func(*http.Request) int64 { return 2 }

	for _, tt := range []struct {
		name string
		api  *API
		want [3]string
	}{
		{"no policy", &API{}, [3]string{"-", "-", "-"}},
		{
			"the draft's example (Section 4.2)",
			&API{Policies: []Policy{perUser}},
			[3]string{`"api";a=99;w=60;pk=:R0VUH2FsaWNl:`, `"api";q=100;w=60`, `"api";user_id;method`},
		},
		{
			"drafts -08 to -11",
			&API{Policies: []Policy{perUser}, Dialect: parse.Draft08},
			[3]string{`"api";r=99;t=60;pk=:R0VUH2FsaWNl:`, `"api";q=100;w=60`, "-"},
		},
		{
			"one partition for all",
			&API{Policies: []Policy{all}},
			[3]string{`"all";a=4;w=3600`, `"all";q=5;w=3600`, "-"},
		},
		{
			"several policies, one of which does not apply",
			&API{Policies: []Policy{reads, writes, all, perUser}},
			[3]string{
				`"reads";a=6;w=1;pk=:R0VUH2FsaWNl:, "all";a=4;w=3600, "api";a=99;w=60;pk=:R0VUH2FsaWNl:`,
				`"reads";q=7;w=1, "all";q=5;w=3600, "api";q=100;w=60`,
				`"reads";user_id;method=GET, "api";user_id;method`,
			},
		},
		{"no policy applies", &API{Policies: []Policy{writes}}, [3]string{"-", "-", "-"}},
		{
			"a literal that is not a Token is a String",
			&API{Policies: []Policy{{Name: "p", Quota: 1, PartitionBy: []string{"user_id=a b"}}}, User: func(*http.Request) string { return "a b" }},
			[3]string{`"p";a=0;pk=:YSBi:`, `"p";q=1`, `"p";user_id="a b"`},
		},
		{
			"a value that does not fit into a key",
			&API{Policies: []Policy{perUser}, User: func(*http.Request) string { return "\xff" }},
			[3]string{`"api";a=99;w=60`, `"api";q=100;w=60`, `"api";user_id;method`},
		},
		{
			"cost",
			&API{Policies: []Policy{perUser, all}, Cost: two},
			[3]string{`"api";a=98;w=60;pk=:R0VUH2FsaWNl:;c=2, "all";a=3;w=3600;c=2`, `"api";q=100;w=60, "all";q=5;w=3600`, `"api";user_id;method`},
		},
		{
			"cost of one",
			&API{Policies: []Policy{all}, Cost: func(*http.Request) int64 { return 1 }},
			[3]string{`"all";a=4;w=3600;c=1`, `"all";q=5;w=3600`, "-"},
		},
		{
			"a negative cost is zero",
			&API{Policies: []Policy{all}, Cost: func(*http.Request) int64 { return -3 }},
			[3]string{`"all";a=5;w=3600;c=0`, `"all";q=5;w=3600`, "-"},
		},
		{
			"drafts -08 to -11 have no cost",
			&API{Policies: []Policy{all}, Cost: two, Dialect: parse.Draft08},
			[3]string{`"all";r=3;t=3600`, `"all";q=5;w=3600`, "-"},
		},
		{
			"limits only",
			&API{Policies: []Policy{perUser}, OmitPolicies: true},
			[3]string{`"api";a=99;w=60;pk=:R0VUH2FsaWNl:`, "-", `"api";user_id;method`},
		},
		{
			"policies only",
			&API{Policies: []Policy{perUser}, OmitLimits: true},
			[3]string{"-", `"api";q=100;w=60;pk=:R0VUH2FsaWNl:`, `"api";user_id;method`},
		},
		{"nothing", &API{Policies: []Policy{perUser}, OmitLimits: true, OmitPolicies: true}, [3]string{"-", "-", "-"}},
		{
			"no window",
			&API{Policies: []Policy{{Name: "ever", Quota: 3}}},
			[3]string{`"ever";a=2`, `"ever";q=3`, "-"},
		},
		{
			"windows that are not whole seconds",
			&API{Policies: []Policy{{Name: "p", Quota: 3, Window: 1100 * time.Millisecond}}, Rounding: math.Floor},
			[3]string{`"p";a=2;w=1`, `"p";q=3;w=2`, "-"},
		},
		{
			"values above the largest Integer",
			&API{Policies: []Policy{{Name: "p", Quota: 2e15}}, Cost: func(*http.Request) int64 { return 1_000_000_000_000_000 }},
			[3]string{`"p";a=999999999999999;c=999999999999999`, `"p";q=999999999999999`, "-"},
		},
		{
			"negative quota",
			&API{Policies: []Policy{{Name: "p", Quota: -3, Window: time.Second}}},
			[3]string{`"p";a=0;w=1`, `"p";q=0;w=1`, "-"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, fields(tt.api.Decide(epoch, alice).Header))
		})
	}
}

// Rounding applies to the effective windows of all algorithms.
func TestFieldsRounding(t *testing.T) {
	for _, tt := range []struct {
		name     string
		rounding func(float64) float64
		after    time.Duration // the request that opens the window
		want     string
	}{
		{"up", nil, 0, `"w";a=8;w=10, "a";a=8;w=10, "b";a=8;w=2`},
		{"up", nil, 1400 * time.Millisecond, `"w";a=8;w=9, "a";a=8;w=9, "b";a=8;w=1`},
		{"down", math.Floor, 1400 * time.Millisecond, `"w";a=8;w=8, "a";a=8;w=8, "b";a=8;w=0`},
		{"nearest", math.Round, 1400 * time.Millisecond, `"w";a=8;w=9, "a";a=8;w=9, "b";a=8;w=1`},
		{"nearest", math.Round, 1600 * time.Millisecond, `"w";a=8;w=8, "a";a=8;w=8, "b";a=8;w=0`},
		{"up", nil, 9999 * time.Millisecond, `"w";a=8;w=1, "a";a=8;w=1, "b";a=9;w=2`},
		{"down", math.Floor, 9999 * time.Millisecond, `"w";a=8;w=0, "a";a=8;w=0, "b";a=9;w=2`},
		{"up", nil, 10 * time.Second, `"w";a=9;w=10, "a";a=9;w=10, "b";a=9;w=2`},
	} {
		api := &API{Rounding: tt.rounding, Policies: []Policy{
			{Name: "w", Quota: 10, Window: 10 * time.Second},
			{Name: "a", Quota: 10, Window: 10 * time.Second, Algorithm: AlignedWindow},
			{Name: "b", Quota: 10, Window: 20 * time.Second, Algorithm: TokenBucket},
		}}
		require.True(t, api.Decide(epoch, &http.Request{}).Served)
		d := api.Decide(epoch.Add(tt.after), &http.Request{})
		assert.Equal(t, tt.want, d.Header.Get("RateLimit"), "%s after %v", tt.name, tt.after)
	}
}

// A full bucket advertises no window, an empty one the time until the next token.
func TestFieldsOfBucket(t *testing.T) {
	cost := int64(0)
	api := &API{
		Policies: []Policy{{Name: "b", Quota: 2, Window: 10 * time.Second, Algorithm: TokenBucket}},
		Cost:     func(*http.Request) int64 { return cost },
	}
	assert.Equal(t, `"b";a=2;c=0`, api.Decide(epoch, &http.Request{}).Header.Get("RateLimit"))
	cost = 2
	assert.Equal(t, `"b";a=0;w=5;c=2`, api.Decide(epoch, &http.Request{}).Header.Get("RateLimit"))
	d := api.Decide(epoch.Add(6*time.Second), &http.Request{})
	assert.Equal(t, `"b";a=1;w=4;c=2`, d.Header.Get("RateLimit"))
	assert.Equal(t, "4", d.Header.Get("Retry-After"))
	assert.False(t, d.Served)
}
