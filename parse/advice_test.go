package parse_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Whether Retry-After is advice depends on the status, on whether fields of a draft stand
// beside it, and on the row of the host.
func TestAdvice(t *testing.T) {
	tests := []struct {
		onRefusals    bool
		status        int
		alone, beside bool
	}{
		{false, 200, false, true},
		{false, 302, true, true},
		{false, 400, false, true},
		{false, 429, true, true},
		{true, 200, false, false},
		{true, 302, true, true},
		{true, 400, false, false},
		{true, 500, true, true},
		{true, 599, true, true},
		{true, 600, false, false},
	}
	for _, tt := range tests {
		r := parse.Reader{Vendors: []parse.Vendor{{Hosts: []string{"api.example"}, RetryAfterOnRefusals: tt.onRefusals}}}
		alone, beside := fields("Retry-After: 1"), fields("Retry-After: 1", `RateLimit: "api";a=1`)
		assert.Equal(t, tt.alone, r.Read("api.example", tt.status, alone, saturday).Advised, "%t on %d", tt.onRefusals, tt.status)
		assert.Equal(t, tt.beside, r.Read("api.example", tt.status, beside, saturday).Advised, "%t on %d, beside", tt.onRefusals, tt.status)
	}
}
