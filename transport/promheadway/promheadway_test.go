package promheadway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/promheadway"
	"github.com/headway-go/headway/transport/transporttest"
)

func send(ctx context.Context, s *transport.Shaper, url string) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if resp, err := s.RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// Origins that labels do not tell apart, and hosts that are not UTF-8, do not keep metrics from being collected.
func TestUnusualOrigins(t *testing.T) {
	accounts := &quota.Accounts{}
	m := promheadway.New(promheadway.Options{Accounts: accounts})
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(m))
	s := &transport.Shaper{Trace: m.Trace(), Accounts: accounts, Base: &transporttest.Transport{Handler: &transporttest.API{}}}
	for _, url := range []string{
		"mailto:a@example.com", "tel:+123", "https://a.example/", "http://a.example:443/", "http://a.example/", "http://a.example:0/",
		"http://a.example:99999999999999999999/", "http://a.example:99999999999999999998/", "http://[fe80::1%25\xff]/", "http://[fe80::1%25\xfe]/",
	} {
		send(t.Context(), s, url)
		_, err := r.Gather()
		require.NoError(t, err, url)
	}
}

// The metrics are valid by Prometheus' own rules.
func TestLint(t *testing.T) {
	accounts := &quota.Accounts{}
	m := promheadway.New(promheadway.Options{Accounts: accounts})
	s := &transport.Shaper{Trace: m.Trace(), Accounts: accounts, Base: &transporttest.Transport{Handler: &transporttest.API{}}}
	send(t.Context(), s, "https://api.example/")
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(m))
	_, err := r.Gather()
	require.NoError(t, err)
	problems, err := testutil.GatherAndLint(r)
	require.NoError(t, err)
	problems = slices.DeleteFunc(problems, func(p promlint.Problem) bool {
		return strings.HasSuffix(p.Metric, "_count") // OpenTelemetry's names of such gauges end with .count
	})
	assert.Empty(t, problems)
}

// Neither URLs nor keys nor credentials become labels, and names are bounded.
func TestSecretsAndBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := &quota.Accounts{}
		m := promheadway.New(promheadway.Options{Accounts: accounts, MaxOrigins: 50})
		n := 0
		s := &transport.Shaper{Trace: m.Trace(), Accounts: accounts, Base: &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("RateLimit", fmt.Sprintf(`"p%d";a=1;w=5;pk=:Y2FuYXJ5:, "x";a=-1`, n))
		})}}
		for i := range 2_000 {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("https://canary:canary@o%d.example/canary?canary", i), nil)
			req.Header.Set("Authorization", "Bearer canary")
			resp, err := s.RoundTrip(req)
			require.NoError(t, err)
			resp.Body.Close()
		}
		r := prometheus.NewRegistry()
		r.MustRegister(m)
		families, err := r.Gather()
		require.NoError(t, err)
		series := 0
		for _, f := range families {
			series += len(f.Metric)
			assert.NotContains(t, f.String(), "canary")
		}
		assert.LessOrEqual(t, series, 2_200)
		assert.Equal(t, 51, testutil.CollectAndCount(m, "headway_request_in_flight"), "fifty origins, and all others")
	})
}

// hooks calls those of a request that waits, and those of one that does not.
func hooks(tr *transport.Trace, req *http.Request, waits bool) {
	info := transport.RequestInfo{Request: req, Origin: "https://api.example"}
	if waits {
		tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}, Policy: "api", Reason: quota.ReasonExhausted})
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info, Held: quota.ReasonExhausted, Policy: "api", Waited: time.Second}})
	} else {
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}})
	}
	tr.Answered(transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}}, Status: 200})
}

// In steady state, the hooks do not allocate.
func TestNoAllocation(t *testing.T) {
	tr := promheadway.New(promheadway.Options{}).Trace()
	req, _ := http.NewRequest("GET", "https://api.example/", nil)
	for _, waits := range []bool{true, false} {
		assert.Zero(t, testing.AllocsPerRun(100, func() { hooks(tr, req, waits) }))
	}
}

