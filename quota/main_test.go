package quota

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestMain fails if a test, or an example, leaves a goroutine of this package
// behind: one that runs its functions, or was begun by them.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftBehind(); code == 0 && left != "" {
		fmt.Println("left behind:\n" + left)
		code = 1
	}
	os.Exit(code)
}

// leftBehind is the stacks of goroutines of this package, but that of main. Who
// is about to end gets the chance to.
func leftBehind() (left string) {
	for range 1_000 {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left = ""
		for i, stack := range strings.Split(string(stacks), "\n\n") {
			if i > 0 && strings.Contains(stack, "headway/quota") && !strings.Contains(stack, "quota.TestMain") {
				left += stack + "\n\n"
			}
		}
		if left == "" {
			return ""
		}
		runtime.Gosched()
	}
	return left
}
