package parse

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// resetKind says what a number means in a field that says when a quota resets: what
// Vendor.ResetIn and ResetUnix say.
type resetKind uint8

const (
	anyReset   resetKind = iota // decided by size
	anyOrNanos                  // decided by size, which may be that of nanoseconds
	spanSeconds
	spanMillis
	spanNanos
	spanMinutes
	spanHours
	unixSeconds
	unixMillis
	unixMicros
	unixNanos
	sharedSeconds // seconds, but for a Unix time near the Date
	sharedMillis  // milliseconds, but for such a time
)

// kindOf returns the kind of a number with a unit; 0: not given.
func kindOf(unit time.Duration, unix bool) resetKind {
	millis := unit > 0 && unit < time.Second
	switch {
	case unix && millis:
		return unixMillis
	case unix:
		return unixSeconds
	case millis:
		return spanMillis
	case unit > 0:
		return spanSeconds
	}
	return anyReset
}

// A number is a Unix time from leastUnix on, within nearby seconds of the response's
// Date. A delay of leastUnix seconds would be 15 years.
const (
	leastUnix = 500_000_000
	nearby    = int64(366 * 24 * time.Hour / time.Second)
)

// A number from leastNanos on and before mostNanos is neither a Unix time, in seconds (that were after the year 2096)
// or in milliseconds (before 2001), nor a delay of seconds. It is the Duration of a Go or Java program: of 4 to 1000
// seconds, in nanoseconds.
const (
	lastDay    = 2_932_896 // of the year 9999, in days: never
	leastNanos = 4_000_000_000
	mostNanos  = 1_000_000_000_000
)

// nearbyMillis are the seconds within which a number is a Unix time that would else be
// milliseconds. As seconds it is near the Date, and as milliseconds about 20 days.
const nearbyMillis = int64(24 * time.Hour / time.Second)

// latestUnix is the last second of the year 9999. A later time is read as the longest
// Duration.
const latestUnix = 253_402_300_799

// maxTimeBytes is the longest text that is parsed as a date. The longest known form, of
// JavaScript, has 71 bytes.
const maxTimeBytes = 128

// A clock knows when a response was made. It parses Date on first use: most responses
// do not need it.
type clock struct {
	header http.Header
	now    time.Time
	last   *atomic.Pointer[dateMemo] // nil: no Date is remembered
	date   time.Time                 // valid if known
	known  bool
	dated  bool // date is the Date of the response
}

// made returns when the response was made: its Date (RFC 9110, Section 6.6.1), or now if it
// has no valid Date.
func (c *clock) made() time.Time {
	if !c.known {
		if dates := c.header["Date"]; len(dates) > 0 {
			c.read(dates[0])
		}
		if c.known = true; !c.dated {
			if c.date = c.now; c.now.IsZero() {
				c.date = time.Now()
			}
		}
	}
	return c.date
}

// read reads a Date.
func (c *clock) read(text string) {
	if c.last != nil {
		if m := c.last.Load(); m != nil && m.text == text {
			c.date, c.dated = m.time, true
			return
		}
	}
	date, ok := httpDate(trim(text))
	if !ok {
		return
	}
	if c.date, c.dated = date, true; c.last != nil && len(text) <= maxTimeBytes {
		c.last.Store(&dateMemo{strings.Clone(text), date})
	}
}

// A delay is the time from the Date of a response to an instant.
type delay struct {
	d time.Duration // negative for a time in the past

	// coarse reports whether the instant was given in whole seconds. It may stand
	// for any instant of that second.
	coarse bool

	at   time.Time // the instant, in UTC, if it was given as one
	span bool      // it was given as a duration, such as "6m0s"
	bare bool      // it was given as a number without any unit
}

// noDelay is the delay of a missing or malformed value. Read-only.
var noDelay = delay{d: math.MinInt64}

