package transport_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// routes sends each request to the API of its path.
type routes map[string]http.Handler

func (r routes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r[req.URL.Path].ServeHTTP(w, req)
}

// A stream is the requests of a caller for one route.
type stream struct {
	path    string
	n       int           // requests
	workers int           // that send them
	every   time.Duration // a worker sends one after another, so long apart; 0: at once
	from    time.Duration // when they begin

	took, longest time.Duration // from then on until all were served; of one request, from when it was first sent
	refused       int
}

// flow has all streams send their requests, through a Shaper, or in a loop that waits after refusals for as long as
// these say.
func flow(t *testing.T, r routes, shaped bool, streams ...*stream) {
	synctest.Test(t, func(t *testing.T) {
		var rt http.RoundTripper = &transporttest.Transport{Handler: r, Latency: func() time.Duration { return 25 * time.Millisecond }}
		if shaped {
			rt = &transport.Shaper{Base: rt, MaxDelay: 24 * time.Hour}
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		began := time.Now()
		for _, s := range streams {
			left := s.n
			next := func() bool {
				mu.Lock()
				defer mu.Unlock()
				left--
				return left >= 0
			}
			for range s.workers {
				all.Go(func() {
					time.Sleep(s.from)
					for next() {
						first := time.Now()
						for refusals := 0; ; refusals++ {
							resp, err := rt.RoundTrip(newRequest(t.Context(), http.MethodGet, "http://api.example"+s.path))
							if !assert.NoError(t, err) {
								return
							}
							drop(resp)
							if resp.StatusCode == http.StatusOK {
								break
							}
							mu.Lock()
							s.refused++
							mu.Unlock()
							if !shaped {
								pause, ok, _ := parse.RetryAfter(resp.Header, time.Now(), parse.Caps{})
								if !ok {
									pause = time.Second << min(refusals, 5)
								}
								time.Sleep(pause)
							}
						}
						mu.Lock()
						s.took, s.longest = time.Since(began)-s.from, max(s.longest, time.Since(first))
						mu.Unlock()
						time.Sleep(s.every)
					}
				})
			}
		}
		all.Wait()
	})
}

// Routes of one origin may tell their quotas in different fields, with a name or without. Then requests of one route do not
// wait for the quota of another: a client is as quick as in a loop, and is not refused.
func TestNamedBesideUnnamed(t *testing.T) {
	api := func(d parse.Dialect, n int64, window time.Duration) *transporttest.API {
		return &transporttest.API{Dialect: d, Policies: []transporttest.Policy{{Name: fmt.Sprint(n), Quota: n, Window: window}}}
	}
	for name, tt := range map[string]struct {
		small, large parse.Dialect
		n, workers   int           // requests of the large quota
		every        time.Duration // likewise
	}{
		"the small one has no name":     {parse.VendorFields, parse.EditorsDraft, 100, 1, time.Second},
		"the large one has no name":     {parse.EditorsDraft, parse.VendorFields, 100, 1, time.Second},
		"in other drafts":               {parse.Draft06, parse.Draft08, 100, 1, time.Second},
		"at once":                       {parse.VendorFields, parse.EditorsDraft, 400, 5, time.Millisecond},
		"both have names":               {parse.Draft08, parse.EditorsDraft, 100, 1, time.Second},
		"requests that are far between": {parse.VendorFields, parse.EditorsDraft, 12, 1, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			var took [2][2]*stream
			for i := range took {
				took[i] = [2]*stream{{path: "/small", n: 90, workers: 5}, {path: "/large", n: tt.n, workers: tt.workers, every: tt.every}}
				flow(t, routes{"/small": api(tt.small, 30, time.Minute), "/large": api(tt.large, 5000, time.Hour)}, i == 1, took[i][:]...)
			}
			for i, loop := range took[0] {
				ours := took[1][i]
				t.Logf("%s: loop %v, longest %v, refused %d; ours %v, longest %v, refused %d", loop.path, loop.took, loop.longest, loop.refused, ours.took, ours.longest, ours.refused)
				assert.LessOrEqual(t, ours.took, loop.took+loop.took*3/100, loop.path)
				assert.LessOrEqual(t, ours.longest, loop.longest+loop.longest*3/100, loop.path)
				assert.Zero(t, ours.refused, loop.path)
			}
		})
	}
}
