package inspect

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// As long as there is room for all, the oldest is exact, in whatever order requests arrive.
func TestDepartures(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		now := time.Unix(1_000_000_000, 0)
		var d departures
		var out []time.Time
		for range 100 {
			now = now.Add(time.Duration(r.Int64N(int64(time.Second))))
			if len(out) < tries && r.IntN(2) == 0 {
				d.depart("a", now)
				out = append(out, now)
			} else if len(out) > 0 {
				i := r.IntN(len(out))
				d.arrive("a", out[i])
				out = append(out[:i], out[i+1:]...)
			}
			want := time.Duration(0)
			for _, at := range out {
				want = max(want, now.Sub(at))
			}
			assert.Equal(t, want, d.oldest("a", now), "seed %d", seed)
			assert.Zero(t, d.oldest("b", now))
		}
	}
}

// A request that hangs is found behind many that do not, and nothing stays behind of more
// requests than there is room for, nor of those that depart at one instant.
func TestManyDepartures(t *testing.T) {
	var d departures
	began := time.Unix(1_000_000_000, 0)
	d.depart("a", began)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				at := began.Add(time.Duration(1 + i + 1000*(g%2)))
				for range 20 {
					d.depart("a", at)
				}
				for range 20 {
					d.arrive("a", at)
				}
			}
			for i := range 50 {
				d.depart("a", began.Add(time.Duration(g*50+i+1)))
			}
			for i := range 50 {
				d.arrive("a", began.Add(time.Duration(g*50+i+1)))
			}
		})
	}
	wg.Wait()
	assert.Equal(t, time.Minute, d.oldest("a", began.Add(time.Minute)))
	d.arrive("a", began)
	o := d.of("a", false)
	for i := range o.at {
		assert.Zero(t, o.at[i].Load())
	}
	for i := range maxCounts + 10 {
		d.depart(fmt.Sprint("origin", i), began)
	}
	assert.Len(t, d.known(), maxCounts)
	d.arrive("another", began)
	assert.Zero(t, d.oldest("another", began.Add(time.Minute)))
	assert.Equal(t, time.Minute, d.oldest("origin5", began.Add(time.Minute)))
}
