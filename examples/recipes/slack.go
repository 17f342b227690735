package recipes

import (
	"net/http"
	"path"
	"time"

	"github.com/slack-go/slack"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Slack returns a client of Slack's Web API. Slack says nothing of its limits until it
// refuses, so the documented ones are limits of the client's own: for each method so many
// calls a minute, by its tier. Methods that are not listed are shaped by Retry-After alone.
func Slack(token string, base http.RoundTripper) *slack.Client {
	method := func(r *http.Request) string { return path.Base(r.URL.Path) }
	tier := map[string]int64{ // api.slack.com/apis/rate-limits
		"conversations.list":    20, // tier 2
		"conversations.history": 50, // tier 3
		"users.info":            100,
	}
	// Slack's minute begins when it gets the first call, which is later than it was made.
	shaper := &transport.Shaper{
		Base: base,
		Limits: quota.By(method, func(method string) quota.Limiter {
			if n, ok := tier[method]; ok {
				return quota.FixedWindow(n, time.Minute+100*time.Millisecond, quota.Options{Name: method})
			}
			return nil
		}),
	}
	return slack.New(token, slack.OptionHTTPClient(&http.Client{Transport: shaper}))
}
