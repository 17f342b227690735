package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// fewAlone has one request served and the next one refused, while no other is in flight, as often as it says, and returns when the
// last one was. A trial may begin after five.
func fewAlone(d *desk, kind string, from time.Duration, rows int) (now time.Duration) {
	d.t.Helper()
	for range rows {
		now = from
		l, r := d.kindOf(now, kind)
		require.Nil(d.t, r)
		d.done(now+10*ms, l, quota.Report{})
		l, r = d.kindOf(now+10*ms, kind)
		require.Nil(d.t, r)
		now += 20 * ms
		d.done(now, l, quota.Report{Refused: true})
		from = now + 2*sec
	}
	return now
}

// moreOf sends requests of a kind until one is not admitted, or 20, and returns how many were.
func (d *desk) moreOf(now time.Duration, kind string) (n int) {
	for ; n < 20; n++ {
		if _, r := d.kindOf(now, kind); r != nil {
			break
		}
	}
	return n
}

// A trial that is refused is followed by the back-off, and none by another one soon.
func TestTrialRefused(t *testing.T) {
	d := newDesk(t)
	now := fewAlone(d, "a/", 0, 5)
	l, r := d.kindOf(now, "a/")
	assert.Nil(t, r)
	d.done(now+10*ms, l, quota.Report{Refused: true})
	_, r = d.kindOf(now+10*ms, "a/")
	if assert.NotNil(t, r) {
		assert.Equal(t, quota.ReasonBackOff, r.Reason)
		now += 10*ms + r.Wait
	}
	now = fewAlone(d, "a/", now, 1)
	_, r = d.kindOf(now, "a/")
	assert.NotNil(t, r)
}

// After two in a row that are served, as many depart as before, and after each refusal one more.
func TestTrialServed(t *testing.T) {
	d := newDesk(t)
	now := fewAlone(d, "a/", 0, 5)
	l, r := d.kindOf(now, "a/")
	assert.Nil(t, r)
	d.done(now+10*ms, l, quota.Report{})
	assert.Less(t, d.moreOf(now+10*ms, "a/"), 20, "one shows little")

	d = newDesk(t)
	now = fewAlone(d, "a/", 0, 5)
	l, r = d.kindOf(now, "a/")
	assert.Nil(t, r)
	now += 10 * ms
	d.done(now, l, quota.Report{})
	l, r = d.kindOf(now, "a/")
	assert.Nil(t, r)
	now += 10 * ms
	d.done(now, l, quota.Report{Refused: true})
	l, r = d.kindOf(now, "a/")
	assert.Nil(t, r)
	_, r = d.kindOf(now, "a/")
	assert.NotNil(t, r, "one departs")
	now += 10 * ms
	d.done(now, l, quota.Report{})
	var ls []*quota.Lease
	for range 20 {
		l, r := d.kindOf(now, "a/")
		if assert.Nil(t, r) {
			ls = append(ls, l)
		}
	}
	now += 10 * ms
	d.done(now, ls[0], quota.Report{Refused: true})
	l, r = d.kindOf(now, "a/")
	assert.Nil(t, r, "after each refusal")
	_, r = d.kindOf(now, "a/")
	assert.NotNil(t, r)
	for _, before := range ls[1:] {
		d.done(now+5*ms, before, quota.Report{Refused: true}) // it departed before the trial, which tells
	}
	d.done(now+10*ms, l, quota.Report{})
	_, r = d.kindOf(now+10*ms, "a/")
	assert.Nil(t, r)
}

// A request that comes later shows nothing: what was used up may be there again.
func TestTrialTooLate(t *testing.T) {
	for late, want := range map[time.Duration]bool{62 * ms: true, 63 * ms: false, sec: false} {
		d := newDesk(t)
		now := fewAlone(d, "a/", 0, 5)
		d.answer(now+late, "a/", served)
		now += late + 10*ms
		d.answer(now, "a/", quota.Report{Refused: true})
		now += late
		d.answer(now, "a/", served)
		assert.Equal(t, want, d.moreOf(now, "a/") == 20, late)
	}
}

// Of several kinds, others may use up what they share.
func TestNoTrialOfSeveralKinds(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "b/", quota.Report{Refused: true})
	now := fewAlone(d, "a/", 3*sec, 5)
	assert.False(t, d.free(now, "a/"))
}

// What is served of another kind shows nothing.
func TestTrialOfAnotherKind(t *testing.T) {
	for kind, want := range map[string]bool{"a/": true, "b/": false} {
		d := newDesk(t)
		now := fewAlone(d, "a/", 0, 5)
		d.answer(now, "a/", served)
		d.answer(now, "a/", quota.Report{Refused: true})
		d.answer(now, kind, served)
		assert.Equal(t, want, d.moreOf(now, "a/") == 20, kind)
	}
}

// A request that was refused while others are in flight may be one too many, so no trial follows.
func TestNoTrialBesideOthers(t *testing.T) {
	d := newDesk(t)
	now := fewAlone(d, "a/", 0, 4) + 2*sec
	l, r := d.kindOf(now, "a/")
	assert.Nil(t, r)
	d.done(now+10*ms, l, quota.Report{})
	now += 10 * ms
	one, _ := d.kindOf(now, "a/")
	two, _ := d.kindOf(now, "a/")
	assert.NotNil(t, one)
	if assert.NotNil(t, two) {
		d.done(now+10*ms, two, quota.Report{Refused: true})
		_, r = d.kindOf(now+10*ms, "a/")
		assert.NotNil(t, r)
	}
}
