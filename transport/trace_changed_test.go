package transport_test

import (
	"fmt"
	"io"
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

// Changed is called with what a response has changed, and not again when the next
// response says the same.
func TestChanged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []answer // to as many requests
		pause   time.Duration
		want    [][]string // for each answer
	}{
		{
			name:    "windows",
			answers: []answer{says(200, "RateLimit-Policy", `"api";q=2;w=10`, "RateLimit", `"api";a=1;w=10`), limit(`"api";a=0;w=10`), limit(`"api";a=1;w=10`)},
			want: [][]string{
				{`policy "api" 2 per 10s`, `window "api" 1 until 10.001s`},
				{`used up "api" 0 until 10.001s`},
				{`window "api" 1 until 20.002s`},
			},
		},
		{
			name:    "a policy without a figure",
			answers: []answer{says(200, "RateLimit-Policy", `"api";q=2;w=10`), says(200, "RateLimit-Policy", `"api";q=2;w=10`), says(200, "RateLimit-Policy", `"api";q=3;w=10`)},
			want:    [][]string{{`policy "api" 2 per 10s`}, nil, {`policy "api" 3 per 10s`}},
		},
		{
			name:    "a hold and its end",
			answers: []answer{says(429, "Retry-After", "5"), says(200)},
			want:    [][]string{{`limited "" 0 GET /items`, `hold "" 0 until 5s`}, nil},
		},
		{
			name:    "back-offs grow",
			answers: []answer{says(429), says(429), says(200)},
			want:    [][]string{{`limited "" 0 GET /items`, `back-off "" 0 until 1s`}, {`back-off "" 0 until 3s`}, nil},
		},
		{
			name:    "rounds down",
			answers: []answer{says(200, "RateLimit-Policy", `"api";q=1;w=2`, "RateLimit", `"api";a=0;w=0`)},
			want:    [][]string{{`policy "api" 1 per 2s`, `window "api" 0 until 1.001s`, `used up "api" 0 until 1.001s`, `habit "api" 0 seconds are rounded down`}},
		},
		{
			name:    "a key, whose account is not the scope's",
			answers: []answer{limit(`"api";a=3;w=10;pk=:QQ==:`)},
			want:    [][]string{{`window "api" 3 until 10.001s A`}},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			began := time.Now()
			var got []string
			s := &transport.Shaper{Base: newServer(tt.answers...), Accounts: &quota.Accounts{Jitter: func() float64 { return 0 }}, Trace: &transport.Trace{Changed: func(i transport.ChangedInfo) {
				assert.Equal(t, itemsOrigin, i.Origin)
				got = append(got, describe(i.Change, began))
			}}}
			for i, want := range tt.want {
				got = nil
				pass(t, s, getItems(t.Context()))
				assert.Equal(t, want, got, "answer %d", i)
			}
		})
	}
}

func describe(c quota.Change, began time.Time) string {
	told := c.What == "policy" || c.What == "inferred"
	if told {
		c.Units = c.Quota
	}
	s := fmt.Sprintf("%s %q %d", c.What, c.Name, c.Units)
	if !c.Until.IsZero() {
		s += fmt.Sprintf(" until %v", c.Until.Sub(began))
	}
	if told && c.Window > 0 {
		s += fmt.Sprintf(" per %v", c.Window)
	}
	return strings.TrimRight(s+" "+c.Key+c.Detail, " ")
}

// Changed says which response has brought a change about, also while its body is read.
func TestChangedBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s := &transport.Shaper{
			Base: newServer(limit(`"reads";a=9;w=60, "writes";a=9;w=60`), slow(time.Second, problem(429, exceeded, "Retry-After", "100")), fails(errBroken)),
			Trace: &transport.Trace{Changed: func(i transport.ChangedInfo) {
				if i.What != "window" {
					got = append(got, fmt.Sprintf("%s %q: %d %v after %v", i.What, i.Name, i.Status, i.Refused, i.Took))
				}
			}},
		}
		pass(t, s, getItems(t.Context()))
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		time.Sleep(time.Second)
		assert.Equal(t, []string{`limited "": 429 true after 1s`, `hold "": 429 true after 1s`}, got)
		got = nil
		drop(resp)
		assert.Equal(t, []string{`hold "": 429 true after 1s`, `hold "writes": 429 true after 1s`}, got)
	})
}

