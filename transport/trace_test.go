package transport_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// allHooks returns a Trace whose hooks all call told with their argument.
func allHooks(told func(info any)) *transport.Trace {
	return &transport.Trace{
		Held:         func(i transport.HeldInfo) { told(i) },
		Admitted:     func(i transport.AdmittedInfo) { told(i) },
		Rejected:     func(i transport.RejectedInfo) { told(i) },
		Answered:     func(i transport.AnsweredInfo) { told(i) },
		Learned:      func(i transport.LearnedInfo) { told(i) },
		Changed:      func(i transport.ChangedInfo) { told(i) },
		Failed:       func(i transport.FailedInfo) { told(i) },
		Ignored:      func(i transport.IgnoredInfo) { told(i) },
		Mispredicted: func(i transport.MispredictedInfo) { told(i) },
	}
}

// errRefused is the error of a connection that could not be made.
var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// noHooks returns a Trace whose hooks must not be called.
func noHooks(t *testing.T) *transport.Trace {
	return allHooks(func(info any) { assert.Fail(t, "a hook was called", "%T: %+v", info, info) })
}

// withAnswered returns the infos, and before each LearnedInfo the AnsweredInfo that is
// part of it.
func withAnswered(infos []any) (all []any) {
	for _, info := range infos {
		if i, ok := info.(transport.LearnedInfo); ok {
			all = append(all, i.AnsweredInfo)
		}
		all = append(all, info)
	}
	return all
}

// withoutSent checks when an info says that its request departed, and takes it away.
func withoutSent(t *testing.T, info any) any {
	check := func(i *transport.AdmittedInfo, took time.Duration) {
		assert.Equal(t, time.Now().Add(-took), i.Sent)
		i.Sent = time.Time{}
	}
	switch i := info.(type) {
	case transport.AdmittedInfo:
		check(&i, 0)
		return i
	case transport.AnsweredInfo:
		check(&i.AdmittedInfo, i.Took)
		return i
	case transport.LearnedInfo:
		check(&i.AdmittedInfo, i.Took)
		return i
	case transport.FailedInfo:
		check(&i.AdmittedInfo, i.Took)
		return i
	}
	return info
}

