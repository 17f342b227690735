package parse_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Advice decides by the status and by whether fields of a draft stand beside Retry-After.
func TestAdvice(t *testing.T) {
	tests := []struct {
		advice        parse.Advice
		status        int
		alone, beside bool
	}{
		{parse.AdviceByRule, 200, false, true},
		{parse.AdviceByRule, 302, true, true},
		{parse.AdviceByRule, 400, false, true},
		{parse.AdviceByRule, 429, true, true},
		{parse.AdviceOnRefusals, 200, false, false},
		{parse.AdviceOnRefusals, 302, true, true},
		{parse.AdviceOnRefusals, 400, false, false},
		{parse.AdviceOnRefusals, 500, true, true},
		{parse.AdviceOnRefusals, 599, true, true},
		{parse.AdviceOnRefusals, 600, false, false},
		{parse.AdviceAlways, 200, true, true},
		{parse.AdviceNever, 429, false, false},
	}
	for _, tt := range tests {
		r := parse.Reader{Vendors: []parse.Vendor{{Hosts: []string{"api.example"}, RetryAfter: tt.advice}}}
		alone, beside := fields("Retry-After: 1"), fields("Retry-After: 1", `RateLimit: "api";a=1`)
		assert.Equal(t, tt.alone, r.Read("api.example", tt.status, alone, saturday).Advised, "%d on %d", tt.advice, tt.status)
		assert.Equal(t, tt.beside, r.Read("api.example", tt.status, beside, saturday).Advised, "%d on %d, beside", tt.advice, tt.status)
	}
}
