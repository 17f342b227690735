package recipes

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// AWS changes the configuration of the clients of aws-sdk-go-v2. A service of AWS says nothing
// of its limits, and refuses with 400 or 503. A Shaper takes these for the refusals that they
// are, and finds out how much is allowed. Where it is known, as the capacity of a table of
// DynamoDB is, it is a limit of the client's own: perSecond requests; 0 for none. The SDK's own
// retries stay.
func AWS(config *aws.Config, perSecond int64, base http.RoundTripper) {
	shaper := &transport.Shaper{Base: base}
	if perSecond > 0 {
		shaper.Limits = quota.Always[*http.Request](quota.PerSecond(perSecond, max(perSecond*4/5, 1), quota.Options{Name: "capacity"}))
	}
	config.HTTPClient = &http.Client{Transport: shaper}
}