// The calls of all hooks but Changed for one request, in order.
func TestTrace(t *testing.T) {
	const ms = time.Millisecond
	silent := parse.Reading{RetryAfter: parse.None}
	for _, tt := range []struct {
		name   string
		setup  func(s *transport.Shaper)
		first  answer // to an earlier request
		answer answer
		ctx    func(context.Context) context.Context
		want   func(req *http.Request, err error) []any
	}{
		{
			name: "nothing known, no fields", answer: says(204),
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, Status: 204}, Reading: silent},
				}
			},
		},
		{
			name: "held, and answered with fields", first: limit(`"api";a=0;w=10;pk=:QQ==:`),
			answer: says(429, "RateLimit", `"api";a=3;w=9;pk=:QQ==:;c=2, "day";a=7`,
				"RateLimit-Policy", `"api";q=5;w=10, "bytes";q=9;qu="content-bytes"`, "Retry-After", "4"),
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Policy: "api", Partition: "A", Reason: quota.ReasonExhausted, Wait: 10*time.Second + ms},
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 10*time.Second + ms, Held: quota.ReasonExhausted, Policy: "api"}, Probe: true},
					transport.LearnedInfo{
						AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 10*time.Second + ms, Held: quota.ReasonExhausted, Policy: "api"}, Probe: true}, Status: 429, Refused: true},
						Reading: parse.Reading{
							Dialect: parse.EditorsDraft, RetryAfter: 4 * time.Second, Advised: true,
							Policies: []parse.Policy{
								{Name: "api", Quota: 5, Unit: "requests", Window: 10 * time.Second},
								{Name: "bytes", Quota: 9, Unit: quota.UnitContentBytes},
							},
							Limits: []parse.Limit{
								{Policy: "api", HasKey: true, Key: "A", Available: 3, Window: 9 * time.Second, Cost: 2},
								{Policy: "day", Available: 7, Window: -1, Cost: -1},
							},
						},
						Charged: []int64{1, 0},
					},
				}
			},
		},
		{
			name: "refused", first: limit(`"api";a=0;w=10`),
			setup: func(s *transport.Shaper) { s.MaxDelay = transport.NoDelay },
			want: func(req *http.Request, err error) []any {
				return []any{transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Err: err}}
			},
		},
		{
			name: "context ends in line", first: limit(`"api";a=0;w=10`),
			ctx: func(ctx context.Context) context.Context {
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(3*time.Second, func() { cancel(errBroken) })
				return ctx
			},
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Policy: "api", Reason: quota.ReasonExhausted, Wait: 10*time.Second + ms},
					transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 3 * time.Second, Held: quota.ReasonExhausted, Policy: "api"}, Err: errBroken},
				}
			},
		},
		{
			name: "held by Retry-After", first: says(503, "Retry-After", "20"), answer: says(200),
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Reason: quota.ReasonRetryAfter, Wait: 20 * time.Second},
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 20 * time.Second, Held: quota.ReasonRetryAfter}, Probe: true},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 20 * time.Second, Held: quota.ReasonRetryAfter}, Probe: true}, Status: 200}, Reading: silent},
				}
			},
		},
		{
			name: "probe of a long window", first: limit(`"api";a=0;w=86400`), answer: says(200),
			setup: func(s *transport.Shaper) { s.MaxDelay = time.Hour },
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Policy: "api", Reason: quota.ReasonExhausted, Wait: 10 * time.Minute},
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 10 * time.Minute, Held: quota.ReasonExhausted, Policy: "api"}, Probe: true},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req), Waited: 10 * time.Minute, Held: quota.ReasonExhausted, Policy: "api"}, Probe: true}, Status: 200}, Reading: silent},
				}
			},
		},
		{
			name: "observed", first: limit(`"api";a=0;w=10`), answer: says(200),
			setup: func(s *transport.Shaper) { s.Mode = transport.Observe },
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Policy: "api", Reason: quota.ReasonExhausted, Wait: 10*time.Second + ms, Observed: true},
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}}, Status: 200}, Reading: silent},
				}
			},
		},
		{
			name: "bypass", first: limit(`"api";a=0;w=10`), answer: says(200), ctx: transport.WithBypass,
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, Policy: "api", Reason: quota.ReasonExhausted, Wait: 10*time.Second + ms, Observed: true},
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}}, Status: 200}, Reading: silent},
				}
			},
		},
		{
			name: "cached", answer: says(429, "Age", "7", "RateLimit", `"api";a=0;w=10`, "Retry-After", "9"),
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, Status: 429, Refused: true}, Reading: parse.Reading{Cached: true, RetryAfter: parse.None}},
				}
			},
		},
		{
			name: "Retry-After that is not about quota", answer: says(200, "Retry-After", "9"),
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, Status: 200}, Reading: parse.Reading{RetryAfter: 9 * time.Second}},
				}
			},
		},
		{
			name: "mispredicted", answer: says(200, "RateLimit", `"api";a=9;pk=:UE9TVA==:`, "RateLimit-Partition", `"api";method`),
			want: func(req *http.Request, _ error) []any {
				return []any{
					transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true},
					transport.MispredictedInfo{RequestInfo: about(req), Policy: "api", Predicted: "GET", Actual: "POST"},
					transport.LearnedInfo{AnsweredInfo: transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, Status: 200}, Charged: []int64{0}, Reading: parse.Reading{
						Dialect: parse.EditorsDraft, RetryAfter: parse.None,
						Limits:       []parse.Limit{{Policy: "api", HasKey: true, Key: "POST", Available: 9, Window: -1, Cost: -1}},
						Declarations: []parse.Declaration{{Policy: "api", Dimensions: []parse.Dimension{{Name: "method", Varies: true}}}},
					}},
				}
			},
		},
		{
			name: "Base fails", answer: fails(errBroken),
			want: func(req *http.Request, _ error) []any {
				return []any{transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, transport.FailedInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, Err: errBroken}}
			},
		},
		{
			name: "Base cannot connect", answer: fails(errRefused),
			want: func(req *http.Request, _ error) []any {
				return []any{transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, transport.FailedInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(req)}, First: true}, Err: errRefused, Unsent: true}}
			},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			answers := []answer{tt.answer}
			if tt.first != nil {
				answers = []answer{tt.first, tt.answer}
			}
			s := &transport.Shaper{Base: newServer(answers...)}
			if tt.first != nil {
				pass(t, s, getItems(t.Context()))
			}
			if tt.setup != nil {
				tt.setup(s)
			}
			var told, own []any
			s.Trace = allHooks(func(info any) {
				if _, changed := info.(transport.ChangedInfo); changed {
					return
				}
				assert.Len(t, own, len(told), "the request's own Trace was called first")
				told = append(told, withoutSent(t, info))
			})
			ctx := transport.WithTrace(t.Context(), allHooks(func(info any) {
				if _, changed := info.(transport.ChangedInfo); !changed {
					own = append(own, withoutSent(t, info))
				}
			}))
			if tt.ctx != nil {
				ctx = tt.ctx(ctx)
			}
			req := getItems(ctx)
			resp, err := s.RoundTrip(req)
			drop(resp)
			assert.Equal(t, withAnswered(tt.want(req, err)), told)
			assert.Equal(t, told, own)
		})
	}
}

