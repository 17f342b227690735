package main

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// withoutTime omits the time of a record.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// onlyHosts is a Base that fails to dial all other hosts.
type onlyHosts struct {
	http.RoundTripper
	hosts map[string]http.Handler
}

func (r onlyHosts) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.hosts[req.URL.Host] == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	return r.RoundTripper.RoundTrip(req)
}

// TestStory runs the story in simulated time and compares the log at level Info, with
// exact times.
func TestStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := servers()
		urls := make(map[string]string)
		for name := range hosts {
			urls[name] = "http://" + name
		}
		urls["gone"] = "http://gone"
		base := onlyHosts{&transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hosts[r.Host].ServeHTTP(w, r)
		})}, hosts}
		var out, logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
		require.NoError(t, story(&out, log, base, urls))

		want := []string{
			`level=INFO msg=held to="GET shop/" policy=orders partition="pk[5 bytes]" reason="quota exhausted" wait=2.001s`,
			`level=WARN msg="not sent" to="GET shop/" err="transport: request rejected: deadline: quota exhausted, policy \"orders\", retry after 2.001s" waited=0s`,
			`level=WARN msg="refused by the server" to="GET shop/" status=429 dialect="editor's draft" retry_after=2s orders.quota=3 orders.per=2s orders.left=0 orders.for=2s`,
			`level=INFO msg=changed origin=http://shop what=hold policy=orders partition="pk[5 bytes]" for=2s`,
			`level=INFO msg=held to="GET shop/" policy=orders partition="pk[5 bytes]" reason="retry after" wait=2.001s`,
			`level=WARN msg=ignored to="GET clumsy/" what="parse: above a safety cap (RateLimit, item 0, parameter w)"`,
			`level=WARN msg=ignored to="GET clumsy/" what="parse: value out of range (RateLimit, item 1, parameter a)"`,
			`level=WARN msg="prediction failed" to="GET strange/" policy=api predicted="pk[5 bytes]" actual="pk[9 bytes]"`,
			`level=WARN msg="not answered" to="GET gone/" err="dial tcp: connection refused" unsent=true`,
		}
		assert.Equal(t, want, strings.Split(strings.TrimSpace(logged.String()), "\n"))
		assert.Contains(t, out.String(),
			`it waited in line because of policy "orders" (retry after); it left after 2s; it was answered with 200.`)
	})
}

// A log at level Info has no records for requests that are neither held nor refused.
func TestLevels(t *testing.T) {
	var logged bytes.Buffer
	options := &slog.HandlerOptions{ReplaceAttr: withoutTime}
	client := &http.Client{Transport: &transport.Shaper{
		Base:  &transporttest.Transport{},
		Trace: traceTo(slog.New(slog.NewTextHandler(&logged, options))),
	}}
	require.NoError(t, get(t.Context(), client, "http://shop.example"))
	assert.Empty(t, logged.String())

	options.Level = slog.LevelDebug
	client.Transport.(*transport.Shaper).Trace = traceTo(slog.New(slog.NewTextHandler(&logged, options)))
	require.NoError(t, get(t.Context(), client, "http://shop.example/secret?token=secret"))
	assert.Equal(t, 3, strings.Count(logged.String(), "level=DEBUG"))
	assert.NotContains(t, logged.String(), "token")
}

func TestOnces(t *testing.T) {
	var o onces
	assert.True(t, o.first("a", "b"))
	assert.False(t, o.first("a", "b"))
	assert.True(t, o.first("a", "c"))
}

func TestJournal(t *testing.T) {
	var j journal
	trace := j.trace()
	trace.Held(transport.HeldInfo{Policy: "api", Reason: quota.ReasonExhausted})
	trace.Rejected(transport.RejectedInfo{WaitInfo: transport.WaitInfo{Waited: time.Second}, Err: transport.ErrRejected})
	assert.Equal(t, `it waited in line because of policy "api" (quota exhausted); it was not sent: transport: request rejected.`, j.String())
}
