package metrics

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
)

// A Series is an instrument with one set of attributes: a Counter, or a Histogram of
// seconds.
type Series interface {
	Add(ctx context.Context, n int64)
	Record(ctx context.Context, seconds float64)
}

// A Recorder records what the hooks of a Shaper tell. It is safe for concurrent use.
type Recorder struct {
	maxOrigins int
	origins    growing[string, *origin] // by name; several share one if nothing tells them apart but the scheme
	usual      atomic.Pointer[origin]   // of origins; most programs have one that they use most
	other      atomic.Pointer[origin]   // nil: all origins have names of their own

	waited, refused, ignored, mispredicted, exchanged table
}

// New returns a Recorder. maxOrigins is how many origins have a name of their own; 0:
// DefaultMaxOrigins; negative: all. newSeries is called once for each key of a Counter or Histogram, and
// not concurrently for one instrument.
func New(maxOrigins int, newSeries func(*Instrument, *Key) Series) *Recorder {
	switch {
	case maxOrigins == 0:
		maxOrigins = DefaultMaxOrigins
	case maxOrigins < 0:
		maxOrigins = math.MaxInt
	}
	r := &Recorder{maxOrigins: maxOrigins}
	for i, t := range map[*Instrument]*table{
		TimeInLine: &r.waited, Refused: &r.refused, Ignored: &r.ignored, Mispredicted: &r.mispredicted, Exchanges: &r.exchanged,
	} {
		t.instrument, t.make = i, newSeries
	}
	return r
}

func (r *Recorder) newOrigin(name string) *origin {
	return &origin{name: name, atOnce: r.waited.of(Key{Origin: name, Outcome: "sent", Reason: "none"})}
}

// origin returns the origin of that name, or the one that stands for all others.
func (r *Recorder) origin(name string) *origin {
	if o := r.usual.Load(); o != nil && o.name == name {
		return o
	}
	if o, known := r.origins.load()[name]; known {
		return o
	}
	if o := r.other.Load(); o != nil {
		return o
	}
	r.origins.mu.Lock()
	defer r.origins.mu.Unlock()
	all := r.origins.load()
	if o, known := all[name]; known {
		return o
	}
	for _, o := range all {
		if sameAddress(o.name, name) {
			if len(all) < r.maxOrigins {
				r.origins.add(name, o)
			}
			return o
		}
	}
	if len(all) >= r.maxOrigins {
		if r.other.Load() == nil {
			r.other.Store(r.newOrigin(Other))
		}
		return r.other.Load()
	}
	o := r.newOrigin(name)
	r.usual.CompareAndSwap(nil, o)
	r.origins.add(name, o)
	return o
}

// Trace returns the hooks.
func (r *Recorder) Trace() *transport.Trace {
	return &transport.Trace{
		Held: func(i transport.HeldInfo) {
			if !i.Observed && i.Held == 0 { // it was not in line before
				r.origin(i.Origin).inLine.Add(1)
			}
		},
		Admitted: func(i transport.AdmittedInfo) {
			o := r.origin(i.Origin)
			o.inFlight.Add(1)
			if i.Held == 0 {
				o.atOnce.Record(i.Request.Context(), 0)
				return
			}
			o.inLine.Add(-1)
			key := Key{Origin: o.name, Outcome: "sent", Reason: ReasonOf(i.Held), Policy: o.policy(i.Policy)}
			r.waited.of(key).Record(i.Request.Context(), i.Waited.Seconds())
		},
		Rejected: func(i transport.RejectedInfo) {
			o := r.origin(i.Origin)
			key := Key{Origin: o.name, Outcome: "canceled", Reason: ReasonOf(i.Held)}
			policy := i.Policy
			var rejected *transport.RejectedError
			if errors.As(i.Err, &rejected) {
				key.Outcome, key.Reason, policy = "refused", ReasonOf(rejected.Reason), rejected.Policy
			}
			key.Policy = o.policy(policy)
			waited := 0.0
			if i.Held != 0 {
				waited = i.Waited.Seconds()
				o.inLine.Add(-1)
			}
			r.waited.of(key).Record(i.Request.Context(), waited)
		},
		Answered: func(i transport.AnsweredInfo) {
			o := r.origin(i.Origin)
			o.inFlight.Add(-1)
			if i.Refused {
				r.refused.of(Key{Origin: o.name, Status: i.Status, First: i.First}).Add(i.Request.Context(), 1)
			}
		},
		Failed: func(i transport.FailedInfo) { r.origin(i.Origin).inFlight.Add(-1) },
		Ignored: func(i transport.IgnoredInfo) {
			r.ignored.of(Key{Origin: r.origin(i.Origin).name, Field: field(i.Field)}).Add(i.Request.Context(), 1)
		},
		Mispredicted: func(i transport.MispredictedInfo) {
			o := r.origin(i.Origin)
			r.mispredicted.of(Key{Origin: o.name, Policy: o.policy(i.Policy)}).Add(i.Request.Context(), 1)
		},
	}
}

