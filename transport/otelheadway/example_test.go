package otelheadway_test

import (
	"fmt"
	"net/http"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/otelheadway"
)

// The metrics of one client, by the global MeterProvider.
func ExampleInstruments() {
	accounts := new(quota.Accounts)
	var instruments *otelheadway.Instruments
	instruments, err := otelheadway.New(otelheadway.Options{Accounts: accounts})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer instruments.Close()
	client := &http.Client{Transport: &transport.Shaper{Accounts: accounts, Trace: instruments.Trace()}}

	_ = client
	// Output:
}
