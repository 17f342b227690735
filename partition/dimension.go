package partition

import (
	"net/http"
	"strings"
)

// Dimensions maps the name of a partition dimension to a function that computes its
// value for a request before the request is sent.
//
// The nil map has the standard dimensions only: method, the request's method in
// upper case; user_id and client_id, the ids that [WithUserID] and [WithClientID]
// put into the request's context. An entry replaces the standard dimension of its
// name; a nil entry makes its dimension unknown.
//
// A function reports false if the request has no value for the dimension. It must not
// change the request or read its body, and may be called from several goroutines at
// once. A map must not be changed while it is in use.
type Dimensions map[string]func(*http.Request) (value string, ok bool)

// value computes the value of a dimension. It reports false if the dimension is
// unknown, the request has no value for it, or the value cannot be part of a key.
func (d Dimensions) value(name string, req *http.Request) (string, bool) {
	compute, ok := d[name]
	if !ok {
		compute = standard(name)
	}
	if compute == nil {
		return "", false
	}
	value, ok := compute(req)
	return value, ok && encodable(value)
}

// standard returns the function of a registered dimension (editor's draft,
// Section 11.7), or nil.
func standard(name string) func(*http.Request) (string, bool) {
	switch name {
	case "method":
		return method
	case "user_id":
		return userID
	case "client_id":
		return clientID
	}
	return nil
}

// method returns the request's method in upper case. An empty Method is
// GET, as in net/http.
func method(req *http.Request) (string, bool) {
	if req.Method == "" {
		return http.MethodGet, true
	}
	return strings.ToUpper(req.Method), true
}

// userID returns the user id of the request's context. An empty id is no value.
func userID(req *http.Request) (string, bool) {
	id := UserID(req.Context())
	return id, id != ""
}

// clientID returns the client id of the request's context. An empty id is no value.
func clientID(req *http.Request) (string, bool) {
	id := ClientID(req.Context())
	return id, id != ""
}
