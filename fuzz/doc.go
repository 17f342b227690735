// Package fuzz contains fuzz targets for everything that a server can send to a client:
// the fields of each dialect, whole headers, Retry-After with any Date, declarations of
// partitions, and the bodies of refusals.
//
// It has tests only. One target runs with
//
//	go test -fuzz '^FuzzHeaders$' ./fuzz
//
// and keeps inputs that failed once in testdata/fuzz. The laws are: no input causes a
// panic; no duration is negative or overflows; no result exceeds a cap; the result does
// not depend on how a field is split into lines, nor on what a Reader has read before;
// declarations that were read and written are read the same; only what RFC 9651 accepts
// is accepted as a List.
package fuzz
