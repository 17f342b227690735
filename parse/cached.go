package parse

import (
	"net/http"
	"strconv"
	"strings"
)

// Cached reports whether a response says that it came from a cache. What such a
// response says about quota may not be current and is to be ignored (editor's
// draft, Section 8.4). Any one of these signs is enough:
//
//   - an Age above 0 (RFC 9111, Section 5.1). Of a list or of several field lines
//     the first value counts, as that section says. An Age that is not a number
//     is no sign.
//   - a Cache-Status with a member that has the parameter hit (RFC 9211,
//     Section 2.1), whichever cache it stands for. A Cache-Status that is not a
//     List, or is longer than the default Caps.FieldBytes, is no sign.
//   - X-From-Cache with a value that [strconv.ParseBool] reads as true: cache
//     transports written in Go mark stored responses with "1".
//   - X-Cache-Status or X-Proxy-Cache with HIT, STALE or UPDATING, in capitals: the usual names of nginx's
//     upstream_cache_status, which sends no Age. Kong says Hit, and adds fields that are current.
//
// A 304 (Not Modified) without these signs comes from the origin, and what it says of
// quota is current. A cache transport that combines the stored response with the fields
// of the 304 marks the result; it counts as stored, since the origin of each field is
// unknown.
//
// A Date in the past is no sign, although RFC 9111, Section 4.2.3, computes the age of
// a response from it: clocks are wrong more often than caches are silent.
func Cached(h http.Header) bool {
	return hasAge(h["Age"]) || hasHit(h["Cache-Status"]) || isMarked(h["X-From-Cache"]) ||
		isStored(h["X-Cache-Status"]) || isStored(h["X-Proxy-Cache"])
}

// hasAge reports whether Age is above 0.
func hasAge(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	first, _, _ := strings.Cut(lines[0], ",")
	age, _ := deltaSeconds(strings.Trim(first, " \t"))
	return age > 0
}

// hasHit reports whether Cache-Status says that a cache had a hit.
func hasHit(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	r := readList("Cache-Status", lines, Caps{Items: -1})
	for r.item = 0; r.item < r.len(); r.item++ {
		if item, ok := r.current(); ok {
			if hit, _ := item.Params.Get("hit"); hit == true {
				return true
			}
		}
	}
	return false
}

// isMarked reports whether X-From-Cache marks the response as stored.
func isMarked(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	marked, _ := strconv.ParseBool(lines[0])
	return marked
}

// isStored reports whether nginx says that it had the response.
func isStored(lines []string) bool {
	return len(lines) == 1 && (lines[0] == "HIT" || lines[0] == "STALE" || lines[0] == "UPDATING")
}
