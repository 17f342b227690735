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

// A rawOrigin is an origin as it is written in a URL.
type rawOrigin struct{ scheme, host string }

// name returns the normalised origin (RFC 9110, Section 4.3.1): scheme and host are
// in lower case; the port is left out if it is the scheme's default, and so is a
// trailing dot; an IPv6 address has its canonical form (RFC 5952); a host that is
// not ASCII is in Punycode.
func (r rawOrigin) name() string {
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

// hostOf returns the canonical form of a host without brackets.
func hostOf(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String() // a zone is kept as it is: zones are local to the client
	}
	host = strings.ToLower(host)
	if strings.ContainsFunc(host, func(c rune) bool { return c >= utf8.RuneSelf }) {
		host = punycode(host)
	}
	return strings.TrimSuffix(host, ".")
}

// punycode returns a host as net/http writes it into the Host field (RFC 3492), or
// the host itself if net/http cannot write it. To write a request and read it again
// is the only way that the standard library offers. Compatible characters (UTS #46),
// such as full-width letters, are not mapped first: they make another origin, as
// they do for most servers.
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

// portOf returns a port without leading zeros.
func portOf(port string) string {
	if zeros := strings.TrimLeft(port, "0"); zeros != "" {
		return zeros
	}
	return port
}
