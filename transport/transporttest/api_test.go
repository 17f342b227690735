package transporttest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// by returns a request by a user.
func by(user, method string) *http.Request {
	return &http.Request{Method: method, Header: http.Header{"X-User": {user}}}
}

func TestDecide(t *testing.T) {
	const sec = time.Second
	alice, bob, post := by("alice", "GET"), by("bob", "GET"), by("alice", "POST")
	type event struct {
		at       time.Duration
		request  *http.Request
		violated []string
		limits   string
	}
	for _, tt := range []struct {
		name     string
		policies []Policy
		events   []event
	}{
		{
			"partitioned by user and method",
			[]Policy{{Name: "p", Quota: 1, Window: 10 * sec, PartitionBy: []string{"user_id", "method"}}},
			[]event{
				{0, alice, nil, `"p";a=0;w=10;pk=:R0VUH2FsaWNl:`},
				{4 * sec, bob, nil, `"p";a=0;w=10;pk=:R0VUH2JvYg==:`},
				{4 * sec, alice, []string{"p"}, `"p";a=0;w=6;pk=:R0VUH2FsaWNl:`},
				{5 * sec, post, nil, `"p";a=0;w=10;pk=:UE9TVB9hbGljZQ==:`},
				{10 * sec, alice, nil, `"p";a=0;w=10;pk=:R0VUH2FsaWNl:`},
				{10 * sec, bob, []string{"p"}, `"p";a=0;w=4;pk=:R0VUH2JvYg==:`},
			},
		},
		{
			"all or none",
			[]Policy{
				{Name: "all", Quota: 3, Window: 10 * sec},
				{Name: "each", Quota: 1, Window: 5 * sec, PartitionBy: []string{"user_id"}},
			},
			[]event{
				{0, alice, nil, `"all";a=2;w=10, "each";a=0;w=5;pk=:YWxpY2U=:`},
				{1 * sec, alice, []string{"each"}, `"all";a=2;w=9, "each";a=0;w=4;pk=:YWxpY2U=:`},
				{2 * sec, bob, nil, `"all";a=1;w=8, "each";a=0;w=5;pk=:Ym9i:`},
				{5 * sec, alice, nil, `"all";a=0;w=5, "each";a=0;w=5;pk=:YWxpY2U=:`},
				{6 * sec, bob, []string{"all", "each"}, `"all";a=0;w=4, "each";a=0;w=1;pk=:Ym9i:`},
				// The window of "each" has ended, so "each" is not violated.
				{8 * sec, bob, []string{"all"}, `"all";a=0;w=2, "each";a=1;w=5;pk=:Ym9i:`},
				{10 * sec, bob, nil, `"all";a=2;w=10, "each";a=0;w=5;pk=:Ym9i:`},
			},
		},
		{
			"a refused request opens no window",
			[]Policy{
				{Name: "short", Quota: 5, Window: 3 * sec},
				{Name: "long", Quota: 1, Window: 10 * sec},
			},
			[]event{
				{0, alice, nil, `"short";a=4;w=3, "long";a=0;w=10`},
				{4 * sec, alice, []string{"long"}, `"short";a=5;w=3, "long";a=0;w=6`},
				{5 * sec, alice, []string{"long"}, `"short";a=5;w=3, "long";a=0;w=5`},
				{10 * sec, alice, nil, `"short";a=4;w=3, "long";a=0;w=10`},
			},
		},
		{
			"policy for one method",
			[]Policy{
				{Name: "writes", Quota: 1, Window: 10 * sec, PartitionBy: []string{"method=POST"}},
				{Name: "all", Quota: 9},
			},
			[]event{
				{0, alice, nil, `"all";a=8`},
				{0, post, nil, `"writes";a=0;w=10;pk=:UE9TVA==:, "all";a=7`},
				{0, post, []string{"writes"}, `"writes";a=0;w=10;pk=:UE9TVA==:, "all";a=7`},
				{0, alice, nil, `"all";a=6`},
			},
		},
		{
			"time does not run backwards",
			[]Policy{
				{Name: "f", Quota: 3, Window: 10 * sec},
				{Name: "a", Quota: 3, Window: 10 * sec, Algorithm: AlignedWindow},
				{Name: "b", Quota: 3, Window: 30 * sec, Algorithm: TokenBucket},
			},
			[]event{
				{12 * sec, alice, nil, `"f";a=2;w=10, "a";a=2;w=8, "b";a=2;w=10`},
				{15 * sec, alice, nil, `"f";a=1;w=7, "a";a=1;w=5, "b";a=1;w=7`},
				{9 * sec, alice, nil, `"f";a=0;w=7, "a";a=0;w=5, "b";a=0;w=7`},
				{-time.Hour, alice, []string{"f", "a", "b"}, `"f";a=0;w=7, "a";a=0;w=5, "b";a=0;w=7`},
				{16 * sec, alice, []string{"f", "a", "b"}, `"f";a=0;w=6, "a";a=0;w=4, "b";a=0;w=6`},
				{22 * sec, alice, nil, `"f";a=2;w=10, "a";a=2;w=8, "b";a=0;w=10`},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := &API{Policies: tt.policies}
			var want Counts
			for i, e := range tt.events {
				d := api.Decide(epoch.Add(e.at), e.request)
				assert.Equal(t, e.violated == nil, d.Served, "event %d", i)
				assert.Equal(t, e.violated, d.Violated, "event %d", i)
				assert.Equal(t, e.limits, d.Header.Get("RateLimit"), "event %d", i)
				if e.violated == nil {
					want.Served++
				} else {
					want.Refused++
				}
				assert.Equal(t, want, api.Counts(), "event %d", i)
			}
		})
	}
}

