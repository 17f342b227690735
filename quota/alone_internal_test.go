package quota

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Where few of the last answers are refusals, one that departed after another counts more. What was long ago is forgotten.
func TestRefusedScore(t *testing.T) {
	a := new(alone)
	for range 1000 {
		a.answers(0)
	}
	for n := range 100 {
		if a.answers(1); n < 15 {
			assert.Equal(t, 3, a.refusedScore(), n)
		}
	}
	assert.Equal(t, 2, a.refusedScore())
}
