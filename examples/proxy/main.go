// Proxy is a reverse proxy that keeps all programs that send through it within the rate
// limits of one API, whatever language they are written in: they need nothing but its
// address. One process that all send through serves as well as a fleet that shares its
// quota through Redis (package fleet), as long as one process is enough.
//
//	go run ./examples/proxy                                   # a demonstration
//	go run ./examples/proxy -target https://api.example.com   # the proxy itself, on localhost:8080
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

func main() {
	target := flag.String("target", "", "URL of the API; without it, a demonstration runs")
	listen := flag.String("listen", "localhost:8080", "address to listen on")
	flag.Parse()
	if *target == "" {
		if err := demonstrate(); err != nil {
			log.Fatal(err)
		}
		return
	}
	to, err := url.Parse(*target)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: *listen, Handler: newProxy(to, nil), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// newProxy returns a proxy for the API at that URL, over base; nil means
// http.DefaultTransport. The proxy holds a request for up to half a minute: it is sent as
// soon as the API allows it. Credentials pass through it, so programs with different
// credentials have quotas of their own.
func newProxy(to *url.URL, base http.RoundTripper) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.SetXForwarded()
		},
		Transport:    &transport.Shaper{Base: base, MaxDelay: 30 * time.Second},
		ErrorHandler: refuse,
	}
}

// refuse answers a request that could not be sent. One that would wait too long gets what
// the API would answer: 429, with the time to come back.
func refuse(w http.ResponseWriter, _ *http.Request, err error) {
	var rejected *transport.RejectedError
	if !errors.As(err, &rejected) {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if rejected.RetryAfter > 0 {
		seconds := int(math.Ceil(rejected.RetryAfter.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(http.StatusTooManyRequests)
}

// demonstrate lets three programs that know nothing of rate limits use an API that serves
// 20 requests in 2 seconds: directly, and through the proxy.
func demonstrate() error {
	for _, proxied := range []bool{false, true} {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 20, Window: 2 * time.Second}}}
		address, err := serve(api)
		if err != nil {
			return err
		}
		way := "directly"
		if proxied {
			way = "through the proxy"
			if address, err = serve(newProxy(address, nil)); err != nil {
				return err
			}
		}
		began := time.Now()
		served, refused := programs(address.String(), http.DefaultTransport)
		fmt.Printf("%-18s %d served, %d refused, in %.1f s\n", way+":", served, refused, time.Since(began).Seconds())
	}
	return nil
}

// serve serves a handler on a port of its own, until the program ends.
func serve(h http.Handler) (*url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go http.Serve(l, h) //nolint:errcheck // it serves until the program ends
	return &url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}

// programs runs three programs that make 20 requests each, five at a time, and returns
// how many were served and refused.
func programs(address string, base http.RoundTripper) (served, refused int64) {
	client := &http.Client{Transport: base}
	var wg sync.WaitGroup
	var ok, no atomic.Int64
	for range 3 * 5 {
		wg.Go(func() {
			for range 4 {
				resp, err := client.Get(address + "/things")
				if err != nil || resp.StatusCode != http.StatusOK {
					no.Add(1)
				} else {
					ok.Add(1)
				}
				if err == nil {
					resp.Body.Close()
				}
			}
		})
	}
	wg.Wait()
	return ok.Load(), no.Load()
}