// A hold of a whole origin that a look has shown to be over is taken back. A second
// figure that says that nothing is left changes nothing.
func TestChangedBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got []string
		s := &transport.Shaper{
			Base: newServer(says(503, "Retry-After", "3600"), says(200), limit(`"api";a=0;w=60`), limit(`"api";a=0;w=60`)), MaxDelay: 2 * time.Hour,
			Trace: &transport.Trace{Changed: func(i transport.ChangedInfo) { got = append(got, describe(i.Change, began)) }},
		}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, []string{`hold "" 0 until 1h0m0s`, `hold "" 0`}, got)
		pass(t, s, getItems(t.Context()))
		got = nil
		pass(t, s, getItems(transport.WithBypass(t.Context())))
		assert.Empty(t, got)
	})
}

// Changed is also called when the caller has read a body that changes what is known: it names
// the policies of a hold, it says that a refusal had nothing to do with quota, or it says that
// the response was a refusal.
func TestChangedByBody(t *testing.T) {
	for _, tt := range []struct {
		name   string
		first  answer // before the refusal, if not nil
		answer answer
		before []string // when RoundTrip returns
		after  []string // when the caller has read the body
	}{
		{
			name:   "narrowed",
			first:  says(200, "RateLimit", `"writes";a=9;w=60, "reads";a=9;w=60`),
			answer: problem(429, exceeded, "Retry-After", "100", "RateLimit", `"writes";a=5;w=60, "reads";a=7;w=60`),
			before: []string{`hold "writes" 0 until 1m40s`, `hold "reads" 0 until 1m40s`},
			after:  []string{`hold "reads" 0`},
		},
		{
			name:   "moved",
			first:  says(200, "RateLimit", `"writes";a=9;w=60`),
			answer: problem(429, exceeded, "Retry-After", "100"),
			before: []string{`limited "" 0 GET /items`, `hold "" 0 until 1m40s`},
			after:  []string{`hold "" 0`, `hold "writes" 0 until 1m40s`},
		},
		{
			name:   "a back-off",
			first:  says(200, "RateLimit", `"writes";a=9;w=60, "reads";a=9;w=60`),
			answer: problem(429, exceeded, "RateLimit", `"writes";a=5;w=60, "reads";a=7;w=60`),
			before: []string{`back-off "writes" 0 until 1s`, `back-off "reads" 0 until 1s`},
			after:  []string{`back-off "reads" 0`, `window "reads" 7 until 1m0.001s`},
		},
		{
			name:   "narrowed to a hold before",
			first:  says(429, "Retry-After", "5", "RateLimit", `"writes";a=9;w=60, "reads";a=9;w=60`),
			answer: problem(429, exceeded, "Retry-After", "100", "RateLimit", `"writes";a=5;w=60, "reads";a=7;w=60`),
			before: []string{`hold "writes" 0 until 1m40s`, `hold "reads" 0 until 1m40s`},
			after:  []string{`hold "reads" 0 until 5s`},
		},
		{
			name:   "of unknown policies",
			answer: problem(429, exceeded, "Retry-After", "100"),
			before: []string{`limited "" 0 GET /items`, `hold "" 0 until 1m40s`},
		},
		{
			name:   "unrelated",
			answer: noCredit(),
			before: []string{`limited "" 0 GET /items`, `back-off "" 0 until 1s`},
			after:  []string{`back-off "" 0`},
		},
		{
			name:   "a refusal",
			answer: secondary(),
			before: []string{`policy "" 5000 core`, `window "" 4990 core`},
			after:  []string{`back-off "" 0 until 1m0s`},
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			began := time.Now()
			var got []string
			changed := func(i transport.ChangedInfo) {
				assert.Equal(t, itemsOrigin, i.Origin)
				got = append(got, describe(i.Change, began))
			}
			answers := []answer{tt.answer}
			if tt.first != nil {
				answers = []answer{tt.first, tt.answer}
			}
			s := &transport.Shaper{
				Base:     newServer(answers...),
				Accounts: &quota.Accounts{Jitter: func() float64 { return 0 }}, Trace: &transport.Trace{Changed: changed},
			}
			ctx := transport.WithBypass(t.Context())
			if tt.first != nil {
				pass(t, s, getItems(ctx))
			}
			got = nil
			resp, err := s.RoundTrip(getItems(ctx))
			require.NoError(t, err)
			assert.Equal(t, tt.before, got)
			got = nil
			_, err = io.ReadAll(resp.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.after, got)
			got = nil
			require.NoError(t, resp.Body.Close())
			assert.Empty(t, got, "once")
		})
	}
}

