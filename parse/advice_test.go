package parse_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

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
		assert.Equal(t, tt.alone, tt.advice.On(tt.status, false), "%d on %d", tt.advice, tt.status)
		assert.Equal(t, tt.beside, tt.advice.On(tt.status, true), "%d on %d, beside", tt.advice, tt.status)
	}
}
