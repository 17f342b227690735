package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
)

// A new user of an origin that has told another one of its quotas sends 60 requests at once.
// Few or none are refused, in each dialect; and who has enough, or no limit, waits for one
// round trip at most.
func TestNewUser(t *testing.T) {
	const quota, window = 10, 20 * time.Second
	says10 := func(name string) func(left int) []string {
		return func(left int) []string {
			return []string{name + "-Limit", "10", name + "-Remaining", fmt.Sprint(left), name + "-Reset", "20"}
		}
	}
	for name, tt := range map[string]struct {
		fields    func(left int) []string
		unlimited bool // the new user is told nothing, and never refused
		takes     time.Duration
	}{
		"X":                {fields: says10("X-RateLimit"), takes: 5 * window},
		"-06":              {fields: says10("RateLimit"), takes: 5 * window},
		"figures only":     {fields: func(left int) []string { return []string{"RateLimit", fmt.Sprintf(`"api";a=%d;w=20`, left)} }, takes: 5 * window},
		"X, no limit":      {fields: func(left int) []string { return says10("X-RateLimit")(left)[2:] }, takes: 5 * window},
		"no limit for her": {fields: says10("X-RateLimit"), unlimited: true, takes: 2 * rtt},
		"never any":        {unlimited: true, takes: rtt},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				used, refused := map[string]int{}, 0
				var since time.Time
				srv := newChooser(func(_ int, req *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					user := bearerOf(req)
					if user == "erin" && time.Since(since) >= window {
						since, used[user] = time.Now(), 0
					}
					used[user]++
					switch {
					case tt.fields == nil || user == "erin" && tt.unlimited:
						return slow(rtt, says(200))
					case used[user] > quota:
						refused++
						return slow(rtt, says(429, "Retry-After", "20"))
					}
					return slow(rtt, says(200, tt.fields(quota-used[user])...))
				})
				s := &transport.Shaper{Base: srv}
				pass(t, s, as(context.Background(), "bob"))
				time.Sleep(time.Second)
				begin := time.Now()
				burst(t, s, 60, func(int) *http.Request { return as(context.Background(), "erin") })
				assert.LessOrEqual(t, time.Since(begin), tt.takes+time.Second)
				assert.Zero(t, refused)
			})
		})
	}
}

// She is as quick as without a Shaper if others have limits and she has none, or a higher
// one, and may not wait.
func TestNewUserWithoutThatLimit(t *testing.T) {
	tells := func(user string, quota, left int) answer {
		switch {
		case user == "bob":
			return slow(rtt, says(200, "RateLimit-Limit", "10", "RateLimit-Remaining", "9", "RateLimit-Reset", "20", "RateLimit-Policy", "10;w=20"))
		case quota == 0:
			return slow(rtt, says(200))
		}
		return slow(rtt, says(200, "RateLimit-Limit", fmt.Sprint(quota), "RateLimit-Remaining", fmt.Sprint(left), "RateLimit-Reset", "20"))
	}
	for name, tt := range map[string]struct {
		quota  int
		shaper *transport.Shaper
		takes  time.Duration
	}{
		"no limit":        {shaper: &transport.Shaper{}, takes: 2 * rtt},
		"MaxDelay":        {quota: 1000, shaper: &transport.Shaper{MaxDelay: transport.NoDelay}, takes: rtt},
		"a bounded queue": {quota: 1000, shaper: &transport.Shaper{MaxQueue: 20}, takes: rtt},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int64
				s := tt.shaper
				s.Base = newChooser(func(_ int, req *http.Request) answer {
					return tells(bearerOf(req), tt.quota, tt.quota-int(sent.Add(1)))
				})
				pass(t, s, as(context.Background(), "bob"))
				time.Sleep(time.Second)
				begin := time.Now()
				burst(t, s, 60, func(int) *http.Request { return as(context.Background(), "erin") })
				assert.Equal(t, tt.takes, time.Since(begin))
			})
		})
	}
}

