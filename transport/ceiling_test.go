package transport_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A server works on ten requests at a time, refuses what is more, and says nothing of it. Others
// wait until it has room, and one is refused now and then.
func TestUnadvertisedCeiling(t *testing.T) {
	const bound, lasts = 10, 20 * time.Minute
	for service, least := range raced.Cases(map[time.Duration]float64{200 * time.Millisecond: .4, time.Second: .6, 5 * time.Second: .7}) {
		for _, fields := range [][]string{nil, {"Retry-After", "1"}} {
			for _, workers := range []int{12, 50} {
				bubble(t, fmt.Sprint(service, fields, workers), func(t *testing.T) {
					var mu sync.Mutex // guards following
					var busy, served, refused int
					rnd := rand.New(rand.NewPCG(1, 2))
					serve := func(req *http.Request) (*http.Response, error) {
						time.Sleep(rtt / 2)
						mu.Lock()
						defer func() {
							mu.Unlock()
							time.Sleep(rtt / 2)
						}()
						if busy == bound {
							refused++
							return says(429, fields...)(req)
						}
						busy++
						work := service*9/10 + time.Duration(rnd.Int64N(int64(service/5)))
						mu.Unlock()
						time.Sleep(work)
						mu.Lock()
						busy--
						served++
						return says(200)(req)
					}
					s := &transport.Shaper{Base: newChooser(func(int, *http.Request) answer { return serve })}
					end := time.Now().Add(lasts)
					var wg sync.WaitGroup
					for range workers {
						wg.Go(func() {
							for time.Now().Before(end) {
								resp, err := s.RoundTrip(getItems(t.Context()))
								if assert.NoError(t, err) {
									drop(resp)
								}
							}
						})
					}
					wg.Wait()
					most := bound * int(lasts/(service+rtt))
					t.Log(served, most, refused)
					assert.GreaterOrEqual(t, float64(served), least*float64(most))
					assert.LessOrEqual(t, refused, max(served/25, 100))
				})
			}
		}
	}
}

// A server that tells no bound on requests in flight has one for a minute. Then it has none, and all that is sent is
// served again within four minutes.
func TestBoundThatGoes(t *testing.T) {
	const workers, trip, serves = 150, 40 * time.Millisecond, 300 * time.Millisecond // to serve, up to half more or less
	for _, named := range []bool{false, true} {
		bubble(t, fmt.Sprintf("named %v", named), func(t *testing.T) {
			began := time.Now()
			var mu sync.Mutex
			busy, refused, after := 0, 0, 0
			rnd := rand.New(rand.NewPCG(1, 2))
			srv := roundTripper(func(req *http.Request) (*http.Response, error) {
				time.Sleep(trip / 2)
				mu.Lock()
				minutes := time.Since(began).Minutes()
				ok := busy < 10 || minutes >= 1
				work := serves/2 + time.Duration(rnd.Int64N(int64(serves)))
				if !ok {
					refused++
				} else if busy++; minutes >= 5 {
					after++
				}
				mu.Unlock()
				if !ok {
					time.Sleep(trip / 2)
					return says(429, "Retry-After", "1")(req)
				}
				time.Sleep(work)
				mu.Lock()
				busy--
				mu.Unlock()
				time.Sleep(trip / 2)
				if named {
					return says(200, "RateLimit-Policy", `"api";q=1000000;w=10`, "RateLimit", `"api";a=900000;w=5`)(req)
				}
				return says(200)(req)
			})
			shaper := &transport.Shaper{Base: srv, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for time.Since(began) < 6*time.Minute {
						if resp, err := shaper.RoundTrip(getItems(t.Context())); err == nil {
							drop(resp)
						} else {
							time.Sleep(time.Second)
						}
					}
				})
			}
			all.Wait()
			assert.LessOrEqual(t, refused, 155)
			assert.GreaterOrEqual(t, after, workers*int(time.Minute/(trip+serves))*99/100)
		})
	}
}
