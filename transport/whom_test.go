package transport_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// This file plays APIs that say nothing of their quotas and refuse some kinds of
// requests, against a Shaper and against a retry loop.

// A whomCase is an API and the requests to it.
type whomCase struct {
	name   string
	limits []whomLimit
	bare   bool // refusals have no Retry-After
	load   []whomLoad

	atLeast float64 // of what the retry loop is served, for the loads that no method's limit concerns
	limited float64 // the same, for the others together
	refused int     // at most, in five minutes
}

// A whomLimit is a quota of the requests that begin with one of the paths; of all if
// there are none.
type whomLimit struct {
	policy transporttest.Policy
	paths  []string
}

func allow(n int64, window time.Duration, paths ...string) whomLimit {
	return whomLimit{transporttest.Policy{Name: "x", Quota: n, Window: window, Algorithm: transporttest.FixedWindow}, paths}
}

func (l *whomLimit) concerns(path string) bool {
	for _, p := range l.paths {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return len(l.paths) == 0
}

// A whomLoad is workers that send requests of one kind, one after another.
type whomLoad struct {
	path    string // with the method; %s stands for a word that is another each time
	workers int
	every   time.Duration // from an answer to the next request of a worker
	from    time.Duration // when they begin
}

// whomTime is how long a case is played.
const whomTime = 5 * time.Minute

// A whomCount is what was served and refused of each load.
type whomCount struct{ served, refused []int }

// A whomPlay is one run of a case.
type whomPlay struct {
	*whomCase
	apis   []*transporttest.API // of the limits
	base   http.RoundTripper
	shaped bool

	mu    sync.Mutex // guards following
	rnd   *rand.Rand
	count whomCount
}

func (p *whomPlay) draw() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rnd.Float64()
}

func (p *whomPlay) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for i := range p.limits {
		if !p.limits[i].concerns(r.Method + " " + r.URL.Path) {
			continue
		}
		if d := p.apis[i].Decide(time.Now(), r); !d.Served {
			if !p.bare {
				w.Header().Set("Retry-After", d.Header.Get("Retry-After"))
			}
			w.WriteHeader(d.Status)
			return
		}
	}
}

