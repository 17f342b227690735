package quota_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// A play is an origin that is asked and told at random, by a server that counts in fixed
// windows and says so in one way.
type play struct {
	*desk
	r      *rand.Rand
	now    time.Duration
	quota  int64
	window time.Duration
	says   int
	named  []string
	kinds  []string
	out    []*quota.Lease
	left   int64
	opened time.Duration
}

// What a server says of its quotas.
const (
	saysSeconds = iota
	saysInstants
	saysPolicies
	saysNothing
	saysFull // of a bucket
	waysToSay
)

func newPlay(t *testing.T, seed uint64) *play {
	r := rand.New(rand.NewPCG(seed, 3))
	p := &play{
		desk:   deskOf(t, &quota.Accounts{Jitter: noJitter, Strategy: quota.Strategy(r.IntN(8) / 7)}, testOrigin),
		r:      r,
		quota:  []int64{1, 2, 5, 10, 20, 100}[r.IntN(6)],
		window: []time.Duration{sec, 2 * sec, 10 * sec, mins, time.Hour}[r.IntN(5)],
		says:   r.IntN(waysToSay),
		named:  []string{"a", "b"}[:1+r.IntN(4)/3],
		kinds:  []string{"", "x", "y", "z/z"}[:1+3*(r.IntN(3)/2)],
	}
	p.left = p.quota
	return p
}

func (p *play) some(of time.Duration) time.Duration { return time.Duration(p.r.Int64N(int64(of) + 1)) }

func (p *play) ask() *quota.Ask {
	r := p.r
	a := &quota.Ask{MaxDelay: 100 * time.Hour, Scope: []string{"", "", "s"}[r.IntN(3)]}
	if kind := p.kinds[r.IntN(len(p.kinds))]; kind != "" {
		a.Kind = func() string { return kind }
	}
	for _, name := range p.named {
		if r.IntN(8) > 0 {
			units := []int64{1, 1, 1, 1, 2, p.quota, p.quota + 1, 0}[r.IntN(8)]
			a.Claims = append(a.Claims, quota.Claim{Policy: name, Units: units, Estimated: r.IntN(10) == 0})
		}
	}
	return a
}

// admit lets a request depart, if it may go at once or is forced.
func (p *play) admit(ask *quota.Ask) {
	l := new(quota.Lease)
	ask.MaxDelay, ask.Force = quota.NoDelay, p.r.IntN(12) == 0
	if p.o.Admit(p.t.Context(), p.at(p.now), ask, l) == nil {
		p.out = append(p.out, l)
	}
}

// report is the answer to a request: figures that are true, but for a few.
func (p *play) report() (rep quota.Report) {
	r := p.r
	if p.now >= p.opened+p.window {
		p.opened, p.left = p.now, p.quota
	}
	if p.left > 0 && r.IntN(20) > 0 {
		p.left--
	}
	end := p.opened + p.window
	rep.Refused = p.left == 0 && r.IntN(2) == 0 || r.IntN(25) == 0
	if rep.Refused && r.IntN(2) == 0 {
		rep.Pause = []time.Duration{0, sec, 2 * sec, end - p.now, 30 * sec}[r.IntN(5)]
		if rep.Pause == 0 {
			rep.Pause = -1
		}
	}
	left := p.left
	if r.IntN(15) == 0 {
		left = r.Int64N(p.quota + 1)
	}
	for i, name := range p.named {
		f := quota.Figure{Policy: name, Available: min(left*int64(i+1), p.quota), Window: (end - p.now + sec - 1) / sec * sec}
		terms := quota.Policy{Name: name, Quota: p.quota, Window: p.window}
		switch p.says {
		case saysSeconds:
			if r.IntN(20) == 0 {
				f.Window = quota.None
			}
		case saysInstants:
			rep.Date = p.at(p.now).Truncate(sec)
			f.Resets = p.at(end).Truncate(sec).Add(sec)
			f.Window = f.Resets.Sub(rep.Date)
		case saysFull:
			f.Full = p.window * time.Duration(p.quota-f.Available) / time.Duration(p.quota)
			f.Window = f.Full
		case saysNothing:
			continue
		}
		rep.Terms = append(rep.Terms, terms)
		if p.says != saysPolicies {
			rep.Figures = append(rep.Figures, f)
		}
	}
	switch r.IntN(20) {
	case 0:
		return quota.Report{Lost: true}
	case 1:
		return quota.Report{Unsent: true}
	case 2:
		return quota.Report{}
	case 3:
		rep.Failed, rep.WholeOrigin, rep.Pause = true, r.IntN(2) == 0, sec
	}
	return rep
}

// tooLong asks again before the wait is over that a request is told. It returns what is
// wrong, if time alone lets the request go much sooner.
func (p *play) tooLong(ask *quota.Ask, told quota.Refusal) string {
	for i := range 6 {
		at := told.Wait*time.Duration(i+1)/6 - ms
		if at <= 0 {
			continue
		}
		switch r, _ := p.o.Check(p.t.Context(), p.at(p.now+at), ask); {
		case r == nil:
			return fmt.Sprintf("goes %v after it was told %v: %v, %+v", at, told.Wait, &told, ask.Claims)
		case at+r.Wait < told.Wait-ms:
			return fmt.Sprintf("told to wait for %v more %v after it was told %v: %v, %+v", r.Wait, at, told.Wait, &told, ask.Claims)
		}
	}
	return ""
}

// tooShort asks again when a pause is over. It returns what is wrong if the request is held again
// by a quota of which our own count is all that is known.
func (p *play) tooShort(ask *quota.Ask, told quota.Refusal) string {
	if p.says != saysPolicies || told.Reason != quota.ReasonRetryAfter && told.Reason != quota.ReasonBackOff {
		return ""
	}
	if r, _ := p.o.Check(p.t.Context(), p.at(p.now+told.Wait), ask); r != nil {
		return fmt.Sprintf("told to wait for %v more when it was told %v: %v, then %v, %+v", r.Wait, told.Wait, &told, r, ask.Claims)
	}
	return ""
}

// What waits is woken by an answer, or when it was told. So it is told no later time than that
// at which it may go if nothing happens; and no earlier one where two things hold it, such as a
// Retry-After and a quota that is used up.
func TestToldNoLaterThanItMayGo(t *testing.T) {
	const seeds = 1_000
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(seeds) {
			p := newPlay(t, seed)
			for step := range 120 {
				switch p.r.IntN(4) {
				case 1:
					p.now += p.some(50 * ms)
				case 2:
					p.now += p.some(p.window / 4)
				case 3:
					p.now += p.some(3*p.window) * time.Duration(p.r.IntN(3)/2)
				}
				ask := p.ask()
				if told, _ := p.o.Check(t.Context(), p.at(p.now), ask); told != nil && p.r.IntN(2) == 0 {
					if wrong := p.tooLong(ask, *told) + p.tooShort(ask, *told); wrong != "" {
						assert.Fail(t, "told another time", "seed %d, step %d, quota %d in %v, says %d: %s", seed, step, p.quota, p.window, p.says, wrong)
						return
					}
					p.now += told.Wait
					continue
				}
				if p.r.IntN(3) > 0 {
					p.admit(ask)
				} else if n := len(p.out); n > 0 {
					i := p.r.IntN(n)
					l := p.out[i]
					p.out = append(p.out[:i], p.out[i+1:]...)
					p.done(p.now, l, p.report())
				}
			}
		}
	})
}