// An account that is dropped to make room is reported with the next response.
func TestChangedEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var evicted int64
		s := &transport.Shaper{
			Base: newChooser(func(n int, _ *http.Request) answer {
				return limit(fmt.Sprintf(`"api";a=9;w=60;pk=:%c%c==:`, 'A'+n, "AQgw"[n%4]))
			}),
			Accounts: &quota.Accounts{MaxAccounts: 4},
			Trace: &transport.Trace{Changed: func(i transport.ChangedInfo) {
				if i.What == "evicted" {
					evicted += i.Units
				}
			}},
		}
		for range 10 {
			pass(t, s, getItems(t.Context()))
		}
		n := len(s.Accounts.Snapshot(time.Now(), quota.SnapshotOptions{})[0].Accounts)
		assert.Equal(t, int64(11-n), evicted, "ten keys and a scope, less what is left")
	})
}

// A prediction that is given up is a change, too.
func TestChangedPrediction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s := &transport.Shaper{
			Base: newServer(says(200, "RateLimit", `"api";a=9;w=60;pk=:UE9TVA==:`, "RateLimit-Partition", `"api";method`)),
			Trace: &transport.Trace{Changed: func(i transport.ChangedInfo) {
				if i.What == "prediction" {
					got = append(got, i.Name+" "+i.Key)
				}
			}},
		}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, []string{"api POST"}, got)
	})
}

// JoinTraces calls every hook of each Trace, in order, and leaves out hooks that none
// has.
func TestJoinTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		note := func(name string) *transport.Trace {
			return allHooks(func(info any) { told = append(told, fmt.Sprintf("%s %T", name, info)) })
		}
		s := &transport.Shaper{
			Base:  newServer(says(200, "RateLimit", `"api";a=0;w=10, "x";a=-1`), fails(errBroken), says(200)),
			Trace: transport.JoinTraces(nil, note("a"), &transport.Trace{}, note("b")),
		}
		pass(t, s, getItems(t.Context()))
		_, err := s.RoundTrip(getItems(t.Context()))
		assert.ErrorIs(t, err, errBroken)
		var a, b []string
		for i, name := range told {
			if i%2 == 0 {
				a = append(a, strings.TrimPrefix(name, "a "))
			} else {
				b = append(b, strings.TrimPrefix(name, "b "))
			}
		}
		assert.Equal(t, []string{
			"transport.AdmittedInfo", "transport.IgnoredInfo", "transport.AnsweredInfo", "transport.LearnedInfo",
			"transport.ChangedInfo", "transport.ChangedInfo",
			"transport.HeldInfo", "transport.AdmittedInfo", "transport.FailedInfo",
		}, a)
		assert.Equal(t, a, b)
	})
	assert.Equal(t, transport.Trace{}, *transport.JoinTraces())
	assert.Equal(t, transport.Trace{}, *transport.JoinTraces(nil, &transport.Trace{}))
}

// A request that was held says so once it is admitted or rejected, whichever hooks are
// set; the next one in the same memory does not.
func TestHeldIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []transport.AdmittedInfo
		s := &transport.Shaper{
			Base: newServer(says(200, "Retry-After", "3", "RateLimit", `"api";a=9;w=10`), says(200)),
			Trace: &transport.Trace{Admitted: func(i transport.AdmittedInfo) {
				i.Request = nil
				got = append(got, withoutSent(t, i).(transport.AdmittedInfo))
			}},
		}
		for range 3 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, []transport.AdmittedInfo{
			{WaitInfo: transport.WaitInfo{RequestInfo: about(nil)}, First: true},
			{WaitInfo: transport.WaitInfo{RequestInfo: about(nil), Waited: 3 * time.Second, Held: quota.ReasonRetryAfter, Policy: "api"}},
			{WaitInfo: transport.WaitInfo{RequestInfo: about(nil)}},
		}, got)
	})
}

// A limit that the server did not advertise is said to be inferred.
func TestHeldInferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Five requests in 10 s are served; others are refused without a word.
		srv := newChooser(nil)
		var served []time.Duration
		srv.choose = func(int, *http.Request) answer {
			now := time.Since(srv.start)
			if i := len(served); i >= 5 && now/(10*time.Second) == served[i-5]/(10*time.Second) {
				return says(429)
			}
			served = append(served, now)
			return says(200)
		}
		inferred, other := 0, 0
		s := &transport.Shaper{Base: srv, Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
			switch {
			case i.Inferred:
				inferred++
			case i.Reason == quota.ReasonExhausted:
				other++
			}
		}}}
		for range 60 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Positive(t, inferred)
		t.Logf("%d inferred, %d other", inferred, other)
	})
}
