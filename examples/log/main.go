// Log writes what a transport.Shaper does to log/slog. It uses every hook of Trace, for
// all requests of a client and for a single one.
//
//	go run ./examples/log
//
// There are three servers on 127.0.0.1: one with a quota of three requests per two
// seconds, one that sends invalid fields, and one that counts requests in other
// partitions than it declares.
//
// A Shaper does not log by itself. Copy trace.go to your program if you need a log.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelDebug, // use Info in production
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Value.Kind() {
			case slog.KindTime:
				a.Value = slog.StringValue(a.Value.Time().Format("05.000"))
			case slog.KindDuration:
				a.Value = slog.DurationValue(a.Value.Duration().Round(10 * time.Millisecond))
			}
			return a
		},
	}))
	urls := make(map[string]string)
	for name, handler := range servers() {
		server := httptest.NewServer(handler)
		defer server.Close()
		urls[name] = server.URL
	}
	gone := httptest.NewServer(nil)
	urls["gone"] = gone.URL
	gone.Close()
	if err := story(os.Stdout, log, http.DefaultTransport, urls); err != nil {
		fmt.Fprintln(os.Stderr, "log:", err)
		os.Exit(1)
	}
}

// servers returns the servers by name.
func servers() map[string]http.Handler {
	return map[string]http.Handler{
		"shop": &transporttest.API{Policies: []transporttest.Policy{{
			Name: "orders", Quota: 3, Window: 2 * time.Second, PartitionBy: []string{"user_id"},
		}}},
		// A window of three thousand years, and a negative available quota.
		"clumsy": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("RateLimit", `"big";a=5;w=99999999999, "odd";a=-1, "fine";a=9;w=60`)
		}),
		// It declares a partition per user, but counts all users in one.
		"strange": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("RateLimit", `"api";a=9;w=60;pk=:ZXZlcnlib2R5:`)
			w.Header().Set("RateLimit-Partition", `"api";user_id`)
		}),
	}
}

// story sends requests that call all hooks.
func story(out io.Writer, log *slog.Logger, base http.RoundTripper, urls map[string]string) error {
	shaped := &http.Client{Transport: &transport.Shaper{Base: base, Trace: traceTo(log)}}
	elsewhere := &http.Client{Transport: base} // a client on another computer
	ctx := partition.WithUserID(context.Background(), "alice")

	fmt.Fprintln(out, "\nAlice may send three orders per two seconds, and sends four:")
	for range 4 {
		if err := get(ctx, shaped, urls["shop"]); err != nil {
			return err
		}
	}

	fmt.Fprintln(out, "\nTwo more, and one whose deadline is before the next window:")
	for range 2 {
		if err := get(ctx, shaped, urls["shop"]); err != nil {
			return err
		}
	}
	hurried, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := get(hurried, shaped, urls["shop"]); err == nil {
		return errors.New("the order with the deadline was sent")
	}

	fmt.Fprintln(out, "\nHer other computer sends three at the start of the window, which this client cannot know:")
	time.Sleep(2100 * time.Millisecond)
	for range 3 {
		if err := get(ctx, elsewhere, urls["shop"]); err != nil {
			return err
		}
	}
	if err := get(ctx, shaped, urls["shop"]); err != nil {
		return err
	}

	fmt.Fprintln(out, "\nOne order has its own Trace, which explains why it took so long:")
	var why journal
	if err := get(transport.WithTrace(ctx, why.trace()), shaped, urls["shop"]); err != nil {
		return err
	}
	fmt.Fprintf(out, "  %s\n", &why)

	fmt.Fprintln(out, "\nA server sends invalid fields twice; the log warns of each field once:")
	for range 2 {
		if err := get(ctx, shaped, urls["clumsy"]); err != nil {
			return err
		}
	}

	fmt.Fprintln(out, "\nA server counts Alice under another partition key than it declares:")
	if err := get(ctx, shaped, urls["strange"]); err != nil {
		return err
	}

	fmt.Fprintln(out, "\nThere is no server at the last address:")
	if err := get(ctx, shaped, urls["gone"]); err == nil {
		return errors.New("the last address answered")
	}
	return nil
}

// get gets url for the user in ctx. It ignores the status.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/", nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-User", partition.UserID(ctx))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// A journal is what happened to one request. The hooks run in the goroutine of the
// request, so a journal needs no mutex if it is read after the request.
type journal struct{ entries []string }

func (j *journal) trace() *transport.Trace {
	note := func(format string, args ...any) { j.entries = append(j.entries, fmt.Sprintf(format, args...)) }
	return &transport.Trace{
		Held: func(i transport.HeldInfo) {
			note("it waited in line because of policy %q (%v)", i.Policy, i.Reason)
		},
		Admitted: func(i transport.AdmittedInfo) {
			note("it left after %v", i.Waited.Round(100*time.Millisecond))
		},
		Rejected: func(i transport.RejectedInfo) { note("it was not sent: %v", i.Err) },
		Learned:  func(i transport.LearnedInfo) { note("it was answered with %d", i.Status) },
	}
}

// String returns the entries as a sentence.
func (j *journal) String() string { return strings.Join(j.entries, "; ") + "." }
