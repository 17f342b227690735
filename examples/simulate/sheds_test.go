package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
)

// A server that refuses at random costs a client with a Shaper hardly more than one without.
func TestSheds(t *testing.T) {
	if raced.Detector || testing.Short() {
		t.Skip("takes too long")
	}
	var rs []row
	for _, told := range []bool{false, true} {
		for _, workers := range []int{1, 5, 20} {
			for _, s := range []struct {
				part  float64
				after int
			}{{.001, 0}, {.01, 0}, {.03, 0}, {.03, 1}, {.03, 10}} {
				r := row{
					rtt: 50 * ms, policies: fixed(1_000_000, sec), omitLimits: !told, omitPolicies: !told,
					sheds: s.part, shedsAfter: s.after, demand: backlog(workers*3000, workers),
				}
				r.name = fmt.Sprintf("sheds %v, Retry-After %d, told %v, %d workers", s.part, s.after, told, workers)
				rs = append(rs, r)
			}
		}
	}
	ratios := besideRetry(rs)
	for i, r := range rs {
		t.Log(r.name, ratios[i])
		least := ratios[i][0]
		if r.shedsAfter > 0 {
			least = ratios[i][1] // by chance, refusals of one request after another look like a quota
		}
		assert.GreaterOrEqual(t, least, .9, "%s: %v", r.name, ratios[i])
	}
}

// A server that refuses at random with a Retry-After, and answers what it refuses sooner than what it serves, is not
// taken for one that bounds what is in flight, nor for one with a quota.
func TestShedsAreNoBound(t *testing.T) {
	if raced.Detector || testing.Short() {
		t.Skip("takes too long")
	}
	const workers = 18
	var rs []row
	for _, told := range []bool{false, true} {
		for _, kinds := range []int{1, 3} {
			for _, part := range []float64{.01, .03, .1} {
				for _, after := range []int{1, 10} {
					r := row{
						rtt: 50 * ms, service: 50 * ms, policies: fixed(1_000_000, sec), omitLimits: !told, omitPolicies: !told,
						sheds: part, shedsAfter: after,
					}
					for i := range kinds {
						r.demand = append(r.demand, demand{kind: "GET /" + string(rune('a'+i)), jobs: workers * 1000 / kinds, workers: workers / kinds})
					}
					r.name = fmt.Sprintf("sheds %v, Retry-After %d, told %v, %d methods", part, after, told, kinds)
					rs = append(rs, r)
				}
			}
		}
	}
	ratios := besideRetry(rs)
	for i, r := range rs {
		t.Log(r.name, ratios[i])
		assert.GreaterOrEqual(t, ratios[i][1], .6, "%s: %v", r.name, ratios[i])
	}
}

// besideRetry returns the goodput of a Shaper in each row, as a part of that of a retry loop, with three seeds, sorted.
func besideRetry(rs []row) [][]float64 {
	cs := slices.DeleteFunc(contenders(), func(c contender) bool { return c.name != "adaptive" && c.name != "retry" })
	ratios := make([][]float64, len(rs))
	for seed := range uint64(3) {
		for i, s := range playAll(rs, cs, seed+1, 1) {
			ratios[i] = append(ratios[i], s[0].goodput()/s[1].goodput())
		}
	}
	for _, of := range ratios {
		slices.Sort(of)
	}
	return ratios
}
