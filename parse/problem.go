package parse

import (
	"encoding/json"
	"errors"
	"mime"
	"strings"
)

// ProblemType is one of the problem types about quota (editor's draft, Section 8).
type ProblemType uint8

const (
	// NoProblem is any other problem, or none. It is the zero ProblemType.
	NoProblem ProblemType = iota

	// QuotaExceeded says that the client has exceeded a quota (Section 8.1).
	QuotaExceeded

	// TemporaryReducedCapacity says that the server can do less than usual
	// (Section 8.2).
	TemporaryReducedCapacity

	// AbnormalUsageDetected says that the client behaves strangely (Section 8.3).
	AbnormalUsageDetected
)

// String returns the name that the type is registered under.
func (t ProblemType) String() string {
	switch t {
	case QuotaExceeded:
		return "quota-exceeded"
	case TemporaryReducedCapacity:
		return "temporary-reduced-capacity"
	case AbnormalUsageDetected:
		return "abnormal-usage-detected"
	}
	return "none"
}

// A Problem is what the body of a refusal says about quota.
type Problem struct {
	// Type is the problem type.
	Type ProblemType

	// Violated are the names of the policies whose quota was exceeded, each once,
	// in the order of the body. There may be none.
	Violated []string
}

// ReadProblem reads a problem details object (RFC 9457) of one of the three types
// about quota. ok is false if the body is none: if the status is no error, the media
// type is not application/problem+json, whatever its parameters, or the body is
// longer than Caps.ProblemBytes, is not JSON, or is cut off. Such a body teaches
// nothing; what it says in part is not believed.
//
// The names come from violated-policies or, where there is none, from
// policy-violations (draft -09, Appendix B.1.4). A member of that array that is no
// string, or is longer than Caps.NameBytes, is left out; so is what comes after
// Caps.Items members. Types are compared as they are registered, with or without
// "www.".
func ReadProblem(status int, contentType string, body []byte, caps Caps) (p Problem, ok bool) {
	if status < 400 || len(body) > caps.problemBytes() || !isProblem(contentType) {
		return Problem{}, false
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil {
		return Problem{}, false
	}
	var uri string
	if json.Unmarshal(members["type"], &uri) != nil {
		return Problem{}, false
	}
	if p.Type = problemType(uri); p.Type == NoProblem {
		return Problem{}, false
	}
	names, given := members["violated-policies"]
	if !given {
		names = members["policy-violations"]
	}
	p.Violated = violated(names, caps)
	return p, true
}

// isProblem reports whether a Content-Type is that of a problem details object.
// Parameters that are malformed do not matter.
func isProblem(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return media == "application/problem+json" && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

// problemType is the type with a URI.
func problemType(uri string) ProblemType {
	uri = strings.Replace(uri, "https://www.", "https://", 1)
	name, ok := strings.CutPrefix(uri, "https://iana.org/assignments/http-problem-types#")
	if !ok {
		return NoProblem
	}
	for _, t := range [...]ProblemType{QuotaExceeded, TemporaryReducedCapacity, AbnormalUsageDetected} {
		if name == t.String() {
			return t
		}
	}
	return NoProblem
}

// violated reads an array of names.
func violated(array json.RawMessage, caps Caps) []string {
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
