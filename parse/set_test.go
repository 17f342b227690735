package parse

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Every field is taken over, whatever was there before: other memory of the same length, a part of
// the same memory, or nothing.
func TestSetReading(t *testing.T) {
	full := func(n int64) Reading {
		return Reading{
			Dialect: Dialect(n), Vendor: string(rune('a' + n)), Policies: []Policy{{Quota: n}, {}}, Limits: []Limit{{Available: n}, {}},
			Declarations: []Declaration{{Policy: "api"}, {}}, RetryAfter: time.Duration(n), Advised: true, Date: time.Unix(n, 0).UTC(),
			Cached: true, Ignored: []Ignored{{Field: "Age"}, {}},
		}
	}
	one := full(1)
	for i := range reflect.TypeFor[Reading]().NumField() {
		assert.False(t, reflect.ValueOf(one).Field(i).IsZero(), reflect.TypeFor[Reading]().Field(i).Name)
	}
	part := func(r Reading, n, most int) Reading {
		r.Policies, r.Limits, r.Declarations, r.Ignored = r.Policies[:n:most], r.Limits[:n:most], r.Declarations[:n:most], r.Ignored[:n:most]
		return r
	}
	readings := []Reading{{}, one, full(1), full(2), part(one, 0, 0), part(one, 0, 2), part(one, 1, 1), part(one, 1, 2)}
	for i, before := range readings {
		for j, to := range readings {
			r := before
			r.set(&to)
			assert.Equal(t, to, r, "%d to %d", i, j)
			for _, of := range []func(*Reading) any{
				func(r *Reading) any { return r.Policies },
				func(r *Reading) any { return r.Limits },
				func(r *Reading) any { return r.Declarations },
				func(r *Reading) any { return r.Ignored },
			} {
				want, got := reflect.ValueOf(of(&to)), reflect.ValueOf(of(&r))
				assert.Equal(t, want.Cap(), got.Cap(), "%d to %d", i, j)
				if want.Len() > 0 {
					assert.Equal(t, want.Pointer(), got.Pointer(), "%d to %d: the same memory", i, j)
				}
			}
		}
	}
}
