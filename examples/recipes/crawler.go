package recipes

import (
	"net/http"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Crawler returns a client for many sites. Sites count by IP address, so all requests to a
// site are of one scope. At most two go to a site at a time. For colly:
//
//	collector.WithTransport(recipes.Crawler(nil).Transport)
func Crawler(base http.RoundTripper) *http.Client {
	host := func(r *http.Request) string { return r.URL.Host }
	return &http.Client{Transport: &transport.Shaper{
		Base:   base,
		Scope:  func(*http.Request) string { return "" },
		Limits: quota.By(host, func(string) quota.Limiter { return quota.Concurrency(2) }),
	}}
}
