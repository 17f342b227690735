// Package notes is a client of the Notes API, as one would publish it: small, and with an
// http.Client that the user can provide.
//
//	client := notes.New("https://notes.example", notes.Options{Token: token})
//	alice := client.As("alice")
//	note, err := alice.Create(ctx, "buy milk")
//
// # Quotas
//
// The API grants each user a quota and advertises on each response what is left of it. A
// Client stays within the quota: a call that would exceed it waits for the next window,
// so programs need no pauses of their own. Calls for one user never wait because of
// another user.
//
// A call waits until the deadline of its context, but at most for Options.MaxDelay. If it
// cannot be made in time, it fails at once with a [RateLimitError], which says when to
// retry:
//
//	var limited *notes.RateLimitError
//	if errors.As(err, &limited) {
//		return retryIn(limited.RetryAfter)
//	}
//
// A Client and the Clients that [Client.As] returns share what they know of the quotas.
// So create one Client with [New] per program, not one per call.
package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
)

// Options are the options of a Client. The zero Options are ready to use.
type Options struct {
	// Token is the application's bearer token. It may be empty, for example if
	// HTTPClient adds one.
	Token string

	// HTTPClient makes the calls, with its Transport, Jar, CheckRedirect and Timeout.
	// It is not modified. The Timeout includes the time for which a call waits. Nil
	// means an http.Client without a Timeout. If its Transport is a *transport.Shaper, it is
	// used as it is, and MaxDelay and Trace are not. So a program can share one Shaper
	// between several Clients, with what it knows of the quotas.
	HTTPClient *http.Client

	// MaxDelay is the longest time for which a call waits for quota. Zero means 2
	// minutes, and not that calls do not wait: if it is negative, they fail instead.
	MaxDelay time.Duration

	// Trace has hooks that are called when a call waits. It may be nil.
	Trace *transport.Trace
}

// A Client makes calls on behalf of a user. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string
	token string
	user  string
}

// New returns a Client for the API at a base URL. It acts for no user; see Client.As.
func New(base string, o Options) *Client {
	var hc http.Client
	if o.HTTPClient != nil {
		hc = *o.HTTPClient // a copy, because the user's must not change
	}
	if _, ok := hc.Transport.(*transport.Shaper); !ok {
		hc.Transport = &transport.Shaper{Base: hc.Transport, MaxDelay: o.MaxDelay, Trace: o.Trace}
	}
	return &Client{http: &hc, base: base, token: o.Token}
}

// As returns a Client that acts for the user with this id. It shares everything else with
// c, and is cheap enough to call for each request.
func (c *Client) As(user string) *Client {
	as := *c
	as.user = user
	return &as
}

// A Note is a note.
type Note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

// Create creates a note.
func (c *Client) Create(ctx context.Context, text string) (n Note, err error) {
	err = c.call(ctx, http.MethodPost, "/notes", Note{Text: text}, &n)
	return n, err
}

// Get returns a note.
func (c *Client) Get(ctx context.Context, id int) (n Note, err error) {
	err = c.call(ctx, http.MethodGet, fmt.Sprint("/notes/", id), nil, &n)
	return n, err
}

// List returns the notes of the user.
func (c *Client) List(ctx context.Context) (ns []Note, err error) {
	err = c.call(ctx, http.MethodGet, "/notes", nil, &ns)
	return ns, err
}

// call makes a call. If in is not nil, it is the body of the request, as JSON. The body
// of the response is decoded into out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	req, err := c.request(ctx, method, path, in)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return limited(err)
	}
	defer resp.Body.Close()
	if err := check(resp); err != nil {
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be reused
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	return nil
}

// request returns the request of a call. Its context has the user for the Shaper, its
// field X-User the user for the API.
func (c *Client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	target, err := url.JoinPath(c.base, path)
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("notes: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(partition.WithUserID(ctx, c.user), method, target, body)
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.user != "" {
		req.Header.Set("X-User", c.user)
	}
	return req, nil
}
