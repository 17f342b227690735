package parse

import (
	"net/http"
	"strings"
)

// maxSegments bounds the segments of a path that are looked at.
const maxSegments = 32

// PathKey returns what the path of a request adds to the partition keys that the row with
// that name reads: see Vendor.Paths. The values are separated by slashes. It is empty if
// the row has no such pattern, or if none matches the path. path is decoded, as in
// url.URL.Path.
func (r *Reader) PathKey(vendor, path string) string {
	t := r.rows()
	for _, i := range t.pathed {
		if row := &t.rows[i]; row.Name == vendor {
			return row.pathKey(path)
		}
	}
	return ""
}

func (r *row) pathKey(path string) string {
	segments := strings.SplitN(strings.Trim(path, "/"), "/", maxSegments)
	for _, pattern := range r.paths {
		for from := range max(len(segments)-len(pattern)+1, 0) {
			if key, ok := matchPath(pattern, segments[from:]); ok {
				return key
			}
		}
	}
	return ""
}

// matchPath returns the segments that a pattern has in braces, if the others are those of
// the pattern.
func matchPath(pattern, segments []string) (key string, ok bool) {
	for i, want := range pattern {
		switch {
		case strings.HasPrefix(want, "{"):
			key += "/" + segments[i]
		case want != segments[i]:
			return "", false
		}
	}
	return key, true
}

// isWhole reports whether a response says that it concerns all requests.
func (r *row) isWhole(h http.Header) bool {
	for _, name := range r.whole {
		for _, line := range h[name] {
			if line = trim(line); strings.EqualFold(line, "true") || strings.EqualFold(line, "global") {
				return true
			}
		}
	}
	return false
}
