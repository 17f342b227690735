// Package otelheadway exports what a Shaper does as OpenTelemetry metrics, and the time
// that requests wait as spans.
//
//	instruments, err := otelheadway.New(otelheadway.Options{Accounts: accounts})
//	shaper := &transport.Shaper{Accounts: accounts, Trace: instruments.Trace()}
//
// The instruments are named headway.…; their count of requests is that of
// headway.request.time_in_line. What a request takes on the network is not measured:
// the instrumentation of net/http below the Shaper does that.
//
// The number of series is bounded whatever servers send: at most 100 origins and 20
// policies of each have names of their own, at most 64 bytes long; the others are
// counted as _OTHER. Neither URLs nor partition keys nor scopes are attributes.
package otelheadway

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/internal/metrics"
)

const scope = "github.com/headway-go/headway/transport/otelheadway"

// Options are the options of New. The zero value has the defaults.
type Options struct {
	// MeterProvider makes the instruments. Nil means the global one.
	MeterProvider metric.MeterProvider

	// Accounts are those whose quotas are gauges: as in Shaper.Accounts. Nil means
	// that there are no gauges of quotas. They are read whenever metrics are collected,
	// which takes some 30 µs for a thousand accounts.
	Accounts *quota.Accounts

	// Fleet is that of the accounts, if they are shared with other processes. Nil means
	// that there are no metrics of a fleet.
	Fleet *fleet.Fleet

	// MaxOrigins is how many origins have a name of their own; the others are counted as
	// _OTHER. Zero means 100; a negative number means no bound.
	MaxOrigins int
}

// Instruments are those of one or several Shapers. They are safe for concurrent use.
type Instruments struct {
	accounts   *quota.Accounts
	fleet      *fleet.Fleet
	recorder   *metrics.Recorder
	histograms map[*metrics.Instrument]metric.Float64Histogram
	counters   map[*metrics.Instrument]metric.Int64Counter
	upDowns    map[*metrics.Instrument]metric.Int64ObservableUpDownCounter
	gauges     map[*metrics.Instrument]metric.Float64ObservableGauge
	callback   metric.Registration
}

