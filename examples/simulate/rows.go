package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// rows returns all rows. The defaults are the editor's draft, seconds rounded up, a
// round trip of 50 ms, and one process. A row's name seeds its random numbers: a row
// with another name has other scores.
func rows() []row {
	var all []row
	for _, rs := range [][]row{kinds(), roundings(), distances(), dialects(), oddities(), demands(), shares(), buckets(), costly(), methods(), shedding(), crowded(), fleets()} {
		all = append(all, rs...)
	}
	for i := range all {
		if r := &all[i]; r.rtt == 0 {
			r.rtt = 50 * ms
		}
	}
	return all
}

// kinds are servers with different algorithms, with short, medium and long windows.
func kinds() []row {
	return []row{
		{name: "fixed 20/1s", policies: fixed(20, sec), demand: backlog(600, 50)},
		{name: "fixed 100/10s", policies: fixed(100, 10*sec), demand: backlog(1000, 50)},
		{name: "fixed 300/60s", policies: fixed(300, 60*sec), demand: backlog(1800, 50)},
		{name: "aligned 20/1s", policies: aligned(20, sec), into: 300 * ms, demand: backlog(600, 50)},
		{name: "aligned 100/10s", policies: aligned(100, 10*sec), into: 3300 * ms, demand: backlog(1000, 50)},
		{name: "aligned 300/60s", policies: aligned(300, 60*sec), into: 47 * sec, demand: backlog(1800, 50)},
		{name: "log 20/1s", policies: slidingLog(20, sec), demand: backlog(600, 50)},
		{name: "log 100/10s", policies: slidingLog(100, 10*sec), demand: backlog(1000, 50)},
		{name: "log 60/60s", policies: slidingLog(60, 60*sec), demand: backlog(600, 50)},
		{name: "two buckets 20/1s", policies: slidingWindow(20, sec), into: 300 * ms, demand: backlog(600, 50)},
		{name: "two buckets 100/10s", policies: slidingWindow(100, 10*sec), into: 3300 * ms, demand: backlog(1000, 50)},
		{name: "two buckets 300/60s", policies: slidingWindow(300, 60*sec), into: 47 * sec, demand: backlog(1800, 50)},
		{name: "bucket 10/1s burst 20", policies: bucket(10, sec, 20), demand: backlog(600, 50)},
		{name: "bucket 100/10s", policies: bucket(100, 10*sec, 0), demand: backlog(1000, 50)},
		{name: "bucket 300/60s burst 10", policies: bucket(300, 60*sec, 10), demand: backlog(1500, 50)},
		{name: "gcra 20/1s", policies: gcra(20, sec, 0), demand: backlog(600, 50)},
		{name: "gcra 20/10s", policies: gcra(20, 10*sec, 0), demand: backlog(200, 50)},
		{name: "gcra 60/60s", policies: gcra(60, 60*sec, 0), demand: backlog(300, 50)},
		{name: "gcra 10/1s burst 15", policies: gcra(10, sec, 15), demand: backlog(600, 50)},
		{name: "concurrency 8", policies: concurrency(8), service: 100 * ms, demand: backlog(4000, 50)},
		{name: "concurrency 8 slow", policies: concurrency(8), service: sec, demand: backlog(400, 50)},
		{name: "concurrency 100", policies: concurrency(100), service: 50 * ms, demand: backlog(50000, 500)},
	}
}

// roundings are servers that round the time left to whole seconds in other ways.
func roundings() []row {
	return []row{
		{name: "fixed 20/1s down", policies: fixed(20, sec), rounding: math.Floor, demand: backlog(600, 50)},
		{name: "fixed 20/1s nearest", policies: fixed(20, sec), rounding: math.Round, demand: backlog(600, 50)},
		{name: "fixed 20/1s down, no policy", policies: fixed(20, sec), rounding: math.Floor, omitPolicies: true, demand: backlog(600, 50)},
		{name: "fixed 100/10s down", policies: fixed(100, 10*sec), rounding: math.Floor, demand: backlog(1000, 50)},
		{name: "fixed 100/10s nearest", policies: fixed(100, 10*sec), rounding: math.Round, demand: backlog(1000, 50)},
		{name: "fixed 300/60s down", policies: fixed(300, 60*sec), rounding: math.Floor, demand: backlog(1800, 50)},
		{name: "aligned 20/1s down", policies: aligned(20, sec), into: 300 * ms, rounding: math.Floor, demand: backlog(600, 50)},
		{name: "aligned 100/10s down", policies: aligned(100, 10*sec), into: 3300 * ms, rounding: math.Floor, demand: backlog(1000, 50)},
		{name: "aligned 100/10s nearest", policies: aligned(100, 10*sec), into: 3300 * ms, rounding: math.Round, demand: backlog(1000, 50)},
		{name: "log 60/60s down", policies: slidingLog(60, 60*sec), rounding: math.Floor, demand: backlog(600, 50)},
		{name: "bucket 10/1s burst 20 down", policies: bucket(10, sec, 20), rounding: math.Floor, demand: backlog(600, 50)},
		{name: "gcra 20/10s down", policies: gcra(20, 10*sec, 0), rounding: math.Floor, demand: backlog(200, 50)},
	}
}

