package transporttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// A Policy is a quota policy (Section 2.1): a quota, its window, and the dimensions
// that partition it.
type Policy struct {
	// Name identifies the policy in the fields. It must be printable ASCII (an
	// RFC 9651 String); an API panics on any other name.
	Name string

	// Quota is the number of quota units granted to each partition. If it is zero
	// or negative, only requests that cost nothing are served.
	Quota int64

	// Window is the time for which Quota is granted. If it is zero or negative,
	// used quota never comes back, and no window is advertised. Concurrency ignores
	// it.
	Window time.Duration

	// Algorithm defines when used quota comes back. The zero value is FixedWindow.
	Algorithm Algorithm

	// Burst is the capacity of a TokenBucket or GCRA, in quota units. Zero or
	// negative means Quota for TokenBucket and 1 for GCRA.
	Burst int64

	// CountRefused charges refused requests as if they had been served. It matters
	// only for SlidingLog and SlidingWindow, which then refuse requests for longer.
	CountRefused bool

	// Block is the time for which a partition is blocked after a refusal. Each
	// further refusal restarts it. Zero or negative means no block.
	Block time.Duration

	// BlockLonger doubles the block with each further refusal before a request is
	// served, up to 1024 times Block.
	BlockLonger bool

	// PartitionBy lists the dimensions that partition the quota (Section 4.1).
	// "user_id" and "method" use the value of the request. "user_id=alice" and
	// "method=GET" are literals: the policy applies only to requests with that
	// value. Methods are in upper case.
	//
	// Empty means one partition for all requests, without a key. If a value cannot
	// be part of a key (it is not UTF-8 or contains the byte 0x1F, Section 4.2), the
	// request is counted as usual but no key is advertised. An API panics on an
	// unknown dimension and on a dimension listed twice.
	PartitionBy []string
}

// An Algorithm defines when used quota comes back: FixedWindow, the zero value, AlignedWindow,
// TokenBucket, GCRA, SlidingLog, SlidingWindow or Concurrency.
type Algorithm int

const (
	// FixedWindow grants the quota in windows. A window starts with the first
	// request served after the previous window has ended. While no window is open,
	// the effective window is Window.
	FixedWindow Algorithm = iota

	// AlignedWindow grants the quota in windows that start at whole multiples of
	// Window since the Unix epoch, like a counter per minute or per hour.
	AlignedWindow

	// TokenBucket is a bucket of Burst tokens. It starts full and refills
	// continuously at Quota tokens per Window. The effective window is the time
	// until the next whole token; a full bucket advertises none.
	TokenBucket

	// GCRA is the generic cell rate algorithm: one unit per Window/Quota, and up to
	// Burst units at once. It grants the same requests as TokenBucket, but its
	// effective window is the time until all of Burst is available, as
	// implementations advertise it.
	GCRA

	// SlidingLog remembers when each unit was used. A unit comes back after Window.
	// The effective window is the time until the oldest unit comes back; an empty
	// log advertises none.
	SlidingLog

	// SlidingWindow counts in aligned windows and adds the part of the previous
	// window that lies within the last Window. The effective window is the rest of
	// the current aligned window, as implementations advertise it, although units
	// come back all the time.
	SlidingWindow

	// Concurrency limits the quota units of the requests in progress. The quota
	// unit is "concurrent-requests". Refusals have no Retry-After, because the API
	// does not know when a request will end. See [Decision.Done].
	Concurrency
)

// burst returns Burst, or otherwise if Burst is not set.
func (p Policy) burst(otherwise int64) int64 {
	if p.Burst > 0 {
		return p.Burst
	}
	return otherwise
}

// A rule is a Policy as an API applies it.
type rule struct {
	Policy
	dimensions []dimension // as listed in PartitionBy
	sorted     []dimension // by name, for keys

	meters map[string]meter // by partition; guarded by API.mu
}

// newRule prepares a policy. It panics if the policy cannot be advertised.
func newRule(p Policy) *rule {
	if _, err := httpsfv.Marshal(httpsfv.NewItem(p.Name)); err != nil {
		panic(fmt.Sprintf("transporttest: policy name %q is not an RFC 9651 String", p.Name))
	}
	r := &rule{Policy: p, meters: make(map[string]meter)}
	for _, s := range p.PartitionBy {
		d := parseDimension(s)
		if slices.ContainsFunc(r.dimensions, func(o dimension) bool { return o.name == d.name }) {
			panic(fmt.Sprintf("transporttest: policy %q lists the dimension %q twice", p.Name, d.name))
		}
		r.dimensions = append(r.dimensions, d)
	}
	r.sorted = slices.SortedFunc(slices.Values(r.dimensions), func(x, y dimension) int {
		return strings.Compare(x.name, y.name)
	})
	newMeter(p) // panic now, not at the first request of a partition
	return r
}

// meterFor returns the meter of a partition and creates it if needed.
func (r *rule) meterFor(key string) meter {
	m := r.meters[key]
	if m == nil {
		m = newMeter(r.Policy)
		r.meters[key] = m
	}
	return m
}
