// Package headway has no code. The module keeps an HTTP client within the rate limits of servers:
// it reads what they say about their quotas on each response, and delays or refuses the next
// requests before they are sent. Begin with [github.com/headway-go/headway/transport]:
//
//	client := &http.Client{Transport: &transport.Shaper{}}
//
// The packages are
//
//	github.com/headway-go/headway/transport                 the Shaper, an http.RoundTripper
//	github.com/headway-go/headway/transport/transporttest   a server to test against
//	github.com/headway-go/headway/transport/inspect         a page that shows what a Shaper knows and does
//	github.com/headway-go/headway/quota                     accounts of quotas, and limits of your own; without HTTP
//	github.com/headway-go/headway/quota/fleet               many processes, one quota
//	github.com/headway-go/headway/partition                 from a request to its partition key
//	github.com/headway-go/headway/parse                     from response fields to values
//
// These are modules of their own, because of what they depend on:
//
//	github.com/headway-go/headway/quota/fleet/redisstore    a fleet through Redis
//	github.com/headway-go/headway/transport/promheadway     metrics for Prometheus
//	github.com/headway-go/headway/transport/otelheadway     metrics and spans for OpenTelemetry
//
// The README of the repository shows what to use when.
package headway
