package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The figures of the scoreboard that the comment of quota.Strategy and README repeat are those of the scoreboard.
func TestFiguresInTheDocumentation(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return n
	}
	board := read("testdata/scoreboard.golden")

	prose := strings.Join(strings.Fields(strings.ReplaceAll(read("../../quota/strategy.go"), "//", "")), " ")
	claims := regexp.MustCompile(`"([^"]+)" ([\d.]*\d) → ([\d.]*\d)( refused)?`).FindAllStringSubmatch(prose, -1)
	assert.Greater(t, len(claims), 12)
	for _, c := range claims {
		row := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(c[1]) + ` +adaptive +(\S+) +(\S+)% .*\n +plain +(\S+) +(\S+)% `).FindStringSubmatch(board)
		if !assert.NotNil(t, row, "no row %q", c[1]) {
			continue
		}
		plain, adaptive := row[3], row[1]
		if c[4] != "" {
			plain, adaptive = row[4], row[2]
		}
		for said, is := range map[string]string{c[2]: plain, c[3]: adaptive} {
			_, digits, _ := strings.Cut(said, ".")
			exact := 0.5001
			for range digits {
				exact /= 10
			}
			assert.InDelta(t, number(is), number(said), exact, c[0])
		}
	}

	said := regexp.MustCompile(`served, (\d+) to (\d+) are refused[^;]*; a loop that retries: (\d+) to (\d+)\)`).FindStringSubmatch(read("../../README.md"))
	require.NotNil(t, said)
	var ours, loop []float64
	for _, row := range regexp.MustCompile(`(?m)^only Retry-After, .* adaptive +\S+ +(\S+)% [^|]*\| +\S+ +(\d+)% `).FindAllStringSubmatch(board, -1) {
		ours, loop = append(ours, number(row[1])), append(loop, number(row[2]))
	}
	require.NotEmpty(t, ours)
	for i, is := range []float64{slices.Min(ours), slices.Max(ours), slices.Min(loop), slices.Max(loop)} {
		assert.InDelta(t, is, number(said[i+1]), 0.5, said[0])
	}
}