// BenchmarkHooks measures what metrics cost a request.
func BenchmarkHooks(b *testing.B) {
	tr := promheadway.New(promheadway.Options{}).Trace()
	req, _ := http.NewRequest("GET", "https://api.example/", nil)
	for name, waits := range map[string]bool{"waits": true, "does not wait": false} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hooks(tr, req, waits)
			}
		})
	}
}

// promtool returns the path of promtool, and skips the test if there is none.
func promtool(t *testing.T) string {
	p, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool: rules and queries are not tried")
	}
	return p
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command(promtool(t), args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// The alerts are valid, and fire when they should.
func TestAlerts(t *testing.T) {
	run(t, "dashboard", "check", "rules", "alerts.yml")
	run(t, "dashboard", "test", "rules", "alerts_test.yml")
}

// A query is one of the dashboard.
type query struct{ panel, expr string }

func queries(t *testing.T) (all []query) {
	b, err := os.ReadFile(filepath.Join("dashboard", "headway.json"))
	require.NoError(t, err)
	var d struct {
		SchemaVersion int
		Panels        []struct {
			Title   string
			Targets []struct{ Expr string }
			GridPos struct{ X, Y, W, H int }
		}
		Templating struct {
			List []struct {
				Name  string
				Query struct{ Query string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(b, &d))
	assert.GreaterOrEqual(t, d.SchemaVersion, 39)
	for _, p := range d.Panels {
		assert.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			all = append(all, query{p.Title, target.Expr})
		}
	}
	for _, v := range d.Templating.List {
		metric := regexp.MustCompile(`label_values\((.*), \w+\)`).FindStringSubmatch(v.Query.Query)
		require.NotNil(t, metric, v.Name)
		all = append(all, query{"variable " + v.Name, metric[1]})
	}
	return all
}

// Every query of the dashboard, and of the alerts, uses metrics that exist.
func TestQueriesUseMetrics(t *testing.T) {
	exist := make(map[string]bool)
	ch := make(chan *prometheus.Desc, 100)
	promheadway.New(promheadway.Options{}).Describe(ch)
	close(ch)
	for d := range ch {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]
		for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
			exist[name+suffix] = true
		}
	}
	labels := regexp.MustCompile(`\bheadway_(outcome|reason|policy|first|field)\b`)
	check := func(where, expr string) {
		for _, name := range regexp.MustCompile(`\bheadway_\w+`).FindAllString(labels.ReplaceAllString(expr, ""), -1) {
			assert.True(t, exist[name], "%s: %s", where, name)
		}
	}
	for _, q := range queries(t) {
		check(q.panel, q.expr)
	}
	b, err := os.ReadFile(filepath.Join("dashboard", "alerts.yml"))
	require.NoError(t, err)
	check("alerts", string(b))
}

// Against a recorded run in which everything happened, every query of the dashboard
// returns data, and the panel to begin with says what requests wait for.
func TestQueriesReturnData(t *testing.T) {
	promtool(t)
	input := record(t)
	var b strings.Builder
	fmt.Fprintf(&b, "evaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n")
	for _, name := range slices.Sorted(keys(input)) {
		fmt.Fprintf(&b, "      - series: '%s'\n        values: '%s'\n", name, strings.Join(input[name], " "))
	}
	fmt.Fprintf(&b, "    promql_expr_test:\n")
	vars := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$origin", ".*", "$policy", ".*")
	for _, q := range queries(t) {
		fmt.Fprintf(&b, "      - expr: 'count(%s) > bool 0'\n        eval_time: 20m\n        exp_samples: [{labels: '{}', value: 1}]\n", vars.Replace(q.expr))
	}
	for _, q := range queries(t) {
		if q.panel == "What requests wait for" {
			fmt.Fprintf(&b, "      - expr: 'topk(1, %s) > bool 0'\n        eval_time: 20m\n        exp_samples: [{labels: '{server_address=\"api.example\", headway_reason=\"exhausted\", headway_policy=\"api\"}', value: 1}]\n", vars.Replace(q.expr))
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "queries.yml"), []byte(b.String()), 0o644))
	run(t, dir, "test", "rules", "queries.yml")
}

