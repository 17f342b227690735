package transport

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A refusal holds a kind that has a scope of its own. When that is over, requests that come then do
// not go before those that wait: all of them have another scope with the next response.
func TestEndOfHeldKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told toldKinds
		const limited, free, other = kindKey(1), kindKey(2), kindKey(3)
		for range 4 {
			told.note("s", limited, toldLimit+10, false)
			told.note("s", free, toldNothing, false)
		}
		scope, silent := told.narrow("s", free)
		assert.Equal(t, "s"+ofKind, scope)
		assert.True(t, silent)

		assert.True(t, told.hold("s", free, "s", time.Now().Add(4*time.Second)), "requests have another scope at once")
		assert.False(t, told.hold("s", free, "s", time.Now().Add(5*time.Second)), "it lasts longer")
		assert.False(t, told.hold("s", other, "s", time.Now().Add(9*time.Second)))
		time.Sleep(5*time.Second - 1)
		assert.False(t, told.note("s", limited, toldLimit+10, false))
		time.Sleep(time.Second)
		scope, silent = told.narrow("s", free)
		assert.Equal(t, "s", scope)
		assert.False(t, silent)

		assert.True(t, told.note("s", limited, toldLimit+10, false), "those that wait are routed again")
		scope, silent = told.narrow("s", free)
		assert.Equal(t, "s"+ofKind, scope)
		assert.True(t, silent)
		assert.False(t, told.note("s", limited, toldLimit+10, false))
		time.Sleep(4 * time.Second)
		assert.True(t, told.note("s", limited, toldLimit+10, false), "the other hold is over")
	})
}
