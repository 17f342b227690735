package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// .NET: RetryMetadataOnFailedWaitAsync, CorrectRetryMetadataWithQueuedItem,
// CorrectRetryMetadataWithMultipleTokensPerPeriod,
// CorrectRetryMetadataWithLargeTokensPerPeriod,
// CorrectRetryMetadataWithNonZeroAvailableItems.
func TestBucketSaysWhenToComeBack(t *testing.T) {
	for _, c := range []struct {
		name                   string
		perPeriod, left, ahead int64
		ask                    int64
		periods                time.Duration
	}{
		{"as many periods as permits", 1, 0, 0, 2, 2},
		{"queued permits come first", 1, 0, 1, 2, 3},
		{"divided by permits a period", 2, 0, 0, 4, 2},
		{"rounded up", 2, 0, 0, 3, 2},
		{"one at least", 1000, 0, 0, 1, 1},
		{"less what is there", 1, 2, 0, 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := quota.TokenBucket(4, c.perPeriod, 20*time.Second, quota.Options{MaxQueue: max(c.ahead, 1)})
				take(t, l, 4-c.left)
				if c.ahead > 0 {
					acquiring(t.Context(), l, c.ahead)
				}
				_, err := l.TryAcquire(c.ask)
				assert.Equal(t, c.periods*20*time.Second, refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter)
				l.Close()
			})
		})
	}
}

func TestNewestFirstIgnoresTheQueueInRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quota.TokenBucket(4, 1, time.Second, quota.Options{NewestFirst: true})
		take(t, l, 4)
		acquiring(t.Context(), l, 3)
		_, err := l.TryAcquire(1)
		assert.Equal(t, time.Second, refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter)
		l.Close()
	})
}
