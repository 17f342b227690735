package parse

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What dismisses most names at a glance dismisses none that is known: in any
// spelling, with any part in the place of a star, short or long.
func TestScanDismissesNoneThatIsKnown(t *testing.T) {
	table := newTable([]Vendor{{Name: "own", Remaining: []string{"Acme-*-Left", "Q*"}, Sign: strings.Repeat("Long-", 20)}})
	names := 0
	for _, families := range table.known {
		for _, f := range families {
			for _, k := range f.members {
				parts := []string{""}
				if k.star {
					parts = []string{"x", "core", "Requests-Per-Minute", strings.Repeat("n", 80)}
				}
				for _, part := range parts {
					name := k.prefix + part + k.suffix
					for _, name := range []string{name, strings.ToLower(name), strings.ToUpper(name), http.CanonicalHeaderKey(name)} {
						names++
						want := table.sight(name)
						assert.NotZero(t, want, name)
						if name == table.dull {
							want = 0
						}
						assert.Equal(t, want, table.scan(http.Header{name: {"1"}}), name)
					}
				}
			}
		}
	}
	assert.Greater(t, names, 200)
	assert.Equal(t, "Date", table.dull)
}
