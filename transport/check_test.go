package transport_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Check returns exactly how long a request would wait, and for which policy.
func TestCheckIsExact(t *testing.T) {
	for name, answer := range map[string]answer{
		"nothing":     says(200),
		"room":        limit(`"api";a=9;w=60`),
		"window":      limit(`"api";a=0;w=60`),
		"partition":   limit(`"api";a=0;w=60;pk=:QQ==:`),
		"retry after": says(503, "Retry-After", "30"),
		"both":        says(429, "RateLimit", `"api";a=5;w=60`, "Retry-After", "70"),
		"back-off":    says(429),
		"two":         limit(`"short";a=0;w=10, "long";a=0;w=60`),
		"day":         limit(`"day";a=0;w=86400`),
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(answer, says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
			assert.Equal(t, transport.Verdict{}, s.Check(getItems(t.Context())))
			pass(t, s, getItems(t.Context()))
			time.Sleep(300 * time.Millisecond)
			v := s.Check(getItems(t.Context()))
			assert.Nil(t, v.Rejected)
			assert.Equal(t, v.Wait > 0, v.Reason != 0)
			assert.Equal(t, v, s.Check(getItems(t.Context())))
			assert.Equal(t, v.Wait, delay(t, s, getItems(t.Context())))
		})
	}
}

// Check returns the error with which a request would be refused.
func TestCheckSaysRefusal(t *testing.T) {
	for name, setup := range map[string]func(t *testing.T, s *transport.Shaper) context.Context{
		"no delay": func(t *testing.T, s *transport.Shaper) context.Context {
			return transport.WithNoDelay(t.Context())
		},
		"max delay": func(t *testing.T, s *transport.Shaper) context.Context {
			s.MaxDelay = 5 * time.Second
			return t.Context()
		},
		"deadline": func(t *testing.T, s *transport.Shaper) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			t.Cleanup(cancel)
			return ctx
		},
		"queue full": func(t *testing.T, s *transport.Shaper) context.Context {
			s.MaxQueue = 1
			go pass(t, s, getItems(context.Background()))
			synctest.Wait()
			t.Cleanup(func() { time.Sleep(time.Hour) })
			return context.WithoutCancel(t.Context())
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`))}
			pass(t, s, getItems(t.Context()))
			ctx := setup(t, s)
			v := s.Check(getItems(ctx))
			require.NotNil(t, v.Rejected)
			assert.Equal(t, quota.ReasonExhausted, v.Reason)
			assert.Equal(t, "api", v.Policy)
			assert.Equal(t, refusal(t, s, getItems(ctx)), v.Rejected)
		})
	}
}

// Check sends nothing, charges nothing, and does not touch the request or its body.
func TestCheckChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quota.Concurrency(1)
		srv := newServer(limit(`"api";a=2;w=60`), says(200))
		s := &transport.Shaper{Base: srv, Limits: func(*http.Request) quota.Limiter { return c }, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		body := &closeCounter{Reader: strings.NewReader("content")}
		req := newRequest(t.Context(), http.MethodPut, items)
		req.Body = body
		before := snapshot(req)
		for range 10 {
			assert.Equal(t, transport.Verdict{}, s.Check(req))
		}
		assert.Equal(t, before, snapshot(req))
		assert.Zero(t, body.reads.Load())
		assert.Zero(t, body.closes.Load())
		assert.EqualValues(t, 1, c.Stats().Available)
		assert.Equal(t, 1, srv.count())
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		for range 3 {
			assert.NotNil(t, s.Check(getItems(t.Context())).Rejected)
		}
		time.Sleep(60*time.Second + guard(0))
		for range 3 { // Check does not use up the probe
			assert.Equal(t, transport.Verdict{}, s.Check(getItems(t.Context())))
		}
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}

// Check calls no hooks.
func TestCheckCallsNoHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`))}
		pass(t, s, getItems(t.Context()))
		s.Trace = noHooks(t)
		assert.Equal(t, 60*time.Second+guard(0), s.Check(getItems(t.Context())).Wait)
	})
}

// A request that is never held, by WithBypass or in Mode Observe, would not wait.
func TestCheckOfUnshaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=600`)), MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		v := s.Check(getItems(transport.WithBypass(t.Context())))
		assert.Zero(t, v.Wait)
		assert.Nil(t, v.Rejected)
		s.Mode = transport.Observe
		v = s.Check(getItems(t.Context()))
		assert.Zero(t, v.Wait)
		assert.Nil(t, v.Rejected)
	})
}

// For a request that follows a redirect, Check includes the Retry-After of the
// redirect (RFC 9110, Section 10.2.3).
func TestCheckOfRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: stillServer()}
		req := getItems(t.Context())
		req.Response, _ = says(301, "Retry-After", "8")(getItems(t.Context()))
		v := s.Check(req)
		assert.Equal(t, 8*time.Second, v.Wait)
		assert.Equal(t, quota.ReasonRetryAfter, v.Reason)
		assert.Nil(t, v.Rejected)
		assert.Equal(t, 8*time.Second, delay(t, s, req))
	})
}
