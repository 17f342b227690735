package transport_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// TestMain checks that no goroutine is left in the code of this module when all tests
// and examples have ended. (In a bubble of testing/synctest such a goroutine fails its
// test at once.)
func TestMain(m *testing.M) {
	code := m.Run()
	left := ours()
	for tries := 0; left != "" && tries < 100; tries++ {
		time.Sleep(10 * time.Millisecond) // a goroutine may be about to end
		left = ours()
	}
	if left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// ours returns the goroutines that are in the code of transport or quota.
func ours() string {
	stacks := make([]byte, 1<<20)
	var found []string
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "/headway/transport.") || strings.Contains(stack, "/headway/quota.") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

// atRest asserts that an origin has no request in flight and none in line, and so no
// timer.
func atRest(t *testing.T, accounts *quota.Accounts, origin string) {
	t.Helper()
	stats := accounts.Origin(origin).Limiter(quota.Ask{}).Stats()
	assert.NotZero(t, stats.IdleSince, "something is out to %s, or in line", origin)
	assert.Zero(t, stats.Queued)
}