// readDelay reads a delay in any form that servers use: a number, whose meaning depends
// on kind; an HTTP-date, also with UTC or an offset in place of GMT; RFC 3339, also
// without seconds, with a space in place of T, or with slashes in the date; a duration or a date as Go and
// JavaScript print it; a duration such as 00:01:30, "13 seconds" or PT13S; a Unix time as a float, such as
// 1.776938445e+09. It may have quotation marks, and a date the name of its zone in brackets, as in Java.
func readDelay(value string, kind resetKind, c *clock) (delay, bool) {
	value = strings.TrimPrefix(trim(value), "in ") // "in 45 seconds"
	if n, ok := parseDecimal(value); ok {
		if n.negative && !n.zero() {
			return delay{}, false
		}
		return n.delay(kind, c), true
	}
	if len(value) == 0 || len(value) > maxTimeBytes {
		return delay{}, false
	}
	if inner, ok := strings.CutPrefix(value, `"`); ok {
		if inner, ok = strings.CutSuffix(inner, `"`); ok {
			return readDelay(inner, kind, c)
		}
		return delay{}, false
	}
	if n, ok := parseFloat(value); ok {
		return n.delay(kind, c), true
	}
	if value[len(value)-1] == ']' {
		value, _, _ = strings.Cut(value, "[")
		if value == "" {
			return delay{}, false
		}
	}
	if at, ok := parseTime(value); ok {
		return delayUntil(at, at.Nanosecond() == 0, c), true
	}
	if d, ok := soon(value, c); ok {
		return d, true
	}
	if value[0] != 'P' && (value[0] < '0' || value[0] > '9') {
		return delay{}, false // ParseDuration accepts signs and a leading point
	}
	if d, err := time.ParseDuration(value); err == nil {
		return delay{d: d, span: true}, true
	}
	if d, ok := clockSpan(value); ok {
		return delay{d: d, span: true}, true
	}
	if unit, ok := strings.CutPrefix(value, "0 "); ok && span(strings.ToLower(trim(unit))) > 0 {
		return delay{span: true}, true // "0 seconds"
	}
	d := spanOf(value)
	return delay{d: d, span: true}, d > 0
}

// soon reads an instant without a zone, such as "2026-04-23T10:00:45.123456" (Python, .NET), as UTC, if it
// is less than an hour after the Date of the response, but for some minutes: in a zone to the east it would
// have passed, and in one to the west it would be hours away.
func soon(value string, c *clock) (d delay, ok bool) {
	if len(value) < len("2006-01-02T15:04:05") || value[4] != '-' {
		return delay{}, false
	}
	at, err := time.Parse("2006-01-02T15:04:05", value[:10]+"T"+value[11:])
	if err != nil || value[10] != 'T' && value[10] != ' ' {
		return delay{}, false
	}
	if d = delayUntil(at, at.Nanosecond() == 0, c); d.d <= -2*time.Second || d.d > 55*time.Minute {
		return delay{}, false
	}
	return d, true
}

// clockSpan reads a duration as a clock shows it, in minutes and seconds: 00:01:30, or 0:01:30 in
// Python; after a number of days also with hours: 1.02:00:00 (.NET). Without one it may be a time of day.
func clockSpan(value string) (time.Duration, bool) {
	if days, clock, ok := strings.Cut(value, "."); ok && strings.Count(clock, ":") == 2 {
		n, err := strconv.ParseUint(days, 10, 16)
		at, errClock := time.Parse("15:04:05", clock)
		if err != nil || errClock != nil || n > uint64(maxSpan/(24*time.Hour)) {
			return 0, false
		}
		return plus(time.Duration(n)*24*time.Hour, at.Sub(at.Truncate(24*time.Hour))), true
	}
	rest, ok := strings.CutPrefix(strings.TrimPrefix(value, "0"), "0:")
	if !ok {
		rest, ok = strings.CutPrefix(value, "0:")
	}
	minutes, secs, more := strings.Cut(rest, ":")
	if !ok || !more || len(minutes) != 2 || len(secs) < 2 {
		return 0, false
	}
	m, okMinutes := parseDecimal(minutes)
	s, okSeconds := parseDecimal(secs)
	if !okMinutes || !okSeconds || m.negative || s.negative || m.pointed || m.whole > 59 || s.whole > 59 {
		return 0, false
	}
	s.whole += m.whole * 60
	return s.times(time.Second), true
}

