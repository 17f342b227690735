package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport"
)

// A book is a Series that adds up what it is told.
type book struct {
	mu    sync.Mutex
	n     int64
	sum   float64
	count int
}

func (b *book) Add(_ context.Context, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n += n
}

func (b *book) Record(_ context.Context, seconds float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sum += seconds
	b.count++
}

type books struct {
	mu  sync.Mutex
	all map[*Instrument]map[Key]*book
}

func newBooks() (*books, *Recorder) {
	b := &books{all: make(map[*Instrument]map[Key]*book)}
	return b, New(0, func(i *Instrument, k *Key) Series {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.all[i] == nil {
			b.all[i] = make(map[Key]*book)
		}
		if b.all[i][*k] != nil {
			panic(fmt.Sprintf("%s %+v is made twice", i.Name, k))
		}
		b.all[i][*k] = new(book)
		return b.all[i][*k]
	})
}

const api = "https://api.example"

var req, _ = http.NewRequest("GET", api, nil)

func of(origin string) transport.RequestInfo {
	return transport.RequestInfo{Request: req, Origin: origin}
}

// Dashboards and alerts of users name the instruments: a change of these lines breaks them.
func TestInstruments(t *testing.T) {
	var got []string
	limits := 0
	for _, i := range All {
		kind := map[Kind]string{Histogram: "Histogram", Counter: "Counter", UpDownCounter: "UpDownCounter", Gauge: "Gauge"}[i.Kind]
		got = append(got, strings.TrimSpace(fmt.Sprint(i.Name, " ", kind, " ", i.Unit, " ", strings.Join(i.Attributes(), " "))))
		limits += i.limit
	}
	assert.Equal(t, []string{
		"headway.request.time_in_line Histogram s server.address server.port headway.outcome headway.reason headway.policy",
		"headway.request.in_line UpDownCounter {request} server.address server.port",
		"headway.request.in_flight UpDownCounter {request} server.address server.port",
		"headway.response.refused Counter {response} server.address server.port http.response.status_code headway.first",
		"headway.quota.available Gauge {unit} server.address server.port headway.policy",
		"headway.quota.limit Gauge {unit} server.address server.port headway.policy",
		"headway.quota.hold Gauge s server.address server.port headway.reason",
		"headway.account.count Gauge {account}",
		"headway.field.ignored Counter {field} server.address server.port headway.field",
		"headway.prediction.failed Counter {request} server.address server.port headway.policy",
		"headway.fleet.linked UpDownCounter {process}",
		"headway.fleet.peer.count Gauge {process}",
		"headway.fleet.exchange.duration Histogram s error.type",
	}, got)
	assert.Equal(t, []float64{0, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}, TimeInLine.Buckets())
	assert.Equal(t, []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}, Exchanges.Buckets())
	assert.LessOrEqual(t, limits, 2_200)
}

