package peers

import (
	"context"
	"net/http"
	"sync"
	"time"

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit"
	"github.com/hashicorp/go-retryablehttp"
	uber "go.uber.org/ratelimit"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/transport"
)

// A limit is what a client is told whose limit must be configured.
type limit struct {
	quota  int
	window time.Duration
}

func (l limit) interval() time.Duration { return l.window / time.Duration(l.quota) }

// A peer is a library, in the form of a RoundTripper.
type peer struct {
	name string
	told bool // needs the limit
	over func(base http.RoundTripper, l limit) http.RoundTripper
}

var peers = []peer{
	{"none", false, func(base http.RoundTripper, _ limit) http.RoundTripper { return base }},
	{"headway", false, func(base http.RoundTripper, _ limit) http.RoundTripper { return &transport.Shaper{Base: base} }},
	{"go-retryablehttp", false, func(base http.RoundTripper, _ limit) http.RoundTripper {
		c := retryablehttp.NewClient()
		c.HTTPClient = &http.Client{Transport: base}
		c.Logger = nil
		c.ErrorHandler = retryablehttp.PassthroughErrorHandler // or it discards the last response
		return &retryablehttp.RoundTripper{Client: c}
	}},
	{"failsafe-go, retries", false, func(base http.RoundTripper, _ limit) http.RoundTripper {
		return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().ReturnLastFailure().Build())
	}},
	{"failsafe-go, adaptive limiter", false, func(base http.RoundTripper, _ limit) http.RoundTripper {
		limiter := adaptivelimiter.NewBuilder[*http.Response]().WithQueueing(2, 3).Build()
		return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().ReturnLastFailure().Build(), limiter)
	}},
	{"failsafe-go, rate limiter", true, func(base http.RoundTripper, l limit) http.RoundTripper {
		return perUser(func() http.RoundTripper {
			limiter := ratelimiter.NewSmoothBuilder[*http.Response](uint(l.quota), l.window).WithMaxWaitTime(time.Hour).Build()
			return failsafehttp.NewRoundTripper(base, failsafehttp.NewRetryPolicyBuilder().ReturnLastFailure().Build(), limiter)
		})
	}},
	{"AWS SDK, adaptive mode", false, func(base http.RoundTripper, _ limit) http.RoundTripper {
		return &aws{base: base, mode: awsretry.NewAdaptiveMode(func(o *awsretry.AdaptiveModeOptions) {
			o.FailOnNoAttemptTokens = true // see attempt
		})}
	}},
	{"go-github-ratelimit", false, func(base http.RoundTripper, _ limit) http.RoundTripper {
		return github_ratelimit.New(base)
	}},
	{"x/time/rate", true, func(base http.RoundTripper, l limit) http.RoundTripper {
		return perUser(func() http.RoundTripper {
			limiter := rate.NewLimiter(rate.Every(l.interval()), 1)
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if err := limiter.Wait(req.Context()); err != nil {
					return nil, err
				}
				return base.RoundTrip(req)
			})
		})
	}},
	{"uber/ratelimit", true, func(base http.RoundTripper, l limit) http.RoundTripper {
		return perUser(func() http.RoundTripper {
			limiter := uber.New(l.quota, uber.Per(l.window), uber.WithoutSlack) // slack would exceed fixed windows
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				limiter.Take()
				return base.RoundTrip(req)
			})
		})
	}},
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// perUser keeps a RoundTripper for each user, where a library has one limit for all.
func perUser(make func() http.RoundTripper) http.RoundTripper {
	var users sync.Map
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		user, _, _ := req.BasicAuth()
		rt, ok := users.Load(user)
		if !ok {
			rt, _ = users.LoadOrStore(user, make())
		}
		return rt.(http.RoundTripper).RoundTrip(req)
	})
}

// aws does with AdaptiveMode what the SDK's middleware retry.Attempt does.
type aws struct {
	base http.RoundTripper
	mode *awsretry.AdaptiveMode
}

func (a *aws) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	release := func(error) error { return nil }
	for attempt := 1; ; attempt++ {
		done, err := a.attempt(ctx)
		if err != nil {
			return nil, err
		}
		resp, err := a.base.RoundTrip(req)
		failure := err
		if err == nil && (resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusForbidden) {
			failure = throttling{}
		}
		_ = release(failure)
		_ = done(failure)
		if failure == nil || !a.mode.IsErrorRetryable(failure) || attempt >= a.mode.MaxAttempts() {
			return resp, err
		}
		release, err = a.mode.GetRetryToken(ctx, failure)
		if err != nil {
			return resp, nil // no tokens for retries are left
		}
		wait, err := a.mode.RetryDelay(attempt, failure)
		if err != nil {
			return nil, err
		}
		if resp != nil {
			_ = resp.Body.Close()
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// attempt waits for a token. AdaptiveMode would wait by itself, but its waits become so short
// that simulated time does not advance.
func (a *aws) attempt(ctx context.Context) (func(error) error, error) {
	for {
		done, err := a.mode.GetAttemptToken(ctx)
		if err == nil {
			return done, nil
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// throttling is the error that the SDK makes of a throttled response.
type throttling struct{}

func (throttling) Error() string     { return "ThrottlingException" }
func (throttling) ErrorCode() string { return "ThrottlingException" }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
