package transport_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A 403 or a 503 is a refusal for lack of quota if a service limit says that nothing is
// left, like a 429 (RFC 6585, Section 4), and makes the client back off for 1 s to
// 1.25 s. Without such a limit it is not, and neither is any other status: a 404 may be
// the last response of a window.
func TestQuotaRefusals(t *testing.T) {
	const (
		exhausted = `"api";a=0;w=0`
		oneOfTwo  = `"api";a=7;w=600, "burst";a=0;w=0`
		some      = `"api";a=7;w=600`
		one       = `"api";a=1;w=600`
	)
	for _, tt := range []struct {
		status int
		fields string
		want   bool
	}{
		{429, some, true}, {429, exhausted, true},
		{403, exhausted, true}, {403, oneOfTwo, true}, {403, some, false}, {403, one, false},
		{503, exhausted, true}, {503, oneOfTwo, true}, {503, some, false}, {503, one, false},
		{200, exhausted, false}, {404, exhausted, false}, {402, exhausted, false}, {502, exhausted, false}, {504, exhausted, false},
	} {
		t.Run(fmt.Sprint(tt.status, " ", tt.fields), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refused []bool
				s := &transport.Shaper{
					Base:  newServer(slow(rtt, says(tt.status, "RateLimit", tt.fields)), says(200)),
					Trace: &transport.Trace{Learned: func(i transport.LearnedInfo) { refused = append(refused, i.Refused) }},
				}
				pass(t, s, getItems(t.Context()))
				assert.Equal(t, []bool{tt.want}, refused)
				wait := s.Check(getItems(t.Context())).Wait
				if tt.want {
					assert.GreaterOrEqual(t, wait, time.Second)
					assert.LessOrEqual(t, wait, 1250*time.Millisecond)
				} else {
					assert.Less(t, wait, time.Second)
				}
			})
		})
	}
}
