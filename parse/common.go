package parse

import (
	"sync/atomic"
	"time"
)

// The fields in common use that most responses with any of those have.
const (
	commonLimit = iota
	commonRemaining
	commonReset
	commonFields
)

// commonNames are their names. Read-only.
var commonNames = [commonFields]string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

// maxCommon is the length of the longest number that common reads.
const maxCommon = 15

// readsCommon reports whether the last row is the only one of all hosts that reads these names.
func (t *table) readsCommon() bool {
	seen := sightings(0)
	for _, of := range t.index.ofCommons {
		seen |= of
	}
	for i := range t.rows[:len(t.rows)-1] {
		if len(t.rows[i].Hosts) == 0 && t.bits[i]&seen != 0 {
			return false
		}
	}
	return true
}

// common reads X-RateLimit-Limit, -Remaining and -Reset where each is one line of digits and no
// other field of the table is there. It returns false for every other response, and where
// anything in it is to be ignored: the row says the same of all of them, and takes three times as
// long. TestCommon checks that both read the same.
func (x *exchange) common() bool {
	if x.fields != commonFields || x.host != nil || !x.table.common {
		return false
	}
	var n [commonFields]int64
	most := min(maxCommon, x.caps.fieldBytes())
	for i, lines := range x.commons {
		if len(lines) != 1 || len(lines[0]) > most {
			return false
		}
		value, ok := number64(lines[0])
		if !ok {
			return false
		}
		n[i] = value
	}
	limit, remaining := n[commonLimit], n[commonRemaining]
	reset := decimal{whole: n[commonReset]}.delay(anyReset, &x.made)
	if limit == 0 || limit > x.caps.quota() || remaining > x.caps.quota() || reset.reset() > x.caps.window() {
		return false
	}
	x.out.Dialect, x.out.Vendor = VendorFields, x.table.rows[len(x.table.rows)-1].Name
	x.out.Policies = x.memo.common.policies(limit)
	x.out.Limits = append(x.room, Limit{}) // filled in place: a literal would be copied
	l := &x.out.Limits[0]
	l.Available, l.Window, l.Cost = remaining, reset.reset(), None
	l.Resets, l.Bare = reset.at, reset.bare
	return true
}

// number64 returns the value of up to maxCommon digits; ok is false if there is anything else.
func number64(text string) (n int64, ok bool) {
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = 10*n + int64(digit)
	}
	return n, text != ""
}

// A commonMemo keeps the policies of the last limit.
type commonMemo struct{ last atomic.Pointer[[]Policy] }

// policies returns the policy without a name, with a quota in requests.
func (m *commonMemo) policies(quota int64) []Policy {
	if p := m.last.Load(); p != nil && (*p)[0].Quota == quota {
		return *p
	}
	policies := []Policy{{Quota: quota, Unit: requests, Window: time.Duration(0)}}
	m.last.Store(&policies)
	return policies
}
