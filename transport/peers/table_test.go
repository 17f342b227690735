package peers

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofri/go-github-ratelimit/v2/github_ratelimit/github_primary_ratelimit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const roundTrip = 50 * time.Millisecond

// A scene is a server, what clients were told of it, and work.
type scene struct {
	name     string
	api      func() server
	told     limit
	requests int
	workers  int
	light    bool          // a second user makes a request every two seconds
	ideal    time.Duration // of a client that knows everything
}

// A server is an API that counts.
type server interface {
	http.Handler
	Counts(of ...string) transporttest.Counts
}

// likeGitHub adds GitHub's field to the responses of an API, and takes away Retry-After.
type likeGitHub struct{ *transporttest.API }

func (g likeGitHub) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	d := g.Decide(time.Now(), req)
	defer d.Done()
	maps.Copy(w.Header(), d.Header)
	w.Header().Del("Retry-After")
	w.Header().Set("X-RateLimit-Resource", "core")
	w.WriteHeader(d.Status)
	_, _ = w.Write(d.Body)
}

func policy(quota int64, window time.Duration, by ...string) []transporttest.Policy {
	return []transporttest.Policy{{Name: "api", Quota: quota, Window: window, PartitionBy: by}}
}

var scenes = []scene{
	{
		name: "RateLimit", requests: 1000, workers: 50, told: limit{100, 10 * time.Second}, ideal: 90*time.Second + roundTrip,
		api: func() server { return &transporttest.API{Policies: policy(100, 10*time.Second)} },
	},
	{
		name: "like GitHub", requests: 500, workers: 50, told: limit{100, time.Minute}, ideal: 4*time.Minute + roundTrip,
		api: func() server {
			api := &transporttest.API{Policies: policy(100, time.Minute), Dialect: parse.VendorFields, Status: http.StatusForbidden}
			return likeGitHub{api}
		},
	},
	{
		name: "only Retry-After", requests: 1000, workers: 50, told: limit{100, 10 * time.Second}, ideal: 90*time.Second + roundTrip,
		api: func() server {
			return &transporttest.API{Policies: policy(100, 10*time.Second), OmitLimits: true, OmitPolicies: true}
		},
	},
	{
		name: "half of it is somebody else's", requests: 500, workers: 50, told: limit{100, 10 * time.Second}, ideal: 90*time.Second + roundTrip,
		api: func() server { return &transporttest.API{Policies: policy(50, 10*time.Second)} },
	},
	{
		name: "two users", requests: 400, workers: 20, light: true, told: limit{100, 10 * time.Second}, ideal: 30*time.Second + roundTrip,
		api: func() server {
			return &transporttest.API{Policies: policy(100, 10*time.Second, "user_id")}
		},
	},
}

// An outcome is what became of the work.
type outcome struct {
	taken   time.Duration
	refused int64
	back    int64         // refusals and errors that the caller saw
	worst   time.Duration // that a light user's request was delayed
}

