package quota

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A pseudonym stands for all of its parts, and for their borders.
func TestPseudonym(t *testing.T) {
	var a, b Accounts
	assert.Equal(t, a.CredentialHash("x", "y"), a.CredentialHash("x", "y"))
	seen := make(map[string][]string)
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"x", "y"}, {"xy"}, {"xy", ""}, {"", "xy"}, {"y", "x"}} {
		n := a.CredentialHash(parts...)
		assert.Len(t, n, 16)
		assert.NotContains(t, seen, n, "%q and %q", parts, seen[n])
		seen[n] = parts
	}
	assert.NotEqual(t, a.CredentialHash("x"), b.CredentialHash("x"), "the key is of these accounts")
}

// Pseudonyms that were forgotten are made again as they were: they depend on
// the secret alone.
func TestPseudonymsAreBounded(t *testing.T) {
	var a, b Accounts
	require.True(t, a.credentialHashes.use(secret{1}))
	require.True(t, b.credentialHashes.use(secret{1}))
	require.False(t, b.credentialHashes.use(secret{2}), "it has one")
	first := a.CredentialHash("first")
	for i := range 2*maxHashes + 1 {
		a.CredentialHash(fmt.Sprint(i))
		require.LessOrEqual(t, len(a.credentialHashes.names), maxHashes)
	}
	assert.Equal(t, first, a.CredentialHash("first"))
	assert.Equal(t, first, b.CredentialHash("first"), "the same secret")
}

// A pseudonym that is remembered takes no memory, however long what it is of.
func TestPseudonymAllocatesNothing(t *testing.T) {
	var a Accounts
	credential := "Bearer " + strings.Repeat("x", 1_000)
	a.CredentialHash(credential, "user", "")
	assert.Zero(t, testing.AllocsPerRun(100, func() { a.CredentialHash(credential, "user", "") }))
}

func BenchmarkPseudonym(b *testing.B) {
	for _, n := range []int{40, 1_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var a Accounts
			credential := "Bearer " + strings.Repeat("x", n)
			b.ReportAllocs()
			for b.Loop() {
				a.CredentialHash(credential, "user", "")
			}
		})
	}
}
