package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/quota/fleet/redisstore"
	"github.com/headway-go/headway/transport"
)

// What the program is told when it runs as one of the processes.
const (
	apiVariable   = "FLEET_API"
	redisVariable = "FLEET_REDIS" // the socket of Redis; empty: alone
)

// quiet is a logger of the Redis client that says nothing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// work is one of the processes: it makes requests, five at a time, until stdin ends.
func work(api, socket string, stdin io.Reader) error {
	// In a real program, the secret comes from where the credentials come from. The
	// processes with the same secret share their quotas.
	accounts := &quota.Accounts{Secret: &[32]byte{1, 2, 3}}
	if socket != "" {
		redis.SetLogger(quiet{}) // fleet.Trace tells what matters
		rdb := redis.NewClient(&redis.Options{
			Network: "unix", Addr: socket,
			MaxRetries: -1, ContextTimeoutEnabled: true, DialTimeout: 200 * time.Millisecond, DialerRetries: 1,
		})
		defer rdb.Close()
		f := fleet.New(redisstore.New(rdb, ""), fleet.Options{})
		defer f.Close()
		accounts.Peers = f
	}
	client := &http.Client{Transport: &transport.Shaper{Accounts: accounts}}

	var over atomic.Bool
	for range 5 {
		go func() {
			for !over.Load() {
				r, err := http.NewRequest(http.MethodGet, api+"/things", nil)
				if err != nil {
					return
				}
				r.Header.Set("X-Process", os.Getenv("FLEET_PROCESS"))
				resp, err := client.Do(r)
				if err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				resp.Body.Close()
			}
		}()
	}
	_, err := io.Copy(io.Discard, stdin)
	over.Store(true)
	return err
}
