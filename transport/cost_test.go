package transport_test

import (
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A request is charged what requests of its kind did cost (c; the draft, Section
// 3.1.4): one of 25 units does not go while 10 are left.
func TestLearnedCost(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []answer
		cost    int64 // of the next request of the kind
	}{
		{"as said", []answer{limit(`"api";a=50;w=60;c=25`)}, 25},
		{"not said", []answer{limit(`"api";a=50;w=60`)}, 1},
		{"at least 1", []answer{limit(`"api";a=50;w=60;c=0`)}, 1},
		{"rises at once", []answer{limit(`"api";a=50;w=60;c=1`), limit(`"api";a=50;w=60;c=25`)}, 25},
		{"falls by a quarter", []answer{limit(`"api";a=50;w=60;c=25`), limit(`"api";a=50;w=60;c=5`)}, 20},
		{"falls to what it is", append(repeat(30, limit(`"api";a=50;w=60;c=1`)), limit(`"api";a=50;w=60;c=1`)), 1},
		{"stays", []answer{limit(`"api";a=50;w=60;c=25`), limit(`"api";a=50;w=60`), says(200)}, 25},
		{"at most the largest figure", []answer{limit(`"api";a=40;w=60;c=25`), limit(`"api";a=30;w=60;c=1000000`)}, 40},
		{"at most the quota", []answer{says(200, "RateLimit", `"api";a=40;w=60;c=999`, "RateLimit-Policy", `"api";q=45;w=60`)}, 45},
		{"or what was there at first", []answer{limit(`"api";a=10;w=60;c=25`)}, 25},
		{"and no more", []answer{limit(`"api";a=10;w=60;c=25`), limit(`"api";a=10;w=60;c=99`)}, 25},
		{"at least 1 of nothing", []answer{limit(`"api";a=0;w=60;c=0`), limit(`"api";a=0;w=60;c=5`)}, 1},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			left := int64(-1)
			srv := newChooser(func(n int, req *http.Request) answer {
				if left >= 0 {
					return limit(`"api";a=` + strconv.FormatInt(left, 10) + `;w=60`)
				}
				return tt.answers[n]
			})
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			bypass := transport.WithBypass(t.Context())
			for range tt.answers {
				pass(t, s, getItems(bypass))
			}
			left = tt.cost - 1
			pass(t, s, getItems(bypass))
			refusal(t, s, getItems(t.Context()))
			time.Sleep(time.Hour)
			left = tt.cost
			pass(t, s, getItems(bypass))
			pass(t, s, getItems(t.Context()))
		})
	}
}

func repeat(n int, a answer) []answer {
	as := make([]answer, n)
	for i := range as {
		as[i] = a
	}
	return as
}

// A cost is learned for each kind of requests and each policy.
func TestCostsOfKindsAndPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := map[string]answer{
			"chat":   limit(`"requests";a=100;w=60;c=1, "tokens";a=1000;w=60;c=400`),
			"models": limit(`"requests";a=100;w=60;c=2, "tokens";a=1000;w=60;c=3`),
		}
		// With figures that fall this far, Adaptive would assume other users.
		s := &transport.Shaper{Base: byPath(answers), MaxDelay: transport.NoDelay, Accounts: &quota.Accounts{Strategy: quota.Plain}}
		pass(t, s, getPath(t, "chat"))
		pass(t, s, getPath(t, "models"))
		answers["chat"] = limit(`"requests";a=2;w=60;c=1, "tokens";a=399;w=60;c=400`)
		pass(t, s, getPath(t, "chat"))
		assert.Equal(t, "tokens", refusal(t, s, getPath(t, "chat")).Policy)
		answers["models"] = limit(`"requests";a=1;w=60;c=2, "tokens";a=396;w=60;c=3`)
		pass(t, s, getPath(t, "models"))
		assert.Equal(t, "requests", refusal(t, s, getPath(t, "models")).Policy)
	})
}

