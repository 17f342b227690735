package main

import (
	"context"
	"net/http"
	"time"
)

// Every server allows limit requests per window, as nearly as its options can say it.
// Buckets refill perSecond; some hold limit requests at first, others perSecond.
const (
	limit     = 10
	window    = 2 * time.Second
	perSecond = 5
)

// A server is a published rate limiter in one configuration.
type server struct {
	name string // what the table calls it
	from string // Go, npm, Python, Ruby or Debian
	pkg  string // what its version is the version of

	// start starts it on 127.0.0.1 and returns its URL and a function that ends it. It
	// returns errAbsent if a tool is missing.
	start func(context.Context) (url string, end func(), err error)

	// handler is the limiter in process. Nil: it needs a connection.
	handler func() http.Handler
}

// check ends the program if a limiter cannot be made: its options are constants.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
