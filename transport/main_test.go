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

// When all tests and examples are over, no goroutine is left in the code of this
// module. (In a bubble of testing/synctest that fails the test at once.)
func TestMain(m *testing.M) {
	code := m.Run()
	left := ours()
	for tries := 0; left != "" && tries < 100; tries++ {
		time.Sleep(10 * time.Millisecond) // it may be on its way out
		left = ours()
	}
	if left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// ours are the goroutines that are in the code of transport or quota.
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

// atRest asserts that nothing is out to an origin: no request, nobody in line, and
// so no timer that looks at a line.
func atRest(t *testing.T, accounts *quota.Accounts, origin string) {
	t.Helper()
	stats := accounts.Origin(origin).Limiter(quota.Ask{}).Stats()
	assert.NotZero(t, stats.IdleSince, "something is out to %s, or in line", origin)
	assert.Zero(t, stats.Queued)
}
