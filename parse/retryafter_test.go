package parse_test

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

func TestRetryAfter(t *testing.T) {
	syntax := func(item int) parse.Ignored {
		return parse.Ignored{Field: "Retry-After", Item: item, Err: parse.ErrSyntax}
	}
	tooMuch := func(item int) parse.Ignored {
		return parse.Ignored{Field: "Retry-After", Item: item, Err: parse.ErrCap}
	}
	const date = "Mon, 05 Aug 2019 09:27:00 GMT"
	now := time.Date(2019, time.August, 5, 9, 26, 30, 0, time.UTC) // half a minute slow

	tests := []struct {
		name    string
		date    string // "" for none
		lines   []string
		want    time.Duration
		ok      bool
		ignored []parse.Ignored
	}{
		{"absent", date, nil, 0, false, nil},

		// RFC 9110, Section 10.2.3: delay-seconds, which is digits.
		{"seconds", "", []string{"20"}, 20 * time.Second, true, nil},
		{"zero", "", []string{"0"}, 0, true, nil},
		{"leading zeros", "", []string{"007"}, 7 * time.Second, true, nil},
		{"blanks", "", []string{" \t20\t "}, 20 * time.Second, true, nil},
		{"empty", "", []string{""}, 0, false, []parse.Ignored{syntax(0)}},
		{"blank", "", []string{"  "}, 0, false, []parse.Ignored{syntax(0)}},
		{"negative", "", []string{"-5"}, 0, false, []parse.Ignored{syntax(0)}},
		{"a plus sign", "", []string{"+5"}, 0, false, []parse.Ignored{syntax(0)}},
		{"a point without digits", "", []string{"1."}, 0, false, []parse.Ignored{syntax(0)}},
		{"an underscore", "", []string{"1_0"}, 0, false, []parse.Ignored{syntax(0)}},
		{"hexadecimal", "", []string{"0x10"}, 0, false, []parse.Ignored{syntax(0)}},
		{"an exponent", "", []string{"1e3"}, 0, false, []parse.Ignored{syntax(0)}},
		{"joined by a proxy", "", []string{"5, 10"}, 10 * time.Second, true, nil},
		{"joined, and a word", "", []string{"5, soon"}, 0, false, []parse.Ignored{syntax(0)}},
		{"joined, and nothing", "", []string{"5,"}, 0, false, []parse.Ignored{syntax(0)}},
		{"too many", "", []string{"1,2,3,4,5,6,7,8,9"}, 0, false, []parse.Ignored{syntax(0)}},
		{"garbage", "", []string{"soon"}, 0, false, []parse.Ignored{syntax(0)}},

		// The cap, and values that exceed a Duration or an int64.
		{"a day", "", []string{"86400"}, 24 * time.Hour, true, nil},
		{"a day and a second", "", []string{"86401"}, 0, false, []parse.Ignored{tooMuch(0)}},
		{"longer than a Duration", "", []string{"999999999999"}, 0, false, []parse.Ignored{tooMuch(0)}},
		{"the largest int64", "", []string{"9223372036854775807"}, 0, false, []parse.Ignored{tooMuch(0)}},
		{"above every int64", "", []string{"9223372036854775808"}, 0, false, []parse.Ignored{tooMuch(0)}},
		{"above every uint64", "", []string{strings.Repeat("9", 100)}, 0, false, []parse.Ignored{tooMuch(0)}},
		{"a date beyond the cap", date, []string{"Tue, 06 Aug 2019 09:27:01 GMT"}, 0, false, []parse.Ignored{tooMuch(0)}},
		{"a date far away", date, []string{"Fri, 31 Dec 9999 23:59:59 GMT"}, 0, false, []parse.Ignored{tooMuch(0)}},

		// RFC 9110, Section 5.6.7: three forms, relative to the response's Date.
		{"IMF-fixdate", date, []string{"Mon, 05 Aug 2019 09:27:05 GMT"}, 5 * time.Second, true, nil},
		{"rfc850-date", date, []string{"Monday, 05-Aug-19 09:27:05 GMT"}, 5 * time.Second, true, nil},
		{"asctime-date", date, []string{"Mon Aug  5 09:27:05 2019"}, 5 * time.Second, true, nil},
		{"a leap second", "Sat, 31 Dec 2016 23:59:50 GMT", []string{"Sat, 31 Dec 2016 23:59:60 GMT"}, 10 * time.Second, true, nil},
		{"a leap second, rfc850-date", "Saturday, 31-Dec-16 23:59:50 GMT", []string{"Saturday, 31-Dec-16 23:59:60 GMT"}, 10 * time.Second, true, nil},
		{"a leap second, asctime-date", "Sat Dec 31 23:59:50 2016", []string{"Sat Dec 31 23:59:60 2016"}, 10 * time.Second, true, nil},
		{"Date is a leap second", "Sat, 31 Dec 2016 23:59:60 GMT", []string{"Sun, 01 Jan 2017 00:00:05 GMT"}, 5 * time.Second, true, nil},
		{"a second 61", date, []string{"Sat, 31 Dec 2016 23:59:61 GMT"}, 0, false, []parse.Ignored{syntax(0)}},
		{"a date with blanks", date, []string{" Mon, 05 Aug 2019 09:27:05 GMT "}, 5 * time.Second, true, nil},
		{"Date has blanks", " " + date, []string{"Mon, 05 Aug 2019 09:27:05 GMT"}, 5 * time.Second, true, nil},
		{"Date has another form", "Mon Aug  5 09:27:00 2019", []string{"Mon, 05 Aug 2019 09:27:05 GMT"}, 5 * time.Second, true, nil},
		{"no Date: from now", "", []string{"Mon, 05 Aug 2019 09:27:05 GMT"}, 35 * time.Second, true, nil},
		{"an invalid Date: from now", "yesterday", []string{"Mon, 05 Aug 2019 09:27:05 GMT"}, 35 * time.Second, true, nil},
		{"a time in the past", date, []string{"Mon, 05 Aug 2019 09:26:59 GMT"}, 0, true, nil},
		{"a time long past", date, []string{"Sat, 01 Jan 0000 00:00:00 GMT"}, 0, true, nil},
		{"a day that does not exist", date, []string{"Mon, 32 Aug 2019 09:27:05 GMT"}, 0, false, []parse.Ignored{syntax(0)}},

		// Several field lines: the longest valid delay.
		{"several", date, []string{"5", "20", "10"}, 20 * time.Second, true, nil},
		{"seconds and a date", date, []string{"5", "Mon, 05 Aug 2019 09:27:07 GMT"}, 7 * time.Second, true, nil},
		{"one malformed", "", []string{"soon", "5"}, 5 * time.Second, true, []parse.Ignored{syntax(0)}},
		{"one above the cap", "", []string{"5", "86401"}, 5 * time.Second, true, []parse.Ignored{tooMuch(1)}},
		{"zero and malformed", "", []string{"0", "-1"}, 0, true, []parse.Ignored{syntax(1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := header("Retry-After", tt.lines...)
			if tt.date != "" {
				h.Set("Date", tt.date)
			}
			d, ok, ignored := parse.RetryAfter(h, now, parse.Caps{})
			assert.Equal(t, tt.want, d)
			assert.Equal(t, tt.ok, ok)
			assertValues(t, tt.ignored, ignored)
		})
	}
}

// A date is relative to the Date of the response, however wrong its clock is.
func TestRetryAfterDoesNotNeedClocks(t *testing.T) {
	h := http.Header{
		"Date":        {"Thu, 01 Jan 1970 00:00:00 GMT"},
		"Retry-After": {"Thu, 01 Jan 1970 00:00:09 GMT"},
	}
	for _, now := range []time.Time{{}, time.Unix(0, 0), time.Now(), time.Unix(1<<40, 0)} {
		d, ok, _ := parse.RetryAfter(h, now, parse.Caps{})
		assert.True(t, ok)
		assert.Equal(t, 9*time.Second, d)
	}
}

func TestRetryAfterCaps(t *testing.T) {
	none := parse.Caps{RetryAfter: -1}
	for _, value := range []string{"9223372037", "999999999999", strings.Repeat("9", 100)} {
		d, ok, ignored := parse.RetryAfter(header("Retry-After", value), time.Time{}, none)
		assert.True(t, ok)
		assert.Equal(t, time.Duration(math.MaxInt64), d, "saturates")
		assert.Empty(t, ignored)
	}
	d, ok, _ := parse.RetryAfter(header("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"), time.Time{}, none)
	assert.True(t, ok)
	assert.Equal(t, time.Duration(math.MaxInt64), d, "saturates")

	_, ok, _ = parse.RetryAfter(header("Retry-After", "10"), time.Time{}, parse.Caps{RetryAfter: 10 * time.Second})
	assert.True(t, ok)
	_, ok, _ = parse.RetryAfter(header("Retry-After", "11"), time.Time{}, parse.Caps{RetryAfter: 10 * time.Second})
	assert.False(t, ok)

	d, ok, ignored := parse.RetryAfter(header("Retry-After", "1", "2", "3", "4"), time.Time{}, parse.Caps{Items: 2})
	assert.True(t, ok)
	assert.Equal(t, 2*time.Second, d)
	assert.Equal(t, []parse.Ignored{{Field: "Retry-After", Item: 2, Err: parse.ErrCap}}, ignored)

	_, ok, ignored = parse.RetryAfter(header("Retry-After", "1", strings.Repeat("1", 10)), time.Time{}, parse.Caps{FieldBytes: 10})
	assert.False(t, ok)
	assert.Equal(t, []parse.Ignored{{Field: "Retry-After", Item: parse.None, Err: parse.ErrCap}}, ignored)
}
