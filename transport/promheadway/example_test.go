package promheadway_test

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/promheadway"
)

// A page, metrics and a log of one client: the code of the README.
func Example() {
	client := new(http.Client)

	page := &inspect.Handler{Accounts: new(quota.Accounts)}
	metrics := promheadway.New(promheadway.Options{Accounts: page.Accounts})
	logged := &transport.Trace{Held: func(i transport.HeldInfo) {
		slog.Info("held", "origin", i.Origin, "policy", i.Policy, "reason", i.Reason.String(), "wait", i.Wait)
	}}
	client.Transport = &transport.Shaper{
		Accounts: page.Accounts,
		Trace:    transport.JoinTraces(page.Trace(), metrics.Trace(), logged),
	}
	http.Handle("/debug/headway/", page)
	prometheus.MustRegister(metrics)
	// Output:
}
