package recipes

import (
	"net/http"

	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"

	"github.com/headway-go/headway/transport"
)

// OpenAI returns a client of an API that counts tokens as OpenAI does. The Shaper estimates
// what each request costs. The SDK's own retries stay: they catch the few requests that
// are refused all the same. Its timeout for a request includes the time that the Shaper
// holds it.
func OpenAI(key string, base http.RoundTripper) openai.Client {
	return openai.NewClient(
		option.WithAPIKey(key),
		option.WithHTTPClient(&http.Client{Transport: &transport.Shaper{Base: base}}),
	)
}
