package transport

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/headway-go/headway/partition"
)

// DefaultScope returns the scope of a request as a Shaper without Scope sees it. If
// the context has a user id, the request acts for that user: the scope is a
// keyed hash of the user and client ids, and a new token changes nothing. Else it is
// a keyed hash of all credentials on the request and of the client id; "" if there
// are none of these. The key of the hash belongs to the Accounts: the scope is the
// same for all Shapers that share them, and the credentials cannot be computed from
// it.
//
// Credentials are the Authorization field, if its scheme is one whose value stays
// the same from request to request (Bearer, Basic, Bot, Token, ApiKey, Api-Key, Key), and the
// fields X-Api-Key, Api-Key, Apikey, X-Auth-Token, X-Access-Token, X-Goog-Api-Key, Private-Token
// and Ocp-Apim-Subscription-Key, in upper or lower case. A key in another field or in the URL
// is not one. Cookies and signatures are not, either: they change, and
// each request would have a scope of its own.
//
// A function for Shaper.Scope can add to it:
//
//	shaper.Scope = func(req *http.Request) string {
//		return shaper.DefaultScope(req) + " " + req.Header.Get("X-Tenant")
//	}
func (s *Shaper) DefaultScope(req *http.Request) string {
	ctx := req.Context()
	user, client := partition.UserID(ctx), partition.ClientID(ctx)
	credential := ""
	if user == "" {
		credential = credentialsOf(req.Header)
	}
	if user == "" && client == "" && credential == "" {
		return ""
	}
	return s.accounts().CredentialHash(credential, user, client)
}

// credentialFields are fields with a credential that identifies the client. All
// others are API keys; the value of Authorization depends on its scheme.
var credentialFields = [...]string{
	"Authorization", "X-Api-Key", "Api-Key", "Apikey", "X-Auth-Token", "X-Access-Token", "X-Goog-Api-Key",
	"Private-Token", "Ocp-Apim-Subscription-Key",
}

// A credential is a value of credentialFields[field].
type credential struct {
	field int
	value string
}

// credentialsOf returns the credentials of a request as one string: the value if
// there is one, else all names and values; "" if there is none. Names may be written
// in any case (RFC 9110, Section 5.1): a request need not be made with Header.Set.
func credentialsOf(h http.Header) (one string) {
	if len(h) == 0 {
		return "" // as of most requests, before Base adds its fields
	}
	n := 0
	for name, values := range h {
		field := credentialField(name)
		if field < 0 {
			continue
		}
		for _, v := range values {
			if isCredential(field, v) {
				one = v
				n++
			}
		}
	}
	if n > 1 {
		return allCredentials(h)
	}
	return one
}

func isCredential(field int, value string) bool {
	return value != "" && (field > 0 || isStable(value))
}

// allCredentials returns the names and values of several credentials.
func allCredentials(h http.Header) string {
	var few [4]credential
	found := few[:0]
	for name, values := range h {
		field := credentialField(name)
		if field < 0 {
			continue
		}
		for _, v := range values {
			if isCredential(field, v) {
				found = append(found, credential{field, v})
			}
		}
	}
	slices.SortFunc(found, func(a, b credential) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.value, b.value))
	})
	var all strings.Builder
	for _, c := range found {
		// A line feed is in no value (RFC 9110, Section 5.5).
		all.WriteString(credentialFields[c.field] + ": " + c.value + "\n")
	}
	return all.String()
}

// credentialField returns the index of a name in credentialFields, or -1.
func credentialField(name string) int {
	switch len(name) {
	case 6, 7, 9, 12, 13, 14, 25: // the lengths of the names
	default:
		return -1
	}
	for i, f := range credentialFields {
		if len(f) == len(name) && strings.EqualFold(f, name) {
			return i
		}
	}
	return -1
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
