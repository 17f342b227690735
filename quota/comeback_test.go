package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// The end that a bucket of 60 in an hour tells is when it is full. A unit is tried for as soon as it should be back. If
// another client has taken that, the next look is after 10 min, and who does not wait comes back for it.
func TestComesBackBeforeFull(t *testing.T) {
	d := newDesk(t)
	for i := range int64(60) {
		now := time.Duration(i) * ms
		r := quota.Report{Terms: terms("api", 60, time.Hour), Figures: figure("api", 59-i, time.Duration(i+1)*mins)}
		d.done(now+ms/2, d.send(now, "", api(1)), r)
	}
	at, l := d.next(60 * ms)
	assert.Less(t, at, 62*sec)
	d.done(at+ms, l, quota.Report{Refused: true, Figures: figure("api", 0, time.Hour)})
	r := d.refused(at+sec, "", api(1))
	require.Equal(t, quota.ReasonExhausted, r.Cause)
	assert.Equal(t, 10*mins-sec+ms, r.RetryAfter)
}
