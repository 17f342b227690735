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

	"github.com/headway-go/headway/internal/raced"
)

var update = flag.Bool("update", false, "rewrite testdata/scoreboard.golden")

const golden = "testdata/scoreboard.golden"

// The scoreboard equals the golden file. If a change to a strategy makes some rows
// better, run the test with -update and check that no row is worse.
func TestScoreboard(t *testing.T) {
	if raced.Detector || testing.Short() {
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
		assert.True(t, strings.Contains(b.String(), " misses: "+name+": "+why+"\n"), "misses gives a reason for %q, but the row reaches its numbers", name)
	}
	assert.False(t, strings.Contains(b.String(), ": "+unknown+"\n"), "a row does not reach its numbers, but misses gives no reason: see the end of the table")
}

// BenchmarkScoreboard reports the scores of our strategies in each row. They are of
// simulated time: only ns/op depends on the machine.
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
