package redisstore

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/exchange"
)

// BenchmarkExchange measures what a turn costs Redis itself, by its own statistics, for each
// account of a turn of a process whose requests wait, as those of all others do.
func BenchmarkExchange(b *testing.B) {
	perCall := regexp.MustCompile(`cmdstat_evalsha:\S*usec_per_call=([\d.]+)`)
	for _, c := range []struct{ processes, accounts int }{{1, 1}, {8, 1}, {8, 3}} {
		b.Run(fmt.Sprintf("processes=%d/accounts=%d", c.processes, c.accounts), func(b *testing.B) {
			s := start(b)
			rdb := s.client()
			defer rdb.Close()
			st, rnd := New(rdb, ""), rand.New(rand.NewPCG(1, 2))
			heard := make([]exchange.Granted, c.accounts)
			for i := range b.N {
				turn := &exchange.Turn{Process: fmt.Sprintf("proc%04d", i%c.processes), Seq: uint64(1000 + i), Flights: exchange.None}
				r := exchange.Request{N: 5, Waited: time.Second}
				for a := range c.accounts {
					turn.Accounts = append(turn.Accounts, exchange.Account{
						ID: exchange.ID{byte(a)}, Has: 2, Stock: 1, Quota: 1000, Window: time.Minute, Basis: exchange.None,
						Figure: 5 + rnd.Int64N(9), Left: time.Minute, FigureVersion: heard[a].Version, Served: 2, ServedAgo: 10 * time.Millisecond,
					})
					r.Claims = append(r.Claims, exchange.Claim{Account: a, Units: 1})
				}
				turn.Requests = []exchange.Request{r}
				g, err := st.Exchange(b.Context(), exchange.ID{}, turn)
				require.NoError(b, err)
				heard = g.Accounts
			}
			m := perCall.FindStringSubmatch(rdb.Info(b.Context(), "commandstats").Val())
			require.NotNil(b, m)
			us, err := strconv.ParseFloat(m[1], 64)
			require.NoError(b, err)
			b.ReportMetric(us/float64(c.accounts), "redis-us/account")
		})
	}
}
