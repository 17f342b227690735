package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// tripsOf has observed these round trips.
func tripsOf(ds ...time.Duration) (p trips) {
	for _, d := range ds {
		p.observe(d)
	}
	return p
}

// repeated is n times the values.
func repeated(n int, ds ...time.Duration) (all []time.Duration) {
	for range n {
		all = append(all, ds...)
	}
	return all
}

// Work that waits departs while it has the time that an answer usually takes.
func TestNeedsTheUsualRoundTrip(t *testing.T) {
	const ms, sec = time.Millisecond, time.Second
	steady := repeated(50, 600*ms)
	for name, tt := range map[string]struct {
		trips       trips
		time        time.Duration
		least, most time.Duration // that it needs
	}{
		"nothing is known":                 {trips{}, sec, 0, 0},
		"a steady origin":                  {tripsOf(steady...), 5 * sec, 600 * ms, 640 * ms},
		"answers of half to one second":    {tripsOf(repeated(50, 500*ms, sec, 750*ms)...), 5 * sec, sec, 1200 * ms},
		"no answer is so quick":            {tripsOf(steady...), 500 * ms, 375 * ms, 375 * ms},
		"one slow answer":                  {tripsOf(append(steady, 100*sec)...), 5 * sec, 600 * ms, 640 * ms},
		"and others since":                 {tripsOf(append(append(steady, 100*sec), steady[:8]...)...), 5 * sec, 600 * ms, 640 * ms},
		"the first answer is a slow one":   {tripsOf(10 * sec), 2 * sec, 1500 * ms, 1500 * ms},
		"every third answer is slow":       {tripsOf(repeated(50, 50*ms, 50*ms, 10*sec)...), 2 * sec, 50 * ms, 60 * ms},
		"slow answers, which are in time":  {tripsOf(repeated(50, 50*ms, 50*ms, 10*sec)...), 20 * sec, 10 * sec, 11 * sec},
		"uploads":                          {tripsOf(append(steady, repeated(15, 60*sec)...)...), 5 * sec, 600 * ms, 640 * ms},
		"nothing but uploads":              {tripsOf(append(steady, repeated(16, 60*sec)...)...), 5 * sec, 3750 * ms, 3750 * ms},
		"the origin has become slow":       {tripsOf(append(steady, repeated(8, 3*sec)...)...), 20 * sec, 3 * sec, 6 * sec},
		"the origin has become quick":      {tripsOf(append(steady, repeated(20, 50*ms)...)...), 5 * sec, 50 * ms, 240 * ms},
		"an answer that took a year":       {tripsOf(1 << 55), 1 << 62, maxTrip, 2 * maxTrip},
		"answers that took no time at all": {tripsOf(repeated(50, 0)...), sec, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			need := tt.trips.needs(tt.time)
			assert.GreaterOrEqual(t, need, tt.least)
			assert.LessOrEqual(t, need, tt.most)
		})
	}
}

// Work that is lost to its deadline shows that a round trip takes longer than it was out.
func TestNeedsMoreAfterALoss(t *testing.T) {
	p := tripsOf(repeated(50, 600*time.Millisecond)...)
	usual := p.needs(10 * time.Second)
	for range 5 {
		p.observeLost(599 * time.Millisecond)
	}
	assert.Equal(t, usual, p.needs(10*time.Second), "that is no news")
	losses := 0
	for p.needs(10*time.Second) < 3*time.Second {
		p.observeLost(p.needs(10 * time.Second))
		losses++
	}
	assert.Equal(t, 3, losses, "until work has the three seconds that answers take now")
	p = tripsOf(repeated(50, 100*time.Millisecond)...)
	for range 3 {
		p.observeLost(time.Minute)
	}
	assert.Equal(t, 100*time.Millisecond*17/16, p.needs(5*time.Second), "uploads were given up")
	var unknown trips
	unknown.observeLost(60 * time.Millisecond)
	assert.Equal(t, 750*time.Millisecond, unknown.needs(time.Second))
	unknown.observeLost(60 * time.Millisecond)
	unknown.observe(500 * time.Millisecond)
	unknown.observe(2 * time.Second)
	unknown.observeLost(750 * time.Millisecond)
	unknown.observeLost(750 * time.Millisecond)
	assert.Equal(t, 500*time.Millisecond*17/16, unknown.needs(time.Second))
	unknown.observeLost(750 * time.Millisecond)
	assert.Equal(t, time.Second, unknown.needs(time.Second), "hardly any answer comes in time")
	unknown.observe(500 * time.Millisecond)
	unknown.observe(500 * time.Millisecond)
	assert.Equal(t, 750*time.Millisecond, unknown.needs(time.Second))
}
