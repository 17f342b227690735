// Package notes is a client of the Notes API, as one would publish it: small, and
// with an http.Client of the user's.
//
//	client := notes.New("https://notes.example", notes.Options{Token: token})
//	alice := client.As("alice")
//	note, err := alice.Create(ctx, "buy milk")
//
// # Quotas
//
// The API grants each user a quota, and says with each response what is left of
// it. A Client keeps within that: a call that would exceed it waits for the next
// window, so that programs need no pauses of their own. One user never waits for
// another.
//
// A call waits as long as its context lets it, at most Options.MaxDelay. One that
// cannot be made in time fails at once with a [RateLimitError], which says when to
// come back:
//
//	var limited *notes.RateLimitError
//	if errors.As(err, &limited) {
//		return tryAgainIn(limited.RetryAfter)
//	}
//
// All Clients made by [Client.As] from one another know together what is left. So
// make one Client for a program, and not one for each call.
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
	// Token is the application's bearer token. It may be empty where HTTPClient
	// adds one.
	Token string

	// HTTPClient makes the calls: its Transport, Jar, CheckRedirect and Timeout
	// are in use, and it is not modified. Its Timeout includes the time that a
	// call waits. Nil means an http.Client without a Timeout.
	HTTPClient *http.Client

	// MaxDelay is the longest that a call waits for quota. Zero means 2 minutes,
	// a negative duration that calls fail rather than wait.
	MaxDelay time.Duration

	// Trace is told which calls wait, and why. Nil means nobody is.
	Trace *transport.Trace
}

// A Client makes calls on behalf of a user. It is safe for concurrent use.
type Client struct {
	http  *http.Client
	base  string
	token string
	user  string
}

// New returns a Client of the API at a base URL, which acts for nobody in
// particular.
func New(base string, o Options) *Client {
	var hc http.Client
	if o.HTTPClient != nil {
		hc = *o.HTTPClient // a copy, so that the user's stays as it is
	}
	hc.Transport = &transport.Shaper{Base: hc.Transport, MaxDelay: o.MaxDelay, Trace: o.Trace}
	return &Client{http: &hc, base: base, token: o.Token}
}

// As returns a Client that acts for the user of that id. It shares everything with
// c, and may be made for each call.
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

// Create writes a note.
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

// call makes a call: in becomes the body of the request unless it is nil, and out
// is filled in from that of the response.
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
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
		return err
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	return nil
}

// request builds the request of a call. Its context tells the Shaper who asks, as
// the field X-User tells the API.
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
