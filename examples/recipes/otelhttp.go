package recipes

import (
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/headway-go/headway/transport"
)

// OTelHTTP returns a client whose requests are traced. The Shaper is above otelhttp's
// transport, so that a span is the time of an exchange with the server, and a request that is
// never sent has none. The other way around, a span would include the wait.
func OTelHTTP(base http.RoundTripper, options ...otelhttp.Option) *http.Client {
	return &http.Client{Transport: &transport.Shaper{Base: otelhttp.NewTransport(base, options...)}}
}
