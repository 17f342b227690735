package parse_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Draft -07, Section 3: RateLimit is a Dictionary.
func TestReadDictionary(t *testing.T) {
	const ignored = "none; parse: "
	tests := []struct{ name, value, want string }{
		{"Section 3.5", `limit=100, remaining=50, reset=5`, `draft -07; policy '' 100; limit '' 50/5s`},
		{"Appendix B.3.1: no remaining", `limit=10, reset=1`, `draft -07; policy '' 10; limit '' ?/1s`},
		{"any order", `reset=5,remaining=50,limit=100`, `draft -07; policy '' 100; limit '' 50/5s`},
		{"no quota", `limit=0, remaining=0, reset=0`, `draft -07`},
		{"parameters MUST be ignored", `limit=100;w=60, remaining=50;x="y", reset=5;z`, `draft -07; policy '' 100; limit '' 50/5s`},
		{"other keys", `limit=100, remaining=50, reset=5, used=50, policy`, `draft -07; policy '' 100; limit '' 50/5s`},
		{"the last of a repeated key", `limit=1, remaining=50, reset=5, limit=100`, `draft -07; policy '' 100; limit '' 50/5s`},
		{"a Unix time", `limit=5, remaining=0, reset=1795236530`, `draft -07; policy '' 5; limit '' 0/51s`},
		{"a Unix time that has passed", `limit=5, remaining=0, reset=1795236470`, `draft -07; policy '' 5; limit '' 0/0s`},

		{"limit is REQUIRED", `remaining=50, reset=5`, ignored + `required parameter missing (RateLimit, parameter limit)`},
		{"reset is REQUIRED", `limit=100, remaining=50`, ignored + `required parameter missing (RateLimit, parameter reset)`},
		{"limit negative", `limit=-1, remaining=50, reset=5`, ignored + `value out of range (RateLimit, parameter limit)`},
		{"remaining negative", `limit=100, remaining=-1, reset=5`, ignored + `value out of range (RateLimit, parameter remaining)`},
		{"reset negative", `limit=100, remaining=50, reset=-5`, ignored + `value out of range (RateLimit, parameter reset)`},
		{"limit Decimal", `limit=1.0, remaining=50, reset=5`, ignored + `value of a wrong type (RateLimit, parameter limit)`},
		{"remaining Inner List", `limit=100, remaining=(50), reset=5`, ignored + `value of a wrong type (RateLimit, parameter remaining)`},
		{"reset Boolean", `limit=100, remaining=50, reset`, ignored + `value of a wrong type (RateLimit, parameter reset)`},
		{"limit above its cap", `limit=1000000000001, reset=5`,
			ignored + `above a safety cap (RateLimit, parameter limit); parse: required parameter missing (RateLimit, parameter limit)`},
		{"remaining above its cap", `limit=5, remaining=1000000000001, reset=5`,
			`draft -07; policy '' 5; limit '' ?/5s; parse: above a safety cap (RateLimit, parameter remaining)`},
		{"reset above its cap", `limit=5, remaining=0, reset=31622401`,
			ignored + `above a safety cap (RateLimit, parameter reset); parse: required parameter missing (RateLimit, parameter reset)`},
		{"reset longer than a Duration", `limit=5, remaining=0, reset=999999999999999`,
			ignored + `above a safety cap (RateLimit, parameter reset); parse: required parameter missing (RateLimit, parameter reset)`},
		{"no Dictionary", `limit=100; remaining=`, ignored + `malformed field value (RateLimit)`},
		{"a trailing comma", `limit=100, reset=5,`, ignored + `malformed field value (RateLimit)`},
	}
	var r parse.Reader
	for _, tt := range tests {
		assert.Equal(t, tt.want, tell(r.Read("", 200, fields("RateLimit: "+tt.value), saturday)), tt.name)
	}
}

// Field lines make one Dictionary (RFC 9651, Section 4.2).
func TestReadDictionaryInLines(t *testing.T) {
	var r parse.Reader
	one := r.Read("", 200, fields("RateLimit: limit=100, remaining=50, reset=5"), saturday)
	three := r.Read("", 200, fields("RateLimit: limit=100", "RateLimit: remaining=50", "RateLimit: reset=5"), saturday)
	assert.Equal(t, one, three)
}

// Without a cap on windows a reset saturates.
func TestReadDictionaryUnbounded(t *testing.T) {
	r := parse.Reader{Caps: unbounded}
	got := r.Read("", 200, fields("RateLimit: limit=1, reset=999999999999999"), saturday)
	assert.Equal(t, time.Duration(1<<63-1), got.Limits[0].Window)
}
