//go:build unix

package main

import "syscall"

// limitMemory bounds the memory of the test programs: a mutant may allocate without end.
func limitMemory() {
	const bytes = 6 << 30
	_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
