package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// shortHolds plays holds of a second, in which /b may look. Both kinds have been refused before.
type shortHolds struct {
	*desk
	now time.Duration // when the next hold begins
}

func newShortHolds(t *testing.T) *shortHolds {
	h := &shortHolds{newDesk(t), sec}
	a, _ := h.kindOf(0, "/a")
	b, _ := h.kindOf(0, "/b")
	h.done(ms, a, retryAfter(sec))
	h.done(ms, b, retryAfter(sec))
	return h
}

// force sends a request whether or not something holds it, and answers it.
func (h *shortHolds) force(now time.Duration, kind string, r quota.Report) {
	l := new(quota.Lease)
	require.NoError(h.t, h.o.Admit(h.t.Context(), h.at(now), &quota.Ask{Kind: func() string { return kind }, Force: true}, l))
	h.done(now, l, r)
}

// begin begins a hold, in which /a has used up a quota.
func (h *shortHolds) begin() (at time.Duration) {
	h.now += 2 * sec
	h.force(h.now-ms, "/a", served)
	h.force(h.now, "/a", retryAfter(sec))
	return h.now
}

// play plays a hold in which a look of /b is served, and reports whether /b is free then.
func (h *shortHolds) play() (free bool) {
	at := h.begin()
	h.answer(at+63*ms, "/b", served)
	return h.free(at+900*ms, "/b")
}

// Where Retry-Afters are a second long, a kind that was refused turns out to be free when it was served in four of
// them, soon after they began, although it is refused between these.
func TestFreeInShortHolds(t *testing.T) {
	h := newShortHolds(t)
	for range 3 {
		assert.False(t, h.play())
		h.force(h.now+1100*ms, "/b", served)
		h.force(h.now+1200*ms, "/b", retryAfter(sec)) // its own quota is used up
		h.now += sec
	}
	assert.True(t, h.play())
}

// Such a look departs in the first quarter of a hold: later, the window may be over. And a hold has one of a kind.
func TestLookInShortHold(t *testing.T) {
	h := newShortHolds(t)
	at := h.begin()
	assert.False(t, h.free(at+62*ms, "/b"))
	assert.True(t, h.free(at+63*ms, "/b"))
	assert.True(t, h.free(at+250*ms, "/b"))
	for late := 251 * ms; late < sec; late += ms {
		assert.False(t, h.free(at+late, "/b"), late)
	}
	h.answer(at+63*ms, "/b", served)
	assert.False(t, h.free(at+64*ms, "/b"), "it was served in this hold")
}

// The looks that were served do not count if one is refused, if the last one was more than a minute ago, or if a
// kind is refused that was not served for long: others must have used up what it needs.
func TestShortHoldsOfOneLimit(t *testing.T) {
	for name, then := range map[string]func(h *shortHolds){
		"a look is refused": func(h *shortHolds) { h.answer(h.begin()+63*ms, "/b", retryAfter(sec)) },
		"a minute later":    func(h *shortHolds) { h.now += mins },
		"refused when it comes back": func(h *shortHolds) {
			at := h.begin()
			h.force(at+1100*ms, "/a", retryAfter(sec))
		},
		"not served for long": func(h *shortHolds) {
			h.force(h.now+1100*ms, "/c", served)
			h.force(h.now+2700*ms, "/c", retryAfter(sec))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newShortHolds(t)
			for range 3 {
				assert.False(t, h.play())
			}
			then(h)
			h.now += 4 * sec
			for range 3 {
				assert.False(t, h.play())
			}
			assert.True(t, h.play())
		})
	}
}

// A hold that begins with such a refusal has no looks: what they are served, others would be refused.
func TestShortHoldWithoutLooks(t *testing.T) {
	h := newShortHolds(t)
	at := h.begin()
	h.force(at+1100*ms, "/a", retryAfter(sec))
	for later := time.Duration(0); later < sec; later += ms {
		assert.False(t, h.free(at+1100*ms+later, "/b"), later)
	}
	h.now += sec
	assert.True(t, h.free(h.begin()+63*ms, "/b"), "the next one has")
}

// A look that is served makes the next ones half as dear.
func TestLooksBecomeCheaper(t *testing.T) {
	for _, cheaper := range []bool{false, true} {
		h := newShortHolds(t)
		look := func(r quota.Report) { h.answer(h.begin()+63*ms, "/b", r) }
		for range 5 { // after the last one, 4 s
			look(retryAfter(sec))
			h.now += 10 * sec
		}
		if cheaper {
			look(served)
		}
		look(retryAfter(sec)) // 4 s instead of 8
		h.now += 3 * sec
		assert.Equal(t, cheaper, h.free(h.begin()+63*ms, "/b"))
	}
}
