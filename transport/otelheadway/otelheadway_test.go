package otelheadway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/otelheadway"
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

// A wait is a span of its own below the caller's, and an event when it begins.
func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		in, err := otelheadway.New(otelheadway.Options{MeterProvider: sdkmetric.NewMeterProvider()})
		require.NoError(t, err)
		s := &transport.Shaper{Trace: in.Trace(), Base: &transporttest.Transport{
			Handler: &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1, Window: 10 * time.Second}}},
		}}
		var began [3]time.Time
		for i := range 3 {
			began[i] = time.Now()
			ctx, span := tracer.Start(t.Context(), fmt.Sprint("caller ", i))
			if i == 2 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(3*time.Second, cancel)
			}
			send(ctx, s, "https://api.example/?secret")
			span.End()
		}
		ended := spans.Ended()
		require.Len(t, ended, 5)
		assert.Equal(t, "caller 0", ended[0].Name())
		assert.Empty(t, ended[0].Events())
		for n, i := range []int{1, 2} {
			wait, caller := ended[1+2*n], ended[2+2*n]
			assert.Equal(t, fmt.Sprint("caller ", i), caller.Name())
			assert.Equal(t, "headway.wait", wait.Name())
			assert.Equal(t, caller.SpanContext().SpanID(), wait.Parent().SpanID())
			assert.True(t, wait.StartTime().Equal(began[i]), "%v %v", wait.StartTime(), began[i])
			outcome, took := "sent", 10*time.Second+time.Millisecond
			if i == 2 {
				outcome, took = "canceled", 3*time.Second
			}
			assert.Equal(t, took, wait.EndTime().Sub(wait.StartTime()))
			assert.Equal(t, []attribute.KeyValue{
				attribute.String("headway.policy", "api"), attribute.String("headway.reason", "exhausted"), attribute.String("headway.outcome", outcome),
			}, wait.Attributes())
			require.Len(t, caller.Events(), 1)
			assert.Equal(t, "headway.held", caller.Events()[0].Name)
			assert.Contains(t, caller.Events()[0].Attributes, attribute.Float64("headway.wait", 10.001))
		}
		assert.Contains(t, ended[2].Attributes(), attribute.Bool("headway.probe", true))
	})
}

// hooks calls those of a request that does not wait, and those of one that does.
func hooks(tr *transport.Trace, req *http.Request, i int) {
	info := transport.RequestInfo{Request: req, Origin: origins[i%len(origins)]}
	if i%4 == 0 {
		tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}, Policy: "api", Reason: quota.ReasonExhausted})
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info, Held: quota.ReasonExhausted, Policy: "api", Waited: time.Second}})
	} else {
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}})
	}
	tr.Answered(transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}}, Status: 200})
}

var origins = []string{"https://a.example", "https://b.example", "https://c.example"}

// In steady state, the hooks of metrics do not allocate.
func TestNoAllocation(t *testing.T) {
	in, err := otelheadway.New(otelheadway.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	require.NoError(t, err)
	tr := in.Trace()
	req, _ := http.NewRequest("GET", "https://a.example/", nil)
	i := 0
	for ; i < 4*len(origins); i++ {
		hooks(tr, req, i)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { hooks(tr, req, i); i++ }))
}

// BenchmarkHooks measures what metrics cost a request, beside one Record of the SDK.
func BenchmarkHooks(b *testing.B) {
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	in, err := otelheadway.New(otelheadway.Options{MeterProvider: provider})
	require.NoError(b, err)
	histogram, err := provider.Meter("bare").Float64Histogram("bare")
	require.NoError(b, err)
	b.Run("otel/bare", func(b *testing.B) {
		options := []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attribute.String("server.address", "a.example")))}
		for b.Loop() {
			histogram.Record(b.Context(), 1, options...)
		}
	})
	tr := in.Trace()
	for i, name := range []string{"waits", "does not wait"} {
		b.Run(name, func(b *testing.B) {
			req, _ := http.NewRequest("GET", "https://a.example/", nil)
			b.ReportAllocs()
			for b.Loop() {
				hooks(tr, req, i)
			}
		})
	}
}

// Thousands of origins and policies make a bounded number of attribute sets.
func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		accounts := &quota.Accounts{}
		in, err := otelheadway.New(otelheadway.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), Accounts: accounts})
		require.NoError(t, err)
		n := 0
		s := &transport.Shaper{Trace: in.Trace(), Accounts: accounts, Base: &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			w.Header().Set("RateLimit", fmt.Sprintf(`"p%d";a=1;w=5, "x";a=-1`, n))
			w.WriteHeader(200 + n%2*229)
		})}}
		for i := range 10_000 {
			send(t.Context(), s, fmt.Sprintf("https://o%d.example/", i%5_000))
		}
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &all))
		sets := 0
		for _, m := range all.ScopeMetrics[0].Metrics {
			switch d := m.Data.(type) {
			case metricdata.Histogram[float64]:
				sets += len(d.DataPoints)
			case metricdata.Sum[int64]:
				sets += len(d.DataPoints)
			case metricdata.Gauge[float64]:
				sets += len(d.DataPoints)
			default:
				assert.Failf(t, "unknown data", "%T", d)
			}
		}
		assert.LessOrEqual(t, sets, 2_200)
		assert.Greater(t, sets, 200)
	})
}
