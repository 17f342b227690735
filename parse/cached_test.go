package parse_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

func TestCached(t *testing.T) {
	tests := []struct {
		name  string
		field string
		lines []string
		want  bool
	}{
		{"nothing", "Content-Type", []string{"text/plain"}, false},
		{"a Date in the past is no sign", "Date", []string{"Thu, 01 Jan 1970 00:00:00 GMT"}, false},

		// RFC 9111, Section 5.1.
		{"Age", "Age", []string{"1"}, true},
		{"Age, with blanks", "Age", []string{" 60 "}, true},
		{"Age, leading zeros", "Age", []string{"005"}, true},
		{"Age, longer than an int64", "Age", []string{strings.Repeat("9", 30)}, true},
		{"Age 0", "Age", []string{"0"}, false},
		{"Age 00", "Age", []string{"00"}, false},
		{"Age negative", "Age", []string{"-5"}, false},
		{"Age a decimal", "Age", []string{"1.5"}, false},
		{"Age empty", "Age", []string{""}, false},
		{"Age garbage", "Age", []string{"old"}, false},
		{"Age without a line", "Age", []string{}, false},
		{"Age, a list: the first", "Age", []string{"5, 0"}, true},
		{"Age, a list: only the first", "Age", []string{"0, 5"}, false},
		{"Age, a list: an invalid first", "Age", []string{"x, 5"}, false},
		{"Age, two lines: the first", "Age", []string{"5", "0"}, true},
		{"Age, two lines: only the first", "Age", []string{"0", "5"}, false},

		// RFC 9211, Section 2.1.
		{"hit", "Cache-Status", []string{"ExampleCache; hit"}, true},
		{"hit of a String", "Cache-Status", []string{`"CDN Company Here"; hit; ttl=545`}, true},
		{"hit at the origin's cache", "Cache-Status", []string{`OriginCache; hit; ttl=1100, "CDN"; fwd=uri-miss`}, true},
		{"hit in the second line", "Cache-Status", []string{"A; fwd=miss", "B; hit"}, true},
		{"hit=?1", "Cache-Status", []string{"A;hit=?1"}, true},
		{"hit=?0", "Cache-Status", []string{"A;hit=?0"}, false},
		{"hit=1 is not a Boolean", "Cache-Status", []string{"A;hit=1"}, false},
		{"forwarded", "Cache-Status", []string{"ExampleCache; fwd=uri-miss; stored"}, false},
		{"a cache called hit", "Cache-Status", []string{"hit"}, false},
		{"an Inner List", "Cache-Status", []string{"(A);hit"}, false},
		{"no List", "Cache-Status", []string{"HIT from a.example; hit"}, false},
		{"empty", "Cache-Status", []string{""}, false},
		{"without a line", "Cache-Status", []string{}, false},
		{"too long", "Cache-Status", []string{"A;hit", strings.Repeat(" ", parse.DefaultCaps().FieldBytes)}, false},
		{"many members", "Cache-Status", []string{strings.Repeat("A, ", 100) + "B;hit"}, true},

		// The mark of Go cache transports.
		{"nginx", "X-Cache-Status", []string{"HIT"}, true},
		{"nginx, stale", "X-Proxy-Cache", []string{"STALE"}, true},
		{"nginx, being updated", "X-Cache-Status", []string{"UPDATING"}, true},
		{"nginx, from the origin", "X-Cache-Status", []string{"MISS"}, false},
		{"nginx, asked the origin", "X-Cache-Status", []string{"REVALIDATED"}, false},
		{"Kong", "X-Cache-Status", []string{"Hit"}, false},
		{"two caches", "X-Cache-Status", []string{"HIT", "MISS"}, false},
		{"marked", "X-From-Cache", []string{"1"}, true},
		{"marked true", "X-From-Cache", []string{"true"}, true},
		{"marked 0", "X-From-Cache", []string{"0"}, false},
		{"marked false", "X-From-Cache", []string{"false"}, false},
		{"marked empty", "X-From-Cache", []string{""}, false},
		{"marked otherwise", "X-From-Cache", []string{"MISS"}, false},
		{"marked without a line", "X-From-Cache", []string{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, parse.Cached(header(tt.field, tt.lines...)))
		})
	}
	assert.True(t, parse.Cached(http.Header{"Age": {"0"}, "Cache-Status": {"A;hit"}}), "one sign is enough")
	assert.False(t, parse.Cached(nil))
}