// Watch records the exchanges of f from now on, if f is not nil.
func (r *Recorder) Watch(f *fleet.Fleet) {
	if f != nil {
		f.Watch(&fleet.Trace{Exchanged: func(i fleet.ExchangedInfo) {
			r.exchanged.of(Key{Error: errorOf(&i)}).Record(context.Background(), i.Took.Seconds())
		}})
	}
}

// errorOf says why an exchange failed, in one of a few words; "": it did not.
func errorOf(i *fleet.ExchangedInfo) string {
	var late interface{ Timeout() bool }
	var network net.Error
	switch err := i.Err; {
	case err == nil && i.Void:
		return "void"
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return "timeout"
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "connection"
	}
	return "server" // it answered, but with an error
}

// ReasonOf is a Reason as the value of an attribute.
func ReasonOf(r quota.Reason) string {
	switch r {
	case 0:
		return "none"
	case quota.ReasonExhausted:
		return "exhausted"
	case quota.ReasonRetryAfter:
		return "retry_after"
	case quota.ReasonBackOff:
		return "back_off"
	case quota.ReasonOwnLimit:
		return "own_limit"
	case quota.ReasonMaxDelay:
		return "max_delay"
	case quota.ReasonDeadline:
		return "deadline"
	case quota.ReasonQueueFull:
		return "queue_full"
	case quota.ReasonClosed:
		return "closed"
	case quota.ReasonFirstFlight:
		return "first_contact"
	}
	return Other
}

// field is the name of a field as one of a few values: rows for vendors name many.
func field(name string) string {
	switch name = strings.ToLower(name); {
	case name == "ratelimit", name == "ratelimit-policy", name == "ratelimit-partition", name == "retry-after":
		return name
	case strings.HasPrefix(name, "ratelimit-"):
		return "ratelimit-*"
	case strings.HasPrefix(name, "x-ratelimit"), strings.HasPrefix(name, "x-rate-limit"):
		return "x-ratelimit-*"
	}
	return Other
}

// Observe calls observe with each value of an UpDownCounter or Gauge at the present
// instant, now: each key once for an instrument. Those of quotas are of accounts, and those
// of a fleet of f; both may be nil.
func (r *Recorder) Observe(accounts *quota.Accounts, f *fleet.Fleet, now time.Time, observe func(i *Instrument, k *Key, value float64)) {
	if o := r.other.Load(); o != nil {
		r.observe(o, observe)
	}
	for name, o := range r.origins.load() {
		if name == o.name {
			r.observe(o, observe)
		}
	}
	if f != nil {
		status := f.Status()
		linked := 0.0
		if status.Linked {
			linked = 1
		}
		observe(Linked, &Key{}, linked)
		observe(Peers, &Key{}, float64(status.Peers))
	}
	if accounts == nil {
		return
	}
	type id struct {
		*Instrument
		Key
	}
	values := make(map[id]float64)
	sets := make(map[*Instrument]int)
	note := func(i *Instrument, k Key, value float64, worse func(x, y float64) float64) {
		at := id{i, k}
		old, known := values[at]
		if !known && sets[i] >= i.limit && k.Origin != Other {
			k.Origin = Other
			if k.Policy != "" {
				k.Policy = Other
			}
			at = id{i, k}
			old, known = values[at]
		}
		if known {
			value = worse(old, value)
		} else {
			sets[i]++
		}
		values[at] = value
	}
	least := func(x, y float64) float64 { return min(x, y) }
	most := func(x, y float64) float64 { return max(x, y) }
	count := 0
	for _, snapshot := range accounts.Snapshot(now, quota.SnapshotOptions{ByPolicy: true}) {
		for i := range snapshot.Accounts {
			a := &snapshot.Accounts[i]
			count += a.Accounts
			o := r.origin(snapshot.Name)
			k := Key{Origin: o.name, Policy: o.policy(a.Name)}
			if a.Available >= 0 {
				note(Available, k, float64(a.Available), least)
			}
			if a.Quota >= 0 {
				note(Limit, k, float64(a.Quota), most)
			}
			note(Hold, Key{Origin: o.name, Reason: "retry_after"}, a.Hold.Seconds(), most)
			note(Hold, Key{Origin: o.name, Reason: "back_off"}, a.BackOff.Seconds(), most)
		}
	}
	observe(Accounts, &Key{}, float64(count))
	for at, value := range values {
		observe(at.Instrument, &at.Key, value)
	}
}

func (r *Recorder) observe(o *origin, observe func(*Instrument, *Key, float64)) {
	k := &Key{Origin: o.name}
	observe(InLine, k, float64(o.inLine.Load()))
	observe(InFlight, k, float64(o.inFlight.Load()))
}