// secondsOrMillis returns the meaning of a time that is usually one of few values, and was
// taken for seconds: milliseconds, if it is whole seconds so, but for 5, 10 or 15 hours and
// for whole days of up to a year.
func secondsOrMillis(d time.Duration) time.Duration {
	const day = 24 * time.Hour
	switch {
	case d < 1000*time.Second, d%(1000*time.Second) != 0,
		d%time.Hour == 0 && d < 60_000*time.Second, d%day == 0 && d <= 366*day:
		return d
	}
	return d / 1000
}

// orMillis applies secondsOrMillis to a delay of seconds. As many as 10,000 may just be left.
func (d *delay) orMillis() {
	if likely := secondsOrMillis(d.d); likely != d.d && d.d >= 10_000*time.Second {
		d.d, d.bare = likely, false
	}
}

// delayUntil returns the time from the Date of the response to an instant.
func delayUntil(at time.Time, coarse bool, c *clock) (r delay) {
	r.d, r.coarse, r.at = max(at.Sub(c.made()), noDelay.d+1), coarse, at.UTC()
	return r
}

// delay returns the meaning of a number that is not negative.
func (n decimal) delay(kind resetKind, c *clock) (r delay) {
	mayBeNanos := kind == anyOrNanos && n.whole >= leastNanos && n.whole < mostNanos && n.whole/86400 != lastDay
	bare := kind == anyReset || kind == anyOrNanos
	switch kind {
	case anyReset, anyOrNanos, sharedSeconds:
		kind = n.kind(spanSeconds, nearby, c)
		if mayBeNanos {
			kind = spanNanos
		}
	case sharedMillis:
		kind = n.kind(spanMillis, nearbyMillis, c)
	case spanMinutes, spanHours:
		kind = n.kind(kind, nearby, c)
	}
	switch kind {
	case spanMillis:
		r.d = n.times(time.Millisecond)
	case spanNanos:
		r.d = time.Duration(n.whole)
	case spanMinutes:
		r.d = n.times(time.Minute)
	case spanHours:
		r.d = n.times(time.Hour)
	case unixSeconds:
		return unixDelay(n.whole, n.fraction, n.fraction == 0, c)
	case unixMillis:
		return unixDelay(n.whole/1000, n.whole%1000*1e6+n.fraction/1000, false, c)
	case unixMicros:
		return unixDelay(n.whole/1e6, n.whole%1e6*1e3, false, c)
	case unixNanos:
		return unixDelay(n.whole/1e9, n.whole%1e9, false, c)
	default:
		r.d, r.bare = n.times(time.Second), bare
	}
	return r
}

// kind decides the meaning of a number by its size and the Date of the response: span, or a
// Unix time. As seconds, that must lie within some seconds of the Date.
func (n decimal) kind(span resetKind, within int64, c *clock) resetKind {
	if n.whole < leastUnix {
		return span
	}
	made := c.made().Unix()
	near := func(t, within int64) bool { return t >= made-within && t <= made+within }
	switch {
	case near(n.whole, within):
		return unixSeconds
	case n.whole < 1000*leastUnix:
		return span
	case near(n.whole/1e3, nearby):
		return unixMillis
	case near(n.whole/1e6, nearby):
		return unixMicros
	case near(n.whole/1e9, nearby):
		return unixNanos
	}
	return span
}

// unixDelay returns the time from the Date of the response to a Unix time.
func unixDelay(unix, nanos int64, coarse bool, c *clock) delay {
	if unix > latestUnix {
		return delay{d: math.MaxInt64, coarse: coarse}
	}
	return delayUntil(time.Unix(unix, nanos), coarse, c)
}

// reset returns the delay as the time until a reset, or None for noDelay. A past reset
// is 0. An instant of whole seconds is taken as the end of that second: servers that round down, such as
// go-httprate, ulule/limiter and HAProxy, refuse at the instant that they announce.
func (d delay) reset() time.Duration {
	switch {
	case d.d == noDelay.d:
		return None
	case d.d < 0:
		return 0
	case d.coarse:
		return plus(d.d, time.Second)
	}
	return d.d
}