// distances are short, long and varying round trips.
func distances() []row {
	return []row{
		{name: "fixed 20/1s, 5ms", policies: fixed(20, sec), rtt: 5 * ms, demand: backlog(600, 50)},
		{name: "fixed 20/1s, 200ms", policies: fixed(20, sec), rtt: 200 * ms, demand: backlog(600, 50)},
		{name: "aligned 20/1s, 5ms", policies: aligned(20, sec), into: 300 * ms, rtt: 5 * ms, demand: backlog(600, 50)},
		{name: "aligned 20/1s, 200ms", policies: aligned(20, sec), into: 300 * ms, rtt: 200 * ms, demand: backlog(600, 50)},
		{name: "fixed 100/10s, 200ms", policies: fixed(100, 10*sec), rtt: 200 * ms, demand: backlog(1000, 50)},
		{name: "log 100/10s, 200ms", policies: slidingLog(100, 10*sec), rtt: 200 * ms, demand: backlog(1000, 50)},
		{name: "bucket 10/1s burst 20, 200ms", policies: bucket(10, sec, 20), rtt: 200 * ms, demand: backlog(600, 50)},
		{name: "gcra 20/1s, 200ms", policies: gcra(20, sec, 0), rtt: 200 * ms, demand: backlog(600, 50)},
		{name: "fixed 20/1s, wild", policies: fixed(20, sec), wild: true, demand: backlog(600, 50)},
		{name: "fixed 20/1s, 200ms, wild", policies: fixed(20, sec), rtt: 200 * ms, wild: true, demand: backlog(600, 50)},
		{name: "aligned 100/10s, 200ms, wild", policies: aligned(100, 10*sec), into: 3300 * ms, rtt: 200 * ms, wild: true, demand: backlog(1000, 50)},
		{name: "fixed 20/1s, dials", policies: fixed(20, sec), dials: true, demand: backlog(600, 50)},
		{name: "fixed 100/10s, 200ms, dials", policies: fixed(100, 10*sec), rtt: 200 * ms, dials: true, demand: backlog(1000, 50)},
		{name: "concurrency 8, 200ms", policies: concurrency(8), service: 100 * ms, rtt: 200 * ms, demand: backlog(2000, 50)},
	}
}

// dialects are servers that send older or fewer fields.
func dialects() []row {
	const skew = 90 * sec
	return []row{
		{name: "fixed 100/10s, -09", policies: fixed(100, 10*sec), dialect: parse.Draft08, demand: backlog(1000, 50)},
		{name: "fixed 100/10s, -07", policies: fixed(100, 10*sec), dialect: parse.Draft07, demand: backlog(1000, 50)},
		{name: "fixed 100/10s, -06", policies: fixed(100, 10*sec), dialect: parse.Draft06, demand: backlog(1000, 50)},
		{name: "fixed 100/10s, X", policies: fixed(100, 10*sec), dialect: parse.VendorFields, skew: skew, demand: backlog(1000, 50)},
		{name: "fixed 20/1s, X", policies: fixed(20, sec), dialect: parse.VendorFields, skew: skew, demand: backlog(600, 50)},
		{name: "aligned 300/60s, X", policies: aligned(300, 60*sec), into: 47 * sec, dialect: parse.VendorFields, skew: -skew, demand: backlog(1800, 50)},
		{name: "fixed 5/2s, X", policies: fixed(5, 2*sec), dialect: parse.VendorFields, skew: skew, demand: backlog(300, 50)},
		{name: "fixed 5/2s nearest, X", rtt: 200 * ms, policies: fixed(5, 2*sec), dialect: parse.VendorFields, rounding: math.Round, skew: skew, demand: backlog(300, 10)},
		{name: "fixed 5/2s down, X", policies: fixed(5, 2*sec), dialect: parse.VendorFields, rounding: math.Floor, skew: skew, demand: backlog(300, 50)},
		{name: "10/1s and 200/60s, -07", policies: both(fixed(10, sec), fixed(200, 60*sec)), dialect: parse.Draft07, demand: backlog(800, 50)},
		{name: "fixed 10/1s, no reset", policies: fixed(10, sec), vendor: withoutReset, demand: backlog(600, 1)},
		{name: "fixed 50/5s, no reset", policies: fixed(50, 5*sec), vendor: withoutReset, demand: backlog(1000, 20)},
		{name: "fixed 100/10s, limits only", policies: fixed(100, 10*sec), omitPolicies: true, demand: backlog(1000, 50)},
		{name: "fixed 100/10s, policies only", policies: fixed(100, 10*sec), omitLimits: true, demand: backlog(1000, 50)},
	}
}

