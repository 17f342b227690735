package partition_test

import (
	"fmt"
	"net/http"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// The three answers: the policy does not concern the request, its key is not computable,
// or this is it.
func ExampleAnswer() {
	declared, _ := parse.Declarations(http.Header{"Ratelimit-Partition": {
		`"writes";method=POST, "tenants";tenant, "methods";method`,
	}}, parse.Caps{})
	req, _ := http.NewRequest(http.MethodGet, "http://api.example/", nil)
	for _, d := range declared {
		_, answer := partition.Dimensions(nil).Key(d, req)
		fmt.Println(d.Policy, answer)
	}
	// Output:
	// writes irrelevant
	// tenants opaque
	// methods known
}
