// Sdk is a program that uses a client library with a Shaper inside. The library is
// package notes, in the folder notes; its tests show how its users can test their code.
//
//	go run ./examples/sdk
//
// An API on 127.0.0.1 grants each user 5 calls per 2 seconds. A web application imports
// 14 notes for Alice in the background. Bob looks at pages with a note now and then, and
// waits at most 300 ms for a page.
//
// To copy for a library of one's own, from notes/notes.go: New, which wraps a copy of the
// user's http.Client and passes MaxDelay on; the user's id in the context of each request;
// and notes/errors.go, which makes one error of a call that was not sent and of one that the
// API refused.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/headway-go/headway/examples/sdk/notes"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

func main() {
	api := &transporttest.API{
		Policies: []transporttest.Policy{
			{Name: "calls", Quota: 5, Window: 2 * time.Second, PartitionBy: []string{"user_id"}},
		},
		Handler: http.HandlerFunc(serveNote),
	}
	server := httptest.NewServer(api)
	defer server.Close()

	app := &application{began: time.Now()}
	if err := app.run(server.URL); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
	fmt.Printf("\nThe API served %d calls and refused %d.\n", api.Counts().Served, api.Counts().Refused)
}

// serveNote answers every call with the same note.
func serveNote(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"id": 1, "text": "buy milk"}`)
}

// An application is a program that uses package notes.
type application struct{ began time.Time }

func (a *application) run(url string) error {
	// The application has its own http.Client, with a Jar and a Timeout.
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := notes.New(url, notes.Options{
		HTTPClient: &http.Client{Jar: jar, Timeout: 10 * time.Second},
		Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
			a.say("%s waits for quota %q", i.Request.Header.Get("X-User"), i.Policy)
		}},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()

	var wg sync.WaitGroup
	var imported error
	wg.Go(func() { imported = a.importNotes(ctx, client.As("alice")) })
	served := a.browse(ctx, client.As("bob"))
	wg.Wait()
	return errors.Join(imported, served)
}

// importNotes creates notes. It needs no code for quotas: calls wait if necessary.
func (a *application) importNotes(ctx context.Context, alice *notes.Client) error {
	for i := range 14 {
		if _, err := alice.Create(ctx, "buy milk"); err != nil {
			return err
		}
		a.say("alice has created note %d", i+1)
	}
	return nil
}

// browse reads a note twice a second, and later as often as possible. After a
// RateLimitError it waits for RetryAfter.
func (a *application) browse(ctx context.Context, bob *notes.Client) error {
	pause := 500 * time.Millisecond
	for i := range 12 {
		if i == 6 {
			pause = 0
		}
		wait, err := a.read(ctx, bob)
		if err != nil {
			return err
		}
		time.Sleep(max(pause, wait))
	}
	return nil
}

// read reads a note within 300 ms. If that fails because of the quota, wait is the time
// after which to retry.
func (a *application) read(ctx context.Context, bob *notes.Client) (wait time.Duration, err error) {
	const column = "                              "
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err = bob.Get(ctx, 1)
	var limited *notes.RateLimitError
	switch {
	case errors.As(err, &limited):
		a.say(column+"bob must retry in %.1f s; nothing was sent", limited.RetryAfter.Seconds())
		return limited.RetryAfter, nil
	case err != nil:
		return 0, err
	}
	a.say(column + "bob has read a note")
	return 0, nil
}

// say prints a line with the time.
func (a *application) say(format string, args ...any) {
	fmt.Printf("%4.1f s  %s\n", time.Since(a.began).Seconds(), fmt.Sprintf(format, args...))
}
