package quota_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// flight sends n requests, one in each millisecond from now on.
func (d *desk) flight(now time.Duration, n int) (ls []*quota.Lease) {
	d.t.Helper()
	for i := range n {
		ls = append(ls, d.send(now+time.Duration(i)*ms, ""))
	}
	return ls
}

// If those that departed after a refused request are served, it was refused alone: the others go on,
// and one less is in flight.
func TestRefusedAlone(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 20)
	d.done(1050*ms, ls[3], quota.Report{Refused: true})
	for _, l := range ls[:3] { // they departed before
		d.done(1050*ms, l, quota.Report{})
	}
	for _, l := range ls[4:6] {
		d.refused(1050*ms, "")
		d.done(1051*ms, l, quota.Report{})
	}
	d.refused(1051*ms, "")
	d.done(1052*ms, ls[6], quota.Report{})
	// 13 are in flight, of 20 with the one that sleeps.
	assert.Equal(t, 6, d.more(1052*ms, ""))
	wait := d.wait(1052*ms, "")
	assert.GreaterOrEqual(t, wait, 998*ms)
	assert.LessOrEqual(t, wait, 1248*ms)
	d.send(1052*ms+wait, "")
}

// What departed in the window before stops counting as in flight after a while, without an answer. The
// line looks then, and not only when the one that sleeps wakes.
func TestRefusedAloneIsToldInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := quota.Accounts{Jitter: noJitter}
		o := a.Origin("https://api.example")
		send := func(l *quota.Lease) {
			require.NoError(t, o.Admit(t.Context(), time.Time{}, new(quota.Ask), l))
		}
		done := func(l *quota.Lease, r quota.Report) { o.Settle(time.Now(), l, &r) }
		var first quota.Lease
		send(&first)
		done(&first, quota.Report{})
		var ls [32]quota.Lease
		for i := range 20 {
			time.Sleep(ms)
			send(&ls[i])
		}
		time.Sleep(30 * ms)
		done(&ls[3], quota.Report{Refused: true})
		for i := range 3 {
			done(&ls[4+i], quota.Report{})
			time.Sleep(ms)
		}
		began := time.Now()
		for i := range 12 {
			send(&ls[20+i])
		}
		assert.Equal(t, 87*ms, time.Since(began))
	})
}

// The same if the window is not over yet when the line looks. All that is in flight then belongs to
// it, or departed before an earlier refusal turned out to be of one request alone.
func TestRefusedAloneIsToldAfterTheWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		served int // after the refusal
		known  bool
		want   time.Duration
	}{
		{"first refusal", 3, false, 57 * ms}, // the window ends 48 ms later; ten depart then, 1 ms apart
		{"later refusal", 0, true, 155 * ms}, // 92 ms after its end, two round trips, 13 depart
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := quota.Accounts{Jitter: noJitter}
				o := a.Origin("https://api.example")
				var ls [40]quota.Lease
				send := func(of []quota.Lease) {
					for i := range of {
						time.Sleep(ms)
						require.NoError(t, o.Admit(t.Context(), time.Time{}, new(quota.Ask), &of[i]))
					}
				}
				done := func(l *quota.Lease, r quota.Report) { o.Settle(time.Now(), l, &r) }
				figure := quota.Report{Figures: figure("other", 100, mins)}
				o.CountScope(100, sec)
				send(ls[:1])
				done(&ls[0], figure)
				if c.known {
					time.Sleep(900 * ms)
					send(ls[1:6])
					done(&ls[1], quota.Report{Refused: true})
					for i := range 4 {
						done(&ls[2+i], quota.Report{})
					}
					time.Sleep(5 * sec)
					send(ls[6:7])
					done(&ls[6], figure)
				}
				time.Sleep(900 * ms)
				send(ls[7:27])
				time.Sleep(30 * ms)
				done(&ls[10], quota.Report{Refused: true})
				for i := range c.served {
					done(&ls[11+i], quota.Report{})
					time.Sleep(ms)
				}
				began := time.Now()
				send(ls[27:])
				assert.Equal(t, c.want, time.Since(began))
			})
		})
	}
}

