package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// .NET: RetryMetadataOnFailedWaitAsync; dotnet/runtime issues 92557, 124478:
// it is the rest of the window.
func TestFixedWindowSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quota.FixedWindow(2, 20*time.Second, quota.Options{MaxQueue: 2})
		time.Sleep(time.Hour)
		take(t, l, 2)
		time.Sleep(2 * time.Second)
		_, err := l.TryAcquire(1)
		assert.Equal(t, 18*time.Second, refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter)
		r := acquiring(t.Context(), l, 2)
		_, err = l.Acquire(t.Context(), 1)
		assert.Equal(t, 38*time.Second, refusedWith(t, err, quota.ReasonQueueFull).RetryAfter)
		assert.ErrorContains(t, err, "retry after 38s")
		began := time.Now()
		require.False(t, func() bool { time.Sleep(18 * time.Second); return r.waiting() }())
		assert.Equal(t, 18*time.Second, r.at.Sub(began))
	})
}
