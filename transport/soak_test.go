package transport_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A tally counts the results of one user's requests, as the client sees them.
type tally struct{ served, refused, held, rejected, ended, lost int64 }

// A soak is the state of TestSoak: two servers, and the results of the requests to
// them, by server and user.
type soak struct {
	t    *testing.T
	seed uint64
	apis map[string]*transporttest.API

	mu     sync.Mutex // guards following
	rnd    *rand.Rand
	seen   map[[2]string]*tally
	arrive map[[2]string]*transporttest.Counts // requests that arrived and whose responses were lost
}

// chance returns true once in n times.
func (s *soak) chance(n int) bool { return s.upTo(n) == 0 }

func (s *soak) upTo(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

func (s *soak) count(host, user string, count func(*tally)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[[2]string{host, user}] == nil {
		s.seen[[2]string{host, user}] = new(tally)
	}
	count(s.seen[[2]string{host, user}])
}

// RoundTrip acts as a network: it has latency, and loses some requests and some
// responses.
func (s *soak) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.chance(50) {
		return nil, &net.OpError{Op: "dial", Err: errBroken}
	}
	var arrived *transporttest.Counts
	lose := s.chance(40)
	server := &transporttest.Transport{
		Latency: func() time.Duration { return time.Duration(1+s.upTo(400)) * time.Millisecond },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			d := s.apis[r.Host].Decide(time.Now(), r)
			arrived = &transporttest.Counts{Served: 1}
			if !d.Served {
				arrived = &transporttest.Counts{Refused: 1}
			}
			for name, values := range d.Header {
				w.Header()[name] = values
			}
			w.WriteHeader(d.Status)
		}),
	}
	resp, err := server.RoundTrip(req)
	if err == nil && lose {
		err = errBroken
		drop(resp)
	}
	if err != nil {
		if arrived != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			at := [2]string{req.URL.Host, req.Header.Get("X-User")}
			if s.arrive[at] == nil {
				s.arrive[at] = new(transporttest.Counts)
			}
			s.arrive[at].Served += arrived.Served
			s.arrive[at].Refused += arrived.Refused
		}
		return nil, err
	}
	return resp, nil
}

// request returns a request of a user.
func (s *soak) request(ctx context.Context, host, user string) *http.Request {
	path := []string{"items", "search", "users"}[s.upTo(3)]
	method := []string{"GET", "GET", "POST"}[s.upTo(3)]
	ctx = transport.WithPriority(partition.WithUserID(ctx, user), s.upTo(2))
	req := newRequest(ctx, method, "http://"+host+"/"+path+"/"+strconv.Itoa(s.upTo(1000)))
	req.Header.Set("X-User", user)
	return req
}

// send sends a request of a user, who may cancel it.
func (s *soak) send(rt http.RoundTripper, host, user string) {
	ctx, cancel := context.WithCancel(context.Background())
	if s.chance(5) {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(s.upTo(20_000))*time.Millisecond)
	}
	defer cancel()
	resp, err := rt.RoundTrip(s.request(ctx, host, user))
	var rejected *transport.RejectedError
	s.count(host, user, func(c *tally) {
		switch {
		case err == nil && resp.StatusCode == 200:
			c.served++
		case err == nil:
			c.refused++
		case errors.As(err, &rejected):
			c.rejected++
		case ctx.Err() != nil:
			c.ended++
		default:
			c.lost++
		}
	})
	if err == nil && s.chance(2) {
		resp.Body.Close() // unread
		return
	}
	drop(resp)
}

// visit sends bursts of requests of a user, with pauses.
func (s *soak) visit(rt http.RoundTripper, user string) {
	host := []string{"named.example", "plain.example"}[s.upTo(2)]
	for range 1 + s.upTo(4) {
		var wg sync.WaitGroup
		for range 1 + s.upTo(5) {
			n, gap := 1+s.upTo(8), time.Duration(s.upTo(2_000))*time.Millisecond
			wg.Go(func() {
				for range n {
					s.send(rt, host, user)
					time.Sleep(gap)
				}
			})
		}
		wg.Wait()
		time.Sleep(time.Duration(s.upTo(600_000)) * time.Millisecond)
	}
}

