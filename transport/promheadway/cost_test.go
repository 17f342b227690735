//go:build !race

package promheadway_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/internal/paired"
	"github.com/headway-go/headway/transport/promheadway"
)

// An instant answer, with or without quota fields, allocates nothing.
type answer http.Response

func (a *answer) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(a), nil }

// What metrics add to a request in steady state: no allocation. Times are only told,
// because they depend on what else the machine does, and only with -v. (With the race
// detector sync.Pool drops entries at random, so the test is left out.)
func TestCost(t *testing.T) {
	for name, fields := range map[string]http.Header{
		"no quotas": {},
		"quotas":    {"Ratelimit": {`"api";a=999999999;w=60`}, "Ratelimit-Policy": {`"api";q=1000000000;w=60`}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/", nil)
		require.NoError(t, err)
		roundTrip := func(tr *transport.Trace) func() {
			s := &transport.Shaper{Base: &answer{StatusCode: http.StatusOK, Header: fields, Body: http.NoBody}, Trace: tr}
			return func() {
				if _, err := s.RoundTrip(req); err != nil {
					panic(err)
				}
			}
		}
		tr := promheadway.New(promheadway.Options{}).Trace()
		without, with := roundTrip(nil), roundTrip(tr)
		if testing.Verbose() {
			least := paired.Minima(300, 200, without, with, func() { hooks(tr, req, true) })
			t.Logf("%s: %v without metrics, %v with: %v more; the hooks of a request that waits: %v", name, least[0], least[1], least[1]-least[0], least[2])
		}
		assert.Equal(t, testing.AllocsPerRun(100, without), testing.AllocsPerRun(100, with), "metrics allocate")
	}
}
