package window

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestFarthest(t *testing.T) {
	type answer struct {
		at, says    time.Duration
		value, sure time.Duration // after it; sure: for others
	}
	ten := answer{at: 0, says: 10 * sec, value: 10 * sec, sure: 10 * sec}
	less := slices.Repeat([]answer{{at: sec, says: 9 * sec, value: 10 * sec, sure: 10 * sec}}, 7)
	for _, tt := range []struct {
		name    string
		answers []answer
	}{
		{"nothing", []answer{{0, 0, 0, 0}, ten, {sec, -1, 10 * sec, 10 * sec}}},
		{"the first, until eight say less", slices.Concat([]answer{ten}, less, []answer{{sec, 9 * sec, 9 * sec, 9 * sec}})},
		{"the first, told again", slices.Concat([]answer{ten}, less, []answer{{sec, 10 * sec, 10 * sec, 10 * sec}, {sec, 9 * sec, 10 * sec, 10 * sec}},
			less, []answer{{sec, 8 * sec, 10 * sec, 10 * sec}})},
		{"the first of two", slices.Concat([]answer{ten, {sec, 8 * sec, 10 * sec, 10 * sec}},
			slices.Repeat([]answer{{sec, 5 * sec, 10 * sec, 10 * sec}}, 6), []answer{{sec, 5 * sec, 8 * sec, 8 * sec}})},
		{"one that is too far is not for others", slices.Concat([]answer{ten, {0, 10 * sec, 10 * sec, 10 * sec}, {0, 70 * sec, 70 * sec, 10 * sec}},
			slices.Repeat([]answer{{sec, 10 * sec, 70 * sec, 10 * sec}}, 7), []answer{{sec, 10 * sec, 10 * sec, 10 * sec}, {sec, 10 * sec, 10 * sec, 10 * sec}})},
		{"two of a longer window", []answer{ten, {0, 10 * sec, 10 * sec, 10 * sec}, {sec, 30 * sec, 30 * sec, 10 * sec}, {sec, 20 * sec, 30 * sec, 20 * sec},
			{sec, 40 * sec, 40 * sec, 30 * sec}}},
		{"the second in time", slices.Concat([]answer{ten, {0, 10 * sec, 10 * sec, 10 * sec}, {0, 20 * sec, 20 * sec, 10 * sec}},
			slices.Repeat([]answer{{sec, 10 * sec, 20 * sec, 10 * sec}}, 7), []answer{{sec, 10 * sec, 10 * sec, 10 * sec}, {80 * sec, 15 * sec, 15 * sec, 15 * sec}})},
		{"the second too late", slices.Concat([]answer{ten, {0, 10 * sec, 10 * sec, 10 * sec}, {0, 20 * sec, 20 * sec, 10 * sec}},
			slices.Repeat([]answer{{sec, 10 * sec, 20 * sec, 10 * sec}}, 7), []answer{{sec, 10 * sec, 10 * sec, 10 * sec}, {80*sec + 4, 15 * sec, 15 * sec, 10 * sec}})},
		{"the second after few answers", []answer{ten, {time.Hour, 9 * sec, 10 * sec, 10 * sec}, {time.Hour, 10 * sec, 10 * sec, 10 * sec}}},
	} {
		var f farthest
		for i, a := range tt.answers {
			f.observe(Instant(a.at), a.says)
			assert.Equal(t, a.value, f.value(), "%s, answer %d", tt.name, i)
			assert.Equal(t, a.sure, f.forOthers(), "%s, answer %d", tt.name, i)
		}
	}
}
