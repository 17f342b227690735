package quota_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headway-go/headway/quota"
)

// A program that runs every minute goes on where it was: what it has used up
// before it knows without asking. The file is read and written where it
// belongs, beside the credentials of the program, say.
func ExampleAccounts_Save() {
	var file bytes.Buffer
	run := func(now time.Time) {
		var accounts quota.Accounts
		if file.Len() > 0 {
			if err := accounts.Restore(&file, now); err != nil {
				fmt.Println("starting from nothing:", err)
			}
		}
		origin := accounts.Origin("https://api.example")
		var lease quota.Lease
		ask := &quota.Ask{Claims: []quota.Claim{{Policy: "api", Units: 1}}, MaxDelay: -1}
		if err := origin.Admit(context.Background(), now, ask, &lease); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println("sent")
			origin.Settle(now, &lease, &quota.Report{
				Figures: []quota.Figure{{Policy: "api", Available: 0, Window: 90 * time.Second}},
			})
		}
		file.Reset()
		if err := accounts.Save(&file, now, false); err != nil {
			fmt.Println(err)
		}
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	run(noon)
	run(noon.Add(time.Minute))
	run(noon.Add(2 * time.Minute))
	// Output:
	// sent
	// quota: not admitted: quota exhausted, policy "api", retry after 30.001s
	// sent
}

// What cannot be read is refused whole, and what is in use is not overwritten.
func ExampleAccounts_Restore() {
	var accounts quota.Accounts
	err := accounts.Restore(strings.NewReader("not what Save has written"), time.Now())
	fmt.Println(err)

	var file bytes.Buffer
	if err := accounts.Save(&file, time.Now(), true); err != nil {
		fmt.Println(err)
	}
	accounts.Origin("https://api.example")
	fmt.Println(accounts.Restore(&file, time.Now()))
	// Output:
	// quota: invalid saved accounts: record 0 cannot be read
	// quota: accounts to be restored are in use
}
