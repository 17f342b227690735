package exchange_test

import (
	"context"
	"fmt"
	"time"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
)

// What a process says, and hears: it was told that 5 units are left for a minute, and four
// requests wait for two units each. A Hub has the rules by which a Store answers.
func Example() {
	var origin, account exchange.ID // hashes, in earnest
	var store fleet.Hub
	turn := &exchange.Turn{
		Process: "one", Seq: 1, Flights: exchange.None,
		Accounts: []exchange.Account{{
			ID: account, Quota: 5, Window: time.Minute,
			Figure: 5, Left: time.Minute, Basis: exchange.None, BasisLeft: exchange.None,
		}},
		Requests: []exchange.Request{{N: 4, Claims: []exchange.Claim{{Account: 0, Units: 2}}}},
	}
	var grant *exchange.Grant
	grant, err := store.Exchange(context.Background(), origin, turn)
	if err != nil {
		fmt.Println(err)
		return
	}
	var got exchange.Granted = grant.Accounts[0]
	fmt.Println(got.State == exchange.Reported, got.Available, "left,", got.Units, "granted, lacks some:", got.Lacks)
	// Output:
	// true 5 left, 4 granted, lacks some: true
}

// What a process does when a Store tells it a Word: take a turn now, rather than later.
func ExampleWord() {
	hear := func(word *exchange.Word) {
		switch {
		case word.Hold > 0:
			fmt.Println("nothing departs for", word.Hold)
		case word.Return:
			fmt.Println("others need the stock")
		default:
			fmt.Println("there may be units for", word.Processes)
		}
	}
	hear(&exchange.Word{Hold: 7 * time.Second})
	hear(&exchange.Word{Processes: []string{"one"}})
	// Output:
	// nothing departs for 7s
	// there may be units for [one]
}

// A Store says what its figures rest on.
func ExampleState() {
	for _, s := range []exchange.State{exchange.Unknown, exchange.Reported} {
		switch s {
		case exchange.Reported:
			fmt.Println("spend what is left")
		default:
			fmt.Println("one request departs, and finds out")
		}
	}
	// Output:
	// one request departs, and finds out
	// spend what is left
}