func TestZeroAPI(t *testing.T) {
	var api API
	d := api.Decide(epoch, &http.Request{})
	assert.Equal(t, Decision{
		Served: true,
		Status: 200,
		Header: http.Header{"Date": {"Thu, 01 Jan 1970 00:00:00 GMT"}, "Content-Type": {"text/plain; charset=utf-8"}},
		Body:   []byte("served\n"),
	}, d)
	assert.Equal(t, Counts{Served: 1}, api.Counts())
}

// The Date field is the time of the API's clock, in GMT.
func TestDate(t *testing.T) {
	var api API
	now := time.Date(2026, 4, 20, 1, 2, 3, 999_999_999, time.FixedZone("", 2*3600))
	assert.Equal(t, "Sun, 19 Apr 2026 23:02:03 GMT", api.Decide(now, &http.Request{}).Header.Get("Date"))
	now = now.Add(-time.Hour)
	assert.Equal(t, "Sun, 19 Apr 2026 23:02:03 GMT", api.Decide(now, &http.Request{}).Header.Get("Date"))
}

func TestHandler(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Del("RateLimit-Policy")
		http.Redirect(w, r, "/elsewhere", http.StatusSeeOther)
	})
	api := &API{Policies: []Policy{{Name: "p", Quota: 1, Window: time.Hour}}, Handler: handler}

	d := (&API{Handler: handler}).Decide(epoch, &http.Request{})
	assert.Nil(t, d.Body)
	assert.Equal(t, 200, d.Status)

	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	assert.Equal(t, 303, w.Code)
	assert.Equal(t, [3]string{`"p";a=0;w=3600`, "-", "-"}, fields(w.Header()))

	w = httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	assert.Equal(t, 429, w.Code)
	assert.Equal(t, "quota exceeded\n", w.Body.String())
}

func TestCountsOfUsers(t *testing.T) {
	api := &API{Policies: []Policy{{Name: "p", Quota: 2, PartitionBy: []string{"user_id"}}}}
	for range 5 {
		api.Decide(epoch, by("alice", "GET"))
	}
	api.Decide(epoch, by("bob", "GET"))
	assert.Equal(t, Counts{Served: 2, Refused: 3}, api.Counts("alice"))
	assert.Equal(t, Counts{Served: 1}, api.Counts("bob"))
	assert.Zero(t, api.Counts("eve"))
	assert.Equal(t, Counts{Served: 3, Refused: 3}, api.Counts("eve", "bob", "alice"))
	assert.Equal(t, Counts{Served: 3, Refused: 3}, api.Counts())
}

// User and Cost are called once per request, without the lock.
func TestUserAndCostMayCallAPI(t *testing.T) {
	var calls int
	api := &API{Policies: []Policy{{Name: "p", Quota: 3, PartitionBy: []string{"user_id"}}, {Name: "q", Quota: 3}}}
	api.User = func(*http.Request) string { calls++; return fmt.Sprint(api.Counts().Served) }
	api.Cost = func(*http.Request) int64 { calls++; return 1 + api.Counts().Served }
	assert.Equal(t, `"p";a=2;pk=:MA==:;c=1, "q";a=2;c=1`, api.Decide(epoch, &http.Request{}).Header.Get("RateLimit"))
	assert.Equal(t, `"p";a=1;pk=:MQ==:;c=2, "q";a=0;c=2`, api.Decide(epoch, &http.Request{}).Header.Get("RateLimit"))
	assert.Equal(t, 4, calls)
}

