package parse

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"
)

// ReadBody reads the body of a refusal: whether it is a problem about quota, and how long it asks to wait. It returns nothing
// if the status is below 400, or the body is longer than twice Caps.FieldBytes.
//
// problem is the registered name of the type of a problem details object (RFC 9457), if it is one of three types (editor's draft,
// Section 8): "quota-exceeded", "temporary-reduced-capacity" or "abnormal-usage-detected". It is "" if the media
// type is not application/problem+json (its parameters do not matter), or the body is not JSON, is cut off, or has another
// type. violated are the names of the policies whose quota was exceeded, each once, in the
// order of the body. They come from violated-policies or, if that is missing, from
// policy-violations (draft -09, Appendix B.1.4). Members that are not
// strings or are longer than Caps.NameBytes are skipped, and all after the first Caps.Items. The type
// is the registered URI, with or without "www.".
//
// wait is how long to wait from now on, for servers that say it only in the body; 0 if it does not say it. In JSON a
// member says it that is named as a field would be, in any case and spelling: retry_after, retryAfter, "Retry-After",
// retry_after_ms, retryDelay, x-ratelimit-reset. Its value is read as that of the field (see [RetryAfter]). Of several
// that say when to retry, the longest counts. If there is none, the shortest reset counts; and if there is none of these,
// the shortest time in a sentence for people, such as "Please try again in 7m12s." or "retry after 2026-10-09 06:07:45 UTC", as plain
// text or in a member that is named detail, error or alike, or whose name ends in message. Resets and sentences of more than an
// hour count as an hour: a sentence may say up to 31 days. A number of 1000 or more, which may be seconds or milliseconds, counts
// only if its name says which, or if it is a Unix time. An instant is relative to the Date in h, or else to now, the local wall
// clock. Nothing else above Caps.RetryAfter counts.
func ReadBody(status int, h http.Header, body []byte, now time.Time, caps Caps) (problem string, violated []string, wait time.Duration) {
	if status < 400 || len(body) > caps.problemBytes() {
		return "", nil, 0
	}
	contentType := h.Get("Content-Type")
	if isProblem(contentType) {
		problem, violated = readProblem(body, caps)
	}
	media, _, _ := mime.ParseMediaType(contentType)
	w := waitReader{clock: clock{header: h, now: now}, caps: caps}
	return problem, violated, w.read(media, body)
}

// readProblem reads a problem details object.
func readProblem(body []byte, caps Caps) (kind string, violated []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return "", nil
	}
	var uri string
	if json.Unmarshal(members["type"], &uri) != nil {
		return "", nil
	}
	if kind = problemType(uri); kind == "" {
		return "", nil
	}
	names, given := members["violated-policies"]
	if !given {
		names = members["policy-violations"]
	}
	return kind, readViolated(names, caps)
}

// isProblem reports whether a Content-Type is that of a problem details object, even if
// its parameters are malformed.
func isProblem(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return media == "application/problem+json" && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

// problemType returns the type that is registered with a URI, or "".
func problemType(uri string) string {
	uri = strings.Replace(uri, "https://www.", "https://", 1)
	name, ok := strings.CutPrefix(uri, "https://iana.org/assignments/http-problem-types#")
	switch name {
	case "quota-exceeded", "temporary-reduced-capacity", "abnormal-usage-detected":
		if ok {
			return name
		}
	}
	return ""
}

// readViolated reads an array of names.
func readViolated(array json.RawMessage, caps Caps) []string {
	var members []json.RawMessage
	if json.Unmarshal(array, &members) != nil {
		return nil
	}
	var names []string
	seen := make(map[string]struct{})
	for _, m := range members[:min(len(members), caps.items())] {
		var name string
		if len(m) == 0 || m[0] != '"' || json.Unmarshal(m, &name) != nil || len(name) > caps.nameBytes() {
			continue
		}
		if _, again := seen[name]; !again {
			seen[name] = struct{}{}
			names = append(names, name)
		}
	}
	return names
}
