package redisstore_test

import (
	"encoding/hex"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/quota/fleet/redisstore"
	"github.com/headway-go/headway/transport"
)

// Each process that runs this shares the quotas with the others. README has this code.
func Example() {
	key, err := hex.DecodeString(os.Getenv("FLEET_SECRET"))
	if err != nil || len(key) != 32 {
		log.Fatal("FLEET_SECRET has to be 64 hexadecimal digits")
	}
	secret := [32]byte(key)
	rdb := redis.NewClient(&redis.Options{
		Addr:                  "localhost:6379",
		MaxRetries:            -1, // a turn that comes late is worth nothing
		DialerRetries:         1,
		DialTimeout:           200 * time.Millisecond,
		ContextTimeoutEnabled: true,
	})
	peers := fleet.New(redisstore.New(rdb, ""), fleet.Options{})
	defer peers.Close() // gives back what this process has
	accounts := &quota.Accounts{Peers: peers, Secret: &secret}
	client := &http.Client{Transport: &transport.Shaper{Accounts: accounts}}

	_ = client
}