// If more requests wait than sleep, the callers have become more: so many more are in flight.
func TestRefusedAloneWithMoreCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := quota.Accounts{Jitter: noJitter}
		o := a.Origin("https://api.example")
		var ls [20]quota.Lease
		send := func(of []quota.Lease) {
			for i := range of {
				time.Sleep(ms)
				require.NoError(t, o.Admit(t.Context(), time.Time{}, new(quota.Ask), &of[i]))
			}
		}
		done := func(l *quota.Lease, r quota.Report) { o.Settle(time.Now(), l, &r) }
		send(ls[:1])
		done(&ls[0], quota.Report{})
		send(ls[:7])
		done(&ls[0], quota.Report{Refused: true})
		for i := range 6 {
			done(&ls[1+i], quota.Report{})
		}
		time.Sleep(5 * sec)

		send(ls[:10])
		done(&ls[0], quota.Report{Refused: true}) // 9 in flight, one sleeps
		var went atomic.Int32
		var waiting sync.WaitGroup
		for i := range 5 {
			waiting.Go(func() {
				assert.NoError(t, o.Admit(t.Context(), time.Time{}, new(quota.Ask), &ls[10+i]))
				went.Add(1)
			})
		}
		synctest.Wait()
		assert.Zero(t, went.Load())
		done(&ls[1], quota.Report{Refused: true}) // 9 and 5 that wait, two of these 14 sleep
		synctest.Wait()
		assert.EqualValues(t, 4, went.Load())
		waiting.Wait()
	})
}

// Once a refusal was let go, what is served until the next one was not counted from the beginning of
// a window: no quota is inferred from it.
func TestNothingIsInferredAfterRefusedAlone(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 50)
	d.done(1050*ms, ls[3], quota.Report{Refused: true})
	for _, l := range ls[4:20] {
		d.done(1051*ms, l, quota.Report{})
	}
	for _, l := range ls[20:] {
		d.done(1052*ms, l, quota.Report{Refused: true})
	}
	r := d.refused(1052*ms, "")
	require.Equal(t, quota.ReasonBackOff, r.Cause)
	now := 1052*ms + r.Wait
	d.done(now, d.send(now, ""), quota.Report{})
	assert.EqualValues(t, quota.None, d.known("", quota.Claim{}).Quota)
}

// A quota that is used up refuses what departs after, too.
func TestNotRefusedAlone(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 20)
	for _, l := range ls[10:] {
		d.done(1050*ms, l, quota.Report{Refused: true})
	}
	for _, l := range ls[:10] {
		d.done(1050*ms, l, quota.Report{})
	}
	r := d.refused(1050*ms, "")
	require.Equal(t, quota.ReasonBackOff, r.Cause)
	assert.GreaterOrEqual(t, r.Wait, sec)
}

// A Retry-After holds all requests like the refused one, until eleven were served that departed when half of
// its round trip was over. Then it concerns the refused request alone: the others go on, and one less is in flight.
func TestRetryAfterAlone(t *testing.T) {
	for name, r := range map[string]quota.Report{
		"429": {Refused: true, Pause: 5 * sec},
		"503": {Pause: 5 * sec, WholeOrigin: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.done(0, d.send(0, ""), quota.Report{})
			ls := d.flight(sec, 60)
			d.done(1059*ms, ls[3], r)
			for _, l := range slices.Concat(ls[:3], ls[4:32]) { // they may have arrived before
				d.done(1060*ms, l, quota.Report{})
			}
			for _, l := range ls[32:42] {
				d.done(1060*ms, l, quota.Report{})
			}
			assert.Equal(t, 5*sec-ms, d.wait(1060*ms, ""))
			d.done(1060*ms, ls[42], quota.Report{})
			// 17 are in flight, of 60 with the one that sleeps.
			assert.Equal(t, 42, d.more(1060*ms, ""))
			assert.Equal(t, 5*sec-ms, d.wait(1060*ms, ""))
		})
	}
}

