package meter

import (
	"math"
	"math/bits"
)

// Add returns a + b, or math.MaxInt64 if the sum is larger. b is not negative.
func Add[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Mul returns k times a, or math.MaxInt64 if the product is larger. a is not
// negative.
func Mul[T ~int64](a T, k uint64) T {
	hi, lo := bits.Mul64(uint64(a), k)
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return T(lo)
}

// rounds divides a shortage of permits, at least 1, into rounds of perRound
// permits: the last permit is in the round after full rounds, as number last
// of it, counted from 1.
func rounds(short uint64, perRound int64) (full uint64, last int64) {
	return (short - 1) / uint64(perRound), int64((short-1)%uint64(perRound)) + 1
}
