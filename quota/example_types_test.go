package quota_test

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// What an answer has changed, for a log that people read.
func ExampleChange() {
	var accounts quota.Accounts
	origin := accounts.Origin("https://api.example")
	now := time.Now()
	var lease quota.Lease
	if err := origin.Admit(context.Background(), now, &quota.Ask{}, &lease); err != nil {
		fmt.Println(err)
		return
	}
	var changes []quota.Change
	origin.Settle(now, &lease, &quota.Report{
		Figures: []quota.Figure{{Policy: "daily", Available: 0, Window: time.Hour}},
		Changes: &changes,
	})
	for _, c := range changes {
		fmt.Println(c.What, c.Name, c.Units)
	}
	// Output:
	// window daily 0
	// used up daily 0
}
