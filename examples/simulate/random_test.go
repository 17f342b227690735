package main

import (
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/internal/raced"
)

// A seed draws the same row, and another seed another one.
func TestRandomRow(t *testing.T) {
	names := make(map[string]bool)
	for seed := range uint64(50) {
		r, again := randomRow(seed), randomRow(seed)
		assert.Equal(t, r.name, again.name)
		assert.Equal(t, r.policies, again.policies)
		assert.Equal(t, r.demand, again.demand)
		assert.Positive(t, r.demand[0].jobs, r.name)
		names[r.name[strings.Index(r.name, ":"):]] = true
	}
	assert.Len(t, names, 50)
}

// The servers with which a client is worse off than with retry do not become more. When
// they become fewer, lower the numbers.
func TestHarmOfRandomRows(t *testing.T) {
	if raced.Detector || testing.Short() {
		t.Skip("takes too long")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("floating-point operations are fused on other machines")
	}
	var b strings.Builder
	writeHarm(&b, 1, 1000)
	m := regexp.MustCompile(`(\d+) of 1000: (\d+) slower by more than 3 %, (\d+) of them by more than 20 %; (\d+) refused more often\n$`).FindStringSubmatch(b.String())
	require.Len(t, m, 5)
	for i, most := range map[int]int{1: 95, 2: 81, 3: 12, 4: 15} {
		n, err := strconv.Atoi(m[i])
		require.NoError(t, err)
		assert.LessOrEqual(t, n, most, m[0])
	}
}