// New makes the instruments. The errors are those of the meter.
func New(o Options) (*Instruments, error) {
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	meter := o.MeterProvider.Meter(scope)
	in := &Instruments{
		accounts:   o.Accounts,
		fleet:      o.Fleet,
		histograms: make(map[*metrics.Instrument]metric.Float64Histogram),
		counters:   make(map[*metrics.Instrument]metric.Int64Counter),
		upDowns:    make(map[*metrics.Instrument]metric.Int64ObservableUpDownCounter),
		gauges:     make(map[*metrics.Instrument]metric.Float64ObservableGauge),
	}
	var errs []error
	var observed []metric.Observable
	for _, i := range metrics.All {
		var err error
		unit, help := metric.WithUnit(i.Unit), metric.WithDescription(i.Help)
		switch i.Kind {
		case metrics.Histogram:
			in.histograms[i], err = meter.Float64Histogram(i.Name, unit, help, metric.WithExplicitBucketBoundaries(i.Buckets()...))
		case metrics.Counter:
			in.counters[i], err = meter.Int64Counter(i.Name, unit, help)
		case metrics.UpDownCounter:
			in.upDowns[i], err = meter.Int64ObservableUpDownCounter(i.Name, unit, help)
			observed = append(observed, in.upDowns[i])
		default:
			in.gauges[i], err = meter.Float64ObservableGauge(i.Name, unit, help)
			observed = append(observed, in.gauges[i])
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	in.recorder = metrics.New(o.MaxOrigins, in.series)
	in.recorder.Watch(o.Fleet)
	var err error
	in.callback, err = meter.RegisterCallback(in.observe, observed...)
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Close ends the observation of the quotas, and of requests in line and in flight. A second call does nothing more.
func (in *Instruments) Close() error { return in.callback.Unregister() }

func (in *Instruments) observe(_ context.Context, o metric.Observer) error {
	in.recorder.Observe(in.accounts, in.fleet, time.Now(), func(i *metrics.Instrument, k *metrics.Key, value float64) {
		set := metric.WithAttributeSet(attributes(i, k))
		if i.Kind == metrics.UpDownCounter {
			o.ObserveInt64(in.upDowns[i], int64(value), set)
			return
		}
		o.ObserveFloat64(in.gauges[i], value, set)
	})
	return nil
}

// Trace returns the hooks that count, and that write the time that a request waits into
// the trace of its context: an event of the caller's span when it begins to wait, and a
// span headway.wait when it is sent or given up. Set it as Shaper.Trace, or join it to
// others with transport.JoinTraces. The hooks do not allocate, and take no lock, for a
// request that does not wait and is not traced, once they have seen its origin.
func (in *Instruments) Trace() *transport.Trace {
	return transport.JoinTraces(in.recorder.Trace(), spans())
}

// series is one set of attributes of an instrument. Options are made once.
type series struct {
	histogram metric.Float64Histogram
	add       func(ctx context.Context, n int64, options ...metric.AddOption)
	adding    []metric.AddOption
	recording []metric.RecordOption
}

func (s *series) Add(ctx context.Context, n int64) { s.add(ctx, n, s.adding...) }

func (s *series) Record(ctx context.Context, seconds float64) {
	s.histogram.Record(ctx, seconds, s.recording...)
}

func (in *Instruments) series(i *metrics.Instrument, k *metrics.Key) metrics.Series {
	option := metric.WithAttributeSet(attributes(i, k))
	s := &series{adding: []metric.AddOption{option}, recording: []metric.RecordOption{option}}
	switch i.Kind {
	case metrics.Histogram:
		s.histogram = in.histograms[i]
	case metrics.Counter:
		s.add = in.counters[i].Add
	}
	return s
}

func attributes(i *metrics.Instrument, k *metrics.Key) attribute.Set {
	var kvs []attribute.KeyValue
	for _, attr := range i.Attributes() {
		switch v := k.Value(attr).(type) {
		case int:
			kvs = append(kvs, attribute.Int(attr, v))
		case bool:
			kvs = append(kvs, attribute.Bool(attr, v))
		case string:
			if v != "" {
				kvs = append(kvs, attribute.String(attr, v))
			}
		}
	}
	return attribute.NewSet(kvs...)
}

// spans returns hooks that write into the trace of a request's context.
func spans() *transport.Trace {
	return &transport.Trace{
		Held: func(i transport.HeldInfo) {
			span := trace.SpanFromContext(i.Request.Context())
			if !span.IsRecording() {
				return
			}
			span.AddEvent("headway.held", trace.WithAttributes(
				attribute.String(metrics.Policy, name(i.Policy)),
				attribute.String(metrics.Reason, metrics.ReasonOf(i.Reason)),
				attribute.Float64("headway.wait", i.Wait.Seconds()),
				attribute.Bool("headway.observed", i.Observed),
			))
		},
		Admitted: func(i transport.AdmittedInfo) {
			if i.Held == 0 && !i.Probe {
				return
			}
			span := trace.SpanFromContext(i.Request.Context())
			if !span.IsRecording() {
				return
			}
			if i.Probe {
				span.SetAttributes(attribute.Bool("headway.probe", true))
			}
			if i.Held != 0 {
				wait(i.Request.Context(), span, i.Waited, i.Held, i.Policy, "sent")
			}
		},
		Rejected: func(i transport.RejectedInfo) {
			if i.Held == 0 {
				return
			}
			span := trace.SpanFromContext(i.Request.Context())
			if !span.IsRecording() {
				return
			}
			outcome := "canceled"
			if errors.Is(i.Err, transport.ErrRejected) {
				outcome = "refused"
			}
			wait(i.Request.Context(), span, i.Waited, i.Held, i.Policy, outcome)
		},
	}
}

// wait writes a span for a wait that has ended, so that hooks need to remember nothing.
func wait(ctx context.Context, parent trace.Span, waited time.Duration, why quota.Reason, policy, outcome string) {
	end := time.Now()
	_, span := parent.TracerProvider().Tracer(scope).Start(ctx, "headway.wait",
		trace.WithTimestamp(end.Add(-waited)),
		trace.WithSpanKind(trace.SpanKindInternal),
		trace.WithAttributes(
			attribute.String(metrics.Policy, name(policy)),
			attribute.String(metrics.Reason, metrics.ReasonOf(why)),
			attribute.String(metrics.Outcome, outcome),
		))
	span.End(trace.WithTimestamp(end))
}

// name cuts the name of a policy, which the server chooses.
func name(policy string) string { return policy[:min(len(policy), 64)] }
