// Package peers compares a transport.Shaper with other libraries that keep clients within
// rate limits: over the same servers in simulated time, and over the same stub. Each is
// set up as its documentation says. See peers_test.go.
//
//	cd transport/peers && go test -v -run Table -bench Overhead -benchmem .
package peers