// Of a burst, some requests overtake others, and refusals come before what is served: that shows nothing.
func TestRetryAfterOfBurstIsForAll(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 100)
	for i := 0; i < 100; i += 5 {
		d.done(1250*ms, ls[i], quota.Report{Refused: true, Pause: 5 * sec})
	}
	for i, l := range ls {
		if i%5 != 0 {
			d.done(1600*ms, l, quota.Report{})
		}
	}
	assert.Equal(t, 5*sec-350*ms, d.wait(1600*ms, ""))
}

// What the evidence has shown counts for the next refusals, too. The fifth in a row, as of a quota that is
// used up, holds all again.
func TestRetryAfterAloneInARow(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 80)
	refused := quota.Report{Refused: true, Pause: 5 * sec}
	d.done(1080*ms, ls[0], refused)
	for _, l := range ls[41:71] { // more than are counted
		d.done(1080*ms, l, quota.Report{})
	}
	for i, l := range ls[71:75] {
		d.done(1081*ms, l, refused)
		assert.Zero(t, d.wait(1081*ms, ""), i)
	}
	d.done(1081*ms, ls[75], refused)
	assert.Equal(t, 5*sec, d.wait(1081*ms, ""))
}

// While none else is in flight, a refusal says nothing of whether it is alone. So any number of them takes nothing
// from the evidence that comes later.
func TestSingleRefusalsAreNoEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		refused quota.Report
		enough  int // served after a refused one
	}{
		"429":                    {quota.Report{Refused: true}, 3},
		"503":                    {quota.Report{Refused: true, WholeOrigin: true}, 3},
		"429 with a Retry-After": {retryAfter(sec), 11},
	} {
		for _, n := range []int{c.enough - 1, c.enough} {
			d := newDesk(t)
			d.exchange(0, "", served)
			now := sec
			for range 12 {
				now += 2 * mins
				d.done(now+50*ms, d.send(now, ""), c.refused)
			}
			now += 2 * mins
			for range 30 { // of a slow start
				d.exchange(now, "", served)
			}
			ls := d.flight(now, 2*n+1) // those after the middle are evidence
			now += time.Duration(2*n+1) * ms
			d.done(now, ls[0], c.refused)
			for _, l := range ls[n+1:] {
				d.done(now, l, served)
			}
			assert.Equal(t, n == c.enough, d.wait(now, "") == 0, "%s, %d served", name, n)
		}
	}
}

// Evidence from refusals without a Retry-After does not count for one with it.
func TestRetryAfterAfterBareRefusals(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 60)
	d.done(1500*ms, ls[0], quota.Report{Refused: true})
	for _, l := range ls[1:50] {
		d.done(1500*ms, l, quota.Report{})
	}
	d.done(1501*ms, ls[50], quota.Report{Refused: true, Pause: 5 * sec})
	assert.Equal(t, 5*sec, d.wait(1501*ms, ""))
}

// Where a third of those in flight are served, there is no evidence: a Retry-After holds all.
func TestRetryAfterOfMostIsForAll(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 300)
	for i, l := range ls {
		r := quota.Report{Refused: true, Pause: 5 * sec}
		if i%3 == 1 {
			r = quota.Report{}
		}
		d.done(1300*ms, l, r)
		assert.Equal(t, 5*sec, d.wait(1300*ms, ""), i)
	}
}

// A Retry-After beside a policy is for all that it concerns, also if many others are served (the draft,
// Appendix A.3).
func TestRetryAfterOfPolicyIsForAll(t *testing.T) {
	for name, r := range map[string]quota.Report{
		"figure": {Refused: true, Pause: 5 * sec, Figures: []quota.Figure{{Policy: "api", Available: 1000, Window: 40 * sec}}},
		"policy": {Refused: true, Pause: 5 * sec, Terms: []quota.Policy{{Name: "api", Quota: 1000, Window: 60 * sec}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.done(0, d.send(0, ""), quota.Report{})
			ls := d.flight(sec, 200)
			d.done(1200*ms, ls[0], r)
			for _, l := range ls[1:] {
				d.done(1201*ms, l, quota.Report{})
				assert.Equal(t, 5*sec-ms, d.wait(1201*ms, "", quota.Claim{Policy: "api"}))
			}
		})
	}
}

