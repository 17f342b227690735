package transport_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Retry-After holds requests like the one that it answers (RFC 9110, Section 10.2.3),
// whatever the response declares of the policies that it names. A declaration by
// which none of them concerns the request is not believed.
func TestHoldsRequestsLikeTheRefusedOne(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		fields []string
		want   time.Duration
	}{
		"another method": {429, []string{"Retry-After", "30", "RateLimit-Partition", `"w";method=POST`, "RateLimit", `"w";a=0;w=60`}, 30 * time.Second},
		"lower case":     {429, []string{"Retry-After", "30", "RateLimit-Partition", `"w";method=get`, "RateLimit", `"w";a=0;w=20`}, 30 * time.Second},
		"another user":   {429, []string{"Retry-After", "30", "RateLimit-Partition", `"w";user_id=u-17`, "RateLimit", `"w";a=0;w=20`}, 30 * time.Second},
		"served":         {200, []string{"RateLimit-Partition", `"w";method=POST`, "RateLimit", `"w";a=0;w=60`}, 60*time.Second + time.Millisecond},
		"policy alone":   {429, []string{"Retry-After", "30", "RateLimit-Partition", `"w";method=POST`, "RateLimit-Policy", `"w";q=9;w=60`}, 30 * time.Second},
		"with a key":     {429, []string{"Retry-After", "30", "RateLimit-Partition", `"w";method=POST`, "RateLimit", `"w";a=0;w=20;pk=:UE9TVA==:`}, 30 * time.Second},
		"refused beside one that has units": {429, []string{"Retry-After", "30", "RateLimit-Partition", `"w";method=POST, "r";method=GET`,
			"RateLimit", `"r";a=9;w=20, "w";a=0;w=20`}, 30 * time.Second},
		"no advice": {429, []string{"RateLimit-Partition", `"w";method=POST`, "RateLimit", `"w";a=0;w=60`}, 60*time.Second + time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			var failed []string
			s := &transport.Shaper{Base: newServer(says(tt.status, tt.fields...), says(200)), Trace: &transport.Trace{
				Mispredicted: func(info transport.MispredictedInfo) { failed = append(failed, info.Policy) },
			}}
			request := func() *http.Request { return asUser(t.Context(), "a1", "GET", items) }
			pass(t, s, request())
			assert.Equal(t, tt.want, s.Check(request()).Wait.Round(time.Millisecond))
			assert.Equal(t, []string{"w"}, failed)
			assert.Equal(t, tt.want, delay(t, s, request()).Round(time.Millisecond))
		})
	}
}

// No later declaration lifts a hold in force, nor does a key, nor an answer that
// leaves the policy out.
func TestNothingSaidLaterLiftsHold(t *testing.T) {
	for name, later := range map[string][]string{
		"a declaration": {"RateLimit", `"rw";a=9;w=60`, "RateLimit-Partition", `"rw";method=POST`},
		"a key":         {"RateLimit", `"rw";a=9;w=60;pk=:YQ==:`},
		"both":          {"RateLimit", `"rw";a=9;w=60;pk=:UE9TVA==:`, "RateLimit-Partition", `"rw";method=POST`},
		"another":       {"RateLimit", `"other";a=9;w=60`, "RateLimit-Policy", `"other";q=10;w=60`},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(
				says(429, "Retry-After", "60", "RateLimit", `"rw";a=0;w=60`, "RateLimit-Partition", `"rw";method=GET`),
				says(200, later...), says(200))
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			time.Sleep(2 * time.Second)
			pass(t, s, newRequest(transport.WithBypass(t.Context()), "POST", items))
			assert.Equal(t, 58*time.Second, delay(t, s, getItems(t.Context())).Round(10*time.Millisecond))
		})
	}
}

// Retry-After takes precedence over the window (the draft, Section 7), also where it
// is 0 or in the past: a refusal costs time, and its window does not matter.
func TestRetryAfterOfZeroWins(t *testing.T) {
	for name, after := range map[string]string{"zero": "0", "past": "Sun, 06 Nov 1994 08:49:37 GMT"} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(says(429, "Retry-After", after, "RateLimit", `"api";a=0;w=60`))
			s := &transport.Shaper{Base: srv}
			for i := range 7 {
				pass(t, s, getItems(t.Context()))
				wait := min(time.Second<<i, 48*time.Second)
				assert.InDelta(t, wait*9/8, s.Check(getItems(t.Context())).Wait, float64(wait/8))
			}
		})
	}
}

// A hold of the whole origin that is longer than ten minutes is looked at once in
// each (the draft, Section 9.5.1), and ends when a look is served.
func TestLongHoldOfOriginIsLookedAt(t *testing.T) {
	bubble(t, "a day", func(t *testing.T) {
		srv := newServer(says(503, "Retry-After", "86400"), says(503), says(503, "Retry-After", "86400"), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		for i := range 3 {
			time.Sleep(10*time.Minute - 3*time.Minute)
			assert.Equal(t, quota.ReasonMaxDelay, refusal(t, s, getItems(t.Context())).Reason, i)
			time.Sleep(time.Minute)
			assert.Equal(t, 2*time.Minute, delay(t, s, getItems(t.Context())), i)
		}
		assert.Zero(t, delay(t, s, getItems(t.Context())))
		assert.Equal(t, []time.Duration{0, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 30 * time.Minute}, srv.departures())
	})
}

// Advice above its cap is not obeyed (the draft, Section 9.5.1), and not nothing: the
// refusal is followed by a back-off.
func TestAdviceAboveCapBacksOff(t *testing.T) {
	for _, status := range []int{403, 429, 503} {
		bubble(t, http.StatusText(status), func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(status, "Retry-After", "999999999"))}
			for i := range 4 {
				pass(t, s, getItems(t.Context()))
				like := getItems(t.Context())
				if status == 503 { // it concerns the whole origin
					like = newRequest(t.Context(), "POST", "http://api.example/other")
				}
				v := s.Check(like)
				assert.Equal(t, quota.ReasonBackOff, v.Reason)
				assert.InDelta(t, time.Second<<i*9/8, v.Wait, float64(time.Second<<i/8))
			}
		})
	}
}

// The body restricts a pause and a back-off to the policies that it names (the
// draft, Section 8), also among several that the fields name.
func TestProblemRestrictsAmongNamed(t *testing.T) {
	const daily = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","violated-policies":["daily"]}`
	for name, fields := range map[string][]string{
		"a pause":    {"Retry-After", "100", "RateLimit", `"daily";a=0, "burst";a=7`},
		"a back-off": {"RateLimit", `"daily";a=3;w=60, "burst";a=7;w=60`},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(
				says(200, "RateLimit", `"burst";a=9;w=60`, "RateLimit-Policy", `"burst";q=10;w=60`),
				problem(429, daily, fields...), says(200))
			s := &transport.Shaper{Base: srv}
			burstOnly := func() *http.Request { return newRequest(t.Context(), "GET", "http://api.example/cheap") }
			pass(t, s, burstOnly())
			resp, err := s.RoundTrip(getItems(t.Context()))
			require.NoError(t, err)
			require.NotZero(t, s.Check(burstOnly()).Wait)
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Zero(t, delay(t, s, burstOnly()))
			assert.Greater(t, s.Check(getItems(t.Context())).Wait, 900*time.Millisecond)
		})
	}
}
