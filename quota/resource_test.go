package quota_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// ofKind returns the name of a kind and of a resource of it.
func ofKind(i int) string { return fmt.Sprint("POST /channels/*\x00", i) }

// A Retry-After holds the resource that it was sent to, if a request for another one of its kind is served
// meanwhile. Each further one that is refused has a limit of its own, too.
func TestResource(t *testing.T) {
	d := newDesk(t)
	d.answer(0, ofKind(1), retryAfter(30*sec))
	assert.False(t, d.free(1499*ms, ofKind(2)), "it looks later than other kinds")
	d.answer(1500*ms, ofKind(2), served)
	assert.True(t, d.free(1501*ms, ofKind(2)))
	assert.True(t, d.free(1501*ms, ofKind(3)))
	assert.False(t, d.free(30*sec-ms, ofKind(1)))
	d.answer(2*sec, ofKind(4), retryAfter(60*sec))
	assert.True(t, d.free(2*sec, ofKind(2)))
	assert.False(t, d.free(30*sec-ms, ofKind(1)))
	assert.True(t, d.free(30*sec, ofKind(1)))
	assert.False(t, d.free(62*sec-ms, ofKind(4)))
	assert.True(t, d.free(62*sec, ofKind(4)))
	assert.Equal(t, 3, d.o.Kinds(), "two resources, and the rest")

	d.answer(69*sec, ofKind(2), served)
	d.answer(70*sec, ofKind(5), retryAfter(60*sec))
	d.answer(70*sec+ms, ofKind(6), retryAfter(60*sec))
	assert.Equal(t, 5, d.o.Kinds(), "nothing else was served meanwhile, but that was not long")
}

// What waits for the hold of its kind looks once a resource of it has turned out to be refused.
func TestResourceRefusedMeanwhile(t *testing.T) {
	d := newDesk(t)
	a, _ := d.kindOf(0, ofKind(1))
	b, _ := d.kindOf(0, ofKind(1))
	d.done(ms, a, retryAfter(30*sec))
	d.done(2*ms, b, retryAfter(30*sec)) // of the same one: it stays alone
	d.answer(1501*ms, ofKind(2), served)
	assert.True(t, d.free(1502*ms, ofKind(3)))
	assert.False(t, d.free(30*sec, ofKind(1)))
	assert.True(t, d.free(30*sec+2*ms, ofKind(1)))
}

// If a look is refused, all resources have one limit, and the next holds have no look: 4 of them, then 16.
func TestResourcesOfOneLimit(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	hold := func(first int) (looks bool) {
		t.Helper()
		d.answer(now, ofKind(first), served)
		one, _ := d.kindOf(now, ofKind(first))
		two, _ := d.kindOf(now, ofKind(first))
		d.done(now+ms, one, retryAfter(30*sec))
		d.done(now+2*ms, two, retryAfter(30*sec))
		l, _ := d.kindOf(now+5*sec, ofKind(first+1))
		if l != nil {
			d.done(now+5*sec, l, retryAfter(25*sec)) // as is that of the others
		}
		assert.False(t, d.free(now+6*sec, ofKind(first)))
		assert.False(t, d.free(now+29*sec, ofKind(first+1)))
		now += 30 * sec
		return l != nil
	}
	var looked []int
	for i := range 24 {
		if hold(2 * i) {
			looked = append(looked, i)
		}
		now += mins // windows are no longer than the holds
	}
	assert.Equal(t, []int{0, 4, 20}, looked)
}

// Without a look they are one again after 8 holds.
func TestResourcesWithoutLook(t *testing.T) {
	d := newDesk(t)
	now, holds := sec, 0
	for d.answer(now, ofKind(1), retryAfter(10*sec)); d.o.Kinds() > 1 && holds < 20; holds++ {
		now += 2 * mins
		d.answer(now, ofKind(2), served)
		d.answer(now, ofKind(1), served)
		d.answer(now, ofKind(1), retryAfter(10*sec))
	}
	assert.Equal(t, 8, holds)
}

// While one resource is all that requests are for, it is one with its kind, and others look again when they come.
func TestResourceWithoutOthers(t *testing.T) {
	d := newDesk(t)
	for i := range 4 {
		now := sec + time.Duration(i)*2*mins
		d.answer(now, ofKind(i), retryAfter(10*sec))
		assert.Equal(t, 2, d.o.Kinds())
		assert.False(t, d.free(now+9*sec, ofKind(i)))
	}
	d.answer(6*mins+6*sec, ofKind(100), served)
}

// If very many are refused, it may be one limit.
func TestManyResources(t *testing.T) {
	d := newDesk(t)
	d.answer(0, ofKind(0), retryAfter(time.Hour))
	d.answer(2*sec, ofKind(100), served)
	for i := range quota.MaxResources - 1 {
		d.answer(2*sec, ofKind(1+i), retryAfter(time.Hour))
	}
	assert.Equal(t, 1+quota.MaxResources, d.o.Kinds())
	assert.True(t, d.free(3*sec, ofKind(100)))
	d.answer(3*sec, ofKind(50), retryAfter(10*sec))
	assert.Equal(t, 1, d.o.Kinds())
	assert.False(t, d.free(5*sec, ofKind(100)))
	assert.False(t, d.free(20*sec, ofKind(0)), "what it was told to wait is not forgotten")
}

// Where a server sheds load, a refusal is of no resource.
func TestResourceWhereLoadIsShed(t *testing.T) {
	d := newDesk(t)
	refused, _ := d.kindOf(0, ofKind(1))
	var later []*quota.Lease
	for range 2 {
		l, _ := d.kindOf(8*ms, ofKind(100))
		later = append(later, l)
	}
	d.done(9*ms, refused, retryAfter(sec))
	assert.Equal(t, 2, d.o.Kinds())
	for _, l := range later { // they departed well after the refused one
		d.done(10*ms, l, served)
	}
	d.answer(1500*ms, ofKind(100), served)
	d.answer(2*sec, ofKind(2), retryAfter(sec))
	assert.Equal(t, 2, d.o.Kinds())
}

// A refusal that says nothing of when to come back does not tell resources apart: a bucket gives units back meanwhile.
func TestBareRefusalOfResource(t *testing.T) {
	d := newDesk(t)
	d.answer(0, ofKind(1), quota.Report{Refused: true})
	for at := time.Duration(0); at < sec; at += 10 * ms {
		assert.False(t, d.free(at, ofKind(2)))
	}
	assert.Equal(t, 1, d.o.Kinds())
}

// If the resources become one kind while one of them looks, the Retry-After of that look holds the kind that it is of now.
func TestResourceThatLooksWhenMerged(t *testing.T) {
	d := newDesk(t)
	one, _ := d.kindOf(sec, ofKind(1))
	two, _ := d.kindOf(sec, ofKind(2))
	d.done(sec+ms, one, retryAfter(2*sec))
	d.done(sec+2*ms, two, retryAfter(2*sec))
	other, _ := d.kindOf(9*sec, ofKind(3))
	d.answer(10*sec, "GET /search", retryAfter(mins))
	look, _ := d.kindOf(14*sec, ofKind(1))
	assert.Equal(t, 4, d.o.Kinds())
	d.done(14*sec+ms, other, retryAfter(3*sec)) // nothing else was served for long: they are one, with a limit of its own
	d.done(14*sec+2*ms, look, retryAfter(20*sec))
	for i := range 4 {
		assert.False(t, d.free(34*sec, ofKind(i)), i)
		assert.True(t, d.free(34*sec+2*ms, ofKind(i)), i)
	}
}