// So it is if the body names the policy, after the Retry-After was let go and after a refusal that held nothing.
func TestRetryAfterAloneUntilBodyNamesPolicy(t *testing.T) {
	for _, late := range []bool{false, true} {
		d := newDesk(t)
		api := quota.Claim{Policy: "api"}
		d.done(0, d.send(0, "", api), quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 1000, Window: 60 * sec}}})
		var ls []*quota.Lease
		for i := range 80 {
			ls = append(ls, d.send(sec+time.Duration(i)*ms, "", api))
		}
		refused := quota.Report{Refused: true, Pause: 5 * sec}
		hear := d.o.Settle(d.at(1080*ms), ls[0], &refused)
		for _, l := range ls[41:71] {
			d.done(1080*ms, l, quota.Report{})
		}
		if late {
			hear = d.o.Settle(d.at(1080*ms), ls[71], &refused)
		}
		assert.Zero(t, d.wait(1080*ms, "", api), late)
		require.NotNil(t, hear)
		hear(d.at(1081*ms), []string{"api"}, 0)
		assert.Equal(t, 5*sec-ms, d.wait(1081*ms, "", api), late)
	}
}

// The evidence of a kind of work that was not refused with a Retry-After lets none of another go, neither one before nor one after.
// That of a kind which was does: they seem to share a quota.
func TestRetryAfterOfAnotherKindIsForAll(t *testing.T) {
	for name, r := range map[string]quota.Report{
		"Retry-After": {Refused: true, Pause: 4 * sec},
		"bare":        {Refused: true},
		"served":      {},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after: %v", name, after), func(t *testing.T) {
				d := newDesk(t)
				d.answer(0, "a/", quota.Report{})
				as, b := d.flightOf(sec, 80, "a/"), d.flightOf(1080*ms, 1, "b/")[0]
				refuse := func() { d.done(1082*ms, b, quota.Report{Refused: true, Pause: 5 * sec}) }
				if !after {
					refuse()
				}
				d.done(1082*ms, as[0], r)
				for _, l := range as[1:] {
					d.done(1083*ms, l, quota.Report{})
				}
				if after {
					refuse()
				}
				assert.Equal(t, name == "Retry-After", d.free(6081*ms, "b/"))
				assert.True(t, d.free(6082*ms, "b/"))
			})
		}
	}
}

// What is served of a kind says nothing of another one's Retry-After if the limit has not refused it, or if it has a limit of its own.
func TestRetryAfterOfKindsThatShareNoLimit(t *testing.T) {
	for _, own := range []bool{false, true} {
		d := newDesk(t)
		d.answer(0, "b/", retryAfter(30*sec))
		if own {
			d.answer(2*sec, "a/", served) // a look: it is free
		}
		for range 200 { // of a slow start
			d.answer(31*sec, "b/", served)
		}
		d.answer(31*sec, "a/", served)
		b, as := d.flightOf(40*sec-ms, 1, "b/")[0], d.flightOf(40*sec, 80, "a/")
		if own {
			d.done(40*sec+82*ms, as[0], retryAfter(5*sec))
		}
		d.done(40*sec+82*ms, b, retryAfter(5*sec))
		for _, l := range as[60:73] { // one more, and that of all would do
			d.done(40*sec+83*ms, l, served)
		}
		assert.Equal(t, own, d.free(45*sec, "a/"))
		assert.False(t, d.free(45*sec, "b/"))
	}
}

