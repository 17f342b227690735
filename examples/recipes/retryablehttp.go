package recipes

import (
	"net/http"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/headway-go/headway/transport"
)

// Retryable returns a client that retries. Below its retries is the Shaper, so each of them
// waits its turn. What the Shaper refuses is retried when it says, as if the server had answered 429.
func Retryable(base http.RoundTripper) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient.Transport = &transport.Shaper{Base: base, Respond429: true}
	return client
}