// oddities are servers that have several policies, change their quota, penalize
// refusals, advertise nothing, or advertise outdated or wrong values.
func oddities() []row {
	return []row{
		{name: "10/1s and 200/60s", policies: both(fixed(10, sec), fixed(200, 60*sec)), demand: backlog(800, 50)},
		{name: "bucket 5/1s and aligned 100/60s", policies: both(bucket(5, sec, 10), aligned(100, 60*sec)), into: 15 * sec, demand: backlog(500, 50)},
		{name: "halves from 60s to 120s", policies: aligned(100, 10*sec), halved: [2]time.Duration{60 * sec, 120 * sec}, demand: backlog(1500, 50)},
		{name: "counts refusals, log 20/1s", policies: countRefused(slidingLog(20, sec)), demand: backlog(600, 50)},
		{name: "counts refusals, log 100/10s", policies: countRefused(slidingLog(100, 10*sec)), demand: backlog(1000, 50)},
		{name: "block of 5s", policies: block(fixed(100, 10*sec), 5*sec), demand: backlog(1000, 50)},
		{name: "block of 5s, 1s windows", policies: block(fixed(20, sec), 5*sec), demand: backlog(4000, 50)},
		{name: "block that doubles", policies: blockLonger(fixed(100, 10*sec), 2*sec), demand: backlog(1000, 50)},
		{name: "only Retry-After, 100/10s", policies: fixed(100, 10*sec), omitLimits: true, omitPolicies: true, demand: backlog(2000, 50)},
		{name: "only Retry-After, 20/1s", policies: fixed(20, sec), omitLimits: true, omitPolicies: true, demand: backlog(1200, 50)},
		{name: "only Retry-After, bucket 10/1s", policies: bucket(10, sec, 20), omitLimits: true, omitPolicies: true, demand: backlog(600, 50)},
		{name: "only Retry-After, bucket 20/1s, holds 5", policies: bucket(20, sec, 5), omitLimits: true, omitPolicies: true, demand: backlog(1200, 50)},
		{name: "only Retry-After, holds 5, 300ms", policies: bucket(20, sec, 5), omitLimits: true, omitPolicies: true, rtt: 300 * ms, demand: backlog(1200, 20)},
		{name: "only Retry-After, gcra 20/1s", policies: gcra(20, sec, 0), omitLimits: true, omitPolicies: true, demand: backlog(1200, 50)},
		{name: "only Retry-After, 2/1s", policies: fixed(2, sec), omitLimits: true, omitPolicies: true, demand: backlog(200, 10)},
		{name: "only Retry-After, gcra 1/1s", policies: gcra(1, sec, 0), omitLimits: true, omitPolicies: true, demand: backlog(120, 10)},
		{name: "only Retry-After, two buckets 20/1s", policies: slidingWindow(20, sec), omitLimits: true, omitPolicies: true, demand: backlog(1200, 50)},
		{name: "says nothing at all, 100/10s", policies: fixed(100, 10*sec), omitLimits: true, omitPolicies: true, noRetryAfter: true, demand: backlog(1000, 50)},
		{name: "a=0 now and then", policies: fixed(100, 10*sec), misstate: sometimesNothing, demand: backlog(1000, 50)},
		{name: "a=0 always", policies: fixed(1000, sec), misstate: alwaysNothing, demand: backlog(200, 10)},
		{name: "replicas that lag", policies: fixed(100, 10*sec), misstate: replicas, demand: backlog(1000, 50)},
		{name: "20,000 a day, untold 100/10s", policies: both(fixed(100, 10*sec), fixed(20_000, 24*time.Hour)), untold: true, dialect: parse.VendorFields, demand: backlog(2000, 50)},
		{name: "figures mean headroom", policies: slidingLog(12, sec), misstate: headroom, demand: backlog(400, 50)},
		{name: "soft quota", policies: fixed(softBeyond, time.Hour), misstate: softAfter(1000), demand: stream(5400, sec)},
	}
}

// shedding are servers that refuse at random, for another reason than a quota: load, or one bad
// replica.
func shedding() []row {
	silent := func(r row) row {
		r.omitLimits, r.omitPolicies = true, true
		return r
	}
	const plenty = 1_000_000
	var methods []demand
	for _, kind := range []string{"GET /a", "GET /b", "POST /a", "POST /b"} {
		methods = append(methods, demand{kind: kind, jobs: 10_000, workers: 5})
	}
	return []row{
		silent(row{name: "sheds 1 %, bare", policies: fixed(plenty, sec), sheds: .01, demand: backlog(40_000, 20)}),
		silent(row{name: "sheds 1 %", policies: fixed(plenty, sec), sheds: .01, shedsAfter: 1, demand: backlog(40_000, 20)}),
		silent(row{name: "sheds .1 %, 30s", policies: fixed(plenty, sec), sheds: .001, shedsAfter: 30, demand: backlog(80_000, 20)}),
		silent(row{name: "sheds 1 %, 4 methods, 10s", policies: fixed(plenty, sec), sheds: .01, shedsAfter: 10, demand: methods}),
		{name: "sheds 1 %, 10,000 in the hour", policies: fixed(10_000, time.Hour), sheds: .01, demand: backlog(9_000, 20)},
	}
}

