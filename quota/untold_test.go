package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota/internal/window"
)

// How long windows are is learned where no answer says when they end. That is not shown as what the policy says, and
// a quota that processes share is not counted by it.
func TestUntoldWindows(t *testing.T) {
	for _, shares := range []bool{false, true} {
		o := &Origin{accounts: new(Accounts)}
		if shares {
			o.shared = new(Shared)
		}
		var a account
		a.init(&policyAccounts{origin: o, policyID: policyID{name: "api"}}, owner{})
		a.setPolicy(&Policy{Name: "api", Quota: 10})
		answer := func(at time.Duration, left int64) {
			sent := instant(at)
			a.Report(sent.Add(50*time.Millisecond), sent, window.Figure{Available: left, Window: window.None}, false, &a.policy.server)
			a.setPolicy(&Policy{Name: "api", Quota: 10})
		}
		answer(time.Second, 9)
		answer(1800*time.Millisecond, 0)
		assert.Zero(t, a.Length)
		answer(2850*time.Millisecond, 9)
		if shares {
			assert.Zero(t, a.Length)
		} else {
			assert.Equal(t, time.Second, a.Length)
		}
		assert.Zero(t, a.Told())
		a.setPolicy(&Policy{Name: "api", Quota: 10, Window: time.Second})
		assert.Equal(t, time.Second, a.Told(), "also if that is what was learned")
	}
}
