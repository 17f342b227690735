package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Our strategies have lines of their own, the others are beside our first one. The
// summary lists the row in which our first strategy costs more than another of ours.
func TestWriteTable(t *testing.T) {
	cs := []contender{{name: "new", ours: true}, {name: "retry"}, {name: "plain", ours: true}}
	rs := []row{{name: "a row"}, {name: "another"}}
	good := score{bound: 97 * sec, taken: 100 * sec, served: 1000, refused: 5, wave: 3, median: 20 * ms, worst: 2 * time.Minute, burst: 7, fair: 0.5}
	slow := score{bound: 100 * sec, taken: 200 * sec, served: 1000}
	late := score{end: late, bound: sec, taken: 2 * time.Hour, served: 1, refused: 20}
	better := good
	better.refused, better.taken = 4, better.taken+1500*ms // costs half a second more, which is not listed
	better.worse = true
	var b strings.Builder
	writeTable(&b, cs, rs, [][]score{{slow, late, good}, {better, slow, good}}, false)
	assert.Equal(t, strings.TrimPrefix(`
                  goodput refused  wave  median     p99 burst fair    cost | retry
a row   new         0.500   0.00%     0       0       0     0 0.00    1.7m |    late 2000%
        plain       0.970   0.50%     3    20ms    2.0m     7 0.50    8.0s
another new         0.956   0.40%     3    20ms    2.0m     7 0.50    8.5s |   0.500    0%
        plain       0.970   0.50%     3    20ms    2.0m     7 0.50    8.0s

goodput ≥ 0.97 and refused ≤ 0.5% (several processes: 0.95 and 3%; a fleet: 0.97 and 1%), in rows of 2: new 0 retry 0 plain 2
new costs 1.5m more than plain: a row
new is worse off than retry: another:  0.956, refused 7; retry  0.500, 0
new misses: a row: ?
new misses: another: ?
`, "\n"), b.String())

	b.Reset()
	writeTable(&b, cs, rs[:1], [][]score{{slow, late, good}}, true)
	assert.Equal(t, strings.TrimPrefix(`
                goodput refused  wave  median     p99 burst fair    cost
a row new         0.500   0.00%     0       0       0     0 0.00    1.7m
      retry        late 2000.00%     0       0       0     0 0.00    2.0h
      plain       0.970   0.50%     3    20ms    2.0m     7 0.50    8.0s

goodput ≥ 0.97 and refused ≤ 0.5% (several processes: 0.95 and 3%; a fleet: 0.97 and 1%), in rows of 1: new 0 retry 0 plain 1
new costs 1.5m more than plain: a row
new misses: a row: ?
`, "\n"), b.String())
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 999_999: "0", ms: "1ms", 1500 * ms: "1.5s", 59 * sec: "59.0s", 90 * sec: "1.5m", 90 * time.Minute: "1.5h", -2 * sec: "-2.0s",
	} {
		assert.Equal(t, want, short(d))
	}
}

// Of several seeds, the score with the median cost is shown.
func TestMedian(t *testing.T) {
	all := playSeeds(rowCalled(t, "8 processes, bucket"), contenders()[0], 5, 3)
	got := median(all)
	assert.Contains(t, all, got)
	cheaper := 0
	for _, s := range all {
		if s.cost() < got.cost() {
			cheaper++
		}
	}
	assert.Equal(t, 1, cheaper)
	assert.Equal(t, all[0], median(all[:1]))
}

// A contender is worse off than retry if it is so in most seeds. The medians may be of different seeds.
func TestWorse(t *testing.T) {
	cs := []contender{{name: "new", ours: true}, {name: "retry"}}
	with := func(refused ...int) (all []score) {
		for i, n := range refused {
			all = append(all, score{bound: sec, taken: time.Duration(1+i) * sec, served: 1000, refused: n})
		}
		return all
	}
	for _, c := range []struct {
		ours, retry []int
		worse       bool
	}{
		{ours: []int{3, 9, 5}, retry: []int{3, 9, 5}},
		{ours: []int{3, 9, 5}, retry: []int{3, 8, 5}},
		{ours: []int{4, 9, 5}, retry: []int{3, 8, 5}, worse: true},
		{ours: []int{4, 9}, retry: []int{3, 9}},
		{ours: []int{4}, retry: []int{3}, worse: true},
	} {
		scores := medians(cs, [][]score{with(c.ours...), with(c.retry...)})
		assert.Equal(t, c.worse, scores[0].worse, "%+v", c)
		assert.False(t, scores[1].worse)
	}
	assert.False(t, medians(cs[:1], [][]score{with(1)})[0].worse, "there is no retry")
}