// crowded are servers that bound how many requests they work on at a time. They do not tell it, but refuse one too
// many, with a Retry-After of so many seconds.
func crowded() []row {
	const plenty = 1_000_000
	var methods []demand
	for _, kind := range []string{"GET /a", "GET /b", "POST /a"} {
		methods = append(methods, demand{kind: kind, jobs: 4000, workers: 20})
	}
	silent := func(name string, atOnce int64, after int, rtt, service time.Duration, d []demand) row {
		return row{
			name: name, policies: both(concurrency(atOnce), fixed(plenty, sec)), untold: true, shedsAfter: after,
			omitLimits: true, omitPolicies: true, rtt: rtt, service: service, demand: d,
		}
	}
	beside := func(name string, atOnce int64, after int, d []demand) row {
		r := silent(name, atOnce, after, 100*ms, 300*ms, d)
		r.policies[1] = policy(transporttest.FixedWindow, 1000, 10*sec)
		r.omitLimits, r.omitPolicies = false, false
		return r
	}
	return []row{
		silent("20 in flight", 20, 1, 60*ms, 15*ms, backlog(12_000, 60)),
		silent("20 in flight, 3 methods", 20, 1, 60*ms, 15*ms, methods),
		silent("5 in flight, 300ms", 5, 1, 100*ms, 300*ms, backlog(2000, 8)),
		silent("5 in flight, 300ms, 10s", 5, 10, 100*ms, 300*ms, backlog(6000, 8)),
		silent("100 in flight, 300ms", 100, 1, 100*ms, 300*ms, backlog(40_000, 200)),
		silent("10 in flight, 5s", 10, 5, 50*ms, 5*sec, backlog(1200, 20)),
		silent("5 in flight, half of it, 10s", 5, 10, 100*ms, 300*ms, stream(2400, 125*ms)),
		beside("1000/10s, untold 5 in flight", 5, 1, backlog(2000, 8)),
		beside("1000/10s, untold 5 in flight, 10s", 5, 10, stream(2400, 125*ms)),
	}
}

// demands are other demands than 50 workers that exceed the quota.
func demands() []row {
	return []row{
		{name: "1 worker", policies: fixed(100, 10*sec), demand: backlog(1000, 1)},
		{name: "5 workers", policies: fixed(100, 10*sec), demand: backlog(1000, 5)},
		{name: "500 workers", policies: fixed(100, 10*sec), demand: backlog(2000, 500)},
		{name: "500 workers, 20/1s", policies: fixed(20, sec), demand: backlog(1500, 500)},
		{name: "a tenth of the quota", policies: fixed(100, 10*sec), demand: stream(200, sec)},
		{name: "half the quota", policies: fixed(100, 10*sec), demand: stream(1000, 200*ms)},
		{name: "half the quota, 20/1s", policies: fixed(20, sec), demand: stream(1000, 100*ms)},
		{name: "half the quota, 1s to serve", policies: fixed(20, sec), service: sec, demand: backlog(1200, 10)},
		{name: "burst 50 of 100/1s, 1s to serve", policies: gcra(100, sec, 50), service: sec, demand: backlog(3000, 45)},
		{name: "20/1s, 1s to serve", policies: fixed(20, sec), service: sec, demand: backlog(3000, 50)},
		{name: "burst 20 of 600/60s, 2s to serve", policies: bucket(600, 60*sec, 20), service: 2 * sec, demand: backlog(2700, 18)},
		{name: "burst 10 of 6000/60s, 1.5s to serve", policies: bucket(6000, 60*sec, 10), service: 1500 * ms, demand: backlog(24000, 120)},
		{name: "log 60/10s, 2s to serve", policies: slidingLog(60, 10*sec), service: 2 * sec, demand: backlog(3000, 30)},
		{name: "half the quota, gcra", policies: gcra(20, sec, 0), demand: stream(1000, 100*ms)},
		{name: "nine tenths of the quota", policies: aligned(100, 10*sec), demand: stream(1800, 111*ms)},
		{name: "all of the quota", policies: fixed(100, 10*sec), demand: stream(2000, 100*ms)},
		{name: "6/5 of the quota", policies: fixed(100, 10*sec), demand: stream(2000, 83*ms)},
		{name: "bursts that fit", policies: fixed(100, 10*sec), demand: batches(1200, 60, 11*sec)},
		{name: "bursts that do not", policies: fixed(100, 10*sec), demand: batches(1550, 150, 25*sec)},
		{name: "600 of 700 in the hour", policies: fixed(700, time.Hour), demand: backlog(600, 10)},
		{name: "800 of 700 in the hour", policies: fixed(700, time.Hour), demand: backlog(800, 50)},
	}
}