// parseTime parses an instant that is not a number.
func parseTime(value string) (time.Time, bool) {
	if value[0] >= '0' && value[0] <= '9' {
		return isoDate(value)
	}
	if at, ok := httpDate(value); ok {
		return at, true
	}
	if at, err := time.Parse(time.RFC1123Z, value); err == nil {
		return at, true
	}
	if strings.Contains(value, " UTC ") || strings.Contains(value, " GMT ") {
		at, err := time.Parse(time.UnixDate, value)
		return at, err == nil
	}
	if strings.HasSuffix(value, "M GMT") || strings.HasSuffix(value, "M UTC") {
		at, err := time.Parse("Monday, January 2, 2006 3:04:05 PM MST", value)
		return at, err == nil
	}
	value, _, _ = strings.Cut(value, " (") // the name of a time zone, in JavaScript
	at, err := time.Parse("Mon Jan _2 2006 15:04:05 GMT-0700", value)
	return at, err == nil
}

// httpDate parses an HTTP-date (RFC 9110, Section 5.6.7) in any of its three forms, also
// with UTC in place of GMT, which the layouts of package time write.
// The second of a leap second is 60; it is the same instant as the next second.
func httpDate(value string) (time.Time, bool) {
	if at, ok := imfFixdate(value); ok {
		return at, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return at, true
	}
	if before, after, ok := strings.Cut(value, "59:60"); ok {
		at, ok := httpDate(before + "59:59" + after)
		return at.Add(time.Second), ok
	}
	if !strings.HasSuffix(value, " UTC") {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC1123, value)
	return at, err == nil
}

// imfFixdate is http.ParseTime of the form that nearly all servers send, such as
// "Mon, 02 Jan 2006 15:04:05 GMT". It returns false for all else, and for some valid dates.
func imfFixdate(value string) (at time.Time, ok bool) {
	if len(value) != len(http.TimeFormat) || value[3:5] != ", " || value[7] != ' ' || value[11] != ' ' ||
		value[16] != ' ' || value[19] != ':' || value[22] != ':' || value[25:] != " GMT" {
		return time.Time{}, false
	}
	weekday := strings.Index("MonTueWedThuFriSatSun", value[:3])
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", value[8:11])
	day, hour, minute, second := twoDigits(value[5:]), twoDigits(value[17:]), twoDigits(value[20:]), twoDigits(value[23:])
	century, year := twoDigits(value[12:]), twoDigits(value[14:])
	if weekday%3 != 0 || month%3 != 0 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
		second < 0 || second > 59 || century < 1 || year < 0 {
		return time.Time{}, false
	}
	at = time.Date(100*century+year, time.Month(month/3+1), day, hour, minute, second, 0, time.UTC)
	return at, at.Day() == day // else the month has no such day
}

// twoDigits returns the number of the first two bytes; negative: they are no digits.
func twoDigits(text string) int {
	tens, ones := text[0]-'0', text[1]-'0'
	if tens > 9 || ones > 9 {
		return -1
	}
	return 10*int(tens) + int(ones)
}

// isoDate parses RFC 3339 and forms that are close to it: with a space in place of T, or
// before the zone, which may be UTC or GMT, too, and may have a name behind it; or with slashes in the date.
func isoDate(value string) (time.Time, bool) {
	if len(value) < len("2006-01-02T15:04Z") || value[4] != '-' && value[4] != '/' {
		return time.Time{}, false
	}
	if value[4] == '/' && value[7] == '/' {
		value = value[:4] + "-" + value[5:7] + "-" + value[8:]
	}
	if value[10] == ' ' {
		value = value[:10] + "T" + value[11:]
	}
	date, zone, _ := strings.Cut(value, " ")
	if zone, _, _ = strings.Cut(zone, " "); zone == "UTC" || zone == "GMT" {
		zone = "Z"
	}
	for _, layout := range [...]string{
		time.RFC3339,
		"2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05Z0700",
		"2006-01-02T15:04:05Z07",
	} {
		if at, err := time.Parse(layout, date+zone); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// trim removes the whitespace around a field value (RFC 9110, Section 5.5).
func trim(value string) string { return strings.Trim(value, " \t") }
