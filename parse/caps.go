package parse

import (
	"math"
	"time"
)

// The default caps, used where a field of [Caps] is zero.
const (
	// DefaultMaxQuota bounds figures in quota units: q, a, r and c.
	DefaultMaxQuota int64 = 1_000_000_000_000

	// DefaultMaxWindow bounds time windows: w and t.
	DefaultMaxWindow = 366 * 24 * time.Hour

	// DefaultMaxRetryAfter bounds the delay that Retry-After asks for.
	DefaultMaxRetryAfter = 24 * time.Hour

	// DefaultMaxItems bounds the items of a List.
	DefaultMaxItems = 64

	// DefaultMaxFieldBytes bounds the length of a field value.
	DefaultMaxFieldBytes = 8 << 10

	// DefaultMaxNameBytes bounds the length of a policy's name and of a quota unit.
	DefaultMaxNameBytes = 256

	// DefaultMaxKeyBytes bounds the length of a partition key.
	DefaultMaxKeyBytes = 1 << 10

	// DefaultMaxProblemBytes bounds the length of a problem details object.
	DefaultMaxProblemBytes = 16 << 10
)

// Caps are safety caps on what a server may say (editor's draft, Section 9.5.1).
// A value above its cap is ignored as if it had not been sent; an item that loses
// a REQUIRED value in that way is dropped.
//
// In each field zero means the default and a negative number means no bound. The
// zero Caps consists of default values. Without a bound a number of seconds
// that a [time.Duration] cannot hold is read as the longest one, about 292 years.
type Caps struct {
	// Quota is the largest figure accepted, in quota units, for a quota, an
	// available quota or a cost. If zero, DefaultMaxQuota is used.
	Quota int64

	// Window is the longest time window accepted, of a policy or of a service
	// limit. If zero, DefaultMaxWindow is used.
	Window time.Duration

	// RetryAfter is the longest delay accepted from Retry-After.
	// If zero, DefaultMaxRetryAfter is used.
	RetryAfter time.Duration

	// Items is how many items of a List are read, malformed ones included, how
	// many field lines of a field that is no List, how many accounts that the
	// field names of vendors name, and how many policies a problem names.
	// If zero, DefaultMaxItems is used.
	Items int

	// FieldBytes is the longest field value accepted, in bytes, summed over its
	// field lines. A longer field is ignored whole, before it is parsed.
	// If zero, DefaultMaxFieldBytes is used.
	FieldBytes int

	// NameBytes is the longest name accepted, in bytes, of a policy or of a quota
	// unit. If zero, DefaultMaxNameBytes is used.
	NameBytes int

	// KeyBytes is the longest partition key accepted, in bytes after decoding.
	// If zero, DefaultMaxKeyBytes is used.
	KeyBytes int

	// ProblemBytes is the longest problem details object that is read, in bytes.
	// A longer one is ignored whole. If zero, DefaultMaxProblemBytes is used.
	ProblemBytes int
}

func (c Caps) quota() int64 { return bound(c.Quota, DefaultMaxQuota, math.MaxInt64) }

func (c Caps) retryAfter() time.Duration {
	return bound(c.RetryAfter, DefaultMaxRetryAfter, math.MaxInt64)
}

func (c Caps) items() int { return bound(c.Items, DefaultMaxItems, math.MaxInt) }

func (c Caps) fieldBytes() int { return bound(c.FieldBytes, DefaultMaxFieldBytes, math.MaxInt) }

func (c Caps) nameBytes() int { return bound(c.NameBytes, DefaultMaxNameBytes, math.MaxInt) }

func (c Caps) keyBytes() int { return bound(c.KeyBytes, DefaultMaxKeyBytes, math.MaxInt) }

// windowSeconds is the cap on a window in the unit of the wire. No bound is not
// the longest Duration: a larger number of seconds is accepted and saturates.
func (c Caps) windowSeconds() int64 {
	if c.Window < 0 {
		return math.MaxInt64
	}
	return int64(bound(c.Window, DefaultMaxWindow, math.MaxInt64) / time.Second)
}

// window is the cap on a window that is not an Integer of seconds.
func (c Caps) window() time.Duration { return bound(c.Window, DefaultMaxWindow, math.MaxInt64) }

func (c Caps) problemBytes() int { return bound(c.ProblemBytes, DefaultMaxProblemBytes, math.MaxInt) }

// bound reads one cap: zero is the default, a negative number no bound.
func bound[T int | int64 | time.Duration](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}
