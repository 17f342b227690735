package transport_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A streamer answers at once with the headers, and then streams the body. It works on a number of requests at a
// time until their bodies have ended, and says nothing of it.
type streamer struct {
	places  int
	streams time.Duration // the body, up to half more or less
	late    time.Duration // after the end of the body, until the place is free
	fields  []string      // of a refusal

	mu              sync.Mutex // guards following
	rnd             *rand.Rand
	busy            int
	served, refused int
}

const streamerTrip = 40 * time.Millisecond

func (s *streamer) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(streamerTrip / 2)
	defer time.Sleep(streamerTrip / 2)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy >= s.places {
		s.refused++
		return says(429, s.fields...)(req)
	}
	s.busy++
	s.served++
	resp, err := says(200)(req)
	resp.ContentLength = -1
	resp.Body = &streamBody{s: s, end: time.Now().Add(streamerTrip/2 + s.streams/2 + time.Duration(s.rnd.Int64N(int64(s.streams))))}
	return resp, err
}

// A streamBody is the body of an answer. It ends at an instant.
type streamBody struct {
	s    *streamer
	end  time.Time
	once sync.Once
}

func (b *streamBody) Read([]byte) (int, error) {
	time.Sleep(time.Until(b.end))
	return 0, io.EOF
}

func (b *streamBody) Close() error {
	b.once.Do(func() {
		free := func() {
			b.s.mu.Lock()
			defer b.s.mu.Unlock()
			b.s.busy--
		}
		if b.s.late > 0 { // no timer of 0: see sleeps
			time.AfterFunc(b.s.late, free)
		} else {
			free()
		}
	})
	return nil
}

// stream has workers read so many answers, one after another.
func (s *streamer) stream(t *testing.T, shaper *transport.Shaper, workers, n int) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				s.mu.Lock()
				over := s.served >= n
				s.mu.Unlock()
				if over {
					return
				}
				if resp, err := shaper.RoundTrip(getItems(t.Context())); assert.NoError(t, err) {
					drop(resp)
				}
			}
		})
	}
	all.Wait()
}

func newStreamer(places int, streams time.Duration, fields ...string) (*streamer, *transport.Shaper) {
	s := &streamer{places: places, streams: streams, fields: fields, rnd: rand.New(rand.NewPCG(1, 2))}
	return s, &transport.Shaper{Base: s, MaxDelay: time.Hour, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
}

// A server that streams five answers at a time, and does not say so, is kept busy, and refuses few.
func TestUnadvertisedStreams(t *testing.T) {
	const places, n = 5, 2000
	for _, fields := range [][]string{nil, {"Retry-After", "1"}, {"Retry-After", "5"}} {
		for _, streams := range []time.Duration{500 * time.Millisecond, 3 * time.Second} {
			for _, late := range []time.Duration{0, 50 * time.Millisecond} {
				for _, workers := range []int{6, 60} {
					bubble(t, fmt.Sprint(fields, streams, late, workers), func(t *testing.T) {
						s, shaper := newStreamer(places, streams, fields...)
						s.late = late
						began := time.Now()
						s.stream(t, shaper, workers, n)
						ideal := n * (streamerTrip + streams + late) / places
						goodput, refused := ideal.Seconds()/time.Since(began).Seconds(), s.refused
						t.Logf("goodput %.3f, %d refused", goodput, refused)
						assert.Greater(t, goodput, .75)
						assert.LessOrEqual(t, refused, n/10)
					})
				}
			}
		}
	}
}

// A server streams five answers at a time for ten minutes, and then any number. With five at a time the rest would
// take 34 minutes.
func TestStreamBoundThatGoes(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s, shaper := newStreamer(5, time.Second, "Retry-After", "1")
		time.AfterFunc(10*time.Minute, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.places, s.served = 1000, 0
		})
		began := time.Now()
		s.stream(t, shaper, 60, 10_000)
		took := time.Since(began) - 10*time.Minute
		t.Log(took, s.refused)
		assert.Less(t, took, 15*time.Minute)
	})
}