// methods are APIs whose methods have quotas of their own, or share one, and that say
// nothing of them but refuse; and quotas that two tokens share.
func methods() []row {
	limited := func(policies []transporttest.Policy, jobs int) demand {
		return demand{kind: "GET /a", alone: policies, jobs: jobs, workers: 3}
	}
	free := func(jobs int) demand { return demand{kind: "GET /b", jobs: jobs, workers: 5} }
	only := func(name string, ds ...demand) row {
		return row{name: name, policies: fixed(1_000_000, sec), omitLimits: true, omitPolicies: true, demand: ds}
	}
	bare := func(r row) row {
		r.name += ", bare"
		r.noRetryAfter = true
		return r
	}
	one := only("one method, 10/30s", limited(fixed(10, 30*sec), 50), free(12_000))
	oneShort := only("one method, 10/1s", limited(fixed(10, sec), 1200), free(12_000))
	words := only("names in the path, 10/30s", demand{kind: "GET /users/", words: true, alone: fixed(10, 30*sec), jobs: 50, workers: 3}, free(12_000))
	two := only("two methods", limited(fixed(10, 30*sec), 50), demand{kind: "GET /c", alone: fixed(30, 20*sec), jobs: 210, workers: 3}, free(12_000))
	var many, all []demand
	for i := range 20 {
		d := demand{kind: "GET /api/" + string(rune('a'+i)), jobs: 2400, workers: 1}
		if i < 15 {
			d.alone, d.jobs = fixed(10, 30*sec), 50
		}
		many = append(many, d)
		all = append(all, demand{kind: d.kind, jobs: 100, workers: 3})
	}
	fifteen := only("15 of 20 methods, 10/30s", many...)
	shared := row{name: "20 methods, only Retry-After", policies: fixed(100, 10*sec), omitLimits: true, omitPolicies: true, demand: all}
	tokens := []demand{{user: "x", jobs: 500, workers: 25}, {user: "y", jobs: 500, workers: 25}}
	return []row{
		one, bare(one), oneShort, bare(oneShort), words, two, bare(two), fifteen, bare(fifteen), shared,
		{name: "nine tenths of a log, only Retry-After", policies: slidingLog(100, 10*sec), omitLimits: true, omitPolicies: true, demand: []demand{{kind: "GET /a", jobs: 2000, every: 111 * ms}}},
		{name: "log 20/1s, X", policies: slidingLog(20, sec), dialect: parse.VendorFields, demand: backlog(600, 50)},
		{name: "log 5/2s, X", policies: slidingLog(5, 2*sec), dialect: parse.VendorFields, demand: backlog(150, 50)},
		{name: "two tokens, one quota", policies: fixed(100, 10*sec), demand: tokens},
		{name: "two tokens, only Retry-After", policies: fixed(100, 10*sec), omitLimits: true, omitPolicies: true, demand: tokens},
	}
}

// shares are quotas that several clients share, and servers with a quota per user.
func shares() []row {
	return []row{
		{name: "8 processes", policies: fixed(100, 10*sec), processes: 8, demand: backlog(1000, 6)},
		{name: "8 processes, aligned", policies: aligned(100, 10*sec), into: 3300 * ms, processes: 8, demand: backlog(1000, 6)},
		{name: "8 processes, aligned, X", policies: aligned(100, 10*sec), into: 3300 * ms, dialect: parse.VendorFields, processes: 8, demand: backlog(1000, 6)},
		{name: "2 processes, 20/10s, X", policies: fixed(20, 10*sec), dialect: parse.VendorFields, processes: 2, demand: backlog(500, 6)},
		{name: "2 processes, 5/1s, 2ms", policies: fixed(5, sec), rtt: 2 * ms, processes: 2, demand: backlog(100, 6)},
		{name: "2 processes, log 20/1s, 2ms", policies: slidingLog(20, sec), rtt: 2 * ms, processes: 2, demand: backlog(300, 6)},
		{name: "8 processes, 20/1s", policies: fixed(20, sec), processes: 8, demand: backlog(200, 6)},
		{name: "8 processes, bucket", policies: bucket(10, sec, 20), processes: 8, demand: backlog(100, 6)},
		{name: "2 processes, concurrency 20", policies: concurrency(20), service: 500 * ms, processes: 2, demand: backlog(1000, 12)},
		{name: "8 processes, half the quota", policies: fixed(100, 10*sec), processes: 8, demand: stream(125, 1600*ms)},
		{name: "64 processes", policies: fixed(200, 10*sec), processes: 64, demand: backlog(125, 2)},
		{name: "64 processes, 64/1s", policies: fixed(64, sec), processes: 64, demand: backlog(60, 2)},
		{name: "others take 30 %", policies: fixed(100, 10*sec), others: 333 * ms, demand: backlog(1400, 50)},
		{name: "others take 80 %", policies: fixed(100, 10*sec), others: 125 * ms, demand: backlog(400, 50)},
		{name: "log, others take 30 %", policies: slidingLog(100, 10*sec), others: 333 * ms, demand: backlog(1400, 50)},
		{name: "bucket, others take 30 %", policies: bucket(100, 10*sec, 0), others: 333 * ms, demand: backlog(1400, 50)},
		{name: "two buckets, others take 30 %", policies: slidingWindow(100, 10*sec), others: 333 * ms, demand: backlog(1400, 50)},
		{name: "two buckets, beside a loop", policies: slidingWindow(100, 10*sec), loops: 1, rtt: 100 * ms, demand: backlog(750, 1)},
		{name: "two buckets, beside a loop, X", policies: slidingWindow(100, 10*sec), dialect: parse.VendorFields, loops: 1, rtt: 100 * ms, demand: backlog(750, 1)},
		{name: "4 processes, two buckets, X", policies: slidingWindow(100, 10*sec), dialect: parse.VendorFields, processes: 4, demand: backlog(500, 6)},
		{name: "20 users, unequal demand", policies: perUser(fixed(20, 10*sec)), demand: unequal(20)},
		{name: "20 users, 30 at once, X", policies: perUser(fixed(10, 2*sec)), dialect: parse.VendorFields, demand: each(20, demand{jobs: 30, workers: 30})},
		{name: "20 users, one of them hot", policies: perUser(fixed(20, 10*sec)), demand: oneHot(20)},
	}
}

