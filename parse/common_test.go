package parse_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// The fields in common use are read in one go where they have their usual form. The row for them
// says the same.
func TestCommon(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, seed))
	now := time.Date(2026, 4, 10, 10, 0, 0, 0, time.UTC)
	pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
	number := func() string {
		switch rnd.IntN(6) {
		case 0:
			return pick("0", "1", "007", "", " 5", "5 ", "-1", "1.5", "60", "1s", "abc", "5,6", "10;w=5", "999999999999999", "1000000000000000", "99999999999999999999")
		case 1:
			return strconv.FormatInt(now.Unix()+rnd.Int64N(200)-100, 10)
		case 2, 3:
			return strconv.Itoa(rnd.IntN(100))
		case 4:
			return strconv.FormatInt(now.UnixMilli()+rnd.Int64N(200_000)-100_000, 10)
		}
		return strconv.FormatInt(rnd.Int64N(1<<rnd.IntN(62)+1), 10)
	}
	for range 100 {
		caps := parse.Caps{}
		if rnd.IntN(4) == 0 {
			caps = parse.Caps{Quota: rnd.Int64N(1000) - 1, Window: time.Duration(rnd.IntN(1000)-1) * time.Second, FieldBytes: rnd.IntN(12) - 1, Items: rnd.IntN(3) - 1}
		}
		r := parse.Reader{Caps: caps}
		other := parse.WithoutCommon(&parse.Reader{Caps: caps})
		for range 300 { // with the memory of those before
			h := http.Header{"Content-Type": {"text/plain"}}
			for _, name := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
				if rnd.IntN(20) > 0 {
					h.Add(name, number())
				}
				if rnd.IntN(40) == 0 {
					h.Add(name, number())
				}
			}
			for _, field := range [][2]string{
				{"Date", now.Format(http.TimeFormat)}, {"Date", "?"}, {"Retry-After", "7"}, {"X-Ratelimit-Used", "3"},
				{"X-Ratelimit-Bucket", "b"}, {"Ratelimit-Limit", "5"}, {"X-Rate-Limit-Limit", "6"}, {"Age", "5"},
			} {
				if rnd.IntN(24) == 0 {
					h.Add(field[0], field[1])
				}
			}
			host, status := pick("api.example", "", "reddit.com", "x.cloudhub.io"), []int{200, 200, 403, 429, 503, 301}[rnd.IntN(6)]
			require.Equal(t, other.Read(host, status, h, now), r.Read(host, status, h, now), "seed %d: %s %d %v %+v", seed, host, status, h, caps)
		}
	}
}

// A user's row that reads fields in common use comes first.
func TestCommonByRow(t *testing.T) {
	fields := []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 3", "X-RateLimit-Reset: 9"}
	h := make(http.Header)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		h.Set(name, value)
	}
	row := parse.Vendor{
		Name: "a row", Limit: []string{"X-RateLimit-Limit"}, Used: []string{"X-RateLimit-Remaining"}, Reset: []string{"X-RateLimit-Reset"},
	}
	for _, hosts := range [][]string{nil, {"example"}} {
		row.Hosts = hosts
		r := parse.Reader{Vendors: []parse.Vendor{row}}
		got := r.Read("api.example", 200, h, time.Time{})
		assert.Equal(t, "a row", got.Vendor)
		assert.Equal(t, int64(2), got.Limits[0].Available)
	}
}
