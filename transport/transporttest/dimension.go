package transporttest

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/dunglas/httpsfv"
)

// separator stands between the values of a partition key (Section 4.2).
const separator = "\x1f"

// A dimension is one attribute of requests that a policy is partitioned by
// (Section 4.1).
type dimension struct {
	name string

	// declared is its value in RateLimit-Partition: true where it varies, else
	// the literal as the plainest bare item that can hold it.
	declared any

	literal string // the text of declared where that is not true
}

// parseDimension reads an element of Policy.PartitionBy. It panics on one that
// is not known or cannot be declared.
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

// bareItem returns a text as a Token, a String or a Display String: the first
// that can hold it.
func bareItem(text string) any {
	for _, v := range []any{httpsfv.Token(text), text} {
		if _, err := httpsfv.Marshal(httpsfv.NewItem(v)); err == nil {
			return v
		}
	}
	return httpsfv.DisplayString(text)
}

// fitsKey reports whether a value can be part of a partition key: it is UTF-8
// and does not hold the separator (Section 4.2).
func fitsKey(value string) bool {
	return utf8.ValidString(value) && !strings.Contains(value, separator)
}

// A partition is where a request is counted under one policy.
type partition struct {
	key string

	// keyed says whether key is the one of Section 4.2. It is not where the
	// policy has no dimensions or a value of the request does not fit into a key.
	keyed bool
}

// partition returns the partition of a request of a user. It reports false where
// the policy does not concern the request.
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

// method returns the method of a request in its canonical upper case (Section
// 11.7). An empty one is GET, as in [http.Request].
func method(r *http.Request) string {
	if r.Method == "" {
		return http.MethodGet
	}
	return strings.ToUpper(r.Method)
}

// defaultUser returns the user that a request names, as API.User says.
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