// fleets are the quotas of processes that share their accounts.
func fleets() []row {
	rs := []row{
		{name: "fixed 100/10s", policies: fixed(100, 10*sec), demand: backlog(125, 6)},
		{name: "aligned 100/10s", policies: aligned(100, 10*sec), into: 3300 * ms, demand: backlog(125, 6)},
		{name: "fixed 20/1s", policies: fixed(20, sec), demand: backlog(200, 6)},
		{name: "fixed 20/1s, short", policies: fixed(20, sec), demand: backlog(10, 4)},
		{name: "fixed 60/60s", policies: fixed(60, 60*sec), demand: backlog(75, 15)},
		{name: "100/2s, hub 20ms", policies: fixed(100, 2*sec), hub: 20 * ms, demand: backlog(125, 6)},
		{name: "fixed 200/10s", policies: fixed(200, 10*sec), processes: 64, demand: backlog(125, 2)},
		{name: "fixed 64/1s", policies: fixed(64, sec), processes: 64, demand: backlog(60, 2)},
		{name: "half of 100/10s", policies: fixed(100, 10*sec), demand: stream(125, 1600*ms)},
		{name: "half of 1000/10s", policies: fixed(1000, 10*sec), demand: stream(625, 160*ms)},
		{name: "log 20/1s", policies: slidingLog(20, sec), demand: backlog(75, 6)},
		{name: "log 100/10s", policies: slidingLog(100, 10*sec), demand: backlog(125, 6)},
		{name: "fixed 20/1s, X", policies: fixed(20, sec), dialect: parse.VendorFields, demand: backlog(75, 6)},
		{name: "log 100/10s, X", policies: slidingLog(100, 10*sec), dialect: parse.VendorFields, demand: backlog(125, 6)},
		{name: "log 200/10s", policies: slidingLog(200, 10*sec), processes: 64, demand: backlog(125, 2)},
		{name: "two buckets 100/10s", policies: slidingWindow(100, 10*sec), demand: backlog(125, 6)},
		{name: "two buckets 20/1s", policies: slidingWindow(20, sec), demand: backlog(200, 6)},
		{name: "two buckets 100/10s, -07", policies: slidingWindow(100, 10*sec), dialect: parse.Draft07, omitPolicies: true, demand: backlog(125, 6)},
		{name: "two buckets 100/10s, X", policies: slidingWindow(100, 10*sec), dialect: parse.VendorFields, demand: backlog(125, 6)},
		{name: "two buckets 8/5s", policies: slidingWindow(8, 5*sec), demand: backlog(25, 6)},
		{name: "bucket 10/1s", policies: bucket(10, sec, 20), demand: backlog(50, 6)},
		{name: "bucket 100/10s", policies: bucket(100, 10*sec, 0), processes: 64, demand: backlog(60, 2)},
		{name: "bucket 100/10s, -07", policies: bucket(100, 10*sec, 0), dialect: parse.Draft07, omitPolicies: true, demand: backlog(125, 6)},
		{name: "gcra 20/1s", policies: gcra(20, sec, 0), demand: backlog(75, 6)},
		{name: "gcra 20/1s, X", policies: gcra(20, sec, 0), dialect: parse.VendorFields, demand: backlog(75, 6)},
		{name: "10/1s and 200/60s", policies: both(fixed(10, sec), fixed(200, 60*sec)), demand: backlog(75, 6)},
		{name: "concurrency 8", policies: concurrency(8), service: 100 * ms, demand: backlog(100, 6)},
		{name: "concurrency 8", policies: concurrency(8), service: 100 * ms, processes: 32, demand: backlog(25, 6)},
		{name: "costs 1 to 20", policies: fixed(200, 10*sec), costs: 20, demand: backlog(25, 6)},
		{name: "all cost 60", policies: fixed(200, 10*sec), cost: 60, demand: backlog(6, 2)},
		{name: "bucket, costs to 10", policies: bucket(100, 10*sec, 0), costs: 10, demand: backlog(40, 6)},
		{name: "bucket, all cost 10", policies: bucket(60, 60*sec, 0), cost: 10, processes: 4, demand: backlog(40, 6)},
		{name: "others 30 %", policies: fixed(100, 10*sec), others: 333 * ms, demand: backlog(175, 6)},
		{name: "log, others 30 %", policies: slidingLog(100, 10*sec), others: 333 * ms, demand: backlog(175, 6)},
		{name: "bucket, others 30 %", policies: bucket(100, 10*sec, 0), others: 333 * ms, demand: backlog(175, 6)},
		{name: "two buckets, others", policies: slidingWindow(100, 10*sec), others: 333 * ms, demand: backlog(175, 6)},
		{name: "5/10s, one each", policies: fixed(5, 10*sec), processes: 64, demand: backlog(1, 1)},
		{name: "20/1s, one each", policies: fixed(20, sec), processes: 64, demand: backlog(1, 1)},
	}
	for i := range rs {
		r := &rs[i]
		r.fleet, r.knows = true, true
		if r.processes == 0 {
			r.processes = 8
		}
		r.name = fmt.Sprintf("fleet of %d, %s", r.processes, r.name)
	}
	return rs
}

