package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A recording is what a server sent to a client that made requests one after the other
// until it was refused, and then one at a time until it was served.
type recording struct {
	Server  string     `json:"server"`
	Package string     `json:"package"`
	Began   time.Time  `json:"began"`
	Answers []exchange `json:"answers"`
}

// An exchange is one response. Equal ones in a row are left out: see record.
type exchange struct {
	At      int64    `json:"at"`   // the milliseconds from the beginning to the sending of the request
	Took    int64    `json:"took"` // milliseconds
	Status  int      `json:"status"`
	Headers []string `json:"headers"` // those about quota, and Date
}

// poll is the pause between two requests of a client that waits to be served again. A
// server that counts refused requests, too, may never serve such a client. After patience
// the client gives it two windows of rest.
const (
	poll     = 50 * time.Millisecond
	patience = 3 * window
)

func (w *workshop) recordAll(ctx context.Context, all []*server, dir string) error {
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		failure error
		permits = make(chan struct{}, 8)
	)
	for _, s := range all {
		wg.Go(func() {
			permits <- struct{}{}
			defer func() { <-permits }()
			err := w.record(ctx, s, dir)
			var missing errAbsent
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.As(err, &missing):
				fmt.Fprintf(os.Stderr, "%s: left out: %s\n", s.name, missing)
			case err != nil:
				failure = errors.Join(failure, fmt.Errorf("%s: %w", s.name, err))
			}
		})
	}
	wg.Wait()
	return failure
}

// record makes a recording: all requests until the first refusal, then the last refusal
// and the first response after it.
func (w *workshop) record(ctx context.Context, s *server, dir string) error {
	url, end, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer end()
	r := recording{Server: s.name, Package: w.version(s), Began: time.Now().UTC()}
	client := &http.Client{Transport: &http.Transport{}}
	var first time.Time // refusal
	for {
		e, err := ask(ctx, client, url, r.Began)
		if err != nil {
			return err
		}
		if first.IsZero() {
			r.Answers = append(r.Answers, e)
			if e.Status != http.StatusOK {
				first = time.Now()
			}
			if len(r.Answers) > 2*limit {
				return errors.New("never refuses")
			}
			continue
		}
		if n := len(r.Answers); e.Status != http.StatusOK && r.Answers[n-1].Status != http.StatusOK && r.Answers[n-2].Status != http.StatusOK {
			r.Answers[n-1] = e // the last refusal
		} else {
			r.Answers = append(r.Answers, e)
		}
		if e.Status == http.StatusOK {
			break
		}
		switch waited := time.Since(first); {
		case waited > time.Minute:
			return errors.New("does not serve again")
		case waited > patience:
			time.Sleep(2 * window)
		default:
			time.Sleep(poll)
		}
	}
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	name := strings.NewReplacer("/", "-", "@", "", ",", "", ":", "", "(", "", ")", "", " ", "-").Replace(strings.ToLower(s.name))
	return os.WriteFile(filepath.Join(dir, name+".json"), append(text, '\n'), 0o644)
}

func ask(ctx context.Context, client *http.Client, url string, began time.Time) (exchange, error) {
	sent := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/items", nil)
	if err != nil {
		return exchange{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return exchange{}, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return exchange{
		At: sent.Sub(began).Milliseconds(), Took: time.Since(sent).Milliseconds(),
		Status: resp.StatusCode, Headers: headers(resp.Header),
	}, nil
}
