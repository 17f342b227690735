package recipes

import (
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/headway-go/headway/transport"
)

// Anthropic returns a client of an API that counts requests, input tokens and output tokens
// as Anthropic does.
func Anthropic(key string, base http.RoundTripper) anthropic.Client {
	return anthropic.NewClient(
		option.WithAPIKey(key),
		option.WithHTTPClient(&http.Client{Transport: &transport.Shaper{Base: base}}),
	)
}
