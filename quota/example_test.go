package quota_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headway-go/headway/quota"
	"golang.org/x/time/rate"
)

// Accounts for a gateway to a few servers with many users each, whose word is to be
// taken as it is.
func ExampleAccounts() {
	accounts := quota.Accounts{
		MaxOrigins:  100,
		MaxAccounts: 500_000,
		MaxTotal:    2_000_000,
		Strategy:    quota.Plain,
	}
	origin := accounts.Origin("https://api.example")
	fmt.Println(origin == accounts.Origin("https://api.example"), origin.Dropped(), accounts.Strategy)
	// Output: true false plain
}

// A client that is not an HTTP client asks before it works, and tells what the
// server said.
func Example() {
	var accounts quota.Accounts
	origin := accounts.Origin("smtp://mail.example")
	ctx := context.Background()
	ask := quota.Ask{
		Claims:   []quota.Claim{{Policy: "mails", Units: 1}},
		MaxDelay: -1, // be refused rather than wait
	}

	left := int64(2)
	for range 4 {
		var lease quota.Lease
		now := time.Now()
		if err := origin.Admit(ctx, now, &ask, &lease); err != nil {
			var refusal *quota.Refusal
			if errors.As(err, &refusal) {
				fmt.Println("refused:", refusal.Reason, "of", refusal.Policy)
			}
			continue
		}
		fmt.Println("sent")
		left--
		origin.Settle(now, &lease, &quota.Report{
			Figures: []quota.Figure{{Policy: "mails", Available: left, Window: time.Minute}},
		})
		lease.Release()
	}
	// Output:
	// sent
	// sent
	// refused: quota exhausted of mails
	// refused: quota exhausted of mails
}

func ExampleConcurrency() {
	limiter := quota.Concurrency(2)
	one, _ := limiter.TryAcquire(1)
	two, _ := limiter.TryAcquire(1)
	_, err := limiter.TryAcquire(1)
	fmt.Println(err)
	one.Release()
	fmt.Println(limiter.Stats().Available, "free")
	two.Release()
	fmt.Println(limiter.Stats().Available, "free")
	// Output:
	// quota: not admitted: own limit
	// 1 free
	// 2 free
}

func ExampleRate() {
	// Three at once, then one each hour.
	limiter := quota.Rate(rate.NewLimiter(rate.Every(time.Hour), 3))
	for range 4 {
		if _, err := limiter.TryAcquire(1); err != nil {
			fmt.Println("come back later")
			continue
		}
		fmt.Println("go")
	}
	_, err := limiter.TryAcquire(4)
	fmt.Println(err)
	// Output:
	// go
	// go
	// go
	// come back later
	// quota: number of permits out of range
}

// Check says what would happen, and charges nothing.
func ExampleOrigin_Check() {
	var accounts quota.Accounts
	origin := accounts.Origin("smtp://mail.example")
	ctx, now := context.Background(), time.Now()
	ask := quota.Ask{Claims: []quota.Claim{{Policy: "mails", Units: 1}}}

	refusal, _ := origin.Check(ctx, now, &ask)
	fmt.Println("nothing known:", refusal == nil)

	var lease quota.Lease
	if err := origin.Admit(ctx, now, &ask, &lease); err != nil {
		panic(err)
	}
	origin.Settle(now, &lease, &quota.Report{
		Terms:   []quota.Policy{{Name: "mails", Quota: 100, Window: time.Minute}},
		Figures: []quota.Figure{{Policy: "mails", Available: 0, Window: 30 * time.Second}},
	})
	for _, p := range origin.Policies() {
		fmt.Printf("%s: %d in %v\n", p.Name, p.Quota, p.Window)
	}
	refusal, waits := origin.Check(ctx, now, &ask)
	fmt.Println(refusal.Cause, refusal.Wait.Round(time.Second), waits)
	// Output:
	// nothing known: true
	// mails: 100 in 1m0s
	// quota exhausted 30s true
}

// A refusal says which quota it was that had nothing left. Keys of partitions may
// identify people: mind where they are printed.
func ExampleRefusal() {
	var accounts quota.Accounts
	origin := accounts.Origin("https://api.example")
	now := time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)
	ask := quota.Ask{
		Claims:   []quota.Claim{{Policy: "user", Key: "alice", Keyed: true, Units: 1}},
		MaxDelay: -1,
	}
	for range 2 {
		var lease quota.Lease
		err := origin.Admit(context.Background(), now, &ask, &lease)
		var r *quota.Refusal
		if errors.As(err, &r) {
			fmt.Println(r.Reason, r.Policy, len(r.Key), r.RetryAfter.Round(time.Minute))
			continue
		}
		origin.Settle(now, &lease, &quota.Report{
			Figures: []quota.Figure{{Policy: "user", Key: "alice", Keyed: true, Available: 0, Window: 2 * quota.ProbeInterval}},
		})
	}
	// Output: quota exhausted user 5 20m0s
}
