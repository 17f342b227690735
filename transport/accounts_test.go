package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// Two Shapers with the same Accounts share what is known and count each other's
// requests in flight.
func TestSharedAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := new(quota.Accounts)
		srv := newServer(limit(`"api";a=4;w=60`), slow(time.Second, says(200)))
		a := &transport.Shaper{Base: srv, Accounts: accounts}
		b := &transport.Shaper{Base: srv, Accounts: accounts, MaxDelay: transport.NoDelay}
		withKey := func(ctx context.Context) context.Context { return partition.WithClientID(ctx, "app") }
		pass(t, a, getItems(withKey(t.Context())))
		go burst(t, a, 3, func(int) *http.Request { return getItems(withKey(context.Background())) })
		synctest.Wait()
		pass(t, b, getItems(withKey(t.Context())))
		refusal(t, b, getItems(withKey(t.Context())))
		pass(t, b, getItems(t.Context())) // another scope
	})
}

// Shapers with Accounts of their own know nothing of each other.
func TestOwnAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=60`))
		a, b := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}, &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, a, getItems(t.Context()))
		refusal(t, a, getItems(t.Context()))
		pass(t, b, getItems(t.Context()))
	})
}

// Shapers that share accounts and limiters wait for each other and never deadlock,
// in whichever order their requests come.
func TestSharedAccountsDoNotLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := new(quota.Accounts)
		c1 := quota.Concurrency(3)
		c2 := quota.Concurrency(2)
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 10, Window: 5 * time.Second}}}
		base := &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 10 * time.Millisecond }}
		var shapers []*transport.Shaper
		for i := range 4 {
			s := &transport.Shaper{Base: base, Accounts: accounts, MaxDelay: time.Hour}
			s.Limits = func(*http.Request) quota.Limiter { return []quota.Limiter{c1, c2}[i%2] }
			shapers = append(shapers, s)
		}
		done := make(chan struct{})
		for i := range 100 {
			go func() {
				pass(t, shapers[i%4], newRequest(context.Background(), "GET", fmt.Sprintf("http://api.example/%d", i)))
				done <- struct{}{}
			}()
		}
		for range 100 {
			<-done
		}
		assert.Equal(t, transporttest.Counts{Served: 100}, api.Counts())
		assert.EqualValues(t, 3, c1.Stats().Available)
		assert.EqualValues(t, 2, c2.Stats().Available)
	})
}

// The number of partitions is bounded: a server that makes up a key for each
// response does not evict the account of another user, and nothing grows without
// bound.
func TestManyPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newChooser(func(n int, req *http.Request) answer {
			if partition.UserID(req.Context()) == "victim" {
				return limit(`"api";a=0;w=600`)
			}
			return limit(fmt.Sprintf(`"api-%d";a=0;w=600;pk=:%08d:`, n%100, n))
		})
		s := &transport.Shaper{Base: srv, Accounts: &quota.Accounts{MaxAccounts: 100}, MaxDelay: transport.NoDelay,
			Like: func(req *http.Request) string { return req.URL.Path }}
		victim := partition.WithUserID(t.Context(), "victim")
		pass(t, s, getItems(victim))
		for i := range 3000 {
			resp, err := s.RoundTrip(newRequest(t.Context(), "GET", fmt.Sprintf("http://api.example/kind-%d", i)))
			require.NoError(t, err)
			drop(resp)
		}
		assert.Len(t, s.Accounts.Origin("http://api.example").Policies(), 32)
	})
}
