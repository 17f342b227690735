// Package promheadway exports what a Shaper does as Prometheus metrics.
//
//	metrics := promheadway.New(promheadway.Options{Accounts: accounts})
//	prometheus.MustRegister(metrics)
//	shaper := &transport.Shaper{Accounts: accounts, Trace: metrics.Trace()}
//
// The names, the units and the labels are those into which an OpenTelemetry exporter
// translates the metrics of package otelheadway. The folder dashboard of the repository
// has a dashboard and alerts for both.
//
// The number of series is bounded whatever servers send: at most 100 origins and 20
// policies of each have names of their own, at most 64 bytes long; the others are
// counted as _OTHER. Neither URLs nor partition keys nor scopes are labels.
package promheadway

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/internal/metrics"
)

// Options are the options of New. The zero value has the defaults.
type Options struct {
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

// Metrics is a prometheus.Collector. It is safe for concurrent use.
type Metrics struct {
	accounts *quota.Accounts
	fleet    *fleet.Fleet
	recorder *metrics.Recorder
	vecs     map[*metrics.Instrument]prometheus.Collector // of counters and histograms
	gauges   map[*metrics.Instrument]*prometheus.Desc
}

// New returns Metrics, to be registered. Those of several Shapers are told apart by
// prometheus.WrapRegistererWith; or one Metrics serves all Shapers that share Accounts.
func New(o Options) *Metrics {
	m := &Metrics{
		accounts: o.Accounts,
		fleet:    o.Fleet,
		vecs:     make(map[*metrics.Instrument]prometheus.Collector),
		gauges:   make(map[*metrics.Instrument]*prometheus.Desc),
	}
	for _, i := range metrics.All {
		name, labels := nameOf(i), labelsOf(i)
		switch i.Kind {
		case metrics.Histogram:
			m.vecs[i] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: i.Help, Buckets: i.Buckets()}, labels)
		case metrics.Counter:
			m.vecs[i] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: i.Help}, labels)
		default:
			m.gauges[i] = prometheus.NewDesc(name, i.Help, labels, nil)
		}
	}
	m.recorder = metrics.New(o.MaxOrigins, m.series)
	m.recorder.Watch(o.Fleet)
	return m
}

// Trace returns the hooks that count. Set it as Shaper.Trace, or join it to others with
// transport.JoinTraces. The hooks do not allocate, and take no lock, once they have seen
// an origin and its policies.
func (m *Metrics) Trace() *transport.Trace { return m.recorder.Trace() }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, v := range m.vecs {
		v.Describe(to)
	}
	for _, d := range m.gauges {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, v := range m.vecs {
		v.Collect(to)
	}
	m.recorder.Observe(m.accounts, m.fleet, time.Now(), func(i *metrics.Instrument, k *metrics.Key, value float64) {
		to <- prometheus.MustNewConstMetric(m.gauges[i], prometheus.GaugeValue, value, values(i, k)...)
	})
}

// series is one set of labels of an instrument; the others are nil.
type series struct {
	add     func(float64)
	observe prometheus.Observer
}

func (s series) Add(_ context.Context, n int64)            { s.add(float64(n)) }
func (s series) Record(_ context.Context, seconds float64) { s.observe.Observe(seconds) }

func (m *Metrics) series(i *metrics.Instrument, k *metrics.Key) metrics.Series {
	switch v := m.vecs[i].(type) {
	case *prometheus.HistogramVec:
		return &series{observe: v.WithLabelValues(values(i, k)...)}
	case *prometheus.CounterVec:
		return &series{add: v.WithLabelValues(values(i, k)...).Add}
	}
	return nil // all others are observed
}

func values(i *metrics.Instrument, k *metrics.Key) (vs []string) {
	for _, attr := range i.Attributes() {
		vs = append(vs, k.Text(attr))
	}
	return vs
}

// nameOf translates the name of an instrument as OpenTelemetry's exporters do.
func nameOf(i *metrics.Instrument) string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	if i.Unit == "s" {
		name += "_seconds"
	}
	if i.Kind == metrics.Counter {
		name += "_total"
	}
	return name
}

func labelsOf(i *metrics.Instrument) (labels []string) {
	for _, attr := range i.Attributes() {
		labels = append(labels, strings.ReplaceAll(attr, ".", "_"))
	}
	return labels
}