// buckets are quotas whose server says when they will be full, with the fields of APIs.
func buckets() []row {
	return []row{
		{name: "1000 tokens, 400 each", policies: gcra(100, sec, 1000), vendor: openAI("Tokens"), cost: 400, demand: backlog(60, 3)},
		{name: "1000 tokens, 400 each, known", policies: gcra(100, sec, 1000), vendor: openAI("Tokens"), cost: 400, knows: true, demand: backlog(60, 3)},
		{name: "60000 tokens a minute, 2s", policies: gcra(60000, 60*sec, 60000), vendor: openAI("Tokens"), cost: 1500, service: 2 * sec, demand: backlog(300, 20)},
		{name: "500 a minute, 2s", policies: gcra(500, 60*sec, 500), vendor: openAI("Requests"), service: 2 * sec, demand: backlog(1500, 50)},
		{name: "Anthropic, 50 a minute", policies: gcra(50, 60*sec, 50), vendor: anthropic, demand: backlog(150, 10)},
		{name: "Anthropic, 8 processes", policies: gcra(50, 60*sec, 50), vendor: anthropic, processes: 8, demand: backlog(40, 3)},
		{name: "Shopify", policies: gcra(2, sec, 40), vendor: shopify, demand: backlog(240, 10)},
		{name: "Shopify, half the rate", policies: gcra(2, sec, 40), vendor: shopify, demand: stream(400, sec)},
		{name: "Spring, whole seconds", policies: bucket(10, sec, 20), vendor: spring(10), noRetryAfter: true, ticks: sec, into: 300 * ms, demand: backlog(1200, 20)},
		{name: "3600 an hour, one a second", policies: gcra(3600, time.Hour, 3600), vendor: anthropic, demand: backlog(3700, 10)},
	}
}

// costly are quotas of requests that cost more than a unit, which the clients know.
func costly() []row {
	rs := []row{
		{name: "bucket 60/60s, all cost 10", policies: bucket(60, 60*sec, 0), cost: 10, demand: backlog(160, 24)},
		{name: "1 worker, bucket, all cost 10", policies: bucket(60, 60*sec, 0), cost: 10, demand: backlog(160, 1)},
		{name: "bucket 60/60s, all cost 10, X", policies: bucket(60, 60*sec, 0), dialect: parse.VendorFields, cost: 10, demand: backlog(160, 24)},
		{name: "bucket 100/60s, costs to 10", policies: bucket(100, 60*sec, 0), costs: 10, demand: backlog(160, 24)},
		{name: "gcra 60/60s, costs to 10", policies: gcra(60, 60*sec, 60), costs: 10, demand: backlog(160, 24)},
		{name: "gcra 60/60s, all cost 60", policies: gcra(60, 60*sec, 60), cost: 60, demand: backlog(30, 3)},
		{name: "log 60/60s, costs to 10", policies: slidingLog(60, 60*sec), costs: 10, demand: backlog(160, 24)},
	}
	for i := range rs {
		rs[i].knows = true
	}
	return rs
}

