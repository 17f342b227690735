package quota_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The packages below this one know nothing of it and of each other; window is arithmetic
// alone, and exchange is data alone.
func TestImports(t *testing.T) {
	const module = "github.com/headway-go/headway"
	for pkg, allowed := range map[string][]string{
		"internal/window": {"time", "math", "math/bits"},
		"internal/meter":  {"time", "math", "math/bits"},
		"internal/wait":   nil, // any of the standard library
		"exchange":        {"time"},
	} {
		out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, module+"/quota/"+pkg).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, imported := range strings.Fields(string(out)) {
			assert.NotContains(t, imported, ".", "%s imports %s, which is not of the standard library", pkg, imported)
			if allowed != nil {
				assert.Contains(t, allowed, imported, "%s imports %s", pkg, imported)
			}
		}
	}
	for pkg, unwanted := range map[string][]string{
		"quota":     {"transport", "parse", "partition"},
		"partition": {"transport", "quota"},
		"parse":     {"transport", "quota", "partition"},
	} {
		out, err := exec.Command("go", "list", "-f", `{{join .Deps "\n"}}`, module+"/"+pkg).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, u := range unwanted {
			assert.NotContains(t, strings.Fields(string(out)), module+"/"+u, "%s depends on %s", pkg, u)
		}
	}
}
