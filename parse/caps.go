package parse

import (
	"math"
	"time"
)

// Caps are safety caps on what a server may say (editor's draft, Section 9.5.1).
// A value above its cap is ignored as if it had not been sent; an item that loses
// a REQUIRED value in that way is dropped.
//
// In each field zero means the default and a negative number means no bound. Without a bound, a
// number of seconds that a [time.Duration] cannot hold is read as the longest one, about 292
// years.
type Caps struct {
	// Quota is the largest figure accepted, in quota units: a quota, an available
	// quota or a cost. The default is 1e12.
	Quota int64

	// Window is the longest time window accepted, of a policy or of a service
	// limit. The default is 366 days.
	Window time.Duration

	// RetryAfter is the longest delay accepted from Retry-After. The default is 24
	// hours.
	RetryAfter time.Duration

	// Items is the number of items of a List that are read, malformed ones
	// included. It also bounds the lines of a field that is not a List, the
	// accounts in vendors' fields, and the policies that a problem names. The
	// default is 64.
	Items int

	// FieldBytes is the longest field value accepted, in bytes, summed over its
	// lines. A longer field is ignored whole, before it is parsed. The default is
	// 8 KiB. A problem details object may be twice as long; a longer one is ignored.
	FieldBytes int

	// NameBytes is the longest name accepted, in bytes, of a policy or of a quota
	// unit. The default is 256.
	NameBytes int

	// KeyBytes is the longest partition key accepted, in bytes after decoding. The
	// default is 1 KiB.
	KeyBytes int
}

// DefaultCaps returns the caps that apply where a field of a Caps is zero.
func DefaultCaps() Caps {
	return Caps{
		Quota:      defaultQuota,
		Window:     defaultWindow,
		RetryAfter: defaultRetryAfter,
		Items:      defaultItems,
		FieldBytes: defaultFieldBytes,
		NameBytes:  defaultNameBytes,
		KeyBytes:   defaultKeyBytes,
	}
}

const (
	defaultQuota      int64 = 1_000_000_000_000
	defaultWindow           = 366 * 24 * time.Hour
	defaultRetryAfter       = 24 * time.Hour
	defaultItems            = 64
	defaultFieldBytes       = 8 << 10
	defaultNameBytes        = 256
	defaultKeyBytes         = 1 << 10
)

func (c *Caps) quota() int64 { return bound(c.Quota, defaultQuota, math.MaxInt64) }

func (c *Caps) retryAfter() time.Duration {
	return bound(c.RetryAfter, defaultRetryAfter, math.MaxInt64)
}

func (c *Caps) items() int { return bound(c.Items, defaultItems, math.MaxInt) }

func (c *Caps) fieldBytes() int { return bound(c.FieldBytes, defaultFieldBytes, math.MaxInt) }

func (c *Caps) problemBytes() int {
	if n := c.fieldBytes(); n < math.MaxInt/2 {
		return 2 * n
	}
	return math.MaxInt
}

func (c *Caps) nameBytes() int { return bound(c.NameBytes, defaultNameBytes, math.MaxInt) }

func (c *Caps) keyBytes() int { return bound(c.KeyBytes, defaultKeyBytes, math.MaxInt) }

// windowSeconds returns the cap on a window in seconds. Without a bound it accepts
// numbers that no Duration can hold, which seconds saturates.
func (c *Caps) windowSeconds() int64 {
	if c.Window < 0 {
		return math.MaxInt64
	}
	return int64(c.window() / time.Second)
}

func (c *Caps) window() time.Duration { return bound(c.Window, defaultWindow, math.MaxInt64) }

// bound returns a cap: v, or byDefault if v is zero, or none if v is negative.
func bound[T int | int64 | time.Duration](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}