// TestTable prints how each library does against each server. It asserts only what
// README says of headway. Without -v it plays nothing else.
func TestTable(t *testing.T) {
	peers := peers
	if !testing.Verbose() {
		peers = peers[:2]
	}
	results := make(map[string]outcome)
	for _, p := range peers {
		for _, s := range scenes {
			results[p.name+s.name] = play(t, p, s)
		}
	}
	var b strings.Builder
	fmt.Fprint(&b, "goodput / refusals by the server / refusals and errors that the caller sees\n\n|")
	for _, s := range scenes {
		fmt.Fprintf(&b, " | %s", s.name)
	}
	fmt.Fprintf(&b, " | light user's worst delay |\n|---%s|\n", strings.Repeat("|--:", len(scenes)+1))
	for _, p := range peers {
		name := p.name
		if p.told {
			name += " (told the limit)"
		}
		fmt.Fprintf(&b, "| %s", name)
		for _, s := range scenes {
			r := results[p.name+s.name]
			fmt.Fprintf(&b, " | %.2f / %d / %d", s.ideal.Seconds()/r.taken.Seconds(), r.refused, r.back)
			if s.light {
				fmt.Fprintf(&b, " | %.2f s", r.worst.Seconds())
			}
		}
		fmt.Fprintln(&b, " |")
	}
	t.Log("\n" + b.String())

	for _, s := range scenes {
		r, none := results["headway"+s.name], results["none"+s.name]
		if s.name != "only Retry-After" {
			assert.GreaterOrEqual(t, s.ideal.Seconds()/r.taken.Seconds(), 0.97, s.name)
			assert.Zero(t, r.refused, s.name)
		}
		assert.LessOrEqual(t, r.refused, none.refused, s.name)
		assert.Less(t, r.taken.Seconds(), 1.03*max(none.taken, s.ideal).Seconds(), s.name)
		assert.Less(t, r.worst, roundTrip, s.name)
	}
}

// play does the work of a scene in simulated time, through a library.
func play(t *testing.T, p peer, s scene) (r outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // for Unix times
		api := s.api()
		base := &transporttest.Transport{Handler: api, Latency: func() time.Duration { return roundTrip }}
		client := &http.Client{Transport: p.over(base, s.told)}
		var left, back atomic.Int64
		left.Store(int64(s.requests))
		began := time.Now()
		var wg sync.WaitGroup
		for i := range s.workers {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					until200(t, client, "hot", rnd, &back)
				}
			})
		}
		if s.light {
			rnd := rand.New(rand.NewPCG(2, 0))
			wg.Go(func() {
				for range 12 {
					time.Sleep(2 * time.Second)
					asked := time.Now()
					until200(t, client, "light", rnd, &back)
					r.worst = max(r.worst, time.Since(asked)-roundTrip)
				}
			})
		}
		wg.Wait()
		r.taken, r.refused, r.back = time.Since(began), api.Counts().Refused, back.Load()
	})
	return r
}

// until200 makes a request until it is served, as a caller does: it waits for
// Retry-After, or else for a second, twice as long after each further refusal, and up to a
// quarter more.
func until200(t *testing.T, client *http.Client, user string, rnd *rand.Rand, back *atomic.Int64) {
	for attempt := 0; ; attempt++ {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.github.com/repos", nil)
		if !assert.NoError(t, err) {
			return
		}
		req.SetBasicAuth(user, "")
		req.Header.Set("X-User", user)
		resp, err := client.Do(req)
		var wait time.Duration
		var rejected *transport.RejectedError
		var reached *github_primary_ratelimit.RateLimitReachedError
		switch {
		case errors.As(err, &reached):
			wait = time.Until(*reached.ResetTime)
		case err == nil:
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
			if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
				wait = time.Duration(n) * time.Second
			}
		case errors.As(err, &rejected):
			wait = rejected.RetryAfter
		}
		back.Add(1)
		if wait <= 0 {
			wait = time.Second << min(attempt, 5)
			wait += time.Duration(rnd.Int64N(int64(wait / 4)))
		}
		time.Sleep(wait)
	}
}

// BenchmarkOverhead measures an exchange through each library over a stub that says
// nothing of quotas. Those that are told a limit are told one that never binds.
func BenchmarkOverhead(b *testing.B) {
	stub := roundTripper(func(req *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {"Sun, 22 Nov 2026 08:00:00 GMT"}}, Body: http.NoBody, Request: req}, nil
	})
	for _, p := range peers {
		b.Run(strings.NewReplacer(" ", "_", "/", "-", ",", "").Replace(p.name), func(b *testing.B) {
			rt := p.over(stub, limit{1e9, time.Second})
			req, err := http.NewRequest(http.MethodGet, "https://api.github.com/repos", nil)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				resp, err := rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_ = resp.Body.Close()
			}
		})
	}
}