// However much is served of the others, the eighth refusal of a kind in a row holds: it may have a quota of its own.
func TestRetryAfterOfOneKindInARow(t *testing.T) {
	for _, between := range []bool{false, true} { // one is served after the seventh
		d := newDesk(t)
		d.answer(0, "x/", retryAfter(sec))
		d.answer(2*sec, "a/", retryAfter(sec))
		for range 200 { // of a slow start
			d.answer(4*sec, "x/", served)
			d.answer(4*sec, "a/", served)
		}
		as := d.flightOf(10*sec, 60, "a/")
		d.done(10*sec+60*ms, as[0], retryAfter(5*sec))
		for _, l := range as[31:] {
			d.done(10*sec+60*ms, l, served)
		}
		for i := range 8 {
			now := 20*sec + time.Duration(i)*sec
			if i == 7 && between {
				d.answer(now, "x/", served)
			}
			x := d.flightOf(now, 1, "x/")[0]
			others := d.flightOf(now+60*ms, 10, "a/")
			d.done(now+100*ms, x, retryAfter(5*sec))
			for _, l := range others {
				d.done(now+150*ms, l, served)
			}
			assert.Equal(t, i < 7 || between, d.free(now+200*ms, "x/"), "%d, served between: %v", i, between)
		}
	}
}

// A server that sheds load does so everywhere. So the evidence of several kinds, or scopes, counts together: eleven
// served, and four of each that is let go; or fourteen, and none of each that speaks against it. It begins with a Retry-After each.
func TestRetryAfterOfSeveralAlone(t *testing.T) {
	names := []string{"a/", "b/", "c/", "d/"}
	for what, send := range map[string]func(d *desk, now time.Duration, name string, cs ...quota.Claim) (*quota.Lease, *quota.Refusal){
		"kinds": (*desk).kindOf, "scopes": (*desk).try,
	} {
		for _, c := range []struct {
			served        [4]int // of each
			kinds, scopes string // that are let go
		}{
			{[4]int{4, 4, 4, 4}, "a/b/c/d/", "a/b/c/d/"},
			{[4]int{4, 3, 3, 3}, "a/", "a/"}, // four have to be of each
			{[4]int{3, 4, 3, 3}, "b/", "b/"},
			{[4]int{5, 4, 4, 0}, "a/b/c/", "a/b/c/"},
			{[4]int{5, 4, 4, 1}, "a/b/c/d/", "a/b/c/"}, // or so much of all
			{[4]int{3, 3, 3, 3}, "", ""},
			{[4]int{13, 0, 0, 0}, "a/", "a/"},
			{[4]int{14, 0, 0, 0}, "a/b/c/d/", "a/"}, // another scope waits for an answer of its own
			{[4]int{11, 0, 0, 0}, "a/", "a/"},       // one refusal of each of the others is no evidence
			{[4]int{10, 0, 0, 0}, "", ""},
			{[4]int{0, 0, 0, 40}, "b/c/d/", "d/"}, // all of a are still in flight
		} {
			d := newDesk(t)
			if what == "kinds" { // each has a limit of its own
				d.answer(0, "a/", retryAfter(30*sec))
				for _, name := range names[1:] {
					d.answer(2*sec, name, served)
				}
				for range 130 { // of its slow start
					d.answer(31*sec, "a/", served)
				}
			}
			out := map[string][]*quota.Lease{}
			for n := range 240 {
				name := names[n%4]
				l, r := send(d, 40*sec+time.Duration(n)*ms, name)
				require.Nil(t, r)
				out[name] = append(out[name], l)
			}
			now := 40*sec + 240*ms
			for i, name := range names {
				d.done(now, out[name][0], retryAfter(time.Duration(i+1)*5*sec))
			}
			for n := range slices.Max(c.served[:]) {
				for i, name := range names {
					if ls := out[name]; n < c.served[i] {
						d.done(now+ms, ls[len(ls)-1-n], served) // one of the last to depart
					}
				}
			}
			free := ""
			for i, name := range names {
				n := 0
				for ; n < 100; n++ {
					if _, r := send(d, now+2*ms, name); r != nil {
						break
					}
				}
				if n > 0 {
					free += name
				}
				if n > 0 && (what == "scopes" || i == 0) { // a new limit does not know what is in flight
					assert.Equal(t, c.served[i], n, "%s %v: one sleeps for the refused one", what, c)
				}
			}
			want := c.kinds
			if what == "scopes" {
				want = c.scopes
			}
			assert.Equal(t, want, free, "%s %v", what, c)
		}
	}
}

