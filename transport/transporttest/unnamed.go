package transporttest

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
)

// advertiseUnnamed is advertise for the dialects that have a single service limit
// without a name. They require a reset: a limit without a window resets now.
func (a *API) advertiseUnnamed(h http.Header, now time.Time, claims []claim) {
	claims = slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.Algorithm == Concurrency })
	if len(claims) == 0 {
		return
	}
	if !a.OmitLimits {
		a.setLimit(h, now, slices.MinFunc(claims, func(x, y claim) int {
			return int(min(max(x.available-y.available, -1), 1))
		}))
	}
	if !a.OmitPolicies && a.Dialect != parse.VendorFields {
		h.Set("RateLimit-Policy", policyList(claims))
	}
}

// setLimit sets the fields that advertise the service limit of a claim.
func (a *API) setLimit(h http.Header, now time.Time, c claim) {
	limit := strconv.FormatInt(min(max(c.Quota, 0), maxInteger), 10)
	remaining := strconv.FormatInt(min(c.available, maxInteger), 10)
	reset := strconv.FormatInt(wholeSeconds(c.window, a.Rounding), 10)
	switch a.Dialect {
	case parse.Draft07:
		h.Set("RateLimit", "limit="+limit+", remaining="+remaining+", reset="+reset)
	case parse.Draft06:
		h.Set("RateLimit-Limit", limit)
		h.Set("RateLimit-Remaining", remaining)
		h.Set("RateLimit-Reset", reset)
	case parse.VendorFields:
		h.Set("X-RateLimit-Limit", limit)
		h.Set("X-RateLimit-Remaining", remaining)
		at := now.Add(c.window)
		unix := at.Unix() + wholeSeconds(time.Duration(at.Nanosecond()), a.Rounding)
		h.Set("X-RateLimit-Reset", strconv.FormatInt(unix, 10))
	}
}

// policyList returns RateLimit-Policy in the form of drafts -03 to -07.
func policyList(claims []claim) string {
	items := make([]string, len(claims))
	for i, c := range claims {
		items[i] = strconv.FormatInt(min(max(c.Quota, 0), maxInteger), 10)
		if c.Window > 0 {
			items[i] += ";w=" + strconv.FormatInt(wholeSeconds(c.Window, math.Ceil), 10)
		}
	}
	return strings.Join(items, ", ")
}