// Shaper.Cost applies until the server says what a request costs. Only Shaper.Cost
// can return 0.
func TestCostBeforeAnythingIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cost := int64(0)
		fields := `"api";a=9;w=60`
		srv := newChooser(func(int, *http.Request) answer { return limit(fields) })
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Cost: func(*http.Request, quota.Policy) int64 { return cost }}
		pass(t, s, getItems(t.Context()))
		cost = 10
		refusal(t, s, getItems(t.Context()))
		cost, fields = 0, `"api";a=0;w=60`
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		fields = `"api";a=0;w=60;c=0`
		pass(t, s, getItems(t.Context()))
		refusal(t, s, getItems(t.Context()))
		cost, fields = 10, `"api";a=9;w=60;c=3`
		pass(t, s, getItems(transport.WithBypass(t.Context())))
		time.Sleep(time.Minute + time.Second)
		pass(t, s, getItems(t.Context()))
		for range 2 {
			pass(t, s, getItems(t.Context()))
		}
	})
}

// The cost that a response names is charged to our own count.
func TestCostIsChargedToOwnCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(
			says(200, "RateLimit", `"api";w=60;c=25`, "RateLimit-Policy", `"api";q=100;w=60`))}
		for range 4 {
			pass(t, s, getItems(t.Context()))
		}
		refusal(t, s, newRequest(t.Context(), "POST", items)) // of another kind, which costs 1
	})
}

// After the end of a window one request goes, whatever it costs: no cost freezes an
// account.
func TestCostNeverFreezes(t *testing.T) {
	for name, fields := range map[string][]string{
		"more than is ever left": {"RateLimit", `"api";a=3;w=5;c=50`},
		"more than the quota":    {"RateLimit", `"api";a=3;w=5;c=50`, "RateLimit-Policy", `"api";q=10;w=5`},
		"no figure":              {"RateLimit", `"api";w=5;c=50`, "RateLimit-Policy", `"api";q=10;w=5`},
		"no window":              {"RateLimit", `"api";a=3;c=999999999999999`},
		"nothing left":           {"RateLimit", `"api";a=0;w=5;c=999999999999`},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(slow(rtt, says(200, fields...)))}
			for range 20 {
				assert.LessOrEqual(t, delay(t, s, getItems(t.Context())), time.Minute+rtt)
			}
		})
	}
}

// A request that costs most of a quota is not sent while less is left, whether the
// quota is advertised or not.
func TestExpensiveRequests(t *testing.T) {
	for name, omitPolicies := range map[string]bool{"all": false, "limits": true} {
		bubble(t, name, func(t *testing.T) {
			api := &transporttest.API{
				Policies:     []transporttest.Policy{{Name: "api", Quota: 30, Window: 10 * time.Second}},
				OmitPolicies: omitPolicies,
				Cost:         func(*http.Request) int64 { return 25 },
			}
			s := &transport.Shaper{MaxDelay: time.Hour, Base: &transporttest.Transport{Handler: api, Latency: func() time.Duration { return rtt }}}
			pass(t, s, getItems(t.Context()))
			burst(t, s, 20, plainRequests)
			assert.Equal(t, transporttest.Counts{Served: 21}, api.Counts())
		})
	}
}

// If a server charges 25 units, only requests that it serves are sent; requests that
// are sent together do not exceed what is left.
func TestCostAgainstServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{
			Policies: []transporttest.Policy{{Name: "api", Quota: 110, Window: 10 * time.Second}},
			Cost:     func(req *http.Request) int64 { return map[string]int64{"/big": 25, "/small": 1}[req.URL.Path] },
		}
		s := &transport.Shaper{Base: &transporttest.Transport{Handler: api, Latency: func() time.Duration { return rtt }}}
		began := time.Now()
		pass(t, s, getPath(t, "big"))
		pass(t, s, getPath(t, "small"))
		var wg sync.WaitGroup
		for range 24 {
			wg.Go(func() { pass(t, s, getPath(t, "big")) })
			synctest.Wait() // the order decides how long all take
		}
		for range 30 {
			wg.Go(func() { pass(t, s, getPath(t, "small")) })
			synctest.Wait()
		}
		wg.Wait()
		assert.Equal(t, transporttest.Counts{Served: 56}, api.Counts())
		// 25 × 25 + 31 units in windows of 110: each has room for 4 × 25 and some of 1.
		assert.Equal(t, 6*(10*time.Second+guard(rtt))+2*rtt, time.Since(began))
	})
}
