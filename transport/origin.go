package transport

import (
	"bufio"
	"bytes"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"
)

// rawOrigin is an origin as it is written in a URL.
type rawOrigin struct{ scheme, host string }

// normal is the origin's name (RFC 9110, Section 4.3.1): scheme and host in lower
// case, a port that is not the scheme's default, no trailing dot; an IPv6 address
// in its canonical form (RFC 5952); what is not ASCII as it is sent.
func (r rawOrigin) normal() string {
	u := url.URL{Host: r.host}
	scheme, host, port := strings.ToLower(r.scheme), hostOf(u.Hostname()), portOf(u.Port())
	if scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		port = ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return scheme + "://" + host
}

// hostOf is the canonical form of a host, which has no brackets.
func hostOf(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String() // its zone, if any, is the client's own, in any case
	}
	host = strings.ToLower(host)
	if strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf }) {
		host = punycode(host)
	}
	return strings.TrimSuffix(host, ".")
}

// punycode is a host as net/http writes it into the Host field, by RFC 3492; or
// the host itself, if it cannot be written. The standard library offers no other
// way. What Unicode calls compatible (UTS #46), such as full-width letters, is not
// mapped before: the origin is another one then, as it is to most servers.
func punycode(host string) string {
	req := http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: host}, Host: host, Header: http.Header{}}
	var b bytes.Buffer
	if req.Write(&b) != nil {
		return host
	}
	sent, err := http.ReadRequest(bufio.NewReader(&b))
	if err != nil {
		return host
	}
	return sent.Host
}

// portOf is a port without leading zeros.
func portOf(port string) string {
	if zeros := strings.TrimLeft(port, "0"); zeros != "" {
		return zeros
	}
	return port
}
