package transporttest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestConcurrency(t *testing.T) {
	api := &API{Policies: []Policy{{Name: "c", Quota: 2, Window: time.Minute, Algorithm: Concurrency}}}
	first, second := api.Decide(epoch, by("", "GET")), api.Decide(epoch, by("", "GET"))
	assert.Equal(t, [3]string{`"c";a=1`, `"c";q=2;qu="concurrent-requests"`, "-"}, fields(first.Header))
	assert.True(t, second.Served)

	third := api.Decide(epoch.Add(time.Hour), by("", "GET"))
	assert.False(t, third.Served)
	assert.Equal(t, `"c";a=0`, fields(third.Header)[0])
	assert.Empty(t, third.Header.Values("Retry-After"))
	third.Done() // was refused, so it retains nothing
	refused := api.Decide(epoch, by("", "GET"))
	assert.False(t, refused.Served)

	first.Done()
	first.Done() // has no effect
	fourth, fifth := api.Decide(epoch, by("", "GET")), api.Decide(epoch, by("", "GET"))
	assert.True(t, fourth.Served)
	assert.False(t, fifth.Served)
}

// A request retains its cost under each policy that limits concurrency.
func TestConcurrencyOfCosts(t *testing.T) {
	api := &API{
		Policies: []Policy{
			{Name: "user", Quota: 5, Algorithm: Concurrency, PartitionBy: []string{"user_id"}},
			{Name: "rate", Quota: 9, Window: time.Minute},
			{Name: "all", Quota: 7, Algorithm: Concurrency, Block: time.Second},
		},
		Cost: func(*http.Request) int64 { return 3 },
	}
	alice := api.Decide(epoch, by("alice", "GET"))
	bob := api.Decide(epoch, by("bob", "GET"))
	assert.Equal(t, `"user";a=2;pk=:Ym9i:;c=3, "rate";a=3;w=60;c=3, "all";a=1;c=3`, fields(bob.Header)[0])
	eve := api.Decide(epoch, by("eve", "GET"))
	assert.Equal(t, []string{"all"}, eve.Violated)
	bob.Done()
	alice.Done()
	last := api.Decide(epoch.Add(time.Second), by("bob", "GET"))
	assert.Equal(t, `"user";a=2;pk=:Ym9i:;c=3, "rate";a=0;w=59;c=3, "all";a=4;c=3`, fields(last.Header)[0])
}

// A request is in progress until the Handler returns.
func TestServeHTTPIsDone(t *testing.T) {
	api := &API{Policies: []Policy{{Name: "c", Quota: 1, Algorithm: Concurrency}}}
	status := func() int {
		rec := httptest.NewRecorder()
		api.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		return rec.Code
	}
	within := 0
	api.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if within == 0 {
			within = -1
			within = status()
		}
	})
	assert.Equal(t, 200, status())
	assert.Equal(t, 429, within)
	assert.Equal(t, 200, status())
}