// What each hook counts, and under what.
func TestRecorder(t *testing.T) {
	b, r := newBooks()
	tr := r.Trace()
	check := func(i *Instrument, k Key, n int64, sum float64, count int) {
		t.Helper()
		got := b.all[i][k]
		require.NotNil(t, got, "%s %+v of %v", i.Name, k, b.all[i])
		assert.Equal(t, book{n: n, sum: sum, count: count}, book{n: got.n, sum: got.sum, count: got.count}, "%s %+v", i.Name, k)
	}

	tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Waited: time.Microsecond}})
	check(TimeInLine, Key{Origin: api, Outcome: "sent", Reason: "none"}, 0, 0, 1)
	checkNow := func(inLine, inFlight int64) {
		t.Helper()
		o := r.origin(api)
		assert.Equal(t, []int64{inLine, inFlight}, []int64{o.inLine.Load(), o.inFlight.Load()})
	}
	checkNow(0, 1)
	tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}, Policy: "day"})
	tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}, Policy: "day"})
	tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}, Policy: "day"})
	tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}, Policy: "day", Observed: true})
	tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Held: quota.ReasonFirstFlight}, Policy: "day"})
	checkNow(3, 1) // the last one was in line before
	tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Waited: 3 * time.Second, Held: quota.ReasonExhausted, Policy: "day"}})
	checkNow(2, 2)
	check(TimeInLine, Key{Origin: api, Outcome: "sent", Reason: "exhausted", Policy: "day"}, 0, 3, 1)
	tr.Rejected(transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Waited: 4 * time.Second, Held: quota.ReasonRetryAfter}, Err: context.Canceled})
	check(TimeInLine, Key{Origin: api, Outcome: "canceled", Reason: "retry_after"}, 0, 4, 1)
	tr.Rejected(transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Waited: 5 * time.Second, Held: quota.ReasonExhausted, Policy: "day"}, Err: &transport.RejectedError{Policy: "hour", Reason: quota.ReasonMaxDelay}})
	check(TimeInLine, Key{Origin: api, Outcome: "refused", Reason: "max_delay", Policy: "hour"}, 0, 5, 1)
	checkNow(0, 2)
	tr.Rejected(transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Waited: time.Second}, Err: &transport.RejectedError{Reason: quota.ReasonQueueFull}})
	check(TimeInLine, Key{Origin: api, Outcome: "refused", Reason: "queue_full"}, 0, 0, 1)
	checkNow(0, 2)
	tr.Answered(transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}, First: true}, Status: 429, Refused: true})
	tr.Failed(transport.FailedInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}}})
	checkNow(0, 0)
	check(Refused, Key{Origin: api, Status: 429, First: true}, 1, 0, 0)
	for field, want := range map[string]string{"RateLimit": "ratelimit", "Retry-After": "retry-after", "RateLimit-Reset": "ratelimit-*", "X-RateLimit-Foo": "x-ratelimit-*", "X-Secret": Other} {
		tr.Ignored(transport.IgnoredInfo{RequestInfo: of(api), Ignored: parse.Ignored{Field: field}})
		check(Ignored, Key{Origin: api, Field: want}, 1, 0, 0)
	}
	tr.Mispredicted(transport.MispredictedInfo{RequestInfo: of(api), Policy: "day"})
	check(Mispredicted, Key{Origin: api, Policy: "day"}, 1, 0, 0)
}

// The number of series is bounded, whatever names come, and what is beyond the bound is
// counted all the same.
func TestBounds(t *testing.T) {
	b, r := newBooks()
	tr := r.Trace()
	accounts := &quota.Accounts{}
	const n = 10_000
	for i := range n {
		origin, policy := fmt.Sprintf("https://o%d.example", i%5_000), fmt.Sprintf("p%d", i)
		if i%100 == 0 {
			policy = strings.Repeat("x", 65+i)
		}
		tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(origin)}, Policy: policy})
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(origin), Held: quota.Reason(i%9 + 1), Policy: policy}})
		tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(origin)}, Policy: policy})
		tr.Rejected(transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(origin), Held: quota.ReasonExhausted, Policy: policy}, Err: &transport.RejectedError{Reason: quota.Reason(i%9 + 1), Policy: policy}})
		tr.Answered(transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(origin)}, First: i%2 == 0}, Status: 400 + i%200, Refused: true})
		tr.Ignored(transport.IgnoredInfo{RequestInfo: of(origin), Ignored: parse.Ignored{Field: policy}})
		tr.Mispredicted(transport.MispredictedInfo{RequestInfo: of(origin), Policy: policy})
		if i < 1_000 {
			o := accounts.Origin(origin)
			var l quota.Lease
			require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, &l))
			o.Settle(time.Now(), &l, &quota.Report{
				Terms:   []quota.Policy{{Name: policy, Quota: 9, Window: time.Hour}},
				Figures: []quota.Figure{{Policy: policy, Available: 5, Window: time.Hour}},
			})
		}
	}
	const more = 9 * 50 * 20
	for i := range more { // known origins with many policies, reasons and statuses
		info := of(fmt.Sprintf("https://o%d.example", i%50))
		tr.Rejected(transport.RejectedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}, Err: &transport.RejectedError{Reason: quota.Reason(i%9 + 1), Policy: fmt.Sprintf("p%d", i%997)}})
		tr.Answered(transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}}, Status: 400 + i%199, Refused: true})
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: info}})
		tr.Mispredicted(transport.MispredictedInfo{RequestInfo: info, Policy: fmt.Sprintf("p%d", i%997)})
	}
	series := make(map[string]int)
	total := 0
	for i, ks := range b.all {
		series[i.Name] += len(ks)
		total += len(ks)
	}
	inLine, inFlight := 0.0, 0.0
	r.Observe(accounts, nil, time.Now(), func(i *Instrument, _ *Key, v float64) {
		series[i.Name]++
		total++
		switch i {
		case InLine:
			inLine += v
		case InFlight:
			inFlight += v
		}
	})
	assert.Zero(t, inLine)
	assert.Zero(t, inFlight)
	assert.LessOrEqual(t, total, 2_200, "%v", series)
	t.Log(total, series)
	sum := func(i *Instrument) (n int64, count int) {
		for _, k := range b.all[i] {
			n, count = n+k.n, count+k.count
		}
		return n, count
	}
	_, count := sum(TimeInLine)
	assert.Equal(t, 2*n+2*more, count)
	for i, want := range map[*Instrument]int{Refused: n + more, Ignored: n, Mispredicted: n + more} {
		got, _ := sum(i)
		assert.EqualValues(t, want, got, i.Name)
	}
}

