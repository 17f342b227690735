package inspect

import (
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/quota"
)

// duration says how long something takes, in two units at most.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second && d%time.Second != 0:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute-time.Second/2:
		return strconv.FormatInt(int64(d.Round(time.Second)/time.Second), 10) + " s"
	case d < time.Hour:
		return two(d.Round(time.Second), time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return two(d.Round(time.Minute), time.Hour, "h", time.Minute, "min")
	}
	return two(d.Round(time.Hour), 24*time.Hour, "d", time.Hour, "h")
}

func two(d, large time.Duration, name string, small time.Duration, smallName string) string {
	s := fmt.Sprintf("%d %s", d/large, name)
	if rest := d % large / small; rest > 0 {
		s += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return s
}

// number writes a number with a separator between thousands.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// count writes a number of things.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// amount writes a number of quota units.
func amount(n int64, unit string) string {
	switch {
	case unit == "" || unit == "requests" || unit == quota.UnitConcurrentRequests:
		return count(n, "request", "requests")
	case unit == quota.UnitContentBytes:
		return count(n, "byte", "bytes")
	case isOrdinary(unit):
		return count(n, strings.TrimSuffix(unit, "s"), unit)
	}
	return count(n, "unit", "units") // the server chooses the name
}

// terms writes the quota of a policy; "": it is not known.
func terms(p quota.Policy) string {
	if p.Quota < 0 {
		return ""
	}
	s := amount(p.Quota, p.Unit)
	if p.Unit == quota.UnitConcurrentRequests {
		s += " at a time"
	}
	if p.Window > 0 {
		s += " per " + duration(p.Window)
	}
	return s
}

// notSent says why a request was refused.
func notSent(r quota.Reason) string {
	switch r {
	case quota.ReasonMaxDelay:
		return "it would have to wait longer than Shaper.MaxDelay"
	case quota.ReasonDeadline:
		return "its deadline would pass while it waits"
	case quota.ReasonQueueFull:
		return "too many wait already (Shaper.MaxQueue)"
	}
	return r.String() + ", and it may not wait (Shaper.MaxDelay)"
}

// shownPolicy returns the name of a policy as it is if it consists of a few ordinary
// words, and otherwise a hash of it: the server chooses it, and may put a token or the
// identifier of a user into it.
func shownPolicy(name string) string {
	if isOrdinary(name) {
		return name
	}
	return fmt.Sprintf("#%08x", uint32(maphash.String(hashSeed, name)))
}

// hashSeed makes the hashes of names impossible to find by trying.
var hashSeed = maphash.MakeSeed()

// isOrdinary reports whether a name is short and its words are letters with at most four
// digits, with no capital letter after a small one or a digit: tokens are longer or mixed.
func isOrdinary(name string) bool {
	if len(name) > 40 {
		return false
	}
	letters, digits, mixed := 0, 0, false
	for i, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z':
			letters++
		case c >= 'A' && c <= 'Z':
			letters++
			mixed = mixed || i > 0 && (isDigit(name[i-1]) || digits > 0)
		case isDigit(c):
			digits++
		case strings.IndexByte(" -_.:/", c) >= 0:
			letters = 0
		default:
			return false
		}
		if letters > 20 || digits > 4 || mixed {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
