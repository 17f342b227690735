package quota

import (
	"fmt"
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

// Refusals with a Retry-After are alone by the sums of their kind, of their limit and of all.
func TestShowsByAllSums(t *testing.T) {
	for _, c := range []struct {
		kind, limit, all int
		want             bool
	}{
		{8, 0, 22, true}, {8, 0, 21, false}, {7, 0, 22, false},
		{0, 8, 22, true}, {-1, 8, 22, true}, {8, -1, 22, true},
		{0, 0, 27, true}, {0, 0, 26, false},
		{-1, 7, 40, false}, {7, -1, 40, false},
	} {
		limit := new(scope)
		limit.base.owner = longOwner("limit")
		s := &settlement{o: &Origin{sheds: c.all}}
		a := &alone{asked: map[string]int{"kind": c.kind, "limit": c.limit}}
		assert.Equal(t, c.want, s.shows(a, &refusal{name: "kind", limit: limit, asked: true}), fmt.Sprint(c))
	}
}

// The eighth refusal of a kind in a row is not alone, whatever the sums are, of the whole origin neither.
func TestEighthInARowIsNotAlone(t *testing.T) {
	limit := new(scope)
	limit.base.owner = longOwner("limit")
	for _, whole := range []bool{false, true} {
		s := &settlement{o: &Origin{sheds: mostAskedScore}}
		a := &alone{asked: map[string]int{"": mostScore, "kind": mostOwnScore, "limit": mostOwnScore}}
		for i := range 8 {
			a.countInRow("kind")
			assert.Equal(t, i < 7, s.shows(a, &refusal{name: "kind", limit: limit, asked: true, whole: whole}), i)
			assert.True(t, s.shows(a, &refusal{name: "other", limit: limit, asked: true, whole: whole}), i)
		}
	}
}

// The evidence is bounded, so that what happens now is found out soon, however long it was otherwise.
func TestEvidenceIsBounded(t *testing.T) {
	limit := new(scope)
	limit.base.owner = longOwner("limit")
	s, a := &settlement{o: new(Origin)}, new(alone)
	for _, c := range []struct{ by, own, all int }{{servedScore, 12, 40}, {-servedScore, -16, -16}} {
		for range 100 {
			s.count(a, &refusal{name: "kind", limit: limit, asked: true}, c.by)
		}
		assert.Equal(t, map[string]int{"kind": c.own, "limit": c.own}, a.asked)
		assert.Equal(t, c.all, s.o.sheds)
	}
}
