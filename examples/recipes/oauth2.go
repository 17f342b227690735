package recipes

import (
	"net/http"

	"golang.org/x/oauth2"

	"github.com/headway-go/headway/transport"
)

// OAuth2 returns a client that acts for one user. The Shaper is above the oauth2.Transport, and
// does not see the credentials: below it, each new access token would look like another user.
// For several users make a client for each, or use one Shaper and partition.WithUserID.
func OAuth2(source oauth2.TokenSource, base http.RoundTripper) *http.Client {
	return &http.Client{Transport: &transport.Shaper{
		Base: &oauth2.Transport{Source: source, Base: base},
	}}
}
