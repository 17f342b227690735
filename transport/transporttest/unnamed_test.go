package transporttest

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// limits returns the fields of a Header as lines, without Date and Content-Type.
func limits(h http.Header) string {
	var lines []string
	for name, values := range h {
		if name != "Date" && name != "Content-Type" {
			lines = append(lines, fmt.Sprintf("%s: %s", name, values[0]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestUnnamedFields(t *testing.T) {
	minute := Policy{Name: "minute", Quota: 100, Window: time.Minute}
	second := Policy{Name: "second", Quota: 10, Window: time.Second, PartitionBy: []string{"user_id"}}
	full := Policy{Name: "full", Quota: 5, Window: time.Minute, Algorithm: SlidingLog}
	busy := Policy{Name: "busy", Quota: 1, Algorithm: Concurrency}
	none := func(*http.Request) int64 { return 0 }
	for _, tt := range []struct {
		name string
		api  *API
		want string
	}{
		{
			"-07", &API{Dialect: parse.Draft07, Policies: []Policy{minute, second}},
			"Ratelimit-Policy: 100;w=60, 10;w=1\nRatelimit: limit=10, remaining=9, reset=1",
		},
		{
			"-07, the first of two with equal quota", &API{Dialect: parse.Draft07, Policies: []Policy{minute, {Name: "x", Quota: 100}}},
			"Ratelimit-Policy: 100;w=60, 100\nRatelimit: limit=100, remaining=99, reset=60",
		},
		{
			"-07, policies", &API{Dialect: parse.Draft07, OmitLimits: true, Policies: []Policy{minute}},
			"Ratelimit-Policy: 100;w=60",
		},
		{
			"-06", &API{Dialect: parse.Draft06, Policies: []Policy{minute}},
			"Ratelimit-Limit: 100\nRatelimit-Policy: 100;w=60\nRatelimit-Remaining: 99\nRatelimit-Reset: 60",
		},
		{
			"-06, limits", &API{Dialect: parse.Draft06, OmitPolicies: true, Policies: []Policy{minute}},
			"Ratelimit-Limit: 100\nRatelimit-Remaining: 99\nRatelimit-Reset: 60",
		},
		{
			"-06, nothing", &API{Dialect: parse.Draft06, OmitLimits: true, OmitPolicies: true, Policies: []Policy{minute}},
			"",
		},
		{
			"a full log resets now", &API{Dialect: parse.Draft06, Policies: []Policy{full}, Cost: none},
			"Ratelimit-Limit: 5\nRatelimit-Policy: 5;w=60\nRatelimit-Remaining: 5\nRatelimit-Reset: 0",
		},
		{
			"X-RateLimit", &API{Dialect: parse.VendorFields, Policies: []Policy{minute}},
			"X-Ratelimit-Limit: 100\nX-Ratelimit-Remaining: 99\nX-Ratelimit-Reset: 1060",
		},
		{
			"X-RateLimit, rounded down", &API{Dialect: parse.VendorFields, Rounding: math.Floor, Policies: []Policy{minute}},
			"X-Ratelimit-Limit: 100\nX-Ratelimit-Remaining: 99\nX-Ratelimit-Reset: 1060",
		},
		{
			"X-RateLimit, fast clock", &API{Dialect: parse.VendorFields, Skew: 90*time.Second + 1, Policies: []Policy{minute}},
			"X-Ratelimit-Limit: 100\nX-Ratelimit-Remaining: 99\nX-Ratelimit-Reset: 1151",
		},
		{
			"X-RateLimit, fast clock, rounded down",
			&API{Dialect: parse.VendorFields, Rounding: math.Floor, Skew: 90*time.Second + 1, Policies: []Policy{minute}},
			"X-Ratelimit-Limit: 100\nX-Ratelimit-Remaining: 99\nX-Ratelimit-Reset: 1150",
		},
		{"no policy", &API{Dialect: parse.Draft06}, ""},
		{
			"concurrency is omitted", &API{Dialect: parse.Draft06, Policies: []Policy{busy, minute}},
			"Ratelimit-Limit: 100\nRatelimit-Policy: 100;w=60\nRatelimit-Remaining: 99\nRatelimit-Reset: 60",
		},
		{"only concurrency", &API{Dialect: parse.Draft06, Policies: []Policy{busy}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.api.Decide(time.Unix(1000, 0), by("alice", "GET"))
			assert.Equal(t, tt.want, limits(d.Header))
		})
	}
}

func TestSkew(t *testing.T) {
	api := &API{
		Policies:       []Policy{{Name: "q", Quota: 1, Window: time.Minute}},
		Skew:           -90 * time.Second,
		RetryAfterDate: true,
	}
	now := time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC)
	api.Decide(now, by("", "GET"))
	d := api.Decide(now.Add(10*time.Second), by("", "GET"))
	assert.Equal(t, "Mon, 20 Apr 2026 11:58:40 GMT", d.Header.Get("Date"))
	assert.Equal(t, "Mon, 20 Apr 2026 11:59:30 GMT", d.Header.Get("Retry-After"))
	assert.Equal(t, `"q";a=0;w=50`, d.Header.Get("RateLimit"))
}

func TestMisstate(t *testing.T) {
	api := &API{
		Policies: []Policy{
			{Name: "p", Quota: 2, Window: time.Minute},
			{Name: "q", Quota: 3},
		},
		Misstate: func(policy string, available int64, window time.Duration) (int64, time.Duration) {
			if policy == "q" {
				assert.Equal(t, -1*time.Nanosecond, window)
				return available + 7, time.Second
			}
			assert.Equal(t, time.Minute, window)
			return -available, -1
		},
	}
	for i, want := range []string{`"p";a=0, "q";a=9;w=1`, `"p";a=0, "q";a=8;w=1`, `"p";a=0, "q";a=8;w=1`} {
		d := api.Decide(epoch, by("", "GET"))
		assert.Equal(t, want, d.Header.Get("RateLimit"))
		assert.Equal(t, i < 2, d.Served) // the true quota decides
	}
}
