package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A server that refuses at random costs a client with a Shaper hardly more than one without.
func TestSheds(t *testing.T) {
	if raced || testing.Short() {
		t.Skip("takes too long")
	}
	var rs []row
	for _, told := range []bool{false, true} {
		for _, part := range []float64{.001, .01, .03} {
			for _, workers := range []int{1, 5, 20} {
				r := row{
					rtt: 50 * ms, policies: fixed(1_000_000, sec), omitLimits: !told, omitPolicies: !told,
					sheds: part, demand: backlog(workers*3000, workers),
				}
				r.name = fmt.Sprintf("sheds %v, told %v, %d workers", part, told, workers)
				rs = append(rs, r)
			}
		}
	}
	cs := slices.DeleteFunc(contenders(), func(c contender) bool { return c.name != "adaptive" && c.name != "retry" })
	for seed := range uint64(3) {
		for i, s := range playAll(rs, cs, seed+1, 1) {
			t.Log(seed+1, rs[i].name, s[0].goodput()/s[1].goodput())
			assert.GreaterOrEqual(t, s[0].goodput(), .9*s[1].goodput(), "seed %d: %s", seed+1, rs[i].name)
		}
	}
}
