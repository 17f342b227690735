package transport

import (
	"hash/maphash"
	"math/bits"
	"net/http"
	"strings"
)

const (
	maxSegments = 6  // of the path, in a kind of DefaultLike
	maxSegment  = 64 // bytes; a longer segment is taken for an identifier

	// The least bytes of an identifier: of hexadecimal digits, as an abbreviated
	// commit has; of capitals and digits; and of any letters and digits.
	minHex        = 7
	minCapitals   = 6
	minIdentifier = 10
)

// A kindKey identifies a kind of requests, or several kinds whose paths begin alike:
// it is a hash that servers and users cannot predict.
type kindKey uint64

// A kindPath identifies a kind, and what it has in common with others: keys[0] stands
// for all requests. With DefaultLike keys[1] stands for the method, and each of the
// next for one more segment of the path. The last one stands for the kind itself.
type kindPath struct {
	keys [maxSegments + 2]kindKey
	n    int
}

var kindSeed = maphash.MakeSeed()

func (p *kindPath) add(hash uint64) {
	last := bits.RotateLeft64(uint64(p.keys[p.n-1]), 23)
	p.keys[p.n] = kindKey((last ^ hash) * 0x9e3779b97f4a7c15)
	p.n++
}

// key returns the key of the kind itself.
func (p *kindPath) key() kindKey { return p.keys[p.n-1] }

// likePath returns the path of a kind that Shaper.Like has named.
func likePath(like string) kindPath {
	return kindPath{keys: [...]kindKey{1: kindKey(maphash.String(kindSeed, like)), maxSegments + 1: 0}, n: 2}
}

// defaultPath returns the path of the kind that DefaultLike names. It does not
// allocate if no segment is longer than maxSegment.
func defaultPath(req *http.Request) kindPath {
	var buffer [maxSegment]byte
	p := kindPath{n: 1}
	p.add(maphash.String(kindSeed, methodOf(req)))
	segment, rest := nextSegment(req.URL.Path)
	for ok := true; ok; ok = segment != "" && p.n < len(p.keys) {
		if isWord(segment) { // or empty: the root is a path with one empty segment
			p.add(maphash.String(kindSeed, segment))
		} else {
			p.add(maphash.Bytes(kindSeed, appendSegment(buffer[:0], segment)))
		}
		segment, rest = nextSegment(rest)
	}
	return p
}

// DefaultLike returns the kind of a request as a Shaper without Like sees it: the
// method and the first six segments of the path that are not empty. Each number is
// replaced by "*", also within a segment: item7 is "item*". So is the whole of a segment that
// looks like an identifier: UUIDs, other long mixtures of letters and digits, addresses with
// an @, and what is longer than 64 bytes. Versions, such as v1, and all other words stay.
// The kind of GET /v1/items/7 is "GET /v1/items/*". The query does not matter. An empty
// method means GET. The URL of the request must not be nil.
//
// A Shaper without Like also learns where one thing of a kind has a limit of its own, such as the item 7: by the
// path where the kind has a "*", else by the query.
//
// A function for Shaper.Like can add to it:
//
//	shaper.Like = func(req *http.Request) string {
//		return transport.DefaultLike(req) + " " + req.URL.Query().Get("action")
//	}
func DefaultLike(req *http.Request) string {
	like := append([]byte(methodOf(req)), ' ')
	segment, rest := nextSegment(req.URL.Path)
	for n := 0; n == 0 || n < maxSegments && segment != ""; n++ {
		like = appendSegment(append(like, '/'), segment)
		segment, rest = nextSegment(rest)
	}
	return string(like)
}

func methodOf(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

// nextSegment returns the first segment of a path that is not empty, and what
// follows; "" if there is none.
func nextSegment(path string) (segment, rest string) {
	for segment == "" && path != "" {
		segment, path, _ = strings.Cut(path, "/")
	}
	return segment, path
}

// appendSegment appends a segment of a path, with "*" for what tells apart things of
// one kind. The versions of an API are kinds of their own.
func appendSegment(b []byte, segment string) []byte {
	if isVersion(segment) {
		return append(b, segment...)
	}
	if isIdentifier(segment) {
		return append(b, '*')
	}
	for i := range len(segment) {
		if c := segment[i]; !isDigit(c) {
			b = append(b, c)
		} else if i == 0 || !isDigit(segment[i-1]) {
			b = append(b, '*')
		}
	}
	return b
}

// isWord reports whether appendSegment appends a segment as it is.
func isWord(segment string) bool {
	for i := range len(segment) {
		if c := segment[i]; isDigit(c) || c == '@' {
			return false
		}
	}
	return len(segment) <= maxSegment
}

// isVersion reports whether a segment is a version such as v2 or v1.1.
func isVersion(segment string) bool {
	return len(segment) > 1 && len(segment) < 8 && segment[0] == 'v' && strings.Trim(segment[1:], "0123456789.") == ""
}

// isIdentifier reports whether a segment looks like an identifier that a program has
// made. Words are not identifiers, even with a few digits.
func isIdentifier(segment string) bool {
	if len(segment) > maxSegment || strings.IndexByte(segment, '@') > 0 {
		return true
	}
	var digits, lower, upper, beyondHex, signs int
	for i := range len(segment) {
		switch c := segment[i]; {
		case isDigit(c):
			digits++
		case 'a' <= c && c <= 'z':
			lower++
			if c > 'f' {
				beyondHex++
			}
		case 'A' <= c && c <= 'Z':
			upper++
			if c > 'F' {
				beyondHex++
			}
		case c != '-' && c != '_':
			signs++
		}
	}
	switch {
	case digits == 0 || signs > 0:
		return false
	case beyondHex == 0 && len(segment) >= minHex:
		return true
	case lower == 0 && digits > 1 && len(segment) >= minCapitals:
		return true
	}
	return digits > 1 && len(segment) >= minIdentifier
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
