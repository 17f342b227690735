package inspect

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

const (
	maxEvents = 200
	maxCounts = 1000 // origins whose requests are counted
)

// An occurrence is something that happened.
type occurrence struct {
	Time   time.Time `json:"time"`
	Origin string    `json:"origin"`
	Policy string    `json:"policy,omitempty"`
	What   string    `json:"what"` // in words
	Kind   string    `json:"kind"` // bad, good or plain
	Times  int       `json:"times"`

	notSent string // when and why a request was refused, in words; "": it is something else
	lasting bool   // it may come with every response: all of them are one event
}

// events are the last things that happened, and what is counted of each origin.
type events struct {
	mu      sync.Mutex   // guards following
	ring    []occurrence // the newest last
	number  uint64       // of the newest
	counted map[string]counted
	holds   []hold                 // the last ones, the newest last
	wrong   map[seriesID]time.Time // when a prediction of a policy's partitions failed last
	traced  bool                   // Handler.Trace was called
	news    chan struct{}          // is closed by the next event; nil: no viewer waits for one
}

// A hold is a Retry-After that an answer came with.
type hold struct {
	origin string
	until  time.Time
	says   string // such as: of the 429 at 12:04:07
}

const maxHolds = 64

// A counted is what is counted of the requests of an origin.
type counted struct {
	held  uint64 // how many had to wait
	first bool   // the last one waited for the first answer of the origin
	own   string // the limit of the client's own that one waited for last, in words; "": none did
}

// waitsFor says what requests wait for that wait for no account; "": for no longer than
// it takes to stand in line.
func (c *counted) waitsFor() string {
	if c.first {
		return "the first answer of the origin, a second at most (Shaper.FirstFlight)"
	}
	return c.own
}

// add adds an event. One that repeats one of the last eight within a second is counted with
// it; a lasting one with any that is still known, so that it does not drive out all others.
func (e *events) add(ev occurrence) {
	ev.Policy = shownPolicy(ev.Policy)
	ev.Time, ev.Times = time.Now(), 1
	e.mu.Lock()
	defer e.mu.Unlock()
	e.number++
	if e.news != nil {
		close(e.news)
		e.news = nil
	}
	for i := len(e.ring) - 1; i >= 0 && (ev.lasting || i >= len(e.ring)-8); i-- {
		o := &e.ring[i]
		if o.Origin == ev.Origin && o.Policy == ev.Policy && o.What == ev.What && (ev.lasting || ev.Time.Sub(o.Time) < time.Second) {
			o.Times++
			return
		}
	}
	if len(e.ring) == maxEvents {
		e.ring = append(e.ring[:0], e.ring[1:]...)
	}
	e.ring = append(e.ring, ev)
}

// held counts a request that is held.
func (e *events) held(i transport.HeldInfo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.counted == nil {
		e.counted = make(map[string]counted)
	}
	c, known := e.counted[i.Origin]
	if !known && len(e.counted) >= maxCounts {
		return
	}
	if i.Held == 0 {
		c.held++
	}
	c.first = i.Reason == quota.ReasonFirstFlight
	if i.Reason == quota.ReasonOwnLimit {
		c.own = "a limit of your own"
		if i.Policy != "" {
			c.own += fmt.Sprintf(", %q", shownPolicy(i.Policy))
		}
		if i.Limiter != nil {
			c.own += ", " + fmt.Sprint(i.Limiter)
		}
		c.own += " (Shaper.Limits)"
	}
	e.counted[i.Origin] = c
}

// holdBy says of which answer the Retry-After is that ends then; "": that is not known.
func (e *events) holdBy(origin string, until time.Time) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range slices.Backward(e.holds) {
		if h.origin == origin && h.until.Sub(until).Abs() < 10*time.Millisecond {
			return h.says
		}
	}
	return ""
}

// noteHold remembers which answer has brought about a hold.
func (e *events) noteHold(i transport.ChangedInfo) {
	if i.Status == 0 || i.Until.IsZero() {
		return
	}
	at := i.Sent.Add(i.Took).Format(time.TimeOnly)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.holds) == maxHolds {
		e.holds = append(e.holds[:0], e.holds[1:]...)
	}
	e.holds = append(e.holds, hold{i.Origin, i.Until, fmt.Sprintf(" of the %d at %s", i.Status, at)})
}

// noteMisprediction remembers that a prediction of partitions has failed.
func (e *events) noteMisprediction(id seriesID, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wrong == nil {
		e.wrong = make(map[seriesID]time.Time)
	}
	if _, known := e.wrong[id]; known || len(e.wrong) < maxSeries {
		e.wrong[id] = at
	}
}

// mispredicted is when a prediction of a policy's partitions failed last.
func (e *events) mispredicted(id seriesID) (at time.Time, known bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, known = e.wrong[id]
	return at, known
}

func (e *events) last() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.number
}

// watch returns a channel that is closed by the next event.
func (e *events) watch() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.news == nil {
		e.news = make(chan struct{})
	}
	return e.news
}

// recent returns the newest events, the newest first, and what is counted of each origin;
// nil: nothing is.
func (e *events) recent(n int) (evs []occurrence, of map[string]counted) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.ring) - 1; i >= 0 && len(evs) < n; i-- {
		evs = append(evs, e.ring[i])
	}
	if !e.traced {
		return evs, nil
	}
	of = make(map[string]counted, len(e.counted))
	maps.Copy(of, e.counted)
	return evs, of
}

