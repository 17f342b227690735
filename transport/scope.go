package transport

import (
	"net/http"
	"strings"

	"github.com/headway-go/headway/partition"
)

// scopeOf is the identity that a request acts for: what Shaper.Scope says, or
// the pseudonym of its credentials and of the ids in its context. It is ""
// where there are none.
func (s *Shaper) scopeOf(req *http.Request) string {
	if s.Scope != nil {
		return s.Scope(req)
	}
	ctx := req.Context()
	user, client := partition.UserID(ctx), partition.ClientID(ctx)
	credential := credentialOf(req.Header)
	if user == "" && client == "" && credential == "" {
		return ""
	}
	return s.accounts().CredentialHash(credential, user, client)
}

// apiKeyFields carry a key that stands for an identity.
var apiKeyFields = [...]string{
	"X-Api-Key", "Api-Key", "Apikey", "X-Auth-Token", "X-Access-Token", "X-Goog-Api-Key",
	"Private-Token", "Ocp-Apim-Subscription-Key",
}

// credentialOf is the credential of a request: one that stays the same from
// request to request. Cookies and signatures do not, and each request would be
// an identity of its own.
func credentialOf(h http.Header) string {
	if len(h) == 0 {
		return ""
	}
	if vs := h["Authorization"]; len(vs) > 0 && stands(vs[0]) {
		return vs[0]
	}
	for _, name := range apiKeyFields {
		if vs := h[name]; len(vs) > 0 && vs[0] != "" {
			return vs[0]
		}
	}
	return ""
}

// stands reports whether a value of Authorization stays the same from request
// to request, by its scheme (RFC 9110, Section 11.4).
func stands(authorization string) bool {
	scheme, _, _ := strings.Cut(authorization, " ")
	for _, s := range [...]string{"Bearer", "Basic", "Bot", "Token", "ApiKey", "Api-Key", "Key"} {
		if strings.EqualFold(scheme, s) {
			return true
		}
	}
	return false
}
