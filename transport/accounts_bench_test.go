package transport_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"testing"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A userService declares a partition for each user, and answers with the figure of
// the user's partition. It finds the user in the context, as the client does, so that
// the memory of the benchmark itself does not grow with the number of users.
type userService struct {
	user   string
	header http.Header
	limit  [1]string
	n      int
}

func newUserService() *userService {
	return &userService{header: fields(
		"RateLimit-Policy", `"user";q=1000000;w=3600`,
		"RateLimit-Partition", `"user";user_id`,
	)}
}

func (u *userService) userID(*http.Request) (string, bool) { return u.user, true }

func (u *userService) RoundTrip(req *http.Request) (*http.Response, error) {
	u.n++
	field := make([]byte, 0, 64)
	field = fmt.Appendf(field, `"user";a=%d;w=3600;pk=:`, 1_000_000-u.n%100)
	field = base64.StdEncoding.AppendEncode(field, []byte(u.user))
	u.limit[0] = string(append(field, ':'))
	u.header["Ratelimit"] = u.limit[:]
	return stub{u.header}.RoundTrip(req)
}

// BenchmarkUsers measures a request of one of many users, in random order. Each user
// has a partition. They share one identity, as those of a gateway do, or have one
// each.
func BenchmarkUsers(b *testing.B) {
	for _, each := range []bool{false, true} {
		for _, users := range []int{10, 1_000_000} {
			base := newUserService()
			s := &transport.Shaper{
				Base:       base,
				Scope:      func(*http.Request) string { return "" },
				Dimensions: map[string]func(*http.Request) (string, bool){"user_id": base.userID},
				Accounts:   &quota.Accounts{MaxAccounts: -1, MaxTotal: -1},
			}
			scopes := "one"
			if each {
				scopes = "each"
				s.Scope = func(*http.Request) string { return base.user }
			}
			rts := map[string]http.RoundTripper{"base": base, "shaper": s}
			for _, name := range []string{"base", "shaper"} {
				b.Run(fmt.Sprintf("scope=%s/users=%d/%s", scopes, users, name), func(b *testing.B) {
					visit(b, rts[name], base, users)
				})
			}
		}
	}
}

func visit(b *testing.B, rt http.RoundTripper, base *userService, users int) {
	req := get(context.Background())
	as := func(user int) {
		base.user = fmt.Sprintf("user-%07d", user)
		if _, err := rt.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
	for user := range users {
		as(user)
	}
	runtime.GC()
	order := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		as(order.IntN(users))
	}
}

// BenchmarkGoroutines measures the time per request, of all goroutines together:
// of one goroutine, of 64 that share an origin, and of 64 with an origin each,
// which share no lock.
func BenchmarkGoroutines(b *testing.B) {
	for _, bm := range []struct {
		name                string
		goroutines, origins int
	}{
		{"1", 1, 1},
		{"64 of one origin", 64, 1},
		{"64 of 64 origins", 64, 64},
	} {
		b.Run(bm.name, func(b *testing.B) {
			s := &transport.Shaper{Base: newTurning("")}
			var wg sync.WaitGroup
			for g := range bm.goroutines {
				req := get(context.Background())
				req.URL.Host = fmt.Sprintf("api-%d.example", g%bm.origins)
				wg.Go(func() {
					for range b.N/bm.goroutines + 1 {
						if _, err := s.RoundTrip(req); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