// notSent says how many requests were not sent in the last minute, and why the last one
// was not; "": all were.
func (e *events) notSent(now time.Time) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, last := 0, ""
	for i := len(e.ring) - 1; i >= 0 && now.Sub(e.ring[i].Time) < time.Minute; i-- {
		if o := &e.ring[i]; o.notSent != "" {
			if n += o.Times; last == "" {
				last = o.Origin + " " + o.notSent
			}
		}
	}
	if n == 0 {
		return ""
	}
	return count(int64(n), "request was", "requests were") + " refused with an error in the last minute, and not sent; the last one to " + last + "."
}

// Trace returns hooks that let the page show what happens. Set it as Shaper.Trace, or
// join it to others with transport.JoinTraces. Without it, the page shows no events, and
// the past only from when the page was first opened.
func (h *Handler) Trace() *transport.Trace {
	h.events.mu.Lock()
	h.events.traced = true
	h.events.mu.Unlock()
	return &transport.Trace{
		Held: func(i transport.HeldInfo) {
			if !i.Observed {
				h.events.held(i)
			}
			h.sample(time.Now())
		},
		Admitted: func(i transport.AdmittedInfo) { h.departures.depart(i.Origin, i.Sent) },
		Failed:   func(i transport.FailedInfo) { h.departures.arrive(i.Origin, i.Sent) },
		Rejected: func(i transport.RejectedInfo) {
			var rejected *transport.RejectedError
			if errors.As(i.Err, &rejected) {
				why := "at once: " + notSent(rejected.Reason)
				if i.Held != 0 {
					why = "after it had waited: " + notSent(rejected.Reason)
				}
				h.events.add(occurrence{Origin: i.Origin, Policy: rejected.Policy, Kind: "bad", notSent: why, What: "a request was refused with an error " + why})
				return
			}
			ev := occurrence{Origin: i.Origin, Policy: i.Policy, Kind: "plain", What: "a request gave up waiting: its context ended"}
			switch panicked := i.Request.Context().Err() == nil; {
			case panicked && i.Held != 0:
				ev.Kind, ev.What = "bad", "a request did not wait to the end: a panic ended it"
			case panicked:
				ev.Kind, ev.What = "bad", "a request was not sent: a panic ended it"
			case i.Held == 0:
				ev.What = "a request was not sent: its context had ended"
			}
			h.events.add(ev)
		},
		Answered: func(i transport.AnsweredInfo) {
			h.departures.arrive(i.Origin, i.Sent)
			if i.Refused {
				what := fmt.Sprintf("the server refused with %d", i.Status)
				if i.First {
					what += ", before anything was known"
				}
				h.events.add(occurrence{Origin: i.Origin, Kind: "bad", What: what})
			}
			h.sample(i.Sent.Add(i.Took)) // reads no clock
		},
		Changed: func(i transport.ChangedInfo) {
			switch i.What {
			case "window":
				h.history.window(seriesID{i.Origin, i.Name}, i.Sent.Add(i.Took), i.Units, i.Quota, h.kept())
			case "hold":
				h.events.noteHold(i)
			case "prediction":
				h.events.noteMisprediction(seriesID{i.Origin, i.Name}, i.Sent.Add(i.Took))
			}
			h.events.add(changed(i))
		},
		Ignored: func(i transport.IgnoredInfo) {
			h.events.add(occurrence{Origin: i.Origin, Kind: "bad", What: "ignored " + i.Field + ": " + ignored(i.Err), lasting: true})
		},
	}
}

// ignored says why a field was ignored. Texts of package parse hold no values.
func ignored(err error) string { return strings.TrimPrefix(err.Error(), "parse: ") }

// changed describes a change of what is known.
func changed(i transport.ChangedInfo) occurrence {
	ev := occurrence{Origin: i.Origin, Policy: i.Name, Kind: "plain"}
	left := ""
	if !i.Until.IsZero() {
		left = " for " + duration(time.Until(i.Until))
	}
	switch {
	case i.What == "hold" && left != "":
		ev.What, ev.Kind = "held by Retry-After", "bad"
		if i.Status > 0 {
			ev.What += fmt.Sprintf(" of a %d", i.Status)
		}
		ev.What += left
	case i.What == "back-off" && left != "":
		ev.What, ev.Kind = "backing off"+left, "bad"
	case i.What == "hold", i.What == "back-off":
		ev.What, ev.Kind = "a "+i.What+" was taken back", "good"
	case i.What == "window":
		ev.What, ev.Kind = "new window: "+amount(i.Units, i.Unit)+" left"+left, "good"
	case i.What == "used up":
		ev.What = "nothing left" + left
	case i.What == "policy":
		ev.What = "advertised: " + terms(i.Change.Policy)
	case i.What == "inferred":
		ev.What = "inferred from refusals: " + terms(i.Change.Policy)
	case i.What == "limited": // Detail may be a path
		ev.What, ev.Kind = "refusals without a policy concern a kind of requests", "bad"
	case i.What == "free":
		ev.What, ev.Kind = "refusals without a policy do not concern a kind of requests", "good"
	case i.What == "habit":
		ev.What = "learned: " + i.Detail
	case i.What == "prediction":
		ev.What = "the server partitions otherwise than it declares"
	case i.What == "evicted":
		ev.What = number(i.Units) + " accounts were dropped to make room"
	default:
		ev.What = i.What
	}
	return ev
}