func TestConcurrentUse(t *testing.T) {
	const workers, each, users, quota = 16, 200, 4, 300
	api := &API{Policies: []Policy{
		{Name: "user", Quota: quota, Window: time.Hour, PartitionBy: []string{"user_id"}},
		{Name: "all", Quota: users*quota - 1, Window: time.Hour, Algorithm: TokenBucket},
	}}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for range each {
				api.Decide(epoch, by(fmt.Sprint(i%users), "GET"))
				api.Counts()
			}
		})
	}
	wg.Wait()

	assert.Equal(t, Counts{Served: users*quota - 1, Refused: workers*each - (users*quota - 1)}, api.Counts())
	var sum Counts
	for i := range users {
		of := api.Counts(fmt.Sprint(i))
		assert.LessOrEqual(t, of.Served, int64(quota))
		sum.Served += of.Served
		sum.Refused += of.Refused
	}
	assert.Equal(t, api.Counts(), sum)
}

// For random requests, no partition serves more than its quota, and a refusal names
// exactly the policies that have less than the request costs.
func TestQuotaHolds(t *testing.T) {
	randomly(t, func(t *testing.T, rnd *rand.Rand) {
		api := &API{Cost: func(r *http.Request) int64 { return r.ContentLength }}
		for i := range 3 {
			p := randomPolicy(rnd, windowed...)
			p.Name = fmt.Sprint(i)
			p.CountRefused, p.BlockLonger = rnd.IntN(2) == 0, rnd.IntN(2) == 0
			if rnd.IntN(2) == 0 {
				p.Block = time.Duration(rnd.Int64N(int64(2 * time.Second)))
			}
			p.PartitionBy = [][]string{nil, {"user_id"}, {"method", "user_id"}, {"method=GET"}}[rnd.IntN(4)]
			api.Policies = append(api.Policies, p)
		}
		var granted [3]map[string][]grant // by policy and partition
		now := epoch.Add(time.Duration(rnd.Int64N(int64(time.Hour))))
		for range 500 {
			now = now.Add(time.Duration(rnd.Int64N(int64(time.Second))))
			user, method := []string{"alice", "bob"}[rnd.IntN(2)], []string{"GET", "POST"}[rnd.IntN(2)]
			req := by(user, method)
			req.ContentLength = 1 + rnd.Int64N(3)
			d := api.Decide(now, req)
			require.Equal(t, d.Served, d.Violated == nil)
			if !d.Served {
				require.Equal(t, lacking(t, d.Header, req.ContentLength), d.Violated)
				continue
			}
			for i, p := range api.Policies {
				if granted[i] == nil {
					granted[i] = make(map[string][]grant)
				}
				if part, ok := newRule(p).partition(req, user); ok {
					granted[i][part.key] = append(granted[i][part.key], grant{now, req.ContentLength})
				}
			}
		}
		for i, p := range api.Policies {
			for _, g := range granted[i] {
				checkPolicy(t, p, g)
			}
		}
	})
}

// lacking returns the policies that advertise less than n.
func lacking(t *testing.T, h http.Header, n int64) []string {
	t.Helper()
	list, err := httpsfv.UnmarshalList(h.Values("RateLimit"))
	require.NoError(t, err)
	var names []string
	for _, member := range list {
		item := member.(httpsfv.Item)
		if a, _ := item.Params.Get("a"); a.(int64) < n {
			names = append(names, item.Value.(string))
		}
	}
	return names
}

// The fields arrive unchanged over a network.
func TestServer(t *testing.T) {
	api := &API{
		Policies: []Policy{{Name: "api", Quota: 2, PartitionBy: []string{"user_id", "method"}}},
		Problem:  true,
	}
	server := httptest.NewServer(api)
	defer server.Close()

	get := func() (*http.Response, string) {
		req, err := http.NewRequest(http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		req.SetBasicAuth("alice", "secret")
		resp, err := server.Client().Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp, string(body)
	}
	for left := range 2 {
		resp, body := get()
		assert.Equal(t, 200, resp.StatusCode)
		assert.Equal(t, "served\n", body)
		assert.Equal(t, [3]string{
			fmt.Sprintf(`"api";a=%d;pk=:R0VUH2FsaWNl:`, 1-left), `"api";q=2`, `"api";user_id;method`,
		}, fields(resp.Header))
		assert.Len(t, resp.Header.Values("Date"), 1)
	}
	resp, body := get()
	assert.Equal(t, 429, resp.StatusCode)
	assert.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	assert.Contains(t, body, `"violated-policies":["api"]`)
	assert.Empty(t, resp.Header.Values("Retry-After"))
	assert.Equal(t, Counts{Served: 2, Refused: 1}, api.Counts("alice"))
}

func BenchmarkDecide(b *testing.B) {
	api := &API{Policies: []Policy{{
		Name: "api", Quota: 1 << 40, Window: time.Minute, PartitionBy: []string{"user_id", "method"},
	}}}
	req := by("alice", "GET")
	b.ReportAllocs()
	for b.Loop() {
		api.Decide(epoch, req)
	}
}
