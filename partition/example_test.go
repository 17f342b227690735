package partition_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// A policy counts requests by tenant and method; a second one applies only to POST.
func ExampleDimensions_Key() {
	declarations, _ := parse.Declarations(http.Header{
		"Ratelimit-Partition": {`"api";tenant;method, "writes";tenant;method=POST, "site";region`},
	}, parse.Caps{})

	dimensions := partition.Dimensions{
		"tenant": func(req *http.Request) (string, bool) {
			tenant := req.Header.Get("X-Tenant")
			return tenant, tenant != ""
		},
	}
	req, _ := http.NewRequest(http.MethodGet, "https://api.example/items", nil)
	req.Header.Set("X-Tenant", "acme")

	for _, d := range declarations {
		key, answer := dimensions.Key(d, req)
		fmt.Printf("%s: %v %v %q\n", d.Policy, answer, key, string(key))
	}
	// Output:
	// api: known pk[8 bytes] "GET\x1facme"
	// writes: irrelevant pk[] ""
	// site: opaque pk[] ""
}

// The context of a request carries the ids that the draft registers.
func ExampleWithUserID() {
	ctx := partition.WithUserID(context.Background(), "alice")
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/items", nil)

	declarations, _ := parse.Declarations(http.Header{
		"Ratelimit-Partition": {`"api";user_id;method`},
	}, parse.Caps{})
	key, _ := partition.Dimensions(nil).Key(declarations[0], req)
	fmt.Printf("%q\n", string(key))
	// Output:
	// "GET\x1falice"
}

// A client computes the partition of a request from the server's declaration.
func Example() {
	declarations, _ := parse.Declarations(http.Header{
		"Ratelimit-Partition": {`"api";client_id;user_id`},
	}, parse.Caps{})
	ctx := partition.WithUserID(partition.WithClientID(context.Background(), "app-7"), "alice")
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/items", nil)

	var standard partition.Dimensions // method, user_id, client_id
	key, answer := standard.Key(declarations[0], req)
	fmt.Printf("%v: %q\n", answer, string(key))
	// Output:
	// known: "app-7\x1falice"
}

// A Key may identify a person and prints redacted.
func ExampleKey() {
	key := partition.Key("alice")
	fmt.Println(key)
	fmt.Printf("%v %s %q %x %+v\n", key, key, key, key, struct{ Key partition.Key }{key})
	fmt.Println(string(key)) // only so
	// Output:
	// pk[5 bytes]
	// pk[5 bytes] pk[5 bytes] pk[5 bytes] pk[5 bytes] {Key:pk[5 bytes]}
	// alice
}
