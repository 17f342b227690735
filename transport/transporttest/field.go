package transporttest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/dunglas/httpsfv"
)

// A Dialect is a form of the fields that advertise quota.
type Dialect int

const (
	// EditorsDraft is the form of the editor's draft of April 2026:
	//
	//	RateLimit: "api";a=99;w=60;pk=:R0VUH2FsaWNl:
	//	RateLimit-Policy: "api";q=100;w=60
	//	RateLimit-Partition: "api";user_id;method
	EditorsDraft Dialect = iota

	// Draft09 is the form of draft -09, which -08, -10 and -11 share:
	//
	//	RateLimit: "api";r=99;t=60;pk=:R0VUH2FsaWNl:
	//	RateLimit-Policy: "api";q=100;w=60
	//
	// It has no RateLimit-Partition field and does not say what a request costs.
	Draft09

	// Draft07 is the form of draft -07, whose service limit has no name: it is
	// that of the policy with the least available, the first of several.
	//
	//	RateLimit: limit=100, remaining=99, reset=60
	//	RateLimit-Policy: 100;w=60
	//
	// This form and the next two say nothing of partitions, costs and quota units
	// but requests: a policy of Concurrency is left out.
	Draft07

	// Draft06 is the form of drafts -03 to -06:
	//
	//	RateLimit-Limit: 100
	//	RateLimit-Remaining: 99
	//	RateLimit-Reset: 60
	//	RateLimit-Policy: 100;w=60
	Draft06

	// XRateLimit is what came before all drafts, with the Unix time of the reset
	// on the clock of the API. It has no field for policies.
	//
	//	X-RateLimit-Limit: 100
	//	X-RateLimit-Remaining: 99
	//	X-RateLimit-Reset: 1776690000
	XRateLimit
)

// Advertise says which fields an API sends. Each has an item for every policy
// that concerns the request, in the order of the policies, on served and refused
// requests alike. Retry-After and problems are sent or not regardless.
type Advertise int

const (
	// AdvertiseAll sends RateLimit, RateLimit-Policy and, in the editor's draft,
	// RateLimit-Partition. Partition keys are on RateLimit.
	AdvertiseAll Advertise = iota

	// AdvertiseLimits leaves out RateLimit-Policy.
	AdvertiseLimits

	// AdvertisePolicies leaves out RateLimit. Partition keys are on
	// RateLimit-Policy.
	AdvertisePolicies

	// AdvertiseNothing leaves out all three.
	AdvertiseNothing
)

// maxInteger is the largest Integer (RFC 9651, Section 3.3.1). What is larger is
// advertised as this much.
const maxInteger = 999_999_999_999_999

// advertise sets the fields that say what a request's claims have left.
func (a *API) advertise(h http.Header, now time.Time, claims []claim, cost int64) {
	if a.Dialect >= Draft07 {
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
	if a.Advertise == AdvertiseAll || a.Advertise == AdvertiseLimits {
		setList(h, "RateLimit", limits)
	}
	if a.Advertise == AdvertiseAll || a.Advertise == AdvertisePolicies {
		setList(h, "RateLimit-Policy", policies)
	}
	if a.Advertise != AdvertiseNothing && a.Dialect == EditorsDraft {
		setList(h, "RateLimit-Partition", partitions)
	}
}

// limitItem returns a Service Limit Item (Section 3.1; -09, Section 4.1).
func (a *API) limitItem(c claim, cost int64) httpsfv.Item {
	available, window := "a", "w"
	if a.Dialect == Draft09 {
		available, window = "r", "t"
	}
	item := httpsfv.NewItem(c.Name)
	item.Params.Add(available, min(c.available, maxInteger))
	if c.windowed {
		item.Params.Add(window, a.Rounding.seconds(c.window))
	}
	if c.keyed {
		item.Params.Add("pk", []byte(c.key))
	}
	if a.Cost != nil && a.Dialect == EditorsDraft {
		item.Params.Add("c", min(cost, maxInteger))
	}
	return item
}

// policyItem returns a Quota Policy Item (Section 2.1; -09, Section 3.1). A
// window that is not whole seconds cannot be said (Section 2.1.3); it is rounded
// up, so that who believes it does not exceed the quota.
func (a *API) policyItem(c claim) httpsfv.Item {
	item := httpsfv.NewItem(c.Name)
	item.Params.Add("q", min(max(c.Quota, 0), maxInteger))
	if c.Algorithm == Concurrency {
		item.Params.Add("qu", "concurrent-requests")
	} else if c.Window > 0 {
		item.Params.Add("w", RoundUp.seconds(c.Window))
	}
	if c.keyed && a.Advertise == AdvertisePolicies {
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

// setList sets a field to a List, and does nothing where that is empty.
func setList(h http.Header, name string, list httpsfv.List) {
	if len(list) == 0 {
		return
	}
	value, err := httpsfv.Marshal(list)
	if err != nil { // newRule and maxInteger leave nothing that cannot be written
		panic(fmt.Sprintf("transporttest: writing %s: %v", name, err))
	}
	h.Set(name, value)
}
