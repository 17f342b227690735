package main

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

// liesOnce has one answer, the first one after that time, tell a reset that is so much too late. If much, it tells that a
// whole quota is left, too.
func liesOnce(after, by time.Duration, much bool) func(*loop, *rand.Rand) misstatement {
	return func(l *loop, _ *rand.Rand) misstatement {
		return func(_ string, available int64, window time.Duration) (int64, time.Duration) {
			if by == 0 && !much || l.now.Sub(begins) < after {
				return available, window
			}
			window += by
			if much {
				available = 100
			}
			by, much = 0, false
			return available, window
		}
	}
}

// A reset that is a minute too late, and a figure that says that much is left, are forgotten if one answer alone has told
// them: by one process and by eight that are a fleet. The longest that they may cost is what the answer told, a minute, and
// for eight a minute more if it was the first one, because it takes eight later answers to one process to contradict it. Where
// units come back one by one and nothing is ever left, a figure of many looks like another client, which is forgotten slowly.
func TestOneLieIsForgotten(t *testing.T) {
	if raced.Detector || testing.Short() {
		t.Skip("takes too long")
	}
	const work = 240 // seconds
	for _, p := range []struct {
		name              string
		policies          []transporttest.Policy
		rate              int           // a second
		first, late, much time.Duration // lost at most by the first answer, and by those after 20 seconds
	}{
		{"fixed 100/10s", fixed(100, 10*sec), 10, 60 * sec, 500 * ms, 500 * ms},
		{"log 100/10s", slidingLog(100, 10*sec), 10, 60 * sec, 20 * sec, sec},
		{"two buckets 20/1s", slidingWindow(20, sec), 20, 62 * sec, 5 * sec, 10 * sec},
		{"two buckets 100/10s", slidingWindow(100, 10*sec), 10, 60 * sec, 21 * sec, 40 * sec},
		{"gcra 20/1s", gcra(20, sec, 0), 20, 120 * sec, 10 * sec, 70 * sec},
	} {
		for _, d := range []parse.Dialect{parse.VendorFields, parse.Draft07} {
			for _, processes := range []int{1, 8} {
				r := row{
					name: "lies", policies: p.policies, dialect: d, omitPolicies: true, rtt: 50 * ms, knows: true,
					processes: processes, fleet: processes > 1, demand: backlog(work*p.rate/processes, 20/processes+4),
				}
				taken := func(after, by time.Duration, much bool) time.Duration {
					r.misstate = liesOnce(after, by, much)
					s := play(&r, contenders()[0], 2)
					return s.taken
				}
				usual := taken(0, 0, false)
				name := fmt.Sprintf("%s, %v, %d processes", p.name, d, processes)
				assert.Less(t, taken(0, 60*sec, false)-usual, p.first, "%s: first", name)
				assert.Less(t, taken(20*sec, 60*sec, false)-usual, p.late, "%s: late", name)
				assert.Less(t, taken(20*sec, 0, true)-usual, p.much, "%s: much", name)
			}
		}
	}
}
