package main

import (
	"bytes"
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/scoreboard.golden")

const golden = "testdata/scoreboard.golden"

// The scoreboard is what it was when it was committed. Where a change to a strategy
// makes some rows better, run with -update, and see that none is worse.
func TestScoreboard(t *testing.T) {
	if raced || testing.Short() {
		t.Skip("takes too long")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("floating-point operations are fused on other machines")
	}
	var b bytes.Buffer
	writeTable(&b, contenders(), rows(), playAll(rows(), contenders(), 1, 1), false)
	if *update {
		require.NoError(t, os.WriteFile(golden, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	before, now := strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")
	require.Len(t, now, len(before))
	for i := range now {
		assert.Equal(t, before[i], now[i])
	}
	for name, why := range misses {
		assert.True(t, strings.Contains(b.String(), " misses: "+name+": "+why+"\n"), "a reason, and no miss: %s", name)
	}
	assert.False(t, strings.Contains(b.String(), ": "+unknown+"\n"), "a miss, and no reason: see the end of the golden file")
}

// Each strategy of ours in each row. The numbers are of simulated time: only ns/op
// depends on the machine.
func BenchmarkScoreboard(b *testing.B) {
	ours := slices.DeleteFunc(contenders(), func(c contender) bool { return !c.ours })
	for _, r := range rows() {
		for _, c := range ours {
			b.Run(r.name+"/"+c.name, func(b *testing.B) {
				var s score
				for b.Loop() {
					s = play(&r, c, 1)
				}
				b.ReportMetric(s.goodput(), "goodput")
				b.ReportMetric(s.refusals(), "refused-%")
				b.ReportMetric(s.worst.Seconds(), "p99-s")
				b.ReportMetric(s.cost().Seconds(), "cost-s")
			})
		}
	}
}