// What is known of others does not keep a quota of one scope open: the fifth refusal in a row holds it.
func TestRetryAfterOfOneAmongAlone(t *testing.T) {
	d := newDesk(t)
	for i, scope := range []string{"x", "a"} {
		d.shed(time.Duration(i)*10*sec, scope, 20)
	}
	for i := range 5 {
		now := time.Duration(i+2) * 10 * sec
		d.shed(now, "x", 20)
		d.done(now+2*sec, d.send(now+2*sec, "a"), retryAfter(9*sec))
		l, r := d.try(now+3*sec, "a")
		if assert.Equal(t, i == 4, r != nil, i); r == nil {
			d.done(now+3*sec, l, quota.Report{Unsent: true})
		}
	}
}

// What was known of others ten minutes ago says nothing any more.
func TestRetryAfterLongAfterOthers(t *testing.T) {
	for later, free := range map[time.Duration]bool{9 * mins: true, 10*mins + sec: false} {
		d := newDesk(t)
		d.shed(20*mins, "x", 20)
		later += 20 * mins
		d.shed(later, "a", 4)
		_, r := d.try(later+2*sec, "a")
		assert.Equal(t, free, r == nil, "%v %+v", later, r)
	}
}

// shed exchanges one request, and sheds the first one of two seconds later, of which n are served that
// departed late enough to be evidence.
func (d *desk) shed(now time.Duration, scope string, n int) {
	d.exchange(now, scope, served)
	now += sec
	var ls []*quota.Lease
	for i := range 2*n + 1 { // those after the middle are evidence
		ls = append(ls, d.send(now+time.Duration(i)*ms, scope))
	}
	arrival := now + time.Duration(2*n+1)*ms
	d.done(arrival, ls[0], retryAfter(5*sec))
	for _, l := range slices.Backward(ls[1:]) {
		d.done(arrival, l, served)
	}
}

// A Retry-After of the whole origin concerns all kinds and scopes, so what is served of any is evidence.
func TestRetryAfterOfOriginAlone(t *testing.T) {
	for what, send := range map[string]func(d *desk, now time.Duration, name string, cs ...quota.Claim) (*quota.Lease, *quota.Refusal){
		"kinds": (*desk).kindOf, "scopes": (*desk).try,
	} {
		d := newDesk(t)
		l, _ := send(d, 0, "a/")
		d.done(0, l, quota.Report{})
		refused, _ := send(d, sec, "a/")
		var out []*quota.Lease
		for i := range 40 {
			l, _ := send(d, 1001*ms+time.Duration(i)*ms, "b/")
			out = append(out, l)
		}
		d.done(1041*ms, refused, quota.Report{Pause: 5 * sec, WholeOrigin: true})
		for _, l := range out[20:30] {
			d.done(1042*ms, l, quota.Report{})
		}
		_, r := send(d, 1042*ms, "a/")
		assert.NotNil(t, r, what)
		d.done(1042*ms, out[30], quota.Report{})
		_, r = send(d, 1042*ms, "a/")
		assert.Nil(t, r, what)
	}
}

// What holds the same account as what stays, stays too: after that one request goes first.
func TestRetryAfterAloneBeforeOneThatStays(t *testing.T) {
	for _, stays := range []bool{false, true} {
		d := newDesk(t)
		d.answer(0, "a/", quota.Report{})
		as, b := d.flightOf(sec, 40, "a/"), d.flightOf(1040*ms, 1, "b/")[0]
		d.done(1042*ms, as[0], retryAfter(4*sec))
		if stays {
			d.done(1042*ms, b, quota.Report{Refused: true})
		}
		for _, l := range as[24:] {
			d.done(1043*ms, l, quota.Report{})
		}
		d.flightOf(5042*ms, 1, "b/")
		_, r := d.kindOf(5042*ms, "b/")
		assert.Equal(t, stays, r != nil)
	}
}

// flightOf is flight for a kind of work.
func (d *desk) flightOf(now time.Duration, n int, kind string) (ls []*quota.Lease) {
	d.t.Helper()
	for i := range n {
		l, r := d.kindOf(now+time.Duration(i)*ms, kind)
		require.Nil(d.t, r)
		ls = append(ls, l)
	}
	return ls
}

