package recipes

import (
	"net/http"

	"github.com/stripe/stripe-go/v82"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Stripe returns a client of Stripe's API. Stripe says nothing of its limits, not even how
// long to wait after a refusal. So the documented one, 25 requests a second in a sandbox and
// 100 in live mode, is a limit of the client's own. The burst is a little less than a second's
// requests, because requests may arrive closer together than they departed.
func Stripe(key string, perSecond int64, base http.RoundTripper) *stripe.Client {
	shaper := &transport.Shaper{
		Base:   base,
		Limits: quota.Always[*http.Request](quota.PerSecond(perSecond, max(perSecond*4/5, 1), quota.Options{Name: "stripe"})),
	}
	return stripe.NewClient(key, stripe.WithBackends(stripe.NewBackendsWithConfig(&stripe.BackendConfig{
		HTTPClient: &http.Client{Transport: shaper},
	})))
}
