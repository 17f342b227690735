package transport_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The README's code for limits of one's own is that of an example, which is run.
func TestReadmeLimits(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(readme), "## Limits of your own")
	require.True(t, ok)
	_, code, ok := strings.Cut(section, "```go\n")
	require.True(t, ok)
	code, _, ok = strings.Cut(code, "```")
	require.True(t, ok)
	example, err := os.ReadFile("example_limits_test.go")
	require.NoError(t, err)
	indented := "\t" + strings.ReplaceAll(strings.TrimSpace(code), "\n", "\n\t") + "\n"
	assert.Contains(t, string(example), indented)
}
