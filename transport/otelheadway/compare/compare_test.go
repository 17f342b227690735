// Package compare holds the modules otelheadway and promheadway against each other. It is a
// module of its own, so that neither needs the other.
package compare

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/otelheadway"
	"github.com/headway-go/headway/transport/promheadway"
	"github.com/headway-go/headway/transport/transporttest"
)

// send sends a request, and reads its response to the end.
func send(ctx context.Context, s *transport.Shaper, url string) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if resp, err := s.RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// traffic sends requests that call every hook.
func traffic(t *testing.T, s *transport.Shaper) {
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: 10 * time.Second}}}
	n := 0
	s.Base = &transporttest.Transport{
		Latency: func() time.Duration { return 50 * time.Millisecond },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Host {
			case "clumsy.example":
				w.Header().Set("RateLimit", `"api";a=-1`)
			case "strange.example":
				w.Header().Set("RateLimit", `"api";a=9;w=60;pk=:ZXZlcnlib2R5:`)
				w.Header().Set("RateLimit-Partition", `"api";method`)
			case "down.example:8443":
				w.Header().Set("Retry-After", "30")
				w.WriteHeader(503)
			case "stern.example":
				if n++; n%2 == 1 {
					w.WriteHeader(429)
				}
			default:
				api.ServeHTTP(w, r)
			}
		}),
	}
	ctx := t.Context()
	for range 8 {
		send(ctx, s, "https://api.example/")
	}
	for _, host := range []string{"https://clumsy.example", "https://strange.example", "http://stern.example", "http://stern.example", "https://down.example:8443"} {
		send(ctx, s, host)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	send(short, s, "https://down.example:8443")
	cancel()
	impatient, cancel := context.WithCancel(ctx)
	time.AfterFunc(2*time.Second, cancel)
	send(impatient, s, "https://down.example:8443")
	send(transport.WithBypass(ctx), s, "https://api.example/")
}

// Both modules export the same names, labels and numbers, so that one dashboard serves
// both.
func TestSameAsPrometheus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := fleet.New(new(fleet.Hub), fleet.Options{})
		accounts := &quota.Accounts{Jitter: func() float64 { return 0 }}
		byOtel, byProm := prometheus.NewRegistry(), prometheus.NewRegistry()
		exporter, err := otelprom.New(otelprom.WithRegisterer(byOtel), otelprom.WithoutScopeInfo(), otelprom.WithoutTargetInfo())
		require.NoError(t, err)
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
		in, err := otelheadway.New(otelheadway.Options{MeterProvider: provider, Accounts: accounts, Fleet: peers})
		require.NoError(t, err)
		prom := promheadway.New(promheadway.Options{Accounts: accounts, Fleet: peers})
		byProm.MustRegister(prom)
		traffic(t, &transport.Shaper{Accounts: accounts, Trace: transport.JoinTraces(in.Trace(), prom.Trace())})
		send(t.Context(), &transport.Shaper{
			Accounts: &quota.Accounts{Peers: peers, Secret: &[32]byte{1}},
			Base:     &transporttest.Transport{Handler: &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: time.Minute}}}},
		}, "https://api.example/")
		synctest.Wait()

		got, want := gather(t, byOtel), gather(t, byProm)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			assert.Equal(t, want[name], got[name], name)
		}
		assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
		for _, name := range []string{
			"headway_request_time_in_line_seconds", "headway_request_in_line", "headway_request_in_flight", "headway_response_refused_total",
			"headway_quota_available", "headway_quota_limit", "headway_quota_hold_seconds", "headway_account_count", "headway_fleet_linked", "headway_fleet_peer_count", "headway_fleet_exchange_duration_seconds",
			"headway_field_ignored_total", "headway_prediction_failed_total",
		} {
			assert.NotEmpty(t, want[name], name)
		}
		require.NoError(t, in.Close())
		require.NoError(t, peers.Close())
		require.NoError(t, provider.Shutdown(context.Background()))
	})
}

// gather returns what a registry has: for each name its help, kind and values by label.
func gather(t *testing.T, r *prometheus.Registry) map[string][]string {
	families, err := r.Gather()
	require.NoError(t, err)
	all := make(map[string][]string)
	for _, f := range families {
		lines := []string{f.GetHelp(), f.GetType().String()}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				if l.GetValue() != "" { // to Prometheus, an empty label is none
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			slices.Sort(labels)
			lines = append(lines, strings.Join(labels, ",")+" "+value(m))
		}
		slices.Sort(lines)
		all[f.GetName()] = lines
	}
	return all
}

func value(m *dto.Metric) string {
	switch {
	case m.Histogram != nil:
		s := fmt.Sprintf("%d %.6f", m.Histogram.GetSampleCount(), m.Histogram.GetSampleSum())
		for _, b := range m.Histogram.Bucket {
			s += fmt.Sprintf(" %g:%d", b.GetUpperBound(), b.GetCumulativeCount())
		}
		return s
	case m.Counter != nil:
		return fmt.Sprint(m.Counter.GetValue())
	}
	return fmt.Sprint(m.Gauge.GetValue())
}
