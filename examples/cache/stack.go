package main

import (
	"net/http"
	"sync"

	"github.com/gohugoio/httpcache"

	"github.com/headway-go/headway/transport"
)

// cacheAboveShaper is the order to choose. What is stored is answered without
// asking the Shaper: it costs no quota, and does not stand in line for it.
func cacheAboveShaper(base http.RoundTripper, trace *transport.Trace) http.RoundTripper {
	return &httpcache.Transport{
		Transport: &transport.Shaper{Base: base, Trace: trace},
		Cache:     &memory{},
	}
}

// cacheBelowShaper is the order that one has with a cache on the way, such as a
// CDN. The Shaper cannot know which requests will not reach the server, and holds
// them back as all others. But it sees by the marks of an answer that it was
// stored: by Age, Cache-Status, or the X-From-Cache of this package. From such an
// answer it learns nothing, and gives back what it had reserved.
func cacheBelowShaper(base http.RoundTripper, trace *transport.Trace) http.RoundTripper {
	return &transport.Shaper{
		Base:  &httpcache.Transport{Transport: base, Cache: &memory{}, MarkCachedResponses: true},
		Trace: trace,
	}
}

// unmarkedBelowShaper is what no cache should be: one that does not say when it
// answers. What is stored says what was left long ago, and the Shaper believes it.
// If you have such a cache, tell the Shaper how to recognise it: Shaper.Cached.
func unmarkedBelowShaper(base http.RoundTripper, trace *transport.Trace) http.RoundTripper {
	return &transport.Shaper{
		Base:  &httpcache.Transport{Transport: base, Cache: &memory{}},
		Trace: trace,
	}
}

// memory is an httpcache.Cache that forgets nothing.
type memory struct{ responses sync.Map }

// Get is the response that is stored under a key.
func (m *memory) Get(key string) ([]byte, bool) {
	b, ok := m.responses.Load(key)
	if !ok {
		return nil, false
	}
	return b.([]byte), true
}

// Set stores a response.
func (m *memory) Set(key string, response []byte) { m.responses.Store(key, response) }

// Delete forgets what is stored under a key.
func (m *memory) Delete(key string) { m.responses.Delete(key) }
