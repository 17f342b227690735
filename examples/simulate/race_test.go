//go:build race

package main

// raced says whether the race detector is on, which makes the tests ten times slower.
const raced = true
