package parse

import (
	"iter"
	"strconv"
	"strings"
	"time"
)

// span returns the length of a time by its name, or by that of a rate: "rpm" is requests per
// minute; the longest, if it varies. It returns 0 for other words.
func span(word string) time.Duration {
	const day = 24 * time.Hour
	switch strings.TrimPrefix(word, "per") {
	case "second", "seconds", "sec", "secs", "secondly", "rps", "qps", "tps":
		return time.Second
	case "minute", "minutes", "min", "mins", "minutely", "rpm", "qpm", "tpm":
		return time.Minute
	case "hour", "hours", "hr", "hrs", "hourly", "rph", "qph", "tph":
		return time.Hour
	case "day", "days", "daily", "rpd", "qpd", "tpd":
		return day
	case "week", "weeks", "weekly":
		return 7 * day
	case "month", "months", "monthly":
		return 31 * day
	case "year", "years", "yearly":
		return 366 * day
	}
	return 0
}

// spanOf returns the length of a time: a number of seconds, a duration as Go prints it or as ISO 8601 has
// it, a word, or a number of words or of days, such as "24hour" and "1d". It returns 0 for anything else.
func spanOf(text string) time.Duration {
	text = strings.ToLower(text)
	if d := span(text); d > 0 {
		return d
	}
	if n, ok := parseDecimal(text); ok && !n.negative {
		return n.times(time.Second)
	}
	if rest, ok := strings.CutPrefix(text, "p"); ok {
		return isoSpan(rest)
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		return 0
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	end := strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' })
	if end < 0 {
		return 0
	}
	unit := strings.TrimSpace(text[end:])
	switch unit {
	case "ms", "s", "m", "h":
		d, _ := time.ParseDuration(text[:end] + unit) // "45 s"
		return d
	case "d":
		unit = "day"
	}
	n, err := strconv.ParseInt(text[:end], 10, 32)
	if one := span(unit); err == nil && one > 0 && n > 0 && n <= int64(maxSpan/one) {
		return time.Duration(n) * one
	}
	return 0
}

// isoSpan returns the length of a duration of ISO 8601 without its P, in lower case: "t1m30s", "1dt12h". It
// returns 0 for any other text, and for weeks, months and years.
func isoSpan(text string) time.Duration {
	days, rest, _ := strings.Cut(text, "t")
	d, err := time.Duration(0), error(nil)
	if rest != "" {
		if d, err = time.ParseDuration(rest); err != nil || strings.Trim(rest, "0123456789.hms") != "" {
			return 0
		}
	}
	if days == "" {
		return d
	}
	n, isDays := strings.CutSuffix(days, "d")
	count, err := strconv.ParseUint(n, 10, 16)
	if !isDays || err != nil || count > uint64(maxSpan/(24*time.Hour)) {
		return 0
	}
	return plus(time.Duration(count)*24*time.Hour, d)
}

// maxSpan is the longest time that a name can say.
const maxSpan = 100 * 366 * 24 * time.Hour

// spanAtEnd returns the time that the name of an account ends in, or 0. The quota of audio-seconds is
// one of seconds, that of requests-minutes one of requests.
func spanAtEnd(account string) time.Duration {
	last := account[strings.LastIndexAny(account, "-_. ")+1:]
	if digits(last) {
		return 0
	}
	one := span(last)
	if one == 0 {
		if rest := strings.TrimLeft(last, "abcdefghijklmnopqrstuvwxyz"); isRequests(last[:len(last)-len(rest)]) && !digits(rest) {
			return spanOf(rest) // "req10s"
		}
		return spanOf(last)
	}
	before := strings.TrimRight(account[:len(account)-len(last)], "-_. ")
	count := before[strings.LastIndexAny(before, "-_. ")+1:]
	if n, err := strconv.ParseInt(count, 10, 32); err == nil && n > 0 && n <= int64(maxSpan/one) {
		return time.Duration(n) * one // "15-min"
	}
	of := before != "" && count != "per" && count != tokens && !isRequests(count)
	if of && strings.HasSuffix(last, "s") && span(strings.TrimSuffix(last, "s")) == one {
		return 0
	}
	return one
}

// countsTime reports whether the name of an account ends in a time that is what its quota counts:
// audio-seconds.
func countsTime(account string) bool {
	last := account[strings.LastIndexAny(account, "-_. ")+1:]
	return last != account && span(last) > 0 && spanAtEnd(account) == 0
}

// spanInSeconds returns the time that the name of an account is in seconds, or 0: X-RateLimit-Limit-30 of
// Kong. Other numbers than usual ones may be of something else.
func spanInSeconds(account string) time.Duration {
	if !digits(account) || len(account) > 8 {
		return 0
	}
	n, _ := parseDecimal(account)
	if n.whole < 10 || n.whole%60 != 0 && (n.whole > 60 || n.whole%10 != 0) {
		return 0
	}
	return n.times(time.Second)
}

// spanAtStart returns the time that the name of an account begins with, or 0: minute-openai of Kong.
func spanAtStart(account string) time.Duration {
	switch first, _, more := strings.Cut(account, "-"); {
	case !more:
		return 0
	case first == "second", first == "minute", first == "hour", first == "day", first == "week", first == "month":
		return span(first)
	}
	return 0
}

// wordsOf returns the words of the name of an account.
func wordsOf(account string) iter.Seq[string] {
	return strings.FieldsFuncSeq(account, func(c rune) bool { return strings.ContainsRune("-_. ", c) })
}

// withoutSpan returns the name of an account without the time that it ends in.
func withoutSpan(account string) string {
	if span(account) > 0 {
		return ""
	}
	if i := strings.LastIndexAny(account, "-_. "); i > 0 && spanAtEnd(account) > 0 {
		return account[:i]
	}
	return account
}