// Callers may not come back after a refusal: one request may always be in flight, and a refusal bounds
// them for a minute, however long its Retry-After is.
func TestAsleepIsNeverDark(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 60)
	hour := quota.Report{Refused: true, Pause: time.Hour}
	d.done(1060*ms, ls[0], hour)
	for _, l := range ls[50:] {
		d.done(1061*ms, l, quota.Report{})
	}
	d.done(1061*ms, ls[49], quota.Report{}) // let go: 48 are in flight, and one sleeps
	for _, l := range ls[1:5] {
		d.done(1062*ms, l, hour)
	}
	for _, l := range ls[5:49] {
		d.done(1063*ms, l, quota.Report{})
	}
	assert.Equal(t, 55, d.more(1063*ms, "")) // of 60, five sleep
	assert.Equal(t, time.Minute-2*ms, d.wait(1063*ms, ""))
}

// A server that works on ten requests at a time refuses what is too much, and says when to come back. The first such
// wave holds all. Later, one refused request holds no other one, unless the next is refused, too. So it is also beside
// figures of a policy that the refusals do not name.
func TestOneTooManyHoldsNoOther(t *testing.T) {
	for name, told := range map[string]quota.Report{
		"nothing told":   {},
		"beside figures": {Figures: []quota.Figure{{Policy: "api", Available: 1000, Window: time.Hour}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			serve := func(now time.Duration, ls ...*quota.Lease) {
				for _, l := range ls {
					d.done(now, l, told)
				}
			}
			refuse := func(now time.Duration, ls ...*quota.Lease) {
				for _, l := range ls {
					d.done(now, l, quota.Report{Refused: true, Pause: 10 * sec})
				}
			}
			serve(0, d.send(0, ""))
			ls := d.flight(sec, 14)
			refuse(1100*ms, ls[10:]...)
			serve(1200*ms, ls[:10]...)
			assert.Equal(t, 9800*ms, d.wait(1300*ms, ""))
			now := 12 * sec
			for _, n := range []int{1, 2, 4, 8, 10, 10} { // the slow start ends at ten
				ls = d.flight(now, n)
				serve(now+50*ms, ls...)
				now += 100 * ms
			}
			ls = d.flight(now, 10)
			d.refused(now+10*ms, "")

			refuse(now+50*ms, ls[9])
			serve(now+60*ms, ls[0])
			later := d.send(now+61*ms, "")
			refuse(now+70*ms, ls[8]) // it departed before the first refusal came
			serve(now+80*ms, ls[1:7]...)
			last := d.send(now+81*ms, "")
			refuse(now+100*ms, later)
			assert.Equal(t, 9999*ms, d.wait(now+101*ms, ""))
			serve(now+110*ms, last, ls[7])
			assert.Equal(t, 9980*ms, d.wait(now+120*ms, ""))
		})
	}
}

// What was found of a bound beside figures is forgotten once the server tells a quota for all requests.
func TestBoundBesideFiguresIsForgotten(t *testing.T) {
	d := newDesk(t)
	named := quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 1000, Window: time.Hour}}}
	d.done(0, d.send(0, ""), named)
	ls := d.flight(sec, 14)
	for _, l := range ls[10:] {
		d.done(1100*ms, l, quota.Report{Refused: true, Pause: sec})
	}
	for _, l := range ls[:10] {
		d.done(1200*ms, l, named)
	}
	now := 3 * sec
	for _, n := range []int{1, 2, 4, 8} {
		for _, l := range d.flight(now, n) {
			d.done(now+50*ms, l, named)
		}
		now += 100 * ms
	}
	ls = d.flight(now, 10)
	d.refused(now, "")
	all := quota.Report{Terms: []quota.Policy{{Quota: 1000, Window: time.Hour}}}
	for _, l := range ls {
		d.done(now+50*ms, l, all)
	}
	d.exchange(now+60*ms, "", all)
	assert.Len(t, d.flight(now+70*ms, 50), 50)
}
