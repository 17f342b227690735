package transporttest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// advertiseUnnamed is advertise in the dialects that have one service limit and no
// names. A limit without a window is reset now: they cannot say anything else.
func (a *API) advertiseUnnamed(h http.Header, now time.Time, claims []claim) {
	claims = slices.DeleteFunc(slices.Clone(claims), func(c claim) bool { return c.Algorithm == Concurrency })
	if len(claims) == 0 {
		return
	}
	if a.Advertise == AdvertiseAll || a.Advertise == AdvertiseLimits {
		a.setLimit(h, now, slices.MinFunc(claims, func(x, y claim) int {
			return int(min(max(x.available-y.available, -1), 1))
		}))
	}
	if (a.Advertise == AdvertiseAll || a.Advertise == AdvertisePolicies) && a.Dialect != XRateLimit {
		h.Set("RateLimit-Policy", policyList(claims))
	}
}

// setLimit sets the fields that say what a claim has left.
func (a *API) setLimit(h http.Header, now time.Time, c claim) {
	limit := strconv.FormatInt(min(max(c.Quota, 0), maxInteger), 10)
	remaining := strconv.FormatInt(min(c.available, maxInteger), 10)
	seconds := a.Rounding.seconds(c.window)
	reset := strconv.FormatInt(seconds, 10)
	switch a.Dialect {
	case Draft07:
		h.Set("RateLimit", "limit="+limit+", remaining="+remaining+", reset="+reset)
	case Draft06:
		h.Set("RateLimit-Limit", limit)
		h.Set("RateLimit-Remaining", remaining)
		h.Set("RateLimit-Reset", reset)
	case XRateLimit:
		h.Set("X-RateLimit-Limit", limit)
		h.Set("X-RateLimit-Remaining", remaining)
		at := now.Add(c.window)
		unix := at.Unix() + a.Rounding.seconds(time.Duration(at.Nanosecond()))
		h.Set("X-RateLimit-Reset", strconv.FormatInt(unix, 10))
	}
}

// policyList writes RateLimit-Policy as drafts -03 to -07 do.
func policyList(claims []claim) string {
	items := make([]string, len(claims))
	for i, c := range claims {
		items[i] = strconv.FormatInt(min(max(c.Quota, 0), maxInteger), 10)
		if c.Window > 0 {
			items[i] += ";w=" + strconv.FormatInt(RoundUp.seconds(c.Window), 10)
		}
	}
	return strings.Join(items, ", ")
}
