package transport_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Every refusal names the reason, the policy and partition, and when to try again. It
// is found in the *url.Error of an http.Client, too.
func TestRejectedError(t *testing.T) {
	const left = 60*time.Second + time.Millisecond // of the window, with the guard
	for _, tt := range []struct {
		name    string
		answer  answer
		setup   func(t *testing.T, s *transport.Shaper)
		timeout time.Duration // of the context; 0: none
		want    transport.RejectedError
		text    string
	}{
		{
			name: "exhausted", answer: limit(`"api";a=0;w=60`),
			setup: func(_ *testing.T, s *transport.Shaper) { s.MaxDelay = transport.NoDelay },
			want:  transport.RejectedError{Policy: "api", Reason: quota.ReasonExhausted, Cause: quota.ReasonExhausted, RetryAfter: left},
			text:  `transport: request rejected: quota exhausted, policy "api", retry after 1m0.001s`,
		},
		{
			name: "exhausted, of a partition", answer: limit(`"api";a=0;w=60;pk=:YWxpY2U=:`),
			setup: func(_ *testing.T, s *transport.Shaper) { s.MaxDelay = -time.Hour },
			want:  transport.RejectedError{Policy: "api", Partition: "alice", Reason: quota.ReasonExhausted, Cause: quota.ReasonExhausted, RetryAfter: left},
			text:  `transport: request rejected: quota exhausted, policy "api", retry after 1m0.001s`,
		},
		{
			name: "retry after", answer: says(429, "Retry-After", "90"),
			setup: func(_ *testing.T, s *transport.Shaper) { s.MaxDelay = transport.NoDelay },
			want:  transport.RejectedError{Reason: quota.ReasonRetryAfter, Cause: quota.ReasonRetryAfter, RetryAfter: 90 * time.Second},
			text:  `transport: request rejected: held by Retry-After, retry after 1m30s`,
		},
		{
			name: "own limit", answer: says(200),
			setup: func(t *testing.T, s *transport.Shaper) { s.MaxDelay, s.Limits = transport.NoDelay, busy(t) },
			want:  transport.RejectedError{Reason: quota.ReasonOwnLimit, Cause: quota.ReasonOwnLimit},
			text:  `transport: request rejected: own limit`,
		},
		{
			name: "max delay", answer: limit(`"api";a=0;w=60`),
			setup: func(_ *testing.T, s *transport.Shaper) { s.MaxDelay = left - 1 },
			want:  transport.RejectedError{Policy: "api", Reason: quota.ReasonMaxDelay, Cause: quota.ReasonExhausted, RetryAfter: left},
			text:  `transport: request rejected: max delay: quota exhausted, policy "api", retry after 1m0.001s`,
		},
		{
			name: "default max delay", answer: limit(`"api";a=0;w=121`),
			want: transport.RejectedError{Policy: "api", Reason: quota.ReasonMaxDelay, Cause: quota.ReasonExhausted, RetryAfter: 121*time.Second + time.Millisecond},
			text: `transport: request rejected: max delay: quota exhausted, policy "api", retry after 2m1.001s`,
		},
		{
			// One probe is sent after ten minutes. RetryAfter is the end of the window.
			name: "long window", answer: limit(`"api";a=0;w=86400`),
			want: transport.RejectedError{Policy: "api", Reason: quota.ReasonMaxDelay, Cause: quota.ReasonExhausted, RetryAfter: 24*time.Hour + time.Millisecond},
			text: `transport: request rejected: max delay: quota exhausted, policy "api", retry after 24h0m0.001s`,
		},
		{
			name: "retry after, for too long", answer: says(429, "Retry-After", "180"),
			want: transport.RejectedError{Reason: quota.ReasonMaxDelay, Cause: quota.ReasonRetryAfter, RetryAfter: 180 * time.Second},
			text: `transport: request rejected: max delay: held by Retry-After, retry after 3m0s`,
		},
		{
			name: "own limit, for too long", answer: says(200), timeout: time.Second,
			setup: func(_ *testing.T, s *transport.Shaper) {
				l := quota.FixedWindow(1, time.Minute, quota.Options{Name: "mine"})
				if _, err := l.TryAcquire(1); err != nil {
					t.Error(err)
				}
				s.Limits = quota.Always[*http.Request](l)
			},
			want: transport.RejectedError{Policy: "mine", Reason: quota.ReasonDeadline, Cause: quota.ReasonOwnLimit, RetryAfter: time.Minute},
			text: `transport: request rejected: deadline: own limit "mine", retry after 1m0s`,
		},
		{
			name: "deadline", answer: limit(`"api";a=0;w=60`), timeout: left - 1,
			want: transport.RejectedError{Policy: "api", Reason: quota.ReasonDeadline, Cause: quota.ReasonExhausted, RetryAfter: left},
			text: `transport: request rejected: deadline: quota exhausted, policy "api", retry after 1m0.001s`,
		},
		{
			name: "deadline before max delay", answer: limit(`"api";a=0;w=60`), timeout: 5 * time.Second,
			setup: func(_ *testing.T, s *transport.Shaper) { s.MaxDelay = 10 * time.Second },
			want:  transport.RejectedError{Policy: "api", Reason: quota.ReasonDeadline, Cause: quota.ReasonExhausted, RetryAfter: left},
			text:  `transport: request rejected: deadline: quota exhausted, policy "api", retry after 1m0.001s`,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(tt.answer)}
			pass(t, s, getItems(t.Context()))
			if tt.setup != nil {
				tt.setup(t, s)
			}
			ctx := t.Context()
			if tt.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.timeout)
				defer cancel()
			}
			assert.Equal(t, &tt.want, refusal(t, s, getItems(ctx)))

			_, err := (&http.Client{Transport: s}).Do(getItems(ctx))
			var wrapped *url.Error
			require.ErrorAs(t, err, &wrapped)
			assert.Equal(t, &tt.want, wrapped.Err)
			assert.Equal(t, tt.text, wrapped.Err.Error())
			assert.ErrorIs(t, err, transport.ErrRejected)
			isDeadline := tt.want.Reason == quota.ReasonDeadline
			assert.Equal(t, isDeadline, wrapped.Timeout())
			assert.Equal(t, isDeadline, errors.Is(err, context.DeadlineExceeded))
			assert.NotErrorIs(t, err, context.Canceled)
		})
	}
}