func keys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// record runs a client for 20 minutes, and returns the samples of every series, one each
// 15 s.
func record(t *testing.T) (series map[string][]string) {
	series = make(map[string][]string)
	synctest.Test(t, func(t *testing.T) {
		peers := fleet.New(new(fleet.Hub), fleet.Options{})
		defer peers.Close()
		accounts := &quota.Accounts{Jitter: func() float64 { return 0 }, Peers: peers, Secret: &[32]byte{1}}
		m := promheadway.New(promheadway.Options{Accounts: accounts, Fleet: peers})
		r := prometheus.NewRegistry()
		r.MustRegister(m)
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 50, Window: 10 * time.Second}}}
		var n atomic.Int64
		s := &transport.Shaper{Accounts: accounts, Trace: m.Trace(), Base: &transporttest.Transport{
			Latency: func() time.Duration { return 50 * time.Millisecond },
			Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				switch i := n.Add(1); req.Host {
				case "clumsy.example":
					w.Header().Set("RateLimit", `"api";a=-1`)
				case "strange.example": // declares another partitioning each time, always a wrong one
					w.Header().Set("RateLimit", `"api";a=9;w=60;pk=:ZXZlcnlib2R5:`)
					w.Header().Set("RateLimit-Partition", []string{`"api";method`, `"api";method;user_id`}[i%2])
				case "stern.example":
					w.Header().Set("Retry-After", "45")
					w.WriteHeader(429)
				default:
					api.ServeHTTP(w, req)
				}
			}),
		}}
		ctx, cancel := context.WithCancel(t.Context())
		worker := func(pause time.Duration, url string) {
			for ctx.Err() == nil {
				send(partition.WithUserID(ctx, "alice"), s, url)
				time.Sleep(pause)
			}
		}
		for range 20 {
			go worker(time.Millisecond, "https://api.example/")
		}
		go worker(5*time.Second, "https://clumsy.example/")
		go worker(5*time.Second, "https://strange.example/")
		go worker(5*time.Second, "https://stern.example/")
		go func() {
			for ctx.Err() == nil {
				short, cancel := context.WithTimeout(ctx, time.Second)
				send(short, s, "https://stern.example/")
				cancel()
				time.Sleep(7 * time.Second)
			}
		}()
		for i := range 4*20 + 1 {
			families, err := r.Gather()
			require.NoError(t, err)
			for _, f := range families {
				for _, x := range f.Metric {
					note(series, i, f, x)
				}
			}
			time.Sleep(15 * time.Second)
		}
		cancel()
		synctest.Wait()
		time.Sleep(time.Minute)
	})
	return series
}

// note adds a sample to the series of a metric.
func note(series map[string][]string, i int, f *dto.MetricFamily, m *dto.Metric) {
	add := func(name, extra string, value float64) {
		labels := []string{`job="app"`}
		for _, l := range m.Label {
			labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
		}
		if extra != "" {
			labels = append(labels, extra)
		}
		id := name + "{" + strings.Join(labels, ", ") + "}"
		for len(series[id]) < i {
			series[id] = append(series[id], "_")
		}
		series[id] = append(series[id], fmt.Sprint(value))
	}
	name := f.GetName()
	switch {
	case m.Histogram != nil:
		for _, b := range m.Histogram.Bucket {
			add(name+"_bucket", fmt.Sprintf("le=%q", fmt.Sprint(b.GetUpperBound())), float64(b.GetCumulativeCount()))
		}
		add(name+"_bucket", `le="+Inf"`, float64(m.Histogram.GetSampleCount()))
		add(name+"_sum", "", m.Histogram.GetSampleSum())
		add(name+"_count", "", float64(m.Histogram.GetSampleCount()))
	case m.Counter != nil:
		add(name, "", m.Counter.GetValue())
	default:
		add(name, "", m.Gauge.GetValue())
	}
}
