package transporttest

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/dunglas/httpsfv"
)

// separator joins the values of a partition key (Section 4.2).
const separator = "\x1f"

// A dimension is an attribute of requests that partitions a policy (Section 4.1).
type dimension struct {
	name string

	// declared is the value in RateLimit-Partition: true if the value varies,
	// otherwise the literal as a bare item (see bareItem).
	declared any

	literal string // the text of declared; unused if that is true
}

// parseDimension parses an element of Policy.PartitionBy. It panics if the dimension
// is unknown or its literal cannot be part of a key.
func parseDimension(s string) dimension {
	name, literal, fixed := strings.Cut(s, "=")
	if name != "method" && name != "user_id" {
		panic(fmt.Sprintf("transporttest: unknown partition dimension %q", name))
	}
	if !fixed {
		return dimension{name: name, declared: true}
	}
	if !fitsKey(literal) {
		panic(fmt.Sprintf("transporttest: the literal of %q cannot be part of a key", s))
	}
	return dimension{name: name, declared: bareItem(literal), literal: literal}
}

// bareItem returns the text as a Token if possible, otherwise as a String, otherwise
// as a Display String.
func bareItem(text string) any {
	for _, v := range []any{httpsfv.Token(text), text} {
		if _, err := httpsfv.Marshal(httpsfv.NewItem(v)); err == nil {
			return v
		}
	}
	return httpsfv.DisplayString(text)
}

// fitsKey reports whether the value can be part of a partition key (Section 4.2): it
// must be UTF-8 and not contain the separator.
func fitsKey(value string) bool {
	return utf8.ValidString(value) && !strings.Contains(value, separator)
}

// A partition identifies where a policy counts a request.
type partition struct {
	key string

	// keyed says whether key is a partition key as Section 4.2 defines it. It is
	// false if the policy has no dimensions or if a value does not fit into a key.
	keyed bool
}

// partition returns the partition of a user's request. It reports false if the policy
// does not apply to the request.
func (r *rule) partition(req *http.Request, user string) (partition, bool) {
	p := partition{keyed: len(r.sorted) > 0}
	values := make([]string, len(r.sorted))
	for i, d := range r.sorted {
		value := user
		if d.name == "method" {
			value = method(req)
		}
		if d.declared != true && value != d.literal {
			return partition{}, false
		}
		if !fitsKey(value) {
			p.keyed = false
		}
		values[i] = value
	}
	p.key = strings.Join(values, separator)
	return p, true
}

// method returns the method of the request in upper case (Section 11.7). An empty
// method means GET, as in [http.Request].
func method(r *http.Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return strings.ToUpper(r.Method)
}

// defaultUser returns the user of a request if API.User is nil.
func defaultUser(r *http.Request) string {
	if user := r.Header.Get("X-User"); user != "" {
		return user
	}
	if user, _, ok := r.BasicAuth(); ok {
		return user
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return ""
}
