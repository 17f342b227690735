package transport_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// withBody answers as a does, with another body.
func withBody(a answer, body string) answer {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := a(req)
		resp.Body = io.NopCloser(strings.NewReader(body))
		return resp, err
	}
}

// secondary is GitHub's secondary limit: a 403 with something left and no Retry-After.
// Its documentation asks for a minute, and for more after each further refusal.
func secondary() answer {
	return withBody(
		says(403, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4990", "X-RateLimit-Reset", "2000000000", "X-RateLimit-Resource", "core"),
		`{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`)
}

func TestRefusalInBody(t *testing.T) {
	bubble(t, "read", func(t *testing.T) {
		srv := newServer(secondary(), secondary(), says(200), secondary(), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: time.Hour}
		for range 5 {
			pass(t, s, getItems(t.Context()))
		}
		assert.Equal(t, []time.Duration{0, time.Minute, 3 * time.Minute, 3 * time.Minute, 4 * time.Minute}, srv.departures())
	})
	bubble(t, "not read", func(t *testing.T) {
		srv := newServer(secondary(), says(200))
		s := &transport.Shaper{Base: srv}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		assert.Zero(t, delay(t, s, getItems(t.Context())), "nothing is read ahead of the caller")
		drop(resp)
		assert.Equal(t, time.Minute, delay(t, s, getItems(t.Context())))
	})
	bubble(t, "the caller's", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(secondary())}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Contains(t, string(body), "Please wait a few minutes")
	})
	bubble(t, "many at once", func(t *testing.T) {
		srv := newServer(slow(rtt, secondary()))
		srv.choose = func(n int, _ *http.Request) answer {
			if n < 20 {
				return slow(rtt, secondary())
			}
			return slow(rtt, says(200))
		}
		s := &transport.Shaper{Base: srv, FirstFlight: -1}
		burst(t, s, 20, plainRequests)
		assert.Equal(t, time.Minute+rtt, delay(t, s, getItems(t.Context())), "one refusal")
	})
	for name, a := range map[string]answer{
		"another 403":   withBody(says(403, "X-RateLimit-Resource", "core"), `{"message":"Resource not accessible"}`),
		"another API":   withBody(says(403), "secondary rate limit"),
		"another error": withBody(says(404, "X-RateLimit-Resource", "core"), "secondary rate limit"),
		"too large":     withBody(says(403, "X-RateLimit-Resource", "core"), strings.Repeat(" ", 17<<10)+"secondary rate limit"),
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(a)}
			for range 3 {
				assert.Zero(t, delay(t, s, getItems(t.Context())))
			}
		})
	}
}

// Some APIs refuse with another status than 429, and a code in a field or in the body.
func TestRefusalWithOtherStatus(t *testing.T) {
	for name, tt := range map[string]struct {
		host string
		answer
	}{
		"AWS, in a field":   {"dynamodb.eu-west-1.amazonaws.com", says(400, "X-Amzn-Errortype", "ThrottlingException:http://internal.amazon.com/")},
		"AWS, in the body":  {"dynamodb.eu-west-1.amazonaws.com", withBody(says(400), `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`)},
		"AWS, XML":          {"cloudformation.eu-west-1.amazonaws.com", withBody(says(400), `<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code></Error></ErrorResponse>`)},
		"EC2":               {"ec2.eu-west-1.amazonaws.com", withBody(says(503), `<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>`)},
		"S3":                {"bucket.s3.amazonaws.com", withBody(says(503), `<Error><Code>SlowDown</Code></Error>`)},
		"Marketplace":       {"mws.amazonaws.com", withBody(says(403), `<Error><Code>RequestThrottled</Code></Error>`)},
		"Azure Storage":     {"x.blob.core.windows.net", says(503, "X-Ms-Error-Code", "ServerBusy")},
		"Alibaba Cloud":     {"ecs.aliyuncs.com", withBody(says(400), `{"RequestId":"1","HostId":"ecs.aliyuncs.com","Code":"Throttling.User","Message":"Request was denied due to user flow control."}`)},
		"Alibaba, in XML":   {"ecs.aliyuncs.com", withBody(says(400), `<Error><RequestId>1</RequestId><Code>Throttling</Code></Error>`)},
		"Google, of a user": {"www.googleapis.com", withBody(says(403), `{"error":{"errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded"}],"code":403}}`)},
		"Google, of an app": {"www.googleapis.com", withBody(says(403), `{"error":{"errors":[{"domain":"usageLimits","reason":"rateLimitExceeded"}],"code":403}}`)},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(tt.answer)}
			get := func() *http.Request { return newRequest(t.Context(), http.MethodGet, "https://"+tt.host+"/") }
			assert.Zero(t, delay(t, s, get()))
			for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
				got := delay(t, s, get())
				assert.GreaterOrEqual(t, got, want)
				assert.LessOrEqual(t, got, want*5/4)
			}
		})
	}
}

