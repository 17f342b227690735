package parse

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestReadDelay(t *testing.T) {
	const (
		date  = "Sat, 21 Nov 2026 04:48:00 GMT"
		unix  = 1795236480 // the same
		never = math.MaxInt64
	)
	now := time.Unix(unix-7, 0) // a clock that is slow

	tests := []struct {
		name   string
		value  string
		kind   resetKind
		date   string
		want   time.Duration
		coarse bool
		ok     bool
	}{
		// Deltas.
		{"seconds", "5", anyReset, date, 5 * time.Second, false, true},
		{"zero", "0", anyReset, date, 0, false, true},
		{"minus zero", "-0", anyReset, date, 0, false, true},
		{"blanks", " \t5 ", anyReset, date, 5 * time.Second, false, true},
		{"decimal", "64.57", anyReset, date, 64570 * time.Millisecond, false, true},
		{"decimal .0", "2.0", anyReset, date, 2 * time.Second, false, true},
		{"nanoseconds", "0.0000000019", anyReset, date, 1, false, true},
		{"25 days", "2163603", anyReset, date, 2163603 * time.Second, false, true},
		{"just below the border", "499999999", anyReset, "Tue, 05 Nov 1985 00:53:19 GMT", 499999999 * time.Second, false, true},
		{"the border", "500000000", anyReset, "Tue, 05 Nov 1985 00:53:15 GMT", 5 * time.Second, true, true},
		{"Unix in the year 2000", "946684805", anyReset, "Sat, 01 Jan 2000 00:00:00 GMT", 5 * time.Second, true, true},
		{"Unix ms in the year 2000", "946684805250", anyReset, "Sat, 01 Jan 2000 00:00:00 GMT", 5250 * time.Millisecond, false, true},
		{"in the year 2000, but far away", "1795236485", anyReset, "Sat, 01 Jan 2000 00:00:00 GMT", 1795236485 * time.Second, false, true},
		{"the border, near", "1000000000", anyReset, "Sun, 09 Sep 2001 01:46:35 GMT", 5 * time.Second, true, true},
		{"negative", "-1", anyReset, date, 0, false, false},
		{"a point first", ".5", anyReset, date, 0, false, false},
		{"a point last", "5.", anyReset, date, 0, false, false},
		{"two points", "5.5.5", anyReset, date, 0, false, false},
		{"slashes in a date", "2026/11/21 05:48:05 +0100", anyReset, date, 5 * time.Second, true, true},
		{"a slash in a date", "2026/11-21 04:48:05 UTC", anyReset, date, 0, false, false},
		{"slashes, and no zone", "2026/11/21 04:48:05", anyReset, date, 0, false, false},
		{"exponent", "1e3", anyReset, date, 0, false, false},
		{"exponent, a Unix time", "1.795236485e+09", anyReset, date, 5 * time.Second, true, true},
		{"exponent, a fraction", "1.7952364855E9", anyReset, date, 5500 * time.Millisecond, false, true},
		{"exponent, milliseconds", "1.795236485e+12", anyReset, date, 5 * time.Second, false, true},
		{"exponent, too large", "1e300", anyReset, date, 0, false, false},
		{"exponent, negative", "1e-9", anyReset, date, 0, false, false},
		{"quotation marks", `"5"`, anyReset, date, 5 * time.Second, false, true},
		{"a quotation mark", `"5`, anyReset, date, 0, false, false},
		{"nothing in quotation marks", `""`, anyReset, date, 0, false, false},
		{"a single quotation mark", `"`, anyReset, date, 0, false, false},
		{"quotation marks in quotation marks", `""5""`, anyReset, date, 5 * time.Second, false, true},
		{"ISO 8601, a day", "P1D", anyReset, date, 24 * time.Hour, false, true},
		{"ISO 8601, a day and hours", "P2DT12H30M", anyReset, date, 60*time.Hour + 30*time.Minute, false, true},
		{"ISO 8601, a fraction", "PT1.5S", anyReset, date, 1500 * time.Millisecond, false, true},
		{"ISO 8601, nothing", "PT", anyReset, date, 0, false, false},
		{"ISO 8601, a P", "P", anyReset, date, 0, false, false},
		{"ISO 8601, weeks", "P1W", anyReset, date, 0, false, false},
		{"ISO 8601, microseconds", "PT1us", anyReset, date, 0, false, false},
		{"ISO 8601, negative", "PT-5S", anyReset, date, 0, false, false},
		{"ISO 8601, a month", "P1M", anyReset, date, 0, false, false},
		{"ISO 8601, ages", "P40000D", anyReset, date, 0, false, false},
		{"a space before the unit", "5 m", anyReset, date, 5 * time.Minute, false, true},
		{"in", "in 5 seconds", anyReset, date, 5 * time.Second, false, true},
		{"in nothing", "in ", anyReset, date, 0, false, false},
		{"of Java", "2026-11-21T05:48:05+01:00[Europe/Paris]", anyReset, date, 5 * time.Second, true, true},
		{"a name of a zone alone", "[UTC]", anyReset, date, 0, false, false},
		{"of Python", "0:01:30", anyReset, date, 90 * time.Second, false, true},
		{"of Python, hours", "1:01:30", anyReset, date, 0, false, false},
		{"infinity", "Inf", anyReset, date, 0, false, false},
		{"not a number", "NaN", anyReset, date, 0, false, false},
		{"hexadecimal", "0x10", anyReset, date, 0, false, false},
		{"empty", "", anyReset, date, 0, false, false},
		{"huge", strings.Repeat("9", 30), anyReset, date, never, false, true},
		{"huge decimal", strings.Repeat("9", 30) + ".9", anyReset, date, never, false, true},
		{"milliseconds", "2000", spanMillis, date, 2 * time.Second, false, true},
		{"milliseconds, decimal", "0.5", spanMillis, date, 500 * time.Microsecond, false, true},
		{"milliseconds, huge", "9223372036854775807", spanMillis, date, never, false, true},
		{"seconds by hand", "1795236485", spanSeconds, date, 1795236485 * time.Second, false, true},

		{"an obsolete date in UTC", "Saturday, 21-Nov-26 04:48:05 UTC", anyReset, date, 5 * time.Second, true, true},

		// Unix times, by size and by Date.
		{"Unix", "1795236485", anyReset, date, 5 * time.Second, true, true},
		{"Unix, the same second", "1795236480", anyReset, date, 0, true, true},
		{"Unix, passed", "1795236470", anyReset, date, -10 * time.Second, true, true},
		{"Unix, fraction", "1795236485.25", anyReset, date, 5250 * time.Millisecond, false, true},
		{"Unix milliseconds, fraction", "1795236485250.5", anyReset, date, 5250*time.Millisecond + 500*time.Microsecond, false, true},
		{"Unix, no Date", "1795236485", anyReset, "", 12 * time.Second, true, true},
		{"Unix, an invalid Date", "1795236485", anyReset, "yesterday", 12 * time.Second, true, true},
		{"a year ahead", "1826858880", anyReset, date, 366 * 24 * time.Hour, true, true},
		{"more than a year ahead: a delta", "1826858881", anyReset, date, 1826858881 * time.Second, false, true},
		{"a year ago", "1763614080", anyReset, date, -366 * 24 * time.Hour, true, true},
		{"more than a year ago: a delta", "1763614079", anyReset, date, 1763614079 * time.Second, false, true},
		{"Unix, the Date is wrong", "1795236485", anyReset, "Thu, 01 Jan 1970 00:00:00 GMT", 1795236485 * time.Second, false, true},
		{"a delta, the Date is wrong", "60", anyReset, "Thu, 01 Jan 1970 00:00:00 GMT", time.Minute, false, true},
		{"Unix ms", "1795236485250", anyReset, date, 5250 * time.Millisecond, false, true},
		{"Unix ms, whole", "1795236485000", anyReset, date, 5 * time.Second, false, true},
		{"Unix ms, far away: a delta", "1995236485000", anyReset, date, never, false, true},
		{"Unix by hand", "1763614079", unixSeconds, date, (1763614079 - unix) * time.Second, true, true},
		{"Unix by hand, small", "60", unixSeconds, date, (60 - unix) * time.Second, true, true},
		{"Unix by hand, beyond all years", "9223372036854775807", unixSeconds, date, never, true, true},
		{"Unix ms by hand", "1795236485250", unixMillis, date, 5250 * time.Millisecond, false, true},
		{"Unix ms by hand, beyond all years", "9223372036854775807", unixMillis, date, never, false, true},

		// Dates.
		{"IMF-fixdate", "Sat, 21 Nov 2026 04:48:19 GMT", anyReset, date, 19 * time.Second, true, true},
		{"rfc850-date", "Saturday, 21-Nov-26 04:48:19 GMT", anyReset, date, 19 * time.Second, true, true},
		{"asctime-date", "Sat Nov 21 04:48:19 2026", anyReset, date, 19 * time.Second, true, true},
		{"UTC", "Sat, 21 Nov 2026 04:48:19 UTC", anyReset, date, 19 * time.Second, true, true},
		{"UTC, as of RFC 850", "Saturday, 21-Nov-26 04:48:19 UTC", anyReset, date, 19 * time.Second, true, true},
		{"another zone by name", "Sat, 21 Nov 2026 04:48:19 CET", anyReset, date, 0, false, false},
		{"UTC after nothing", "soon UTC", anyReset, date, 0, false, false},
		{"an offset", "Sat, 21 Nov 2026 05:48:19 +0100", anyReset, date, 19 * time.Second, true, true},
		{"the Date ends in UTC", "1795236485", anyReset, "Sat, 21 Nov 2026 04:48:00 UTC", 5 * time.Second, true, true},
		{"RFC 3339", "2026-11-21T04:48:19Z", anyReset, date, 19 * time.Second, true, true},
		{"RFC 3339, offset", "2026-11-21T05:48:19+01:00", anyReset, date, 19 * time.Second, true, true},
		{"RFC 3339, fraction", "2026-11-21T04:48:19.5Z", anyReset, date, 19500 * time.Millisecond, false, true},
		{"without seconds", "2026-11-21T04:49Z", anyReset, date, time.Minute, true, true},
		{"offset without a colon", "2026-11-21T05:48:19+0100", anyReset, date, 19 * time.Second, true, true},
		{"Ruby", "2026-11-21 04:48:19 UTC", anyReset, date, 19 * time.Second, true, true},
		{"Ruby, offset", "2026-11-21 05:48:19 +0100", anyReset, date, 19 * time.Second, true, true},
		{".NET", "2026-11-21 04:48:19Z", anyReset, date, 19 * time.Second, true, true},
		{"Python", "2026-11-21 05:48:19.5+01:00", anyReset, date, 19500 * time.Millisecond, false, true},
		{"PostgreSQL", "2026-11-21 05:48:19+01", anyReset, date, 19 * time.Second, true, true},
		{"Go", "2026-11-21 05:48:19.5 +0100 CET m=+0.1", anyReset, date, 19500 * time.Millisecond, false, true},
		{"RFC 3339, UTC by name", "2026-11-21T04:48:19 UTC", anyReset, date, 19 * time.Second, true, true},
		{"RFC 3339, another name", "2026-11-21T04:48:19 CET", anyReset, date, 0, false, false},
		{"no zone, soon", "2026-11-21 04:48:19", anyReset, date, 19 * time.Second, true, true},
		{"no zone, Python", "2026-11-21T04:48:19.123456", anyReset, date, 19123456 * time.Microsecond, false, true},
		{"no zone, a second ago", "2026-11-21T04:47:59", anyReset, date, -time.Second, true, true},
		{"no zone, two seconds ago", "2026-11-21T04:47:58", anyReset, date, 0, false, false},
		{"no zone, 55 minutes", "2026-11-21T05:43:00", anyReset, date, 55 * time.Minute, true, true},
		{"no zone, or one hour to the east", "2026-11-21T05:43:01", anyReset, date, 0, false, false},
		{"no zone, another separator", "2026-11-21_04:48:19", anyReset, date, 0, false, false},
		{"no zone, without seconds", "2026-11-21T04:49", anyReset, date, 0, false, false},
		{"no zone, longer than any date", "2026-11-21T04:48:19." + strings.Repeat("0", 130), anyReset, date, 0, false, false},
		{"another separator", "2026-11-21_04:48:19Z", anyReset, date, 0, false, false},
		{"Unix", "Sat Nov 21 04:48:19 UTC 2026", anyReset, date, 19 * time.Second, true, true},
		{"Unix, another zone", "Sat Nov 21 04:48:19 CET 2026", anyReset, date, 0, false, false},
		{"a date alone", "2026-11-21", anyReset, date, 0, false, false},
		{"JavaScript", "Sat Nov 21 2026 05:48:19 GMT+0100 (Central European Standard Time)", anyReset, date, 19 * time.Second, true, true},
		{"JavaScript without the name", "Sat Nov 21 2026 04:48:19 GMT+0000", anyReset, date, 19 * time.Second, true, true},
		{"a date, whatever the kind", "2026-11-21T04:48:19Z", spanMillis, date, 19 * time.Second, true, true},
		{"a word", "soon", anyReset, date, 0, false, false},
		{"longer than any date", "2026-11-21T04:48:19." + strings.Repeat("0", 130) + "Z", anyReset, date, 0, false, false},

		// Durations of Go.
		{"1s", "1s", anyReset, date, time.Second, false, true},
		{"6m0s", "6m0s", anyReset, date, 6 * time.Minute, false, true},
		{"12ms", "12ms", anyReset, date, 12 * time.Millisecond, false, true},
		{"600s", "600s", spanMillis, date, 10 * time.Minute, false, true},
		{"a negative duration", "-1s", anyReset, date, 0, false, false},
		{"a signed duration", "+1s", anyReset, date, 0, false, false},
		{"too long a duration", "9999999h", anyReset, date, 0, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := clock{header: http.Header{}, now: now}
			if tt.date != "" {
				c.header.Set("Date", tt.date)
			}
			d, ok := readDelay(tt.value, tt.kind, &c)
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.want, d.d)
			assert.Equal(t, tt.coarse, d.coarse)
		})
	}
}

