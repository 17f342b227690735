package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0.0 ms", 1500 * time.Microsecond: "1.5 ms", 40 * time.Millisecond: "40 ms", time.Second: "1 s", 6200 * time.Millisecond: "6.2 s",
		12400 * time.Millisecond: "12 s", 59600 * time.Millisecond: "1 min", 90 * time.Second: "1 min 30 s", time.Hour: "1 h", 25 * time.Hour: "1 d 1 h",
	} {
		assert.Equal(t, want, duration(d), "%v", int64(d))
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", -1000: "-1\u202f000", 1234567: "1\u202f234\u202f567"} {
		assert.Equal(t, want, number(n))
	}
}

// Names of policies are shown if they are words, and hidden if they may be tokens,
// identifiers or keys.
func TestShownPolicy(t *testing.T) {
	for _, name := range []string{"", "api", "per-user", "burst 10", "requests_per_minute", "core", "GET:/v1/items", "Day", "API"} {
		assert.Equal(t, name, shownPolicy(name))
	}
	for _, name := range []string{
		"user-84712365", "canary_live_4eC39HqLyjWDarjtT1zdp7dc", "alice@example.com", "eyJhbGciOiJIUzI1NiJ9", "<script>", "x\n", "é",
		"abcdefghijklmnopqrstuvwxyz", "this name is far too long to be that of a policy",
	} {
		assert.Regexp(t, `^#[0-9a-f]{8}$`, shownPolicy(name), name)
		assert.Equal(t, shownPolicy(name), shownPolicy(name))
	}
}
