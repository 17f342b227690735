// Package raced is for tests that simulate for long, which the race detector makes ten times slower. All of their rows run
// without it, and some with it.
package raced

import (
	"cmp"
	"maps"
	"slices"
)

// each is how many rows there are to one that is kept.
const each = 4

// Rows returns the rows of a test; with the race detector, one of four.
func Rows[T any](rows []T) []T {
	if !Detector {
		return rows
	}
	var kept []T
	for i := 0; i < len(rows); i += each {
		kept = append(kept, rows[i])
	}
	return kept
}

// Cases returns the rows of a test by name; with the race detector, one of four in the order of the names.
func Cases[K cmp.Ordered, V any](cases map[K]V) map[K]V {
	if !Detector {
		return cases
	}
	kept := make(map[K]V)
	for _, name := range Rows(slices.Sorted(maps.Keys(cases))) {
		kept[name] = cases[name]
	}
	return kept
}
