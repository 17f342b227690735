package parse

import (
	"encoding/json"
	"errors"
	"mime"
	"strings"
)

// ReadProblem reads a problem details object (RFC 9457) of one of the three types
// about quota. kind is the registered name of its type (editor's draft, Section 8):
// "quota-exceeded", "temporary-reduced-capacity" or "abnormal-usage-detected". It is ""
// if the status is below 400, the media type is not application/problem+json (its
// parameters do not matter), or the body is longer than twice Caps.FieldBytes, is not
// JSON, is cut off, or has another type.
//
// violated are the names of the policies whose quota was exceeded, each once, in the
// order of the body. They come from violated-policies or, if that is missing, from
// policy-violations (draft -09, Appendix B.1.4). ReadProblem skips members that are not
// strings or are longer than Caps.NameBytes, and all after the first Caps.Items. The type
// is the registered URI, with or without "www.".
func ReadProblem(status int, contentType string, body []byte, caps Caps) (kind string, violated []string) {
	if status < 400 || len(body) > caps.problemBytes() || !isProblem(contentType) {
		return "", nil
	}
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
