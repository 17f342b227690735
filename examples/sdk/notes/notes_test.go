package notes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const base = "https://notes.example"

// quota returns an API that grants each user a number of calls per minute. It always
// answers with the same note, and redirects from /notes/1 to /notes/2.
func quota(calls int64) *transporttest.API {
	return &transporttest.API{
		Policies: []transporttest.Policy{
			{Name: "calls", Quota: calls, Window: time.Minute, PartitionBy: []string{"user_id"}},
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
			if r.URL.Path == "/notes/1" {
				http.Redirect(w, r, "/notes/2", http.StatusFound)
				return
			}
			fmt.Fprint(w, `{"id": 2, "text": "buy milk"}`)
		}),
	}
}

// client returns a Client that calls the API in process.
func client(api http.Handler, o Options) *Client {
	o.HTTPClient = &http.Client{Transport: &transporttest.Transport{Handler: api}}
	return New(base, o)
}

// A call waits for the next window, plus the Shaper's guard of a millisecond, and is not
// refused.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := quota(5)
		alice := client(api, Options{}).As("alice")
		began := time.Now()
		for range 12 {
			_, err := alice.Create(t.Context(), "buy milk")
			require.NoError(t, err)
		}
		assert.Equal(t, 2*(time.Minute+time.Millisecond), time.Since(began))
		assert.Equal(t, transporttest.Counts{Served: 12}, api.Counts())
	})
}

// A call for one user does not wait because of another user, also with a new Client for
// each call.
func TestUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client(quota(1), Options{})
		_, err := c.As("alice").Get(t.Context(), 2)
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := c.As("alice").Get(t.Context(), 2)
			assert.NoError(t, err)
		})
		synctest.Wait() // until the call is in line
		began := time.Now()
		_, err = c.As("bob").Get(t.Context(), 2)
		require.NoError(t, err)
		assert.Zero(t, time.Since(began))
		wg.Wait()
		assert.Equal(t, time.Minute+time.Millisecond, time.Since(began))
	})
}

// A call that cannot be made in time fails at once and costs no quota.
func TestRateLimitError(t *testing.T) {
	for _, tt := range []struct {
		name     string
		options  Options
		timeout  time.Duration // of the context; 0: none
		deadline bool          // the error is context.DeadlineExceeded
	}{
		{name: "deadline", timeout: time.Second, deadline: true},
		{name: "MaxDelay", options: Options{MaxDelay: time.Second}},
		{name: "no delay", options: Options{MaxDelay: -1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			api := quota(1)
			alice := client(api, tt.options).As("alice")
			_, err := alice.Create(t.Context(), "buy milk")
			require.NoError(t, err)

			ctx := t.Context()
			if tt.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.timeout)
				defer cancel()
			}
			began := time.Now()
			_, err = alice.Create(ctx, "and bread")
			var limited *RateLimitError
			require.ErrorAs(t, err, &limited, tt.name)
			assert.Equal(t, time.Minute+time.Millisecond, limited.RetryAfter, tt.name)
			assert.False(t, limited.Sent)
			assert.EqualError(t, err, "notes: rate limit, retry after 1m0.001s")
			assert.Equal(t, tt.deadline, errors.Is(err, context.DeadlineExceeded), tt.name)
			assert.ErrorIs(t, err, transport.ErrRejected)
			var wrapped *url.Error
			assert.ErrorAs(t, err, &wrapped, "it also wraps the http.Client's error")

			assert.Zero(t, time.Since(began))
			assert.Equal(t, transporttest.Counts{Served: 1}, api.Counts())

			time.Sleep(limited.RetryAfter)
			_, err = alice.Create(t.Context(), "and bread")
			assert.NoError(t, err, "the retry succeeds")
		})
	}
}

// If another program uses the same quota, the API refuses the call. The error has the same
// type.
func TestRefusedByTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := quota(1)
		_, err := client(api, Options{}).As("alice").Get(t.Context(), 2)
		require.NoError(t, err)
		_, err = client(api, Options{}).As("alice").Get(t.Context(), 2) // shares nothing with the first Client
		var limited *RateLimitError
		require.ErrorAs(t, err, &limited)
		assert.True(t, limited.Sent)
		assert.Equal(t, time.Minute, limited.RetryAfter)
		assert.NotErrorIs(t, err, transport.ErrRejected)
	})
}

