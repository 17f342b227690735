package main

import (
	"net/http"
	"sync"

	"github.com/gohugoio/httpcache"

	"github.com/headway-go/headway/transport"
)

// cacheAboveShaper is the right order. The cache answers from its store without the
// Shaper: such a response costs no quota and does not wait in line.
func cacheAboveShaper(base http.RoundTripper, trace *transport.Trace) http.RoundTripper {
	return &httpcache.Transport{
		Transport: &transport.Shaper{Base: base, Trace: trace},
		Cache:     &memory{},
	}
}

// cacheBelowShaper is the order with a cache on the network, such as a CDN. The Shaper
// cannot know which requests do not reach the server, so it holds them like all others.
// It recognises a stored response by the fields Age or Cache-Status, or by the
// X-From-Cache of this package. It learns nothing from such a response and returns the
// quota that it had reserved.
func cacheBelowShaper(base http.RoundTripper, trace *transport.Trace) http.RoundTripper {
	return &transport.Shaper{
		Base:  &httpcache.Transport{Transport: base, Cache: &memory{}, MarkCachedResponses: true},
		Trace: trace,
	}
}

// unmarkedBelowShaper has a cache that does not mark stored responses. Their fields are
// out of date, but the Shaper relies on them. With such a cache, set Shaper.Cached, so
// that the Shaper recognises them.
func unmarkedBelowShaper(base http.RoundTripper, trace *transport.Trace) http.RoundTripper {
	return &transport.Shaper{
		Base:  &httpcache.Transport{Transport: base, Cache: &memory{}},
		Trace: trace,
	}
}

// memory is an httpcache.Cache without a bound.
type memory struct{ responses sync.Map }

// Get returns the response that is stored under a key.
func (m *memory) Get(key string) ([]byte, bool) {
	b, ok := m.responses.Load(key)
	if !ok {
		return nil, false
	}
	return b.([]byte), true
}

// Set stores a response.
func (m *memory) Set(key string, response []byte) { m.responses.Store(key, response) }

// Delete removes the response that is stored under a key.
func (m *memory) Delete(key string) { m.responses.Delete(key) }
