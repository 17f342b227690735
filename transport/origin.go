package transport

import (
	"net/url"
	"strings"
)

// rawOrigin is an origin as it is written in a URL.
type rawOrigin struct{ scheme, host string }

// normal is the origin's name: scheme and host in lower case, without the
// scheme's default port (RFC 9110, Section 4.3.1) and a trailing dot.
func (r rawOrigin) normal() string {
	u := url.URL{Host: r.host}
	scheme, host, port := strings.ToLower(r.scheme), strings.ToLower(u.Hostname()), u.Port()
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	if host = strings.TrimSuffix(host, "."); strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return scheme + "://" + host
}