// Ignored is called with the field, the item and the reason.
func TestTraceIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []transport.IgnoredInfo
		s := &transport.Shaper{
			Base: newServer(says(200,
				"RateLimit", `"a";a=1, "b";a=-1, "c";a=1;w=999999999999999`,
				"RateLimit-Policy", `"a";q=1;w=0`,
				"RateLimit-Partition", `"a"=;`,
				"Retry-After", "999999999999")),
			Trace: &transport.Trace{Ignored: func(i transport.IgnoredInfo) { told = append(told, i) }},
		}
		req := getItems(t.Context())
		pass(t, s, req)
		want := map[string]string{
			"RateLimit 1":            "parse: value out of range",
			"RateLimit 2":            parse.ErrCap.Error(),
			"RateLimit-Policy 0":     "parse: value out of range",
			"RateLimit-Partition -1": "parse: malformed field value",
			"Retry-After 0":          parse.ErrCap.Error(),
		}
		require.Len(t, told, len(want))
		for _, i := range told {
			assert.Same(t, req, i.Request)
			name := i.Field + " " + map[bool]string{true: "-1"}[i.Item < 0]
			if i.Item >= 0 {
				name += string(rune('0' + i.Item))
			}
			assert.EqualError(t, i.Err, want[name], name)
		}
	})
	// It is called again for a second response with the same fields.
	synctest.Test(t, func(t *testing.T) {
		n := 0
		s := &transport.Shaper{
			Base:  newServer(says(200, "RateLimit-Policy", `"a";q=1;w=0`)),
			Trace: &transport.Trace{Ignored: func(transport.IgnoredInfo) { n++ }},
		}
		for i := range 3 {
			pass(t, s, getItems(t.Context()))
			assert.Equal(t, i+1, n)
		}
	})
}

// Any hook may be nil, and a Trace may have none.
func TestNilHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(
			says(200, "RateLimit", `"api";a=0;w=10;pk=:UE9TVA==:`, "RateLimit-Partition", `"api";method, "b"=`),
			says(200, "RateLimit", `"api";a=0;w=10;pk=:UE9TVA==:, "x";a=-1`, "RateLimit-Partition", `"api";method`),
			says(200, "Age", "1"),
		)
		s := &transport.Shaper{Base: srv, Trace: &transport.Trace{}}
		ctx := transport.WithTrace(t.Context(), &transport.Trace{})
		for range 4 {
			pass(t, s, getItems(ctx))
		}
		pass(t, s, getItems(transport.WithBypass(ctx)))
		refusal(t, &transport.Shaper{Base: srv, Accounts: exhausted(t), Trace: &transport.Trace{}}, getItems(transport.WithNoDelay(ctx)))
	})
}