// API Management refuses with 403, and its body says for how long. After ten minutes a request may look.
func TestRefusalOfAQuotaOfAPIManagement(t *testing.T) {
	for body, want := range map[string]time.Duration{
		`{ "statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 00:05:38." }`: 5*time.Minute + 38*time.Second,
		`{ "statusCode": 403, "message": "Out of call volume quota. Quota will be replenished in 01:27:38." }`: 10 * time.Minute,
		`{ "statusCode": 403, "message": "Access denied. Try again in 20 seconds." }`:                          0,
	} {
		bubble(t, body, func(t *testing.T) {
			a := withBody(says(403, "Content-Type", "application/json"), body)
			s := &transport.Shaper{Base: newServer(a), MaxDelay: transport.NoDelay}
			get := func() *http.Request {
				return newRequest(t.Context(), http.MethodGet, "https://acme.azure-api.net/")
			}
			pass(t, s, get())
			assert.Equal(t, want, s.Check(get()).Wait)
		})
	}
}

// Shaper.Refused says what a refusal is, and how long to wait.
func TestRefused(t *testing.T) {
	slowDown := func(wait time.Duration) func(*http.Response) (bool, time.Duration) {
		return func(resp *http.Response) (bool, time.Duration) { return resp.Header.Get("Slow-Down") != "", wait }
	}
	for name, tt := range map[string]struct {
		first    answer
		wait     time.Duration
		caps     parse.Caps
		min, max time.Duration
	}{
		"a time":                 {says(400, "Slow-Down", "1"), 30 * time.Second, parse.Caps{}, 30 * time.Second, 30 * time.Second},
		"a success":              {says(200, "Slow-Down", "1"), 30 * time.Second, parse.Caps{}, 30 * time.Second, 30 * time.Second},
		"no time":                {says(200, "Slow-Down", "1"), 0, parse.Caps{}, time.Second, 1250 * time.Millisecond},
		"a negative time":        {says(200, "Slow-Down", "1"), -1, parse.Caps{}, time.Second, 1250 * time.Millisecond},
		"Retry-After":            {says(400, "Slow-Down", "1", "Retry-After", "20"), 0, parse.Caps{}, 20 * time.Second, 20 * time.Second},
		"a longer one":           {says(400, "Slow-Down", "1", "Retry-After", "20"), 30 * time.Second, parse.Caps{}, 30 * time.Second, 30 * time.Second},
		"beyond the default cap": {says(400, "Slow-Down", "1"), 25 * time.Hour, parse.Caps{}, time.Second, 1250 * time.Millisecond},
		"beyond a cap":           {says(400, "Slow-Down", "1"), 25 * time.Second, parse.Caps{RetryAfter: 20 * time.Second}, time.Second, 1250 * time.Millisecond},
		"no cap":                 {says(400, "Slow-Down", "1"), 25 * time.Hour, parse.Caps{RetryAfter: -1}, 25 * time.Hour, 25 * time.Hour},
		"no refusal":             {says(400), 30 * time.Second, parse.Caps{}, 0, 0},
		"from a cache":           {says(400, "Slow-Down", "1", "Age", "3"), 30 * time.Second, parse.Caps{}, 0, 0},
		"429 by itself":          {says(429, "Retry-After", "7"), 0, parse.Caps{}, 7 * time.Second, 7 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			refusals := 0
			s := &transport.Shaper{Base: newServer(tt.first, says(200)), Refused: slowDown(tt.wait), Caps: tt.caps, MaxDelay: 48 * time.Hour}
			s.Trace = &transport.Trace{Learned: func(i transport.LearnedInfo) {
				if i.Refused {
					refusals++
				}
			}}
			pass(t, s, getItems(t.Context()))
			got := delay(t, s, getItems(t.Context()))
			assert.GreaterOrEqual(t, got, tt.min)
			assert.LessOrEqual(t, got, tt.max)
			assert.Equal(t, tt.max > 0, refusals == 1)
		})
	}
	bubble(t, "of the whole origin", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(503, "Slow-Down", "1"), says(200)), Refused: slowDown(time.Minute)}
		s.Scope = func(req *http.Request) string { return req.URL.Path }
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, time.Minute, delay(t, s, newRequest(t.Context(), "GET", "http://api.example/other")))
	})
	bubble(t, "of another origin", func(t *testing.T) {
		elsewhere := func(*http.Request) (*http.Response, error) {
			return says(400, "Slow-Down", "1")(newRequest(t.Context(), "GET", "http://other.example/"))
		}
		s := &transport.Shaper{Base: newServer(elsewhere, says(200)), Refused: slowDown(time.Minute)}
		first := getItems(t.Context())
		first.Response = &http.Response{}
		pass(t, s, first)
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}

// The status 420, which was in use before there was a 429, is a refusal if nothing is left.
func TestEnhanceYourCalm(t *testing.T) {
	bubble(t, "nothing left", func(t *testing.T) {
		srv := newServer(says(420, "X-RateLimit-Limit", "250", "X-RateLimit-Remaining", "0"))
		s := &transport.Shaper{Base: srv}
		for range 5 {
			pass(t, s, getItems(t.Context()))
		}
		for i, at := range srv.departures()[1:] {
			least := time.Second << i // a back-off after each refusal
			assert.GreaterOrEqual(t, at-srv.departures()[i], least)
		}
	})
	bubble(t, "Retry-After", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(420, "Retry-After", "60"))}
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, time.Minute, delay(t, s, getItems(t.Context())))
	})
	bubble(t, "something else", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(420, "X-RateLimit-Limit", "250", "X-RateLimit-Remaining", "9"))}
		pass(t, s, getItems(t.Context()))
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}

// Requests that bypass the Shaper go on while a back-off holds the others, and are refused as well. That says
// nothing new of when the others may go.
func TestBypassDoesNotProlongABackOff(t *testing.T) {
	bubble(t, "100 in 10 s, bare", func(t *testing.T) {
		api := &transporttest.API{OmitLimits: true, OmitPolicies: true, OmitRetryAfter: true,
			Policies: []transporttest.Policy{{Name: "api", Quota: 100, Window: 10 * time.Second}}}
		s := &transport.Shaper{Accounts: &quota.Accounts{Jitter: func() float64 { return 0.5 }}, Base: &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }}}
		end := time.Now().Add(10 * time.Minute)
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for n := i; time.Now().Before(end); n++ {
					ctx := t.Context()
					if n%2 == 0 {
						ctx = transport.WithBypass(ctx)
					}
					resp, err := s.RoundTrip(getItems(ctx))
					switch {
					case err != nil:
						time.Sleep(time.Second)
					case resp.StatusCode != 200:
						drop(resp)
						time.Sleep(2 * time.Second)
					default:
						drop(resp)
					}
				}
			})
		}
		wg.Wait()
		assert.GreaterOrEqual(t, api.Counts().Served, int64(5300), "of 6,000")
	})
}
