package transport_test

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
)

// pks are the keys of users, as a response writes them.
var pks = map[string]string{"alice": ":YWxpY2U=:", "bob": ":Ym9i:"}

// A response may describe several partitions of a policy (editor's draft, Section 3.1):
// the item of the predicted key is the request's own, whatever its place, and the
// others neither hold nor free the request or anybody else.
func TestOwnItemOfSeveral(t *testing.T) {
	alice, bob := `"api";a=2;w=60;pk=`+pks["alice"], `"api";a=0;w=60;c=9;pk=`+pks["bob"]
	policies := `"api";q=5;w=60;pk=` + pks["bob"] + `, "api";q=5;w=60;pk=` + pks["alice"]
	for name, fields := range map[string][]string{
		"first":    {"RateLimit", alice + ", " + bob},
		"last":     {"RateLimit", bob + ", " + alice},
		"policies": {"RateLimit", `"api";a=2;w=60`, "RateLimit-Policy", policies},
		"both":     {"RateLimit", bob + ", " + alice, "RateLimit-Policy", policies},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(says(200, append(fields, "RateLimit-Partition", `"api";user_id`)...), says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Trace: &transport.Trace{
				Mispredicted: func(i transport.MispredictedInfo) { assert.Fail(t, "mispredicted", "%+v", i) },
			}}
			for range 1 + 2 {
				pass(t, s, asUser(t.Context(), "alice", "GET", items))
			}
			assert.Equal(t, partition.Key("alice"), refusal(t, s, asUser(t.Context(), "alice", "GET", items)).Partition)
			pass(t, s, asUser(t.Context(), "bob", "GET", items))
			pass(t, s, asUser(t.Context(), "bob", "GET", items))
		})
	}
}

