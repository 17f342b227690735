package promheadway_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/promheadway"
	"github.com/headway-go/headway/transport/transporttest"
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

// What is exported of a client that has made two requests.
func ExampleMetrics() {
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 10, Window: time.Hour}}}
	accounts := new(quota.Accounts)
	var metrics *promheadway.Metrics = promheadway.New(promheadway.Options{Accounts: accounts})
	client := &http.Client{Transport: &transport.Shaper{
		Base: &transporttest.Transport{Handler: api}, Accounts: accounts, Trace: metrics.Trace(),
	}}
	for range 2 {
		if resp, err := client.Get("https://api.example/"); err == nil {
			resp.Body.Close()
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		if f.GetName() == "headway_quota_available" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	// Output:
	// headway_quota_available 8
}
