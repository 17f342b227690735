package quota_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/headway-go/headway/quota"
)

// What is known, for people and programs: here as JSON.
func ExampleAccounts_Snapshot() {
	var accounts quota.Accounts
	origin := accounts.Origin("https://api.example")
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)

	var lease quota.Lease
	ask := &quota.Ask{Claims: []quota.Claim{{Policy: "user", Key: "alice", Keyed: true, Units: 1}}}
	if err := origin.Admit(context.Background(), now, ask, &lease); err != nil {
		fmt.Println(err)
		return
	}
	origin.Settle(now, &lease, &quota.Report{
		Figures: []quota.Figure{{Policy: "user", Key: "alice", Keyed: true, Available: 99, Window: time.Minute}},
	})

	s := accounts.Snapshot(now.Add(15*time.Second), quota.SnapshotOptions{Keys: true})
	user := s[0].Accounts[1]
	fmt.Printf("%s of %s: %d left for %v\n", user.Name, user.Key, user.Available, user.Left)
	json.NewEncoder(os.Stdout).Encode(s[0].Policies)
	// Output:
	// user of alice: 99 left for 45.001s
	// [{"name":"user","quota":-1,"keyed":true}]
}

// What a page for operators shows: which servers there are, what is going on with
// each, and how much of it all there is.
func ExampleOriginSnapshot() {
	var accounts quota.Accounts
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	origin := accounts.Origin("https://api.example")
	for range 3 {
		var lease quota.Lease
		if err := origin.Admit(context.Background(), now, &quota.Ask{MaxDelay: -1}, &lease); err != nil {
			fmt.Println(err)
			continue
		}
		origin.Settle(now, &lease, &quota.Report{Refused: true, Pause: time.Minute})
	}
	later := now.Add(20 * time.Second)
	for _, o := range accounts.Snapshot(later, quota.SnapshotOptions{MaxAccounts: 10_000}) {
		fmt.Printf("%s: %d out, %d in line, refused %d times, the last time %v ago\n",
			o.Name, o.Out, o.InLine, o.Refusals, later.Sub(o.Refused))
		for _, a := range o.Accounts {
			fmt.Printf("  %q: %d in flight, held for %v\n", a.Name, a.InFlight, a.Hold)
		}
		fmt.Printf("  %d left out\n", o.Omitted)
	}
	// Output:
	// quota: not admitted: held by Retry-After, retry after 1m0s
	// quota: not admitted: held by Retry-After, retry after 1m0s
	// https://api.example: 0 out, 0 in line, refused 1 times, the last time 20s ago
	//   "": 0 in flight, held for 40s
	//   0 left out
}

// Who waits for what, and how much is left: an account for each policy and partition.
func ExampleAccountSnapshot() {
	var accounts quota.Accounts
	now := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	origin := accounts.Origin("https://api.example")
	var lease quota.Lease
	if err := origin.Admit(context.Background(), now, &quota.Ask{}, &lease); err != nil {
		fmt.Println(err)
		return
	}
	origin.Settle(now, &lease, &quota.Report{
		Terms:   []quota.Policy{{Name: "daily", Quota: 100, Window: 24 * time.Hour}},
		Figures: []quota.Figure{{Policy: "daily", Available: 7, Window: time.Hour}},
	})
	describe := func(a quota.AccountSnapshot) {
		fmt.Printf("%s: %s, %d of %d left", a.Name, a.State, a.Available, a.Quota)
		for i, w := range a.Line {
			var waiter quota.Waiter = w
			fmt.Printf("; number %d waits since %v", i+1, waiter.Since)
		}
		fmt.Println()
	}
	for _, o := range accounts.Snapshot(now, quota.SnapshotOptions{}) {
		for _, a := range o.Accounts {
			if a.Name != "" {
				describe(a)
			}
		}
	}
	// Output:
	// daily: reported, 7 of 100 left
}