// openAI writes the fields of OpenAI. What it counts is a part of their names.
func openAI(what string) vendor {
	return func(h http.Header, capacity, left int64, full time.Duration, _ time.Time) {
		h.Set("X-Ratelimit-Limit-Tokens", fmt.Sprint(capacity)) // by which the row is known
		h.Set("X-Ratelimit-Remaining-Tokens", fmt.Sprint(capacity))
		h.Set("X-Ratelimit-Reset-Tokens", "0s")
		h.Set("X-Ratelimit-Limit-"+what, fmt.Sprint(capacity))
		h.Set("X-Ratelimit-Remaining-"+what, fmt.Sprint(left))
		h.Set("X-Ratelimit-Reset-"+what, full.Round(ms).String())
	}
}

// anthropic writes the fields of Anthropic.
func anthropic(h http.Header, capacity, left int64, full time.Duration, now time.Time) {
	h.Set("Anthropic-Ratelimit-Requests-Limit", fmt.Sprint(capacity))
	h.Set("Anthropic-Ratelimit-Requests-Remaining", fmt.Sprint(left))
	h.Set("Anthropic-Ratelimit-Requests-Reset", now.Add(full).Format(time.RFC3339))
}

// withoutReset writes the fields that say how much is left, but not until when.
func withoutReset(h http.Header, capacity, left int64, _ time.Duration, _ time.Time) {
	h.Set("X-Ratelimit-Limit", fmt.Sprint(capacity))
	h.Set("X-Ratelimit-Remaining", fmt.Sprint(left))
}

// spring writes the fields of Spring's gateway, which have no time but the rate a second.
func spring(rate int) vendor {
	return func(h http.Header, capacity, left int64, _ time.Duration, _ time.Time) {
		h.Set("X-Ratelimit-Remaining", fmt.Sprint(left))
		h.Set("X-Ratelimit-Requested-Tokens", "1")
		h.Set("X-Ratelimit-Burst-Capacity", fmt.Sprint(capacity))
		h.Set("X-Ratelimit-Replenish-Rate", fmt.Sprint(rate))
	}
}

// shopify writes the field of Shopify, which has no time.
func shopify(h http.Header, capacity, left int64, _ time.Duration, _ time.Time) {
	h.Set("X-Shopify-Shop-Api-Call-Limit", fmt.Sprint(capacity-left, "/", capacity))
}

// unequal returns the demands of users, each with 10 more jobs than the one before.
func unequal(users int) []demand {
	var ds []demand
	for i := range users {
		ds = append(ds, demand{user: fmt.Sprint("user-", i), jobs: 10 * (i + 1), workers: 5})
	}
	return ds
}

// each returns the same demand of many users.
func each(users int, d demand) (ds []demand) {
	for i := range users {
		d.user = fmt.Sprint("user-", i)
		ds = append(ds, d)
	}
	return ds
}

// oneHot returns the demands of one user with a backlog and of others with few jobs.
func oneHot(users int) []demand {
	ds := []demand{{user: "hot", jobs: 300, workers: 50}}
	for i := range users - 1 {
		ds = append(ds, demand{user: fmt.Sprint("light-", i), jobs: 30, every: 4 * sec})
	}
	return ds
}

// sometimesNothing advertises on one response in twenty that nothing is left.
func sometimesNothing(_ *loop, rnd *rand.Rand) misstatement {
	return func(_ string, available int64, window time.Duration) (int64, time.Duration) {
		if rnd.IntN(20) == 0 {
			return 0, window
		}
		return available, window
	}
}

// alwaysNothing advertises on every response that nothing is left.
func alwaysNothing(*loop, *rand.Rand) misstatement {
	return func(_ string, _ int64, window time.Duration) (int64, time.Duration) { return 0, window }
}

// replicas simulates three servers that share a counter. Each reads the counter twice a
// second, and in between subtracts only the requests that it has served itself.
func replicas(l *loop, rnd *rand.Rand) misstatement {
	var next [3]time.Time
	var seen [3]int64
	return func(_ string, available int64, window time.Duration) (int64, time.Duration) {
		i := rnd.IntN(3)
		seen[i] = max(seen[i]-1, 0)
		if !l.now.Before(next[i]) {
			next[i], seen[i] = l.now.Add(sec/2), available
		}
		return seen[i], window
	}
}

// softBeyond is more than clients send.
const softBeyond = 1_000_000

// softAfter advertises that nothing is left after so many requests in a window. The server goes
// on serving.
func softAfter(quota int64) func(*loop, *rand.Rand) misstatement {
	return func(*loop, *rand.Rand) misstatement {
		return func(_ string, available int64, window time.Duration) (int64, time.Duration) {
			return max(available-(softBeyond-quota), 0), window
		}
	}
}

// headroom advertises at least one available unit and always a window of a second, as
// in the draft's appendix on fields in use: the difference between the allowed rate and
// the recent rate.
func headroom(*loop, *rand.Rand) misstatement {
	return func(_ string, available int64, _ time.Duration) (int64, time.Duration) {
		return max(available, 1), sec
	}
}
