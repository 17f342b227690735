package main

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// fields notes which fields about quota a server sends, on served responses and on
// refusals.
type fields struct {
	mu              sync.Mutex
	served, refused map[string]bool
}

// above returns a RoundTripper that notes the fields of rt's responses.
func (f *fields) above(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := rt.RoundTrip(req)
		if err == nil {
			f.note(resp)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (f *fields) note(resp *http.Response) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.served == nil {
		f.served, f.refused = make(map[string]bool), make(map[string]bool)
	}
	at := f.served
	if resp.StatusCode != http.StatusOK {
		at = f.refused
	}
	for name := range resp.Header {
		if about(name) {
			at[short(name)] = true
		}
	}
}

// about reports whether a field is about quota.
func about(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit") || strings.HasPrefix(name, "retry-after")
}

// short names the group that a field belongs to.
func short(name string) string {
	for _, group := range []string{"X-Ratelimit-", "Ratelimit-Policy", "Ratelimit-", "X-Rate-Limit-"} {
		if strings.HasPrefix(name, group) {
			return map[string]string{"X-Ratelimit-": "X-RateLimit-\\*", "Ratelimit-Policy": "RateLimit-Policy",
				"Ratelimit-": "RateLimit-\\*", "X-Rate-Limit-": "X-Rate-Limit-\\*"}[group]
		}
	}
	if name == "Ratelimit" {
		return "RateLimit"
	}
	return name
}

// String lists the fields. Those that only refusals have are in brackets.
func (f *fields) String() string {
	var all []string
	for name := range f.served {
		all = append(all, name)
	}
	for name := range f.refused {
		if !f.served[name] {
			all = append(all, "("+name+")")
		}
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(strings.Trim(a, "("), strings.Trim(b, "(")) })
	return strings.Join(all, ", ")
}
