package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// .NET: RetryAfterWithPartiallyElapsedSegment, RetryMetadataOnFailedWaitAsync,
// RetryMetadataOnFailedAttemptAcquire(ZeroPermitCount), CorrectRetryMetadataWithQueuedItem,
// CorrectRetryMetadataWithNonZeroAvailableItems,
// RetryAfterAccountsForPermitsAcrossMultipleSegments, RetryAfterClampsToZeroWhenWindowExpired.
func TestSlidingWindowSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quota.SlidingWindow(6, 20*time.Second, 4, quota.Options{MaxQueue: 4})
		after := func(n int64) time.Duration {
			_, err := l.TryAcquire(n)
			return refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter
		}
		take(t, l, 6)
		assert.Equal(t, 20*time.Second, after(1), "all in the present segment: a whole window")
		assert.Equal(t, 20*time.Second, after(0))
		time.Sleep(2 * time.Second)
		assert.Equal(t, 18*time.Second, after(1), "less what has passed of it")
		time.Sleep(18 * time.Second)
		take(t, l, 2)
		time.Sleep(5 * time.Second)
		take(t, l, 3)
		assert.Equal(t, 15*time.Second, after(2), "with 1 left, 1 of the oldest segment is enough")
		assert.Equal(t, 20*time.Second, after(4), "and 3 take the next one, too")
		r := acquiring(t.Context(), l, 3)
		assert.Equal(t, 20*time.Second, after(1), "after the waiting request")
		assert.Equal(t, 20*time.Second, after(4), "computed per permit, not per request")
		assert.Equal(t, 35*time.Second, after(5))
		_, err := l.Acquire(t.Context(), 2)
		assert.Equal(t, 20*time.Second, refusedWith(t, err, quota.ReasonQueueFull).RetryAfter)
		time.Sleep(15 * time.Second)
		assert.True(t, r.granted())
	})
}
