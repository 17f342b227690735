package recipes

import (
	"net/http"

	"github.com/google/go-github/v75/github"

	"github.com/headway-go/headway/transport"
)

// GitHub returns a client of github.com that keeps within its primary and secondary
// limits. go-github has a check of its own, which refuses requests before they reach any
// transport; the Shaper holds them instead. The check is switched off last: WithAuthToken
// returns a copy that has it again.
func GitHub(token string, base http.RoundTripper) *github.Client {
	client := github.NewClient(&http.Client{Transport: &transport.Shaper{Base: base}}).WithAuthToken(token)
	client.DisableRateLimitCheck = true
	return client
}