// play sends the loads through a Shaper, or by a retry loop.
func (c *whomCase) play(t *testing.T, shaped bool) whomCount {
	p := &whomPlay{whomCase: c, shaped: shaped, rnd: rand.New(rand.NewPCG(1, 2))}
	p.count = whomCount{make([]int, len(c.load)), make([]int, len(c.load))}
	for _, l := range c.limits {
		p.apis = append(p.apis, &transporttest.API{Policies: []transporttest.Policy{l.policy}, OmitLimits: true, OmitPolicies: true})
	}
	synctest.Test(t, func(t *testing.T) {
		p.base = &transporttest.Transport{Handler: p, Latency: func() time.Duration {
			return 45*time.Millisecond + time.Duration(10*p.draw()*float64(time.Millisecond))
		}}
		if shaped {
			p.base = &transport.Shaper{Base: p.base, Accounts: &quota.Accounts{Jitter: p.draw}, MaxDelay: 24 * time.Hour}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(whomTime, cancel)
		var wg sync.WaitGroup
		for i := range c.load {
			for range c.load[i].workers {
				wg.Go(func() { p.work(ctx, t, i) })
			}
		}
		wg.Wait()
	})
	return p.count
}

// work is what one worker of a load does.
func (p *whomPlay) work(ctx context.Context, t *testing.T, load int) {
	l := &p.load[load]
	pause := func(d time.Duration) {
		over, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		<-over.Done()
	}
	pause(l.from)
	for refused := 0; ctx.Err() == nil; {
		method, path, _ := strings.Cut(strings.Replace(l.path, "%s", p.word(), 1), " ")
		req := newRequest(ctx, method, "https://api.example"+path)
		resp, err := p.base.RoundTrip(req)
		if err != nil {
			assert.Error(t, ctx.Err(), "%v", err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		p.mu.Lock()
		wait := l.every
		if resp.StatusCode == http.StatusOK {
			p.count.served[load]++
			refused = 0
		} else {
			p.count.refused[load]++
			refused++
		}
		p.mu.Unlock()
		if !p.shaped && refused > 0 {
			s, err := strconv.Atoi(resp.Header.Get("Retry-After"))
			if wait = time.Duration(s) * time.Second; err != nil {
				wait = min(time.Second<<min(refused-1, 6), time.Minute)
				wait += time.Duration(p.draw() * float64(wait) / 4)
			}
		}
		pause(wait)
	}
}

// word returns a word of letters, as a user may have for a name.
func (p *whomPlay) word() string {
	var b []byte
	for n := int(1e6 * p.draw()); n > 0; n /= 20 {
		b = append(b, "bcdfghjklmnpqrstvwxz"[n%20], 'a')
	}
	return string(b)
}

func whomCases() []whomCase {
	const second = time.Second
	const ms50 = 50 * time.Millisecond
	a10 := allow(10, 30*second, "GET /a")
	all := allow(100, 10*second)
	ab := []whomLoad{{path: "GET /a", workers: 3}, {path: "GET /b", workers: 5, every: ms50}}
	var fifteen []whomLimit
	var twenty, ten, rare []whomLoad
	for i := range 20 {
		path := fmt.Sprintf("GET /api/%c", 'a'+i)
		if i < 15 {
			fifteen = append(fifteen, allow(10, 30*second, path))
		}
		twenty = append(twenty, whomLoad{path: path, workers: 1, every: 2 * ms50})
		if i < 10 {
			ten = append(ten, whomLoad{path: path, workers: 5})
		}
		if i < 9 {
			rare = append(rare, whomLoad{path: path, workers: 1, every: 5 * second})
		}
	}
	oneHot := append(rare, whomLoad{path: "GET /hot", workers: 20})
	return []whomCase{
		{name: "one method", limits: []whomLimit{a10}, load: ab, atLeast: 0.97, limited: 0.97, refused: 10},
		{name: "one method, bare", bare: true, limits: []whomLimit{a10}, load: ab, atLeast: 0.97, limited: 0.8, refused: 30},
		{name: "one method, 10/1s", limits: []whomLimit{allow(10, second, "GET /a")}, load: ab, atLeast: 0.97, limited: 0.97, refused: 60},
		{name: "one method, 10/1s, bare", bare: true, limits: []whomLimit{allow(10, second, "GET /a")}, load: ab, atLeast: 0.97, limited: 0.9, refused: 60},
		{name: "one method, by verb", limits: []whomLimit{allow(10, 30*second, "POST /a")}, atLeast: 0.97, limited: 0.97, refused: 10,
			load: []whomLoad{{path: "POST /a", workers: 3}, {path: "GET /a", workers: 5, every: ms50}}},
		{name: "one rare method", limits: []whomLimit{allow(1, 30*second, "GET /a")}, atLeast: 0.97, limited: 0.9, refused: 11,
			load: []whomLoad{{path: "GET /a", workers: 1, every: 5 * second}, ab[1]}},
		{name: "one rare method, bare", bare: true, limits: []whomLimit{allow(1, 30*second, "GET /a")}, atLeast: 0.97, limited: 0.7, refused: 45,
			load: []whomLoad{{path: "GET /a", workers: 1, every: 5 * second}, ab[1]}},
		{name: "another method comes later", limits: []whomLimit{a10}, atLeast: 0.97, limited: 0.55, refused: 20,
			load: []whomLoad{ab[0], {path: "GET /b", workers: 5, every: ms50, from: time.Minute}}},
		{name: "15 of 20 methods", limits: fifteen, load: twenty, atLeast: 0.9, limited: 0.95, refused: 75},
		{name: "15 of 20 methods, bare", bare: true, limits: fifteen, load: twenty, atLeast: 0.9, limited: 0.7, refused: 200},
		{name: "names in the path", limits: []whomLimit{allow(10, 30*second, "GET /users/")}, atLeast: 0.95, limited: 0.95, refused: 30,
			load: []whomLoad{{path: "GET /users/%s", workers: 3}, ab[1], {path: "GET /c", workers: 1, every: second}}},
		{name: "two methods", limits: []whomLimit{a10, allow(30, 20*second, "GET /c")}, limited: 0.97, refused: 20,
			load: []whomLoad{ab[0], {path: "GET /c", workers: 3}}},
		{name: "two methods of three", limits: []whomLimit{allow(20, time.Minute, "GET /a"), allow(50, time.Minute, "GET /c")}, atLeast: 0.97, limited: 0.97, refused: 25,
			load: []whomLoad{ab[0], ab[1], {path: "GET /c", workers: 3}}},
		{name: "all but one", limits: []whomLimit{allow(100, 10*second, "GET /api/")}, atLeast: 0.97, limited: 0.95, refused: 140,
			load: append(ten[:5:5], whomLoad{path: "GET /health", workers: 1, every: second})},
		{name: "all, and one method", limits: []whomLimit{a10, all}, limited: 0.9, refused: 130,
			load: []whomLoad{ab[0], {path: "GET /b", workers: 5}, {path: "GET /c", workers: 5}, {path: "GET /d", workers: 5}}},
		{name: "all, one kind", limits: []whomLimit{all}, load: []whomLoad{{path: "GET /a", workers: 50}}, limited: 0.97, refused: 110},
		{name: "all, ten kinds", limits: []whomLimit{all}, load: ten, limited: 0.97, refused: 120},
		{name: "all, ten kinds, bare", bare: true, limits: []whomLimit{all}, load: ten, limited: 0.85, refused: 150},
		{name: "all, 10/1s, ten kinds", limits: []whomLimit{allow(10, second)}, load: ten, limited: 0.95, refused: 140},
		{name: "all, 10/1s, ten kinds, bare", bare: true, limits: []whomLimit{allow(10, second)}, load: ten, limited: 0.8, refused: 150},
		{name: "all, one kind hot", limits: []whomLimit{all}, load: oneHot, limited: 0.9, refused: 100},
	}
}

// Methods that a limit does not concern are as quick as with a retry loop, whatever
// their paths, and those that it concerns nearly, for a few refusals.
func TestWhom(t *testing.T) {
	for _, c := range raced.Rows(whomCases()) {
		t.Run(c.name, func(t *testing.T) {
			loop, ours := c.play(t, false), c.play(t, true)
			served, of, refused, by := 0, 0, 0, 0
			for i, l := range c.load {
				refused, by = refused+ours.refused[i], by+loop.refused[i]
				limited := false
				for k := range c.limits {
					limited = limited || c.limits[k].concerns(l.path)
				}
				if limited {
					served, of = served+ours.served[i], of+loop.served[i]
					continue
				}
				share := float64(ours.served[i]) / float64(loop.served[i])
				assert.GreaterOrEqual(t, share, c.atLeast, l.path)
				assert.Zero(t, ours.refused[i])
			}
			require.NotZero(t, of)
			assert.GreaterOrEqual(t, float64(served)/float64(of), c.limited, "%d of %d", served, of)
			assert.LessOrEqual(t, refused, c.refused)
			t.Logf("limited %.3f, refused %d (retry loop %d)", float64(served)/float64(of), refused, by)
		})
	}
}
