// Package recipes shows how to put a transport.Shaper into the clients of well-known APIs:
// one file for each, with the lines to copy. Its tests do the same work with the plain
// client and with the recipe, against a server that behaves as the documentation of the
// API says, in simulated time:
//
//	cd examples/recipes && go test -v -run TestRecipes .
//
// README.md has the table.
package recipes
