package recipes

import (
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Crawler makes a collector of colly polite. Sites count by IP address, so all requests to a
// site are of one scope. At most two go to a site at a time; colly's LimitRule is not needed.
func Crawler(collector *colly.Collector, base http.RoundTripper) {
	host := func(r *http.Request) string { return r.URL.Host }
	collector.WithTransport(&transport.Shaper{
		Base:   base,
		Scope:  func(*http.Request) string { return "" },
		Limits: quota.By(host, func(string) quota.Limiter { return quota.Concurrency(2) }),
	})
}