// An instant of whole seconds may have been rounded down. A time in the past is zero.
func TestDelayReset(t *testing.T) {
	tests := []struct {
		d    delay
		want time.Duration
	}{
		{delay{d: 5 * time.Second}, 5 * time.Second},
		{delay{d: 5 * time.Second, coarse: true}, 6 * time.Second},
		{delay{d: 0, coarse: true}, time.Second},
		{delay{d: -1, coarse: true}, 0},
		{delay{d: -time.Hour}, 0},
		{delay{d: math.MinInt64 + 1, coarse: true}, 0},
		{noDelay, None},
		{delay{d: math.MaxInt64, coarse: true}, math.MaxInt64},
		{delay{d: math.MaxInt64 - time.Second + 1, coarse: true}, math.MaxInt64},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.d.reset(), "%v", tt.d)
	}
}

func TestParseDecimal(t *testing.T) {
	tests := []struct {
		s    string
		want decimal
		ok   bool
	}{
		{"0", decimal{}, true},
		{"586.0", decimal{whole: 586, pointed: true}, true},
		{"-27689", decimal{whole: 27689, negative: true}, true},
		{"0.123456789987", decimal{fraction: 123456789, pointed: true}, true},
		{"9223372036854775808.5", decimal{whole: math.MaxInt64, fraction: 5e8, pointed: true}, true},
		{"--1", decimal{}, false},
		{"1.-1", decimal{}, false},
		{"1,5", decimal{}, false},
		{"", decimal{}, false},
		{"-", decimal{}, false},
		{".", decimal{}, false},
		{"٣", decimal{}, false},
	}
	for _, tt := range tests {
		d, ok := parseDecimal(tt.s)
		assert.Equal(t, tt.ok, ok, "%q", tt.s)
		assert.Equal(t, tt.want, d, "%q", tt.s)
	}
}