// Where the key is not predicted, one of several keys is the one seen last, if it is
// there.
func TestLastKeyOfSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=9;w=60;pk=:QQ==:`), limit(`"api";a=9;w=60;pk=:Qg==:, "api";a=0;w=60;pk=:QQ==:`), says(200))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(t.Context()))
		assert.Equal(t, partition.Key("A"), refusal(t, s, getItems(t.Context())).Partition)
	})
}

// A declaration says who shares also if the server never sends pk (editor's draft,
// Sections 4.1 and 4.2).
func TestDeclarationWithoutKey(t *testing.T) {
	for name, fields := range map[string][]string{
		"limit":  {"RateLimit", `"api";a=0;w=60`},
		"policy": {"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", `"api";q=9;w=60`},
		"count":  {"RateLimit-Policy", `"api";q=1;w=60`},
	} {
		bubble(t, name+" by method", func(t *testing.T) {
			srv := newServer(says(200, append(fields, "RateLimit-Partition", `"api";method`)...), says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			pass(t, s, newRequest(t.Context(), "POST", items))
			assert.Equal(t, partition.Key("GET"), refusal(t, s, getItems(t.Context())).Partition)
		})
		bubble(t, name+" by client", func(t *testing.T) {
			srv := newServer(says(200, append(fields, "RateLimit-Partition", `"api";client_id`)...), says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			request := func(user, client string) *http.Request {
				return asUser(partition.WithClientID(t.Context(), client), user, "GET", items)
			}
			pass(t, s, request("alice", "app"))
			refusal(t, s, request("bob", "app"))
			pass(t, s, request("alice", "other"))
		})
	}
	bubble(t, "a request that has no value", func(t *testing.T) {
		// It must not be predicted (Section 4.1), and belongs to its scope, whatever
		// responses to other requests say.
		left := `"api";a=0;w=60`
		srv := newChooser(func(int, *http.Request) answer {
			return says(200, "RateLimit", left, "RateLimit-Partition", `"api";user_id`)
		})
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		refusal(t, s, getItems(t.Context()))
		pass(t, s, asUser(t.Context(), "alice", "GET", items))
		refusal(t, s, asUser(t.Context(), "alice", "GET", items))
		refusal(t, s, getItems(t.Context()))
	})
}

// Where keys are predicted, what a response to one user says of another neither holds
// nor frees that other: only a user's own requests show which partition is theirs.
// It does hold the requests that were answered.
func TestOthersAreNotTouched(t *testing.T) {
	pkOfBob := `;w=60;pk=` + pks["bob"]
	declared := []string{"RateLimit-Partition", `"api";user_id`}
	for name, fields := range map[string][]string{
		"nothing left": {"RateLimit", `"api";a=0` + pkOfBob},
		"policy":       {"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", `"api";q=5` + pkOfBob},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200, append(fields, declared...)...), says(200)), MaxDelay: transport.NoDelay}
			pass(t, s, asUser(t.Context(), "alice", "GET", items))
			pass(t, s, asUser(t.Context(), "bob", "GET", items))
			err := refusal(t, s, asUser(t.Context(), "alice", "GET", items))
			assert.Equal(t, partition.Key("bob"), err.Partition)
			assert.Equal(t, partition.Key("bob"), s.Check(asUser(t.Context(), "alice", "GET", items)).Partition)
		})
	}
	bubble(t, "refused", func(t *testing.T) {
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(
			says(429, append(declared, "RateLimit", `"api";a=0`+pkOfBob, "Retry-After", "30")...), says(200))}
		pass(t, s, asUser(t.Context(), "alice", "GET", items))
		pass(t, s, asUser(t.Context(), "bob", "GET", items))
		assert.Equal(t, 30*time.Second, refusal(t, s, asUser(t.Context(), "alice", "GET", items)).RetryAfter.Truncate(time.Second))
	})
	bubble(t, "freed", func(t *testing.T) {
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(
			says(200, append(declared, "RateLimit", `"api";a=0`+pkOfBob)...),
			says(200, append(declared, "RateLimit", `"api";a=50`+pkOfBob)...), says(200))}
		pass(t, s, asUser(t.Context(), "bob", "GET", items))
		pass(t, s, asUser(t.Context(), "alice", "GET", items))
		refusal(t, s, asUser(t.Context(), "bob", "GET", items))
	})
}

// A policy with the empty name is a policy like others (RFC 9651, Section 3.3.3, allows
// an empty String). It is not the one without a name of drafts -07 and -06.
func TestEmptyName(t *testing.T) {
	bubble(t, "is left out", func(t *testing.T) {
		both := forms["both"]
		answers := map[string]answer{"one": both(`"";a=0;w=60`), "two": both(`"api";a=9;w=60`)}
		s := &transport.Shaper{Base: byPath(answers), MaxDelay: transport.NoDelay}
		pass(t, s, getPath(t, "one"))
		refusal(t, s, getPath(t, "one"))
		pass(t, s, newRequest(transport.WithBypass(t.Context()), "GET", site+"two"))
		pass(t, s, getPath(t, "two"))
	})
	bubble(t, "is declared", func(t *testing.T) {
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(
			says(200, "RateLimit", `"";a=0;w=60`, "RateLimit-Partition", `"";method`), says(200))}
		pass(t, s, getItems(t.Context()))
		pass(t, s, newRequest(t.Context(), "POST", items))
		refusal(t, s, getItems(t.Context()))
	})
	bubble(t, "is not concerned by another dialect", func(t *testing.T) {
		unnamed := says(200, "RateLimit", "limit=9, remaining=9, reset=60")
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newServer(limit(`"";a=0;w=60`), unnamed, says(200))}
		pass(t, s, getItems(t.Context()))
		pass(t, s, getItems(transport.WithBypass(t.Context())))
		refusal(t, s, getItems(t.Context()))
	})
}

// Drafts -07 and -06 name no policies. One quota with its window is one policy, and
// another quota with another window is another; a response may show either.
func TestUnnamedPoliciesThatAlternate(t *testing.T) {
	dictionary := func(limit, remaining, reset, policy string) answer {
		return says(200, "RateLimit", "limit="+limit+", remaining="+remaining+", reset="+reset, "RateLimit-Policy", policy)
	}
	fields := func(limit, remaining, reset, policy string) answer {
		return says(200, "RateLimit-Limit", limit, "RateLimit-Remaining", remaining, "RateLimit-Reset", reset, "RateLimit-Policy", policy)
	}
	for name, form := range map[string]func(limit, remaining, reset, policy string) answer{"-07": dictionary, "-06": fields} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(form("15", "9", "10", "15;w=10"), form("5", "4", "2", "5;w=2"),
				form("15", "0", "10", "15;w=10"), form("5", "3", "2", "5;w=2"), says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			for range 4 {
				pass(t, s, getItems(transport.WithBypass(t.Context())))
			}
			assert.Equal(t, 10*time.Second, refusal(t, s, getItems(t.Context())).RetryAfter.Truncate(time.Second))
		})
		bubble(t, name+" that changes", func(t *testing.T) {
			// The quota is lowered: there is one account.
			srv := newServer(form("100", "0", "60", "100;w=60"), form("10", "9", "60", "10;w=60"), says(200))
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			time.Sleep(61 * time.Second)
			for range 1 + 9 {
				pass(t, s, getItems(t.Context()))
			}
			refusal(t, s, getItems(t.Context()))
		})
	}
}

// Requests that wait are routed again when what they wait for changes hands: they go,
// or wait, where a newcomer would, and before it.
func TestRoutedAgainInLine(t *testing.T) {
	const held = `"api";a=0;w=100`
	for name, tt := range map[string]struct {
		first answer
		then  answer // to a request that is not held
		want  time.Duration
	}{
		"a policy becomes keyed": {limit(held), limit(`"api";a=0;w=4;pk=:QQ==:`), 4 * time.Second},
		"a declaration comes": {limit(held),
			says(200, "RateLimit", `"api";a=9;w=100`, "RateLimit-Partition", `"api";method=POST`), 2 * time.Second},
		"another declaration comes": {says(200, "RateLimit", held, "RateLimit-Partition", `"api";method`),
			says(200, "RateLimit-Partition", `"api";method=POST`), 2 * time.Second},
		"a declaration fails": {says(200, "RateLimit", held, "RateLimit-Partition", `"api";method`),
			limit(`"api";a=0;w=4;pk=:QQ==:`), 4 * time.Second},
		"the last key changes": {limit(held + ";pk=:QQ==:"), limit(`"api";a=0;w=4;pk=:Qg==:`), 4 * time.Second},
		"a policy is left out": {limit(held),
			says(200, "RateLimit", `"x";a=9;w=100`, "RateLimit-Policy", `"x";q=10;w=100`), 2 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(tt.first, slow(2*time.Second, tt.then), slow(time.Millisecond, says(200))) // in order, not at one instant
			s := &transport.Shaper{Base: srv}
			pass(t, s, getItems(t.Context()))
			go func() { pass(t, s, getItems(transport.WithBypass(t.Context()))) }()
			synctest.Wait()
			var mu sync.Mutex
			var order []int
			var wg sync.WaitGroup
			send := func(i int) {
				wg.Go(func() {
					pass(t, s, getItems(context.Background()))
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
				})
				synctest.Wait()
			}
			for i := range 5 {
				send(i)
			}
			time.Sleep(3 * time.Second)
			send(5)
			send(6)
			wg.Wait()
			departures := srv.departures()
			assert.Equal(t, tt.want, departures[2].Truncate(time.Second), "%v", departures)
			assert.Less(t, slices.Index(order, 0), slices.Index(order, 5))
			assert.Less(t, departures[len(departures)-1], 20*time.Second, "%v", departures)
		})
	}
}
