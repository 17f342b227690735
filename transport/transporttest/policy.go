package transporttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// A Policy is a quota policy (Section 2.1): a quota, the window that it is
// granted for, and how it is divided among requests.
type Policy struct {
	// Name identifies the policy in the fields. It holds printable ASCII only,
	// as an RFC 9651 String does; an API panics on any other.
	Name string

	// Quota is the number of quota units granted to each partition. Zero or
	// negative grants nothing: only what costs nothing is served.
	Quota int64

	// Window is what Quota is granted for. Zero or negative means for ever: what
	// is used does not come back, whatever the Algorithm, and no window is
	// advertised. A Concurrency has none.
	Window time.Duration

	// Algorithm says when used quota comes back. The zero value is FixedWindow.
	Algorithm Algorithm

	// Burst is how much a TokenBucket or a GCRA grants at once. Zero or negative
	// means Quota for a TokenBucket, and 1 for a GCRA.
	Burst int64

	// Penalty is what refusals cost a partition. The zero value is NoPenalty.
	Penalty Penalty

	// Block is for how long a Penalty of that kind blocks a partition.
	Block time.Duration

	// PartitionBy lists the dimensions that partitions are divided by (Section
	// 4.1): "user_id" and "method" by the request's own value, and in the form
	// "method=GET" or "user_id=alice" by that value alone; the policy then
	// concerns only the requests that have it. A method is in upper case.
	//
	// Empty means one partition for all, without a key. A request with a value
	// that Section 4.2 has no place for (one that is not UTF-8 or holds the byte
	// 0x1F) is counted like any other and answered without a key. An API panics
	// on other dimensions and on one that is listed twice.
	PartitionBy []string
}

// An Algorithm says when used quota comes back.
type Algorithm int

const (
	// FixedWindow is a window that begins with the first request served after
	// the window before it has ended. Between the two its effective window is
	// the whole Window.
	FixedWindow Algorithm = iota

	// AlignedWindow is a window that begins at a whole multiple of its length
	// since the Unix epoch, as counters do whose key is the minute or the hour.
	// Its effective window ends there whether or not anything was served.
	AlignedWindow

	// TokenBucket is a bucket of Burst tokens, full at first, that refills
	// continuously with Quota tokens per Window. Its effective window is the
	// time until the next whole token; a full bucket advertises none.
	TokenBucket

	// GCRA is the generic cell rate algorithm: Window/Quota apart, and Burst at
	// once. It serves as a TokenBucket does; but its effective window is the
	// time until all of Burst is available, as implementations say it.
	GCRA

	// SlidingLog remembers when each unit was used: each comes back when Window
	// has passed. Its effective window is the time until the first does; an
	// empty log advertises none.
	SlidingLog

	// SlidingWindow is two aligned windows, of which the one before the present
	// counts in proportion to how much of it lies within the last Window. Its
	// effective window ends with the present one, as implementations say it,
	// though units come back all the time.
	SlidingWindow

	// Concurrency limits the quota units of the requests that are in progress:
	// the quota unit is "concurrent-requests", and Window is ignored. A refusal
	// has no Retry-After, because nobody knows when a request will be over. See
	// [Decision.Done].
	Concurrency
)

// burst returns Burst, or what is meant without it.
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
	sorted     []dimension // by name, as keys are built

	meters map[string]meter // by partition; guarded by the mutex of the API
}

// newRule prepares a policy. It panics on one that cannot be advertised.
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
	newMeter(p) // panics now rather than with the first request of some partition
	return r
}

// meterFor returns the meter of a partition, a fresh one where there is none.
func (r *rule) meterFor(key string) meter {
	m := r.meters[key]
	if m == nil {
		m = newMeter(r.Policy)
		r.meters[key] = m
	}
	return m
}
