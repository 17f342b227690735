package recipes

import (
	"context"
	"errors"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/headway-go/headway/transport"
)

// Retryable returns a client that retries. Below its retries is the Shaper, so each of them
// waits its turn. Refusals of the Shaper are not retried: they say that it is too early (see
// transport.RejectedError).
func Retryable(base http.RoundTripper) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient.Transport = &transport.Shaper{Base: base}
	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if errors.Is(err, transport.ErrRejected) {
			return false, err
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	return client
}