// Zero means the default, and a negative number no bound.
func TestMaxOrigins(t *testing.T) {
	for most, want := range map[int]int{0: DefaultMaxOrigins, 2: 2, -1: 150} {
		r := New(most, func(*Instrument, *Key) Series { return new(book) })
		for i := range 150 {
			r.origin(fmt.Sprintf("https://o%d.example", i))
		}
		assert.Len(t, r.origins.load(), want, "%d", most)
	}
}

// Names that are too long, or that cannot be read, have no series of their own.
func TestNamesOfPolicies(t *testing.T) {
	_, r := newBooks()
	o := r.origin(api)
	for name, want := range map[string]string{
		"": "", "day": "day", "ünïcödé": "ünïcödé", strings.Repeat("x", 64): strings.Repeat("x", 64), strings.Repeat("x", 65): Other, "a\xff": Other, "a\nb": Other,
	} {
		assert.Equal(t, want, o.policy(name), "%q", name)
	}
}

// Several goroutines may see an origin first at once.
func TestConcurrent(t *testing.T) {
	b, r := newBooks()
	tr := r.Trace()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 500 {
				tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(fmt.Sprint("https://", i%150)), Held: quota.ReasonExhausted, Policy: fmt.Sprint(i % 40)}})
			}
		})
	}
	wg.Wait()
	n := 0
	for _, k := range b.all[TimeInLine] {
		n += k.count
	}
	assert.Equal(t, 4_000, n)
}

// The gauges: the least that is left, the largest quota, the longest hold.
func TestObserve(t *testing.T) {
	_, r := newBooks()
	accounts := &quota.Accounts{}
	o := accounts.Origin(api)
	now := time.Now()
	for i, left := range []int64{7, 3, 9} {
		var l quota.Lease
		require.NoError(t, o.Admit(t.Context(), now, &quota.Ask{Scope: fmt.Sprint(i)}, &l))
		rep := quota.Report{
			Terms:   []quota.Policy{{Name: "day", Quota: 10, Window: time.Hour}},
			Figures: []quota.Figure{{Policy: "day", Available: left, Window: time.Hour}},
		}
		if i == 2 {
			rep.Pause = time.Minute
		}
		o.Settle(now, &l, &rep)
	}
	got := make(map[string]float64)
	r.Observe(accounts, nil, now, func(i *Instrument, k *Key, v float64) {
		if i != InLine && i != InFlight {
			got[fmt.Sprintf("%s %s%s", i.Name, k.Policy, k.Reason)] += v
		}
	})
	assert.Equal(t, map[string]float64{
		"headway.account.count ":         6,
		"headway.quota.available day":    3,
		"headway.quota.limit day":        10,
		"headway.quota.hold retry_after": 60,
		"headway.quota.hold back_off":    0,
	}, got)
	r.Observe(nil, nil, now, func(i *Instrument, _ *Key, _ float64) { assert.Contains(t, []*Instrument{InLine, InFlight}, i) })

	f := fleet.New(new(fleet.Hub), fleet.Options{})
	defer f.Close()
	clear(got)
	r.Observe(nil, f, now, func(i *Instrument, _ *Key, v float64) { got[i.Name] = v })
	assert.Equal(t, map[string]float64{"headway.fleet.linked": 0, "headway.fleet.peer.count": 0, "headway.request.in_line": 0, "headway.request.in_flight": 0}, got)
}

