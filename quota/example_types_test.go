package quota_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/headway-go/headway/quota"
)

// A limiter of one's own, with permits that come back when they were not used.
func ExampleCustomFuncs() {
	left := int64(2)
	limiter := quota.CustomFuncs{
		Take: func(_ context.Context, n int64) quota.Answer {
			if n > left {
				return quota.Answer{Err: errors.New("the store is empty")}
			}
			left -= n
			return quota.Answer{OK: true}
		},
		Undo: func(n int64) { left += n },
	}
	l := quota.Custom(limiter, quota.Options{})
	lease, _ := l.TryAcquire(2)
	_, err := l.TryAcquire(1)
	fmt.Println(left, err != nil)
	lease.Cancel()
	fmt.Println(left)
	// Output:
	// 0 true
	// 2
}

// Why a limiter refused.
func ExampleReason() {
	l := quota.FixedWindow(1, 1e9)
	_, _ = l.TryAcquire(1)
	_, err := l.TryAcquire(1)
	fmt.Println(err.(*quota.Refusal).Reason)
	// Output:
	// own limit
}

// Accounts without habits: a request departs when the server's own words let it.
func ExampleStrategy() {
	accounts := &quota.Accounts{Strategy: quota.Plain}
	fmt.Println(accounts.Strategy)
	// Output:
	// plain
}
