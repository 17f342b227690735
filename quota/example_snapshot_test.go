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
	user := s.Origins[0].Accounts[1]
	fmt.Printf("%s of %s: %d left for %v\n", user.Policy, user.Key, user.Available, user.Left)
	json.NewEncoder(os.Stdout).Encode(s.Origins[0].Policies)
	// Output:
	// user of alice: 99 left for 45.001s
	// [{"name":"user","quota":-1,"keyed":true}]
}