func TestAddress(t *testing.T) {
	for origin, want := range map[string]string{
		"https://api.example": "api.example 443", "http://api.example": "api.example 80", "http://api.example:8080": "api.example 8080",
		"https://[::1]:8443": "::1 8443", "https://[2001:db8::1]": "2001:db8::1 443", Other: Other + " ", "queue": "queue ",
		"http://[fe80::1%\xff]": "fe80::1%\uFFFD 80", "mailto:": "mailto: ", "mailto://": " ",
	} {
		k := Key{Origin: origin}
		assert.Equal(t, want, k.Text(Address)+" "+k.Text(Port), origin)
	}
}

// Origins that have the same attributes are one: a set of attributes that occurs twice is an error.
func TestSameAddress(t *testing.T) {
	for _, same := range [][]string{
		{"https://a.example", "http://a.example:443"}, {"http://a.example", "https://a.example:80", "http://a.example:0"}, {"mailto://", "tel://"},
		{"http://[fe80::1%\xff]", "http://[fe80::1%\xfe]"},
	} {
		_, r := newBooks()
		tr := r.Trace()
		accounts := &quota.Accounts{}
		for _, origin := range append(same, "https://b.example") {
			tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(origin)}})
			var l quota.Lease
			o := accounts.Origin(origin)
			require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, &l))
			o.Settle(time.Now(), &l, &quota.Report{Figures: []quota.Figure{{Policy: "day", Available: 5, Window: time.Hour}}})
		}
		inFlight := make(map[string]float64)
		seen := make(map[string]int)
		r.Observe(accounts, nil, time.Now(), func(i *Instrument, k *Key, v float64) {
			seen[fmt.Sprint(i.Name, k.Text(Address), k.Text(Port), k.Reason, k.Policy)]++
			if i == InFlight {
				inFlight[k.Text(Address)] = v
			}
		})
		for key, n := range seen {
			assert.Equal(t, 1, n, key)
		}
		k := Key{Origin: same[0]}
		assert.Equal(t, map[string]float64{k.Text(Address): float64(len(same)), "b.example": 1}, inFlight)
	}
}

// Names that have the attributes of a known origin are bounded, too.
func TestSameAddressBounded(t *testing.T) {
	_, r := newBooks()
	for i := range 5 * DefaultMaxOrigins {
		assert.Same(t, r.origin("x0://h.example:443"), r.origin(fmt.Sprintf("x%d://h.example:443", i)))
	}
	assert.Len(t, r.origins.load(), DefaultMaxOrigins)
}

// Once an origin and its policies were seen, a request costs no allocation.
func TestNoAllocation(t *testing.T) {
	_, r := newBooks()
	tr := r.Trace()
	n := testing.AllocsPerRun(100, func() {
		tr.Held(transport.HeldInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}, Policy: "day"})
		tr.Admitted(transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api), Waited: time.Second, Held: quota.ReasonExhausted, Policy: "day"}})
		tr.Answered(transport.AnsweredInfo{AdmittedInfo: transport.AdmittedInfo{WaitInfo: transport.WaitInfo{RequestInfo: of(api)}}, Status: 429, Refused: true})
	})
	assert.Zero(t, n)
}

// Exchanges with the store of a fleet, and why some fail.
func TestExchanges(t *testing.T) {
	for want, i := range map[string]fleet.ExchangedInfo{
		"":           {},
		"void":       {Void: true},
		"timeout":    {Err: fmt.Errorf("store: %w", context.DeadlineExceeded)},
		"connection": {Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}},
		"server":     {Err: errors.New("NOSCRIPT No matching script"), Void: true},
	} {
		assert.Equal(t, want, errorOf(&i))
	}
	assert.Equal(t, "timeout", errorOf(&fleet.ExchangedInfo{Err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}))
	assert.Equal(t, "connection", errorOf(&fleet.ExchangedInfo{Err: fmt.Errorf("redis: %w", io.EOF)}))

	synctest.Test(t, func(t *testing.T) {
		b, r := newBooks()
		f := fleet.New(new(fleet.Hub), fleet.Options{})
		r.Watch(f)
		r.Watch(nil)
		accounts := &quota.Accounts{Peers: f, Secret: &[32]byte{1}}
		o := accounts.Origin(api)
		var l quota.Lease
		require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, &l))
		o.Settle(time.Now(), &l, &quota.Report{Figures: []quota.Figure{{Policy: "day", Available: 5, Window: time.Hour}}})
		synctest.Wait()
		require.NoError(t, f.Close())
		assert.EqualValues(t, f.Status().Exchanges, b.all[Exchanges][Key{}].count)
		assert.Positive(t, f.Status().Exchanges)
	})
}
