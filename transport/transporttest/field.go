package transporttest

import (
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headway-go/headway/parse"
)

// maxInteger is the largest Integer of a structured field (RFC 9651, Section 3.3.1).
// Larger values are advertised as maxInteger.
const maxInteger = 999_999_999_999_999

// dialect returns Dialect, or its default.
func (a *API) dialect() parse.Dialect { return max(a.Dialect, parse.EditorsDraft) }

// advertise sets the fields that advertise the quota of a request's claims.
func (a *API) advertise(h http.Header, now time.Time, claims []claim, cost int64) {
	if a.dialect() >= parse.Draft07 {
		a.advertiseUnnamed(h, now, claims)
		return
	}
	var limits, policies, partitions httpsfv.List
	for _, c := range claims {
		limits = append(limits, a.limitItem(c, cost))
		policies = append(policies, a.policyItem(c))
		if len(c.dimensions) > 0 {
			partitions = append(partitions, partitionItem(c.rule))
		}
	}
	if !a.OmitLimits {
		setList(h, "RateLimit", limits)
	}
	if !a.OmitPolicies {
		setList(h, "RateLimit-Policy", policies)
	}
	if a.dialect() == parse.EditorsDraft && !(a.OmitLimits && a.OmitPolicies) {
		setList(h, "RateLimit-Partition", partitions)
	}
}

// limitItem returns a Service Limit Item (Section 3.1; -09, Section 4.1).
func (a *API) limitItem(c claim, cost int64) httpsfv.Item {
	available, window := "a", "w"
	if a.Dialect == parse.Draft08 {
		available, window = "r", "t"
	}
	item := httpsfv.NewItem(c.Name)
	item.Params.Add(available, min(c.available, maxInteger))
	if c.windowed {
		item.Params.Add(window, wholeSeconds(c.window, a.Rounding))
	}
	if c.keyed {
		item.Params.Add("pk", []byte(c.key))
	}
	if a.Cost != nil && a.dialect() == parse.EditorsDraft {
		item.Params.Add("c", min(cost, maxInteger))
	}
	return item
}

// policyItem returns a Quota Policy Item (Section 2.1; -09, Section 3.1). It rounds a
// fractional window up to whole seconds (Section 2.1.3), so that a client that relies
// on it does not exceed the quota.
func (a *API) policyItem(c claim) httpsfv.Item {
	item := httpsfv.NewItem(c.Name)
	item.Params.Add("q", min(max(c.Quota, 0), maxInteger))
	if c.Algorithm == Concurrency {
		item.Params.Add("qu", "concurrent-requests")
	} else if c.Window > 0 {
		item.Params.Add("w", wholeSeconds(c.Window, math.Ceil))
	}
	if c.keyed && a.OmitLimits {
		item.Params.Add("pk", []byte(c.key))
	}
	return item
}

// partitionItem returns a Partition Dimension Item (Section 4.1).
func partitionItem(r *rule) httpsfv.Item {
	item := httpsfv.NewItem(r.Name)
	for _, d := range r.dimensions {
		item.Params.Add(d.name, d.declared)
	}
	return item
}

// setList sets a field to a List, unless the List is empty.
func setList(h http.Header, name string, list httpsfv.List) {
	if len(list) == 0 {
		return
	}
	value, err := httpsfv.Marshal(list)
	if err != nil { // cannot happen: newRule and maxInteger allow only valid values
		panic(fmt.Sprintf("transporttest: writing %s: %v", name, err))
	}
	h.Set(name, value)
}