// Several days of users that come and go, with requests that fail and are cancelled. At
// the end every account is idle, all counts agree with the server's, no request is in
// line, and no permit is missing.
func TestSoak(t *testing.T) {
	const days, seed = 4, 20260420
	visits, names := 1_000, 200
	if testing.Short() {
		visits = 300
	}
	synctest.Test(t, func(t *testing.T) {
		world := &soak{
			t: t, seed: seed, rnd: newRand(seed),
			seen: make(map[[2]string]*tally), arrive: make(map[[2]string]*transporttest.Counts),
			apis: map[string]*transporttest.API{
				"named.example": {Cost: costOfSearch, Policies: []transporttest.Policy{
					{Name: "burst", Quota: 12, Window: 10 * time.Second, PartitionBy: []string{"user_id"}},
					{Name: "writes", Quota: 5, Window: 20 * time.Second, Algorithm: transporttest.TokenBucket, PartitionBy: []string{"user_id", "method=POST"}},
					{Name: "day", Quota: 400, Window: 24 * time.Hour, Algorithm: transporttest.AlignedWindow, PartitionBy: []string{"user_id"}},
				}},
				"plain.example": {Dialect: parse.Draft08, Policies: []transporttest.Policy{
					{Name: "api", Quota: 40, Window: 10 * time.Second, Algorithm: transporttest.AlignedWindow},
				}},
			},
		}
		threads := quota.Concurrency(30)
		s := &transport.Shaper{
			Base: world, Accounts: new(quota.Accounts), MaxDelay: 90 * time.Second, MaxQueue: 25,
			Limits: func(*http.Request) quota.Limiter { return threads },
			Scope:  func(*http.Request) string { return "" }, // one quota for all if no partition is named
			Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
				world.count(i.Request.URL.Host, i.Request.Header.Get("X-User"), func(c *tally) { c.held++ })
			}},
		}
		began := time.Now()
		var wg sync.WaitGroup
		for range visits {
			at, user := time.Duration(world.upTo(days*24*3600))*time.Second, fmt.Sprint("user", world.upTo(names))
			wg.Go(func() {
				time.Sleep(at)
				world.visit(s, user)
			})
		}
		wg.Wait()
		assert.Greater(t, time.Since(began), 3*24*time.Hour)
		world.checkCounts()
		assert.EqualValues(t, 30, threads.Stats().Available, "permits")
		for host := range world.apis {
			atRest(t, s.Accounts, "http://"+host)
		}
		world.checkAccounts(s)
	})
}

// costOfSearch returns 3 for a search, and 1 for all other requests.
func costOfSearch(r *http.Request) int64 {
	if strings.HasPrefix(r.URL.Path, "/search/") {
		return 3
	}
	return 1
}

// checkCounts asserts that the client's counts are those of the servers.
func (s *soak) checkCounts() {
	var all tally
	for at, c := range s.seen {
		want := transporttest.Counts{Served: c.served, Refused: c.refused}
		if lost := s.arrive[at]; lost != nil {
			want.Served += lost.Served
			want.Refused += lost.Refused
		}
		assert.Equal(s.t, want, s.apis[at[0]].Counts(at[1]), "seed %d: %s at %s", s.seed, at[1], at[0])
		all.served += c.served
		all.refused += c.refused
		all.held += c.held
		all.rejected += c.rejected
		all.ended += c.ended
		all.lost += c.lost
	}
	s.t.Logf("seed %d: %+v", s.seed, all)
	for what, n := range map[string]int64{"served": all.served, "held": all.held, "rejected": all.rejected, "ended": all.ended, "lost": all.lost} {
		assert.Positive(s.t, n, "seed %d: %s", s.seed, what)
	}
	assert.Less(s.t, all.refused, all.served/25, "seed %d: refused by the servers", s.seed)
}

// checkAccounts asserts that each account has as much left as the server says.
func (s *soak) checkAccounts(rt *transport.Shaper) {
	rt.Base = &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.apis[r.Host].ServeHTTP(w, r) })}
	checked := 0
	for at := range s.seen {
		host, user := at[0], at[1]
		req := newRequest(partition.WithUserID(context.Background(), user), "POST", "http://"+host+"/items")
		req.Header.Set("X-User", user)
		resp, err := rt.RoundTrip(req)
		var rejected *transport.RejectedError
		if errors.As(err, &rejected) && rejected.Policy == "day" {
			continue // nothing is left
		}
		require.NoError(s.t, err, "seed %d", s.seed)
		drop(resp)
		limits, _ := parse.Limits(resp.Header, parse.Caps{})
		require.NotEmpty(s.t, limits)
		for _, l := range limits {
			ask := quota.Ask{Claims: []quota.Claim{{Policy: l.Policy, Key: string(l.Key), Keyed: l.HasKey}}}
			left := rt.Accounts.Origin("http://" + host).Limiter(ask).Stats().Available
			assert.Equal(s.t, l.Available, left, "seed %d: %s of %s at %s", s.seed, l.Policy, strings.ToValidUTF8(string(l.Key), "?"), host)
			checked++
		}
	}
	assert.Greater(s.t, checked, len(s.seen))
}
