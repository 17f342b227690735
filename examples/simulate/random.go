package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/headway-go/headway/parse"
)

// This file compares strategies on random servers.

// randomRow returns the row of a seed. Its name says what was drawn, but for the seconds.
func randomRow(seed uint64) row {
	rnd := source(seed, "", "row")
	quota := pick[int64](rnd, 1, 2, 3, 5, 8, 10, 20, 30, 60, 100, 300, 1000)
	window := pick(rnd, sec, sec, 2*sec, 3*sec, 5*sec, 10*sec, 15*sec, 30*sec, 60*sec, 60*sec, 300*sec)
	burst := max(pick(rnd, quota, quota, quota/2, quota/4), min(quota, 5))
	r := row{
		rtt:       pick(rnd, 5*ms, 50*ms, 50*ms, 100*ms, 200*ms),
		wild:      rnd.IntN(6) == 0,
		dials:     rnd.IntN(10) == 0,
		processes: pick(rnd, 1, 1, 1, 1, 2, 4),
	}
	algorithm := pick(rnd, "fixed", "fixed", "aligned", "aligned", "log", "two buckets", "bucket", "gcra")
	switch algorithm {
	case "fixed":
		r.policies = fixed(quota, window)
	case "aligned":
		r.policies, r.into = aligned(quota, window), time.Duration(rnd.Int64N(int64(window)))
	case "log":
		r.policies = slidingLog(quota, window)
	case "two buckets":
		r.policies, r.into = slidingWindow(quota, window), time.Duration(rnd.Int64N(int64(window)))
	case "bucket":
		r.policies = bucket(quota, window, burst)
	case "gcra":
		r.policies = gcra(quota, window, burst)
	}
	r.policies[0].CountRefused = rnd.IntN(10) == 0

	says := pick(rnd, "the draft", "the draft", "X", "X", "-07", "-06", "limits only", "policies only", "only Retry-After", "nothing", "no Retry-After")
	switch says {
	case "X":
		r.dialect, r.skew = parse.VendorFields, pick(rnd, 0, 0, 90*sec, -90*sec)
	case "-07":
		r.dialect = parse.Draft07
	case "-06":
		r.dialect = parse.Draft06
	}
	r.omitPolicies = says == "limits only" || says == "only Retry-After" || says == "nothing"
	r.omitLimits = says == "policies only" || says == "only Retry-After" || says == "nothing"
	r.noRetryAfter = says == "no Retry-After" || says == "nothing"
	rounds := pick(rnd, "up", "up", "up", "down", "to the nearest")
	r.rounding = map[string]func(float64) float64{"down": math.Floor, "to the nearest": math.Round}[rounds]

	// At least 40 jobs, and at most 4000, in so many windows that the last one is not
	// used up: where it were, a single unit would cost a whole window.
	windows := pick(rnd, 3., 6, 12, 25)
	for windows*float64(quota) < 40 {
		windows++
	}
	if (windows+1)*float64(quota) > 4000 {
		windows = 3
	}
	each := int(float64(quota)*(windows+.2+.6*rnd.Float64())) / r.processes
	var wants string
	if load := pick(rnd, 0, 0, 0, 0, .3, .7, .95, 1.2); load == 0 {
		workers := pick(rnd, 1, 3, 10, 50)
		r.demand, wants = backlog(each, workers), fmt.Sprint(workers, " workers")
	} else {
		every := time.Duration(float64(window) / float64(quota) / load * float64(r.processes))
		r.demand, wants = stream(each, min(every, 20*sec)), fmt.Sprintf("%v of the quota", load)
	}
	r.name = fmt.Sprintf("random %d: %s %d/%v", seed, algorithm, quota, window)
	if algorithm == "bucket" || algorithm == "gcra" {
		r.name += fmt.Sprint(" burst ", burst)
	}
	r.name += fmt.Sprintf(", says %s, rounds %s, rtt %v, wild %v, counts refusals %v, processes %d, %s",
		says, rounds, r.rtt, r.wild, r.policies[0].CountRefused, r.processes, wants)
	return r
}

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// writeHarm plays n random rows and writes those in which a client is worse off with our
// first strategy than with retry, the worst first, and how many there are.
func writeHarm(w io.Writer, seed uint64, n int) {
	cs := slices.DeleteFunc(contenders(), func(c contender) bool { return c.name != "adaptive" && c.name != "retry" })
	var rs []row
	for i := range n {
		rs = append(rs, randomRow(seed+uint64(i)))
	}
	scores := playAll(rs, cs, 1, 1)
	type harm struct {
		row         *row
		ours, retry *score
		part        float64 // of the goodput of retry
	}
	var all []harm
	var slower, far, refused int
	for i := range rs {
		h := harm{row: &rs[i], ours: &scores[i][0], retry: &scores[i][1]}
		if !h.ours.harms(h.retry) {
			continue
		}
		if h.ours.end == done {
			h.part = h.ours.goodput() / min(h.retry.goodput(), 1)
		}
		all = append(all, h)
		if h.part < 0.97 {
			slower++
		}
		if h.part < 0.8 {
			far++
		}
		if h.ours.refused+h.ours.wave > h.retry.refused+h.retry.wave {
			refused++
		}
	}
	slices.SortStableFunc(all, func(x, y harm) int {
		switch {
		case x.part < y.part:
			return -1
		case x.part > y.part:
			return 1
		}
		return 0
	})
	for _, h := range all {
		fmt.Fprintf(w, "%s:%s, refused %d; retry%s, %d\n", h.row.name,
			h.ours.success(), h.ours.refused+h.ours.wave, h.retry.success(), h.retry.refused+h.retry.wave)
	}
	fmt.Fprintf(w, "%d of %d: %d slower by more than 3 %%, %d of them by more than 20 %%; %d refused more often\n", len(all), n, slower, far, refused)
}
