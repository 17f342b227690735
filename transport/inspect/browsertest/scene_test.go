package browsertest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/transporttest"
)

// mount is the path of the page.
const mount = "/debug/headway/"

// A scene is a client with a Shaper, servers that it talks to, and the page.
type scene struct {
	t      *testing.T
	page   *inspect.Handler
	shaper *transport.Shaper
	apis   map[string]http.Handler // by host
	ctx    context.Context
	work   sync.WaitGroup
}

// newScene returns a scene whose page is at mount, of a server that ends with the test.
func newScene(t *testing.T) (*scene, *httptest.Server) {
	s := &scene{t: t, page: &inspect.Handler{Accounts: new(quota.Accounts)}, apis: make(map[string]http.Handler)}
	latency := func() time.Duration { return 40*time.Millisecond + rand.N(20*time.Millisecond) }
	s.shaper = &transport.Shaper{
		Base:     &transporttest.Transport{Handler: s, Latency: latency},
		Accounts: s.page.Accounts,
		Trace:    s.page.Trace(),
	}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithCancel(context.Background())
	mux := http.NewServeMux()
	mux.Handle(mount, s.page)
	mux.Handle("/stripped/", http.StripPrefix("/stripped", s.page))
	mux.HandleFunc("/", http.NotFound)
	srv := httptest.NewUnstartedServer(mux)
	srv.Config.WriteTimeout = 500 * time.Millisecond // which events must survive
	srv.Start()
	t.Cleanup(func() {
		cancel()
		s.work.Wait()
		srv.CloseClientConnections()
		srv.Close()
	})
	return s, srv
}

func (s *scene) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.apis[r.Host].ServeHTTP(w, r) }

// get sends a request, for a user if that is not empty, and returns its status; 0 if it
// was not answered.
func (s *scene) get(url, user string) int {
	ctx := s.ctx
	if user != "" {
		ctx = partition.WithUserID(ctx, user)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		s.t.Error(err)
		return 0
	}
	req.Header.Set("X-User", user)
	resp, err := s.shaper.RoundTrip(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// workers send requests until the test ends, with a pause after each.
func (s *scene) workers(n int, pause time.Duration, url func() (url, user string)) {
	for range n {
		s.work.Go(func() {
			for s.ctx.Err() == nil {
				s.get(url())
				select {
				case <-time.After(pause):
				case <-s.ctx.Done():
				}
			}
		})
	}
}

// busy is a scene in which much is going on: a quota that is used up again and again,
// one for each user, and a server that asked for a pause.
func busy(t *testing.T) (*scene, *httptest.Server) {
	s, srv := newScene(t)
	s.apis["api.example"] = &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 100, Window: 10 * time.Second}}}
	s.apis["mail.example"] = &transporttest.API{Policies: []transporttest.Policy{{Name: "per-user", Quota: 20, Window: 30 * time.Second, PartitionBy: []string{"user_id"}}}}
	s.apis["files.example"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	s.apis["quiet.example"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	s.workers(40, time.Millisecond, func() (string, string) { return "https://api.example/items?token=SECRET", "" })
	s.workers(8, 200*time.Millisecond, func() (string, string) {
		return "https://mail.example/inbox", fmt.Sprintf("user-%d", rand.IntN(12))
	})
	s.workers(1, time.Second, func() (string, string) { return "https://quiet.example/", "" })
	s.get("https://files.example/f", "")
	return s, srv
}