func TestDecimalTimes(t *testing.T) {
	tests := []struct {
		d    decimal
		unit time.Duration
		want time.Duration
	}{
		{decimal{whole: 1, fraction: 5e8}, time.Second, 1500 * time.Millisecond},
		{decimal{whole: 1, fraction: 5e8}, time.Millisecond, 1500 * time.Microsecond},
		{decimal{whole: 9223372036, fraction: 854775807}, time.Second, math.MaxInt64},
		{decimal{whole: 9223372036, fraction: 999999999}, time.Second, math.MaxInt64},
		{decimal{whole: 9223372036}, time.Second, 9223372036 * time.Second},
		{decimal{whole: 9223372037}, time.Second, math.MaxInt64},
		{decimal{whole: math.MaxInt64}, time.Millisecond, math.MaxInt64},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, tt.d.times(tt.unit), "%v", tt.d)
	}
}

// What imfFixdate reads is what http.ParseTime does: of dates, and of dates with one byte changed.
func TestIMFFixdate(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, seed))
	read := 0
	for i := range 20_000 {
		value := []byte(time.Unix(rnd.Int64N(latestUnix), 0).UTC().Format(http.TimeFormat))
		if i%2 == 1 {
			value[rnd.IntN(len(value))] = "0123456789 :,ADFGJMNSTabcdegmnoprtuy"[rnd.IntN(35)]
		}
		at, ok := imfFixdate(string(value))
		want, err := http.ParseTime(string(value))
		if ok {
			read++
			assert.NoError(t, err, "%s", value)
			assert.Equal(t, want, at, "%s", value)
		} else if err == nil && i%2 == 0 && want.Year() >= 100 {
			assert.Fail(t, "not read", "%s", value)
		}
	}
	assert.Greater(t, read, 10_000)
	for _, value := range []string{"", "Mon, 31 Apr 2026 10:00:00 GMT", "Mon, 29 Feb 2025 10:00:00 GMT", "Mon, 00 Jan 2026 10:00:00 GMT",
		"Mon, 01 Jan 2026 24:00:00 GMT", "Mon, 01 Jan 2026 10:60:00 GMT", "onT, 01 Jan 2026 10:00:00 GMT", "Mon, 01 anF 2026 10:00:00 GMT",
		"Mon, 01 Jan 2026 10:00:60 GMT", "Mon, 01 Jan 2026 10:00:00 UTC", "Monday, 01-Jan-26 10:00:00 GM"} {
		_, ok := imfFixdate(value)
		assert.False(t, ok, value)
	}
}