// exhausted returns accounts in which nothing is left for getItems.
func exhausted(t *testing.T) *quota.Accounts {
	accounts := new(quota.Accounts)
	pass(t, &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`)), Accounts: accounts}, getItems(t.Context()))
	return accounts
}

// Hooks are called with no lock held: a hook may call Check, and send requests through
// the Shaper.
func TestHooksMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(
			says(200, "RateLimit", `"api";a=1;w=10;pk=:UE9TVA==:, "x";a=-1`, "RateLimit-Partition", `"api";method`),
			limit(`"api";a=0;w=10;pk=:UE9TVA==:, "x";a=-1`),
		)
		s := &transport.Shaper{Base: srv}
		called := make(map[string]int)
		calls := func(name string) {
			called[name]++
			s.Check(getItems(context.Background()))
			if called[name] > 1 || name == "Admitted" {
				return // the next response is meant for the admitted request
			}
			resp, err := s.RoundTrip(getItems(transport.WithNoDelay(context.Background())))
			if err != nil {
				assert.ErrorIs(t, err, transport.ErrRejected)
			}
			drop(resp)
		}
		own := &transport.Trace{
			Held:         func(transport.HeldInfo) { calls("Held") },
			Admitted:     func(transport.AdmittedInfo) { calls("Admitted") },
			Rejected:     func(transport.RejectedInfo) { calls("Rejected") },
			Learned:      func(transport.LearnedInfo) { calls("Learned") },
			Ignored:      func(transport.IgnoredInfo) { calls("Ignored") },
			Mispredicted: func(transport.MispredictedInfo) { calls("Mispredicted") },
		}
		ctx := transport.WithTrace(t.Context(), own)
		for range 3 {
			pass(t, s, getItems(ctx))
		}
		resp, err := s.RoundTrip(getItems(transport.WithNoDelay(ctx)))
		drop(resp)
		assert.ErrorIs(t, err, transport.ErrRejected)
		pass(t, s, getItems(transport.WithBypass(ctx)))
		for _, hook := range []string{"Held", "Admitted", "Rejected", "Learned", "Ignored", "Mispredicted"} {
			assert.NotZero(t, called[hook], hook)
		}
	})
}

// The functions in the fields of a Shaper are called with no lock held, too.
func TestFunctionsMayCallBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(200, "RateLimit", `"api";a=5;w=10;pk=:QQ==:`, "RateLimit-Partition", `"api";tenant`))}
		called := make(map[string]int)
		inside := false
		calls := func(name string) {
			called[name]++
			if inside {
				return
			}
			inside = true
			s.Check(getItems(context.Background()))
			pass(t, s, newRequest(transport.WithBypass(context.Background()), "GET", items))
			inside = false
		}
		s.Scope = func(*http.Request) string { calls("Scope"); return "" }
		s.Like = func(*http.Request) string { calls("Like"); return "" }
		s.Cost = func(*http.Request, quota.Policy) int64 { calls("Cost"); return 1 }
		s.Limits = func(*http.Request) quota.Limiter { calls("Limits"); return nil }
		s.Dimensions = partition.Dimensions{"tenant": func(*http.Request) (string, bool) { calls("Dimensions"); return "", false }}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		for _, f := range []string{"Scope", "Like", "Cost", "Limits", "Dimensions"} {
			assert.NotZero(t, called[f], f)
		}
	})
}

// Held is called again when a request begins to wait for something else, and the other
// hooks are told what it has waited for longest.
func TestHeldAgain(t *testing.T) {
	bubble(t, "three times", func(t *testing.T) {
		const ms = time.Millisecond
		own := quota.Concurrency(1, quota.Options{Name: "own"})
		srv := newServer(slow(200*ms, limit(`"api";a=0;w=10`)), limit(`"api";a=5;w=10`))
		var infos []any
		s := &transport.Shaper{Base: srv, FirstFlight: 1}
		first := newRequest(t.Context(), http.MethodGet, "http://api.example/first")
		s.Limits = func(req *http.Request) quota.Limiter {
			if req.URL.Path == first.URL.Path {
				return nil
			}
			return own
		}
		go pass(t, s, first)
		synctest.Wait()
		var lease *quota.Lease
		time.AfterFunc(9*time.Second, func() {
			lease, _ = own.TryAcquire(1)
			time.AfterFunc(2500*ms, lease.Release)
		})
		ctx := transport.WithTrace(t.Context(), &transport.Trace{
			Held:     func(i transport.HeldInfo) { infos = append(infos, i) },
			Admitted: func(i transport.AdmittedInfo) { infos = append(infos, withoutSent(t, i)) },
			Answered: func(i transport.AnsweredInfo) { infos = append(infos, withoutSent(t, i)) },
		})
		req := getItems(ctx)
		pass(t, s, req)
		next := newRequest(ctx, http.MethodGet, first.URL.String()) // it does not wait
		pass(t, s, next)

		end := 10*time.Second + guard(200*ms)
		until := func(waited time.Duration, held quota.Reason, policy string) transport.WaitInfo {
			return transport.WaitInfo{RequestInfo: about(req), Waited: waited, Held: held, Policy: policy}
		}
		sent := transport.AdmittedInfo{WaitInfo: until(11500*ms, quota.ReasonExhausted, "api"), Probe: true}
		assert.Equal(t, []any{
			transport.HeldInfo{WaitInfo: until(0, 0, ""), Reason: quota.ReasonFirstFlight, Wait: time.Second},
			transport.HeldInfo{WaitInfo: until(200*ms, quota.ReasonFirstFlight, ""), Policy: "api", Reason: quota.ReasonExhausted, Wait: end - 200*ms},
			transport.HeldInfo{WaitInfo: until(end, quota.ReasonExhausted, "api"), Policy: "own", Limiter: own, Reason: quota.ReasonOwnLimit},
			sent,
			transport.AnsweredInfo{AdmittedInfo: sent, Status: 200},
			transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(next)}},
			transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: about(next)}}, Status: 200},
		}, infos)
	})
	bubble(t, "not for the same thing", func(t *testing.T) {
		// After three seconds the server declares a dimension that is not known here. The
		// request looks again, and goes on waiting.
		srv := newServer(limit(`"api";a=0;w=10`), says(200, "RateLimit", `"api";a=0;w=7`, "RateLimit-Partition", `"api";zone`), says(200))
		var held []quota.Reason
		var looks atomic.Int32
		s := &transport.Shaper{Base: srv, Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
			if !i.Observed {
				held = append(held, i.Reason)
			}
		}}}
		s.Cost = func(*http.Request, quota.Policy) int64 { looks.Add(1); return -1 }
		pass(t, s, getItems(t.Context()))
		time.AfterFunc(3*time.Second, func() {
			before := looks.Load()
			pass(t, s, getItems(transport.WithBypass(t.Context())))
			synctest.Wait()
			assert.Greater(t, looks.Load(), before+1, "the request in line has looked")
		})
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, []quota.Reason{quota.ReasonExhausted}, held)
	})
	bubble(t, "given up, without Held", func(t *testing.T) {
		srv := newServer(slow(200*time.Millisecond, limit(`"api";a=0;w=10`)))
		s := &transport.Shaper{Base: srv, FirstFlight: 1}
		go pass(t, s, getItems(t.Context()))
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		var told []transport.RejectedInfo
		time.AfterFunc(300*time.Millisecond, func() { cancel(errBroken) })
		req := getItems(transport.WithTrace(ctx, &transport.Trace{Rejected: func(i transport.RejectedInfo) { told = append(told, i) }}))
		_, err := s.RoundTrip(req)
		assert.True(t, err == errBroken, "%v", err)
		wait := transport.WaitInfo{RequestInfo: about(req), Waited: 300 * time.Millisecond, Held: quota.ReasonFirstFlight}
		assert.Equal(t, []transport.RejectedInfo{{WaitInfo: wait, Err: errBroken}}, told, "200 ms for the first answer, 100 ms for the policy")
	})
}

// A slow hook delays its request, but is not added to the wait: the wait ends when it
// would have ended.
func TestSlowHook(t *testing.T) {
	bubble(t, "shorter than the wait", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`), says(200))
		s := &transport.Shaper{Base: srv, Trace: &transport.Trace{Held: func(transport.HeldInfo) { time.Sleep(4 * time.Second) }}}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, 10*time.Second+guard(0), delay(t, s, getItems(t.Context())))
	})
	bubble(t, "longer than the wait", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=10`), says(200))
		s := &transport.Shaper{Base: srv, Trace: &transport.Trace{Held: func(transport.HeldInfo) { time.Sleep(40 * time.Second) }}}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, 40*time.Second, delay(t, s, getItems(t.Context())))
	})
	bubble(t, "longer than the context", func(t *testing.T) {
		// The context has ended, although there is room by then.
		srv := newServer(limit(`"api";a=0;w=10`), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		ctx, cancel := context.WithCancelCause(t.Context())
		s.Trace = &transport.Trace{Held: func(transport.HeldInfo) {
			cancel(errBroken)
			time.Sleep(40 * time.Second)
		}}
		_, err := s.RoundTrip(getItems(ctx))
		assert.True(t, err == errBroken, "%v", err)
		assert.Equal(t, 1, srv.count())
	})
}

// However a request ends, the hooks are told of it: one that begins to wait is admitted or
// rejected, and one that is admitted is answered or fails. So it is if another hook panics,
// before or after the ones that count.
func TestHooksAreToldTheEnd(t *testing.T) {
	check := func(p path, first bool) func(*testing.T) {
		return func(t *testing.T) {
			inLine, out := 0, 0
			counting := &transport.Trace{
				Held: func(i transport.HeldInfo) {
					if !i.Observed && i.Held == 0 {
						inLine++
					}
				},
				Admitted: func(i transport.AdmittedInfo) {
					if out++; i.Held != 0 {
						inLine--
					}
				},
				Rejected: func(i transport.RejectedInfo) {
					assert.Error(t, i.Err)
					if i.Held != 0 {
						inLine--
					}
				},
				Answered: func(transport.AnsweredInfo) { out-- },
				Failed: func(i transport.FailedInfo) {
					assert.Error(t, i.Err)
					out--
				},
			}
			prepare := p.prepare
			p.prepare = func(t *testing.T, s *transport.Shaper, srv *server) context.Context {
				ctx := prepare(t, s, srv)
				if first {
					s.Trace = transport.JoinTraces(counting, s.Trace)
					return ctx
				}
				return transport.WithTrace(ctx, counting)
			}
			p.run(t, http.MethodGet, nil, nil)
			assert.Zero(t, inLine, "in line, by the hooks")
			assert.Zero(t, out, "on their way, by the hooks")
		}
	}
	for _, p := range paths() {
		bubble(t, p.name, check(p, false))
		if p.name != "queue full" { // there, another request has begun before
			bubble(t, p.name+", counted first", check(p, true))
		}
	}
}

// A hook that panics keeps no other from being called, and a request that one has ended
// before it was sent is charged nothing.
func TestHookPanics(t *testing.T) {
	var told []string
	tells := func(name string) *transport.Trace {
		return &transport.Trace{
			Admitted: func(transport.AdmittedInfo) { told = append(told, name) },
			Failed: func(i transport.FailedInfo) {
				told = append(told, name+" failed")
				assert.True(t, i.Unsent)
				assert.EqualError(t, i.Err, "transport: a panic ended RoundTrip")
			},
		}
	}
	bad := &transport.Trace{Admitted: func(transport.AdmittedInfo) { panic(boom) }}
	srv := newServer(says(200))
	s := &transport.Shaper{Base: srv, Trace: transport.JoinTraces(tells("a"), bad, tells("b"))}
	ctx := transport.WithTrace(transport.WithTrace(t.Context(), bad), tells("c"))
	assert.PanicsWithValue(t, boom, func() { _, _ = s.RoundTrip(getItems(ctx)) })
	assert.Equal(t, []string{"a", "b", "c", "a failed", "b failed", "c failed"}, told)
	assert.Zero(t, srv.count())
}

// A request that a function of the caller's ends before it is sent is told to Rejected, whether it has waited or
// not, and in Observe, too. Check calls no hook.
func TestPanicsBeforeSending(t *testing.T) {
	bad := func() { panic(boom) }
	for name, with := range map[string]*transport.Shaper{
		"Scope":         {Scope: func(*http.Request) string { bad(); return "" }},
		"Like":          {Like: func(*http.Request) string { bad(); return "" }},
		"Limits":        {Limits: func(*http.Request) quota.Limiter { bad(); return nil }},
		"Cost":          {Cost: func(*http.Request, quota.Policy) int64 { bad(); return 0 }},
		"Held":          {Trace: &transport.Trace{Held: func(transport.HeldInfo) { bad() }}},
		"Held, Observe": {Trace: &transport.Trace{Held: func(transport.HeldInfo) { bad() }}, Mode: transport.Observe},
	} {
		bubble(t, name, func(t *testing.T) {
			var told []string
			s := &transport.Shaper{
				Scope: with.Scope, Like: with.Like, Limits: with.Limits, Cost: with.Cost, Mode: with.Mode,
				Base:     newServer(limit(`"api";a=0;w=60`)),
				Accounts: new(quota.Accounts),
				Trace: transport.JoinTraces(with.Trace, &transport.Trace{
					Admitted: func(transport.AdmittedInfo) { told = append(told, "admitted") },
					Rejected: func(i transport.RejectedInfo) { told = append(told, i.Err.Error()) },
				}),
			}
			delay(t, &transport.Shaper{Base: s.Base, Accounts: s.Accounts}, getItems(t.Context()))
			if with.Trace == nil {
				assert.PanicsWithValue(t, boom, func() { s.Check(getItems(t.Context())) })
				assert.Empty(t, told)
			}
			assert.PanicsWithValue(t, boom, func() { _, _ = s.RoundTrip(getItems(t.Context())) })
			assert.Equal(t, []string{"transport: a panic ended RoundTrip"}, told)
		})
	}
}

// What a hook was told of a response stays as it is when the next response is read.
func TestHooksKeepReadings(t *testing.T) {
	var told []transport.LearnedInfo
	lines := []string{`"a";a=5;w=60`, `"a";a=4;w=60, "b";a=9`, `"a";a=3;w=60`}
	n := 0
	s := &transport.Shaper{
		Base: roundTripper(func(*http.Request) (*http.Response, error) {
			n++
			return &http.Response{StatusCode: 200, Header: http.Header{"Ratelimit": lines[n-1 : n]}, Body: http.NoBody}, nil
		}),
		Trace: &transport.Trace{Learned: func(i transport.LearnedInfo) { told = append(told, i) }},
	}
	for range lines {
		_, err := s.RoundTrip(get(t.Context()))
		require.NoError(t, err)
	}
	for i, line := range lines {
		want, _ := parse.Limits(http.Header{"Ratelimit": {line}}, parse.Caps{})
		assert.Equal(t, want, told[i].Limits)
	}
}
