package partition_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// varying returns a declaration of dimensions that vary.
func varying(names ...string) parse.Declaration {
	d := parse.Declaration{Policy: "api"}
	for _, name := range names {
		d.Dimensions = append(d.Dimensions, parse.Dimension{Name: name, Varies: true})
	}
	return d
}

// always computes one value for every request.
func always(value string) func(*http.Request) (string, bool) {
	return func(*http.Request) (string, bool) { return value, true }
}

// never has no value for any request.
func never(*http.Request) (string, bool) { return "ignored", false }

func TestStandardDimensions(t *testing.T) {
	ctx := partition.WithClientID(partition.WithUserID(t.Context(), "alice"), "app")
	tests := []struct {
		name      string
		dimension string
		req       *http.Request
		want      partition.Key
		answer    partition.Answer
	}{
		{"method", "method", &http.Request{Method: "PUT"}, "PUT", partition.Known},
		{"an empty method is GET", "method", &http.Request{}, "GET", partition.Known},
		{"a method in lower case", "method", &http.Request{Method: "patch"}, "PATCH", partition.Known},
		{"user", "user_id", (&http.Request{}).WithContext(ctx), "alice", partition.Known},
		{"client", "client_id", (&http.Request{}).WithContext(ctx), "app", partition.Known},
		{"no user", "user_id", &http.Request{}, "", partition.Opaque},
		{"no client", "client_id", &http.Request{}, "", partition.Opaque},
		{"unknown", "tenant", &http.Request{}, "", partition.Opaque},
		{"names are case-sensitive", "Method", &http.Request{}, "", partition.Opaque},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var standard partition.Dimensions
			key, answer := standard.Key(varying(tt.dimension), tt.req)
			assert.Equal(t, tt.answer, answer)
			assert.Equal(t, string(tt.want), string(key))
		})
	}
}

func TestDimensions(t *testing.T) {
	ctx := partition.WithUserID(t.Context(), "alice")
	req := (&http.Request{Method: "GET"}).WithContext(ctx)
	tests := []struct {
		name       string
		dimensions partition.Dimensions
		dimension  string
		want       partition.Key
		answer     partition.Answer
	}{
		{"added", partition.Dimensions{"tenant": always("t1")}, "tenant", "t1", partition.Known},
		{"the standard ones stay", partition.Dimensions{"tenant": always("t1")}, "user_id", "alice", partition.Known},
		{"replaced", partition.Dimensions{"user_id": always("bob")}, "user_id", "bob", partition.Known},
		{"nil makes unknown", partition.Dimensions{"user_id": nil}, "user_id", "", partition.Opaque},
		{"no value", partition.Dimensions{"tenant": never}, "tenant", "", partition.Opaque},
		{"replaced, without a value", partition.Dimensions{"user_id": never}, "user_id", "", partition.Opaque},
		{"an empty value is a value", partition.Dimensions{"tenant": always("")}, "tenant", "", partition.Known},
		{"not ASCII", partition.Dimensions{"tenant": always("Łódź")}, "tenant", "Łódź", partition.Known},
		{"the separator", partition.Dimensions{"tenant": always("a\x1fb")}, "tenant", "", partition.Opaque},
		{"not UTF-8", partition.Dimensions{"tenant": always("\xff")}, "tenant", "", partition.Opaque},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			key, answer := tt.dimensions.Key(varying(tt.dimension), req)
			assert.Equal(t, tt.answer, answer)
			assert.Equal(t, string(tt.want), string(key))
		})
	}
}
