package transport

import (
	"net/http"
	"strings"

	"github.com/headway-go/headway/partition"
)

func (s *Shaper) scopeOf(req *http.Request) string {
	if s.Scope != nil {
		return s.Scope(req)
	}
	return s.DefaultScope(req)
}

// DefaultScope returns the scope of a request as a Shaper without Scope sees it: a
// keyed hash of the credentials on the request and of the user and client ids in
// its context; "" if there are none of these. The key of the hash belongs to the
// Accounts: the scope is the same for all Shapers that share them, and the
// credentials cannot be computed from it.
//
// Credentials are the Authorization field, if its scheme is one whose value stays
// the same from request to request (such as Basic and Bearer), or else a field with
// an API key. Cookies and signatures are not: they change, and each request would
// have a scope of its own.
//
// A function for Shaper.Scope can add to it:
//
//	shaper.Scope = func(req *http.Request) string {
//		return shaper.DefaultScope(req) + " " + req.Header.Get("X-Tenant")
//	}
func (s *Shaper) DefaultScope(req *http.Request) string {
	ctx := req.Context()
	user, client := partition.UserID(ctx), partition.ClientID(ctx)
	credential := credentialOf(req.Header)
	if user == "" && client == "" && credential == "" {
		return ""
	}
	return s.accounts().CredentialHash(credential, user, client)
}

// apiKeyFields are fields with a key that identifies the client.
var apiKeyFields = [...]string{
	"X-Api-Key", "Api-Key", "Apikey", "X-Auth-Token", "X-Access-Token", "X-Goog-Api-Key",
	"Private-Token", "Ocp-Apim-Subscription-Key",
}

// credentialOf returns the credential of a request, or "".
func credentialOf(h http.Header) string {
	if len(h) == 0 {
		return ""
	}
	if vs := h["Authorization"]; len(vs) > 0 && isStable(vs[0]) {
		return vs[0]
	}
	for _, name := range apiKeyFields {
		if vs := h[name]; len(vs) > 0 && vs[0] != "" {
			return vs[0]
		}
	}
	return ""
}

// isStable reports whether a value of Authorization stays the same from request
// to request, by its scheme (RFC 9110, Section 11.4).
func isStable(authorization string) bool {
	scheme, _, _ := strings.Cut(authorization, " ")
	for _, s := range [...]string{"Bearer", "Basic", "Bot", "Token", "ApiKey", "Api-Key", "Key"} {
		if strings.EqualFold(scheme, s) {
			return true
		}
	}
	return false
}