// RetryAfter is counted from the refusal on: a request that comes after that time goes.
func TestRetryAfterOfRefusalIsRight(t *testing.T) {
	for name, answer := range map[string]answer{
		"window":      limit(`"api";a=0;w=60`),
		"retry after": says(503, "Retry-After", "30"),
		"back-off":    says(429),
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(answer, says(200)), MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			wait := refusal(t, s, getItems(t.Context())).RetryAfter
			require.Greater(t, wait, 800*time.Millisecond)
			time.Sleep(600 * time.Millisecond)
			assert.Equal(t, wait-600*time.Millisecond, refusal(t, s, getItems(t.Context())).RetryAfter)
			time.Sleep(wait - 600*time.Millisecond - 1)
			assert.Equal(t, time.Duration(1), refusal(t, s, getItems(t.Context())).RetryAfter)
			time.Sleep(1 * time.Nanosecond)
			assert.Zero(t, delay(t, s, getItems(t.Context())))
		})
	}
}

// A wait that ends exactly at the deadline, or takes exactly MaxDelay, is not
// too long.
func TestWaitThatJustFits(t *testing.T) {
	const left = 60*time.Second + time.Millisecond
	bubble(t, "max delay", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: left}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, left, delay(t, s, getItems(t.Context())))
	})
	bubble(t, "deadline", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200))}
		pass(t, s, getItems(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), left+1)
		defer cancel()
		assert.Equal(t, left, delay(t, s, getItems(ctx)))
	})
}

// A request has to wait for all policies, so the longest wait decides: if it is too
// long, the request is refused at once, and not after a shorter wait.
func TestLongestOfSeveralWaitsDecides(t *testing.T) {
	const both = `"short";a=0;w=10, "long";a=0;w=60`
	want := transport.RejectedError{Policy: "long", Cause: quota.ReasonExhausted, RetryAfter: 60*time.Second + time.Millisecond}
	bubble(t, "deadline", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(both))}
		pass(t, s, getItems(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		want.Reason = quota.ReasonDeadline
		assert.Equal(t, &want, refusal(t, s, getItems(ctx)))
	})
	bubble(t, "max delay", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(both)), MaxDelay: 30 * time.Second}
		pass(t, s, getItems(t.Context()))
		want.Reason = quota.ReasonMaxDelay
		assert.Equal(t, &want, refusal(t, s, getItems(t.Context())))
	})
	bubble(t, "no delay", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(both)), MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		want.Reason = quota.ReasonExhausted
		assert.Equal(t, &want, refusal(t, s, getItems(t.Context())))
	})
	bubble(t, "retry after beside a window", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"short";a=0;w=10`), says(503, "Retry-After", "5")), MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(transport.WithBypass(t.Context())))
		assert.Equal(t, 10*time.Second+time.Millisecond, refusal(t, s, getItems(t.Context())).RetryAfter)
	})
}

// Requests in line are refused as soon as it is known that they would wait too long.
func TestRefusedWhileInLine(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer answer
		took   time.Duration
		want   transport.RejectedError
	}{
		{
			"by what they wait for", says(429, "RateLimit", `"api";a=0;w=60`, "Retry-After", "600"), 2 * time.Second,
			transport.RejectedError{Policy: "api", Reason: quota.ReasonMaxDelay, Cause: quota.ReasonRetryAfter, RetryAfter: 600 * time.Second},
		},
		{
			"by something else", says(503, "Retry-After", "600"), 2 * time.Second,
			transport.RejectedError{Reason: quota.ReasonMaxDelay, Cause: quota.ReasonRetryAfter, RetryAfter: 600 * time.Second},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			srv := newServer(limit(`"api";a=0;w=10`), tt.answer)
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			errs := make(chan error, 3)
			began := time.Now()
			for range cap(errs) {
				go func() {
					_, err := s.RoundTrip(getItems(t.Context()))
					assert.Equal(t, tt.took, time.Since(began))
					errs <- err
				}()
			}
			time.Sleep(2 * time.Second)
			pass(t, s, getItems(transport.WithBypass(t.Context())))
			for range cap(errs) {
				var rejected *transport.RejectedError
				require.ErrorAs(t, <-errs, &rejected)
				assert.Equal(t, tt.want, *rejected)
			}
			assert.Equal(t, 2, srv.count())
		})
	}
}

// A refusal prints without the bytes of the partition key, which its field holds.
func TestRejectedErrorRedactsKey(t *testing.T) {
	err := &transport.RejectedError{Policy: "api", Partition: "alice", Reason: quota.ReasonExhausted}
	assert.NotContains(t, err.Error(), "alice")
	assert.Equal(t, "alice", string(err.Partition))
	assert.Equal(t, partition.Key("alice"), err.Partition)
}