func TestStatusError(t *testing.T) {
	_, err := client(http.NotFoundHandler(), Options{}).Get(t.Context(), 7)
	var status *StatusError
	require.ErrorAs(t, err, &status)
	assert.Equal(t, 404, status.Code)
}

// A Client uses the features of the user's http.Client and does not modify it.
func TestHTTPClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		jar, err := cookiejar.New(nil)
		require.NoError(t, err)
		sent, redirects := 0, 0
		inProcess := &transporttest.Transport{Handler: quota(10)}
		own := roundTripper(func(req *http.Request) (*http.Response, error) {
			sent++
			return inProcess.RoundTrip(req)
		})
		theirs := &http.Client{
			Transport: own,
			Jar:       jar,
			Timeout:   5 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				redirects++
				return nil
			},
		}
		before := *theirs

		note, err := New(base, Options{HTTPClient: theirs}).As("alice").Get(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, Note{ID: 2, Text: "buy milk"}, note)
		assert.Equal(t, 2, sent, "through the user's own Transport")
		assert.Equal(t, 1, redirects)
		u, _ := url.Parse(base + "/notes/2")
		assert.Len(t, jar.Cookies(u), 1)

		assert.Same(t, before.Jar, theirs.Jar)
		assert.IsType(t, own, theirs.Transport)
		assert.Equal(t, before.Timeout, theirs.Timeout)
	})
}

// A Shaper in the user's http.Client is used as it is: two Clients with it share the quota.
func TestShaperOfTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := quota(1)
		theirs := &http.Client{Transport: &transport.Shaper{
			Base: &transporttest.Transport{Handler: api}, MaxDelay: transport.NoDelay,
		}}
		o := Options{HTTPClient: theirs, Trace: &transport.Trace{
			Admitted: func(transport.AdmittedInfo) { t.Error("another Shaper is above it") },
		}}
		_, err := New(base, o).As("alice").Get(t.Context(), 2)
		require.NoError(t, err)
		_, err = New(base, o).As("alice").Get(t.Context(), 2)
		assert.ErrorIs(t, err, transport.ErrRejected)
		assert.Equal(t, transporttest.Counts{Served: 1}, api.Counts())
	})
}

// The Timeout of an http.Client includes the time in line. A call that would wait past it
// fails at once, as with a deadline. A slow call fails at the Timeout.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := quota(1)
		slow := false
		theirs := &http.Client{
			Timeout: 5 * time.Second,
			Transport: &transporttest.Transport{Handler: api, Latency: func() time.Duration {
				if slow {
					return time.Hour
				}
				return 0
			}},
		}
		c := New(base, Options{HTTPClient: theirs})
		_, err := c.As("alice").Get(t.Context(), 2)
		require.NoError(t, err)

		began := time.Now()
		_, err = c.As("alice").Get(t.Context(), 2)
		var limited *RateLimitError
		require.ErrorAs(t, err, &limited)
		assert.Zero(t, time.Since(began))

		slow = true
		_, err = c.As("bob").Get(t.Context(), 2)
		var timeout interface{ Timeout() bool }
		require.ErrorAs(t, err, &timeout)
		assert.True(t, timeout.Timeout())
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

// A request has the user and the token, and errors do not contain the token.
func TestIdentity(t *testing.T) {
	var got *http.Request
	c := New(base+"/v1/", Options{
		Token: "secret",
		HTTPClient: &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			got = req
			return nil, errors.New("no network")
		})},
	})
	_, err := c.As("alice").List(t.Context())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
	assert.Equal(t, "https://notes.example/v1/notes", got.URL.String())
	assert.Equal(t, "Bearer secret", got.Header.Get("Authorization"))
	assert.Equal(t, "alice", got.Header.Get("X-User"))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