// A single refusal of a user who is told nothing does not bind her to what others are told.
func TestNewUserIsRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		s := &transport.Shaper{Base: newChooser(func(_ int, req *http.Request) answer {
			switch {
			case bearerOf(req) == "bob":
				return slow(rtt, says(200, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "20"))
			case sent.Add(1) == 30:
				return slow(rtt, says(429))
			}
			return slow(rtt, says(200))
		})}
		pass(t, s, as(context.Background(), "bob"))
		var took time.Duration
		for _, n := range []int{5, 100, 200, 200} {
			time.Sleep(5 * time.Second)
			begin := time.Now()
			burst(t, s, n, func(int) *http.Request { return as(context.Background(), "erin") })
			took = time.Since(begin)
		}
		assert.Equal(t, rtt, took)
	})
}

// Work that may not wait departs although ten requests of a new user are on their way.
func TestNewUserMayNotWait(t *testing.T) {
	for name, with := range map[string]func() (context.Context, context.CancelFunc){
		"NoDelay": func() (context.Context, context.CancelFunc) {
			return transport.WithNoDelay(context.Background()), func() {}
		},
		"deadline": func() (context.Context, context.CancelFunc) { return context.WithTimeout(context.Background(), 3*rtt) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int64
				s := &transport.Shaper{Base: newChooser(func(_ int, req *http.Request) answer {
					d, n := rtt, sent.Add(1)
					if bearerOf(req) == "erin" && n <= 11 {
						d = 3 * time.Second
					}
					return slow(d, says(200, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "20"))
				})}
				pass(t, s, as(context.Background(), "bob"))
				time.Sleep(time.Second)
				var all sync.WaitGroup
				all.Go(func() { burst(t, s, 10, func(int) *http.Request { return as(context.Background(), "erin") }) })
				time.Sleep(time.Millisecond)
				ctx, cancel := with()
				defer cancel()
				begin := time.Now()
				pass(t, s, as(ctx, "erin"))
				assert.Equal(t, rtt, time.Since(begin))
				all.Wait()
			})
		})
	}
}

// Several users are new to an origin that has a quota for each, and share its first flight. None is refused: what has
// departed before an answer to another one has told of the quota counts.
func TestNewUsersAtOnce(t *testing.T) {
	const quota, window = 10, 3 * time.Second
	draft := func(left int, until string) []string {
		return []string{"RateLimit-Policy", `"a";q=10;w=3`, "RateLimit", fmt.Sprintf(`"a";a=%d;w=%s`, left, until)}
	}
	for name, fields := range map[string]func(left int, until string) []string{
		"partitions": func(left int, until string) []string {
			return append(draft(left, until), "RateLimit-Partition", `"a";user_id`)
		},
		"the draft": draft,
		"-07": func(left int, until string) []string {
			return []string{"RateLimit-Policy", "10;w=3", "RateLimit", fmt.Sprintf("limit=10, remaining=%d, reset=%s", left, until)}
		},
		"X": func(left int, until string) []string {
			return []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", fmt.Sprint(left), "X-RateLimit-Reset", until}
		},
	} {
		for _, users := range []int{2, 3, 10} {
			bubble(t, fmt.Sprint(name, ", ", users), func(t *testing.T) {
				began := time.Now()
				var mu sync.Mutex
				used, refused := map[string]int{}, 0
				srv := newChooser(func(_ int, req *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					d := time.Since(began)
					key := fmt.Sprint(bearerOf(req), d/window)
					used[key]++
					status, left := 200, quota-used[key]
					if left < 0 {
						status, left = 429, 0
						refused++
					}
					until := (window - d%window + time.Second - 1) / time.Second
					return slow(rtt, says(status, fields(left, fmt.Sprint(int(until)))...))
				})
				shaper := &transport.Shaper{Base: srv}
				burst(t, shaper, 15*users, func(i int) *http.Request {
					user := fmt.Sprint("user", i%users)
					return as(partition.WithUserID(t.Context(), user), user)
				})
				assert.Zero(t, refused)
				assert.Less(t, time.Since(began), window+5*rtt)
			})
		}
	}
}

// as is a request of a user.
func as(ctx context.Context, user string) *http.Request {
	req := getItems(ctx)
	req.Header.Set("Authorization", "Bearer "+user)
	return req
}

func bearerOf(req *http.Request) string {
	return strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
}