// A number is bare if nothing says what it means.
func TestBare(t *testing.T) {
	now := time.Date(2026, time.April, 23, 10, 0, 0, 0, time.UTC)
	const figures = "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 3|"
	for _, tt := range []struct {
		fields string
		bare   bool
		window time.Duration
	}{
		{figures + "X-RateLimit-Reset: 5000", true, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-Used: 7", true, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 20", true, 20 * time.Second},
		{"X-RateLimit-Remaining-A: 3|X-RateLimit-Reset-A: 5000", true, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 1776943400", false, 5001 * time.Second},
		{figures + "X-RateLimit-Reset: 5000s", false, 5000 * time.Second},
		{figures + "X-RateLimit-Reset-Seconds: 5000", false, 5000 * time.Second},
		{figures + "X-RateLimit-Reset-Ms: 5000", false, 5 * time.Second},
		{figures + "X-RateLimit-TTL: 60000", false, time.Minute},
		{figures + "X-RateLimit-TTL: 5000", true, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-Window: 7200", false, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-Policy: 10;w=7200", false, 5000 * time.Second},
		{"X-RateLimit-Limit-Day: 10|X-RateLimit-Remaining-Day: 3|X-RateLimit-Reset-Day: 5000", false, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-ResetDate: 2026-04-23T11:23:20Z", false, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-ResetDate: 2026-04-23T10:00:05Z", false, 5 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-ResetDate: 2026-04-23T10:30:00Z", true, 5000 * time.Second},
		{figures + "X-RateLimit-Reset: 5000|X-RateLimit-ResetTime: 5000", true, 5000 * time.Second},
		{"RateLimit-Limit: 10|RateLimit-Remaining: 3|RateLimit-Reset: 5000", false, 5000 * time.Second},
		{"RateLimit: limit=10, remaining=3, reset=5000", false, 5000 * time.Second},
		{`RateLimit: "a";a=3;w=5000`, false, 5000 * time.Second},
		{`X-RateLimit: {"limit":10,"remaining":3,"reset":60000}`, false, time.Minute},
		{`X-RateLimit: {"limit":10,"remaining":3,"reset":5000}`, true, 5000 * time.Second},
	} {
		h := http.Header{"Date": {now.Format(http.TimeFormat)}}
		for field := range strings.SplitSeq(tt.fields, "|") {
			name, value, _ := strings.Cut(field, ": ")
			h.Add(name, value)
		}
		got := new(Reader).Read("api.example", 200, h, now)
		if assert.Len(t, got.Limits, 1, tt.fields) {
			assert.Equal(t, tt.bare, got.Limits[0].Bare, tt.fields)
			assert.Equal(t, tt.window, got.Limits[0].Window, tt.fields)
		}
		for _, row := range []Vendor{{ResetIn: time.Second}, {ResetIn: time.Millisecond}, {ResetUnix: true}} {
			row.Name, row.Hosts = "a row", []string{"example"}
			r := Reader{Vendors: []Vendor{row}}
			for _, l := range r.Read("api.example", 200, h, now).Limits {
				assert.False(t, l.Bare && strings.Contains(tt.fields, "X-RateLimit-Reset: 5000"), "%s, %+v", tt.fields, row)
			}
		}
	}
}

// Of a policy that is told twice, the quota that is known counts, whichever comes first.
func TestMergeOfUnknownQuota(t *testing.T) {
	unknown, known := Policy{Quota: None, Unit: requests, Window: time.Minute}, Policy{Quota: 7, Unit: tokens}
	want := Policy{Quota: 7, Unit: tokens, Window: time.Minute}
	for _, both := range [][2]Policy{{unknown, known}, {known, unknown}} {
		both[0].merge(both[1])
		assert.Equal(t, want, both[0])
	}
}
