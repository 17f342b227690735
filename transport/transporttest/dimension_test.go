package transporttest

import (
	"net/http"
	"testing"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
)

func TestPartition(t *testing.T) {
	for _, tt := range []struct {
		name    string
		by      []string
		method  string
		user    string
		key     string
		keyed   bool
		applies bool
	}{
		{"the draft's example", []string{"user_id", "method"}, "GET", "alice", "GET\x1falice", true, true},
		{"in the other order", []string{"method", "user_id"}, "GET", "alice", "GET\x1falice", true, true},
		{"no dimension", nil, "GET", "alice", "", false, true},
		{"user", []string{"user_id"}, "GET", "alice", "alice", true, true},
		{"no user", []string{"user_id"}, "GET", "", "", true, true},
		{"method", []string{"method"}, "POST", "alice", "POST", true, true},
		{"no method", []string{"method"}, "", "", "GET", true, true},
		{"lower case", []string{"method"}, "patch", "", "PATCH", true, true},
		{"literal", []string{"method=GET"}, "GET", "alice", "GET", true, true},
		{"literal, no method", []string{"method=GET"}, "", "alice", "GET", true, true},
		{"literal that does not match", []string{"method=GET"}, "HEAD", "alice", "", false, false},
		{"literal beside a value", []string{"user_id", "method=GET"}, "GET", "bob", "GET\x1fbob", true, true},
		{"two literals", []string{"user_id=bob", "method=GET"}, "GET", "bob", "GET\x1fbob", true, true},
		{"second literal does not match", []string{"user_id=bob", "method=GET"}, "GET", "eve", "", false, false},
		{"empty literal", []string{"user_id="}, "GET", "", "", true, true},
		{"literal with an equals sign", []string{"user_id=a=b"}, "GET", "a=b", "a=b", true, true},
		{"UTF-8", []string{"user_id"}, "GET", "zoë", "zoë", true, true},
		{"not UTF-8", []string{"user_id"}, "GET", "zo\xeb", "zo\xeb", false, true},
		{"separator", []string{"user_id", "method"}, "GET", "a\x1fb", "GET\x1fa\x1fb", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rule := newRule(Policy{Name: "p", Quota: 1, PartitionBy: tt.by})
			got, applies := rule.partition(&http.Request{Method: tt.method}, tt.user)
			assert.Equal(t, tt.applies, applies)
			assert.Equal(t, partition{key: tt.key, keyed: tt.keyed}, got)
		})
	}
}

func TestDeclaredDimension(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want any
	}{
		{"user_id", true},
		{"method=GET", httpsfv.Token("GET")},
		{"user_id=a b", "a b"},
		{"user_id=7", "7"},
		{"user_id=", ""},
		{"user_id=zoë", httpsfv.DisplayString("zoë")},
	} {
		assert.Equal(t, tt.want, parseDimension(tt.in).declared, tt.in)
	}
}

func TestDefaultUser(t *testing.T) {
	for _, tt := range []struct {
		name          string
		user          string
		authorization string
		want          string
	}{
		{"no credentials", "", "", ""},
		{"field", "alice", "", "alice"},
		{"field before credentials", "alice", "Bearer bob", "alice"},
		{"Basic", "", "Basic Ym9iOnNlY3JldA==", "bob"},
		{"Basic, malformed", "", "Basic !", ""},
		{"Bearer", "", "Bearer token", "token"},
		{"scheme in lower case", "", "bearer  token", "token"},
		{"Bearer without a token", "", "Bearer", ""},
		{"another scheme", "", "Digest username=bob", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &http.Request{Header: http.Header{}}
			if tt.user != "" {
				r.Header.Set("X-User", tt.user)
			}
			if tt.authorization != "" {
				r.Header.Set("Authorization", tt.authorization)
			}
			assert.Equal(t, tt.want, defaultUser(r))
		})
	}
}
