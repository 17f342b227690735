// Package fuzz holds fuzz targets for everything that a stranger can send to a
// client: the fields of each dialect, whole headers, Retry-After with any Date,
// declarations of partitions, the bodies of refusals.
//
// It has tests only. One target runs with
//
//	go test -fuzz '^FuzzHeaders$' ./fuzz
//
// and every input that was ever found stays in testdata/fuzz. The laws are those of
// the packages under test: no input makes them panic; no duration is negative or
// overflows; nothing above a cap comes out; how a field is split into lines, and how
// the names of fields are written, does not matter; what is read can be written, and
// reads the same; nothing is accepted as a List that a strict reading of RFC 9651
// does not accept.
package fuzz
