package meter

import (
	"math"
	"time"
)

// Unlimited grants everything and counts nothing.
type Unlimited struct{}

// Capacity implements Meter.
func (Unlimited) Capacity() int64 { return math.MaxInt64 }

// Allows implements Meter.
func (Unlimited) Allows() (n, burst int64, period time.Duration) {
	return 0, 0, 0
}

// Available implements Meter. It returns Unknown.
func (Unlimited) Available(time.Duration) int64 { return Unknown }

// Wait implements Meter.
func (Unlimited) Wait(time.Duration, int64, int64) time.Duration { return 0 }

// Take implements Meter.
func (Unlimited) Take(time.Duration, int64) uint32 { return 0 }

// Cancel implements Meter.
func (Unlimited) Cancel(time.Duration, int64, uint32) {}

// Release implements Meter.
func (Unlimited) Release(int64) bool { return false }

// IdleSince implements Meter.
func (Unlimited) IdleSince(time.Duration) (since time.Duration, ok bool) { return 0, true }
