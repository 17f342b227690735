package raced

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRows(t *testing.T) {
	rows, cases := []int{1, 2, 3, 4, 5}, map[string]int{"e": 5, "a": 1, "b": 2, "d": 4, "c": 3}
	if !Detector {
		assert.Equal(t, rows, Rows(rows))
		assert.Equal(t, cases, Cases(cases))
		return
	}
	assert.Equal(t, []int{1, 5}, Rows(rows))
	assert.Equal(t, map[string]int{"a": 1, "e": 5}, Cases(cases))
}
