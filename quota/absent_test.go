package quota_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A quota of 10 in 10 s was told once. Requests come in each tenth of a second, for two minutes, and the
// answers do not name it, but for some of another scope.
func TestAbsentQuota(t *testing.T) {
	const never = 1000 * time.Hour
	told := quota.Report{Terms: terms("api", 10, 10*sec)}
	silent := quota.Report{}
	for _, tt := range []struct {
		name          string
		how           quota.Strategy
		first         quota.Report
		within        quota.Report  // the answer to what our own count allows,
		beyond        quota.Report  // and to what it does not; a refusal, to the first
		again, others time.Duration // the policy is told so often; and to another scope
		beyondCount   int           // how many go that our own count does not allow, as long as the policy is known
		policies      []string      // that are known at the end
	}{
		{"it serves all", quota.Adaptive, told, silent, silent, never, never, 15, nil},
		{"a refusal, and one looks after it", quota.Adaptive, told, silent, quota.Report{Refused: true, Pause: -1}, never, never, 2, []string{"api"}},
		{"unsure", quota.Adaptive, told, silent, quota.Report{Unsure: true}, never, never, 4, []string{"api"}},
		{"failed", quota.Adaptive, told, silent, quota.Report{Failed: true}, never, never, 4, []string{"api"}},
		{"all are unsure", quota.Adaptive, told, quota.Report{Unsure: true}, quota.Report{Unsure: true}, never, never, 0, []string{"api"}},
		{"named now and then", quota.Adaptive, told, silent, silent, 20 * sec, never, 0, []string{"api"}},
		{"named more seldom", quota.Adaptive, told, silent, silent, 33 * sec, never, 45, []string{"api"}},
		{"named for others", quota.Adaptive, told, silent, silent, never, 25 * sec, 15, []string{"api"}},
		{"another unit", quota.Adaptive, quota.Report{Terms: unitTerms("api", 10, "tokens")}, silent, silent, never, never, 0, []string{"api"}},
		{"Plain", quota.Plain, told, silent, silent, never, never, 0, []string{"api"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := deskOf(t, &quota.Accounts{Jitter: noJitter, Strategy: tt.how}, testOrigin)
			d.exchange(0, "", tt.first, api(1))
			beyond, named := 0, time.Duration(0)
			for now := 100 * ms; now < 2*mins; now += 100 * ms {
				if now == tt.others {
					d.exchange(now, "other", told, api(1))
				}
				l, _ := d.try(now, "", api(1))
				if l == nil {
					continue
				}
				r := tt.within
				if probe, _ := l.Probe(); probe {
					if beyond++; beyond == 1 || !tt.beyond.Refused {
						r = tt.beyond
					}
				}
				if now-named >= tt.again {
					r, named = told, now
				}
				d.done(now+ms, l, r)
			}
			assert.Equal(t, tt.beyondCount, beyond)
			assert.Equal(t, tt.policies, d.names())
		})
	}
}

// An absentRun asks for a unit of a quota every so often, after the quota was told once. No answer names it
// any more. Requests that our own count does not allow are answered as beyond says, by their number.
type absentRun struct {
	q             int64
	window, every time.Duration
	lasts         time.Duration
	beyond        func(n int) quota.Report
	late          time.Duration // answers of these that are refused

	tried    int           // requests that our own count did not allow
	gone     time.Duration // when the policy was forgotten; 0: it was not
	resumed  time.Duration // when the first request departed after a refusal
	answers  []time.Duration
	accounts quota.Accounts
}

func (r *absentRun) play(t *testing.T) {
	r.accounts.Jitter = noJitter
	d := &desk{t: t, accounts: &r.accounts, o: r.accounts.Origin(testOrigin), name: testOrigin, begin: time.Now()}
	refused, out := false, []func(){}
	for now := time.Duration(0); now < r.lasts && r.gone == 0; now += r.every {
		for len(out) > 0 && now >= r.answers[0] {
			out[0]()
			out, r.answers, refused = out[1:], r.answers[1:], true
		}
		l, _ := d.try(now, "", api(1))
		if l == nil {
			continue
		}
		if refused && r.resumed == 0 {
			r.resumed = now
		}
		var answer quota.Report
		if len(d.names()) == 0 {
			answer.Terms = terms("api", r.q, r.window)
		} else if probe, _ := l.Probe(); probe {
			answer = r.beyond(r.tried)
			r.tried++
		}
		if answer.Refused {
			at := now + r.late
			r.answers = append(r.answers, at)
			out = append(out, func() { d.done(at, l, answer) })
			continue
		}
		d.done(now+ms, l, answer)
		if len(d.names()) == 0 {
			r.gone = now
		}
	}
}

// Answers that do not show whether a request was served end the trial: more of them, up to 16, after
// more that were served.
func TestAbsentDoubts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		served func(n int) bool
		tried  int
		gone   bool
	}{
		{"none was served", func(int) bool { return false }, 4, false},
		{"5 were", func(n int) bool { return n < 5 }, 5 + 9, false},
		{"20 were", func(n int) bool { return n < 20 }, 20 + 17, false},
		{"each fourth is", func(n int) bool { return n%4 == 3 }, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := absentRun{q: 100, window: 10 * sec, every: 10 * ms, lasts: mins, beyond: func(n int) quota.Report {
				return quota.Report{Unsure: !tt.served(n)}
			}}
			r.play(t)
			assert.Equal(t, tt.gone, r.gone > 0)
			if !tt.gone {
				assert.Equal(t, tt.tried, r.tried)
			}
		})
	}
}

// What departed in a window before our own count was used up may come back as late as that window
// ends, so more has to be served before a long quota is forgotten.
func TestAbsentLong(t *testing.T) {
	r := absentRun{q: 60, window: time.Hour, every: sec, lasts: time.Hour / 2, beyond: func(int) quota.Report { return quota.Report{} }}
	r.play(t)
	assert.Equal(t, 88, r.tried, "as many as come back in 2.25 h, without those that come back until 1 h")
}

// If a request that tried is refused, what was served beyond our own count is paid back first: the
// next window is later by the time in which so many units come back.
func TestAbsentPaidBack(t *testing.T) {
	for _, tt := range []struct {
		name    string
		late    time.Duration // the refusal
		resumed time.Duration
	}{
		{"at once", ms, 1003 * sec},                            // 903 s, and 20 units
		{"after the end of the window", 240 * sec, 1204 * sec}, // the next one began at 904 s
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := absentRun{q: 60, window: 5 * mins, every: sec, lasts: 21 * mins, late: tt.late, beyond: func(n int) quota.Report {
				return quota.Report{Refused: n >= 20, Pause: time.Duration(n/20) * sec}
			}}
			r.play(t)
			assert.Equal(t, tt.resumed, r.resumed)
		})
	}
}

// The Peers of an account say what is there, so none of its requests try.
func TestAbsentOfPeers(t *testing.T) {
	r := absentRun{q: 10, window: 10 * sec, every: 100 * ms, lasts: 2 * mins, beyond: func(int) quota.Report { return quota.Report{} }}
	r.accounts.Peers = new(silentPeers)
	r.play(t)
	assert.Zero(t, r.tried)
	assert.Zero(t, r.gone)
}

// ask sends a request each second, for a quota of as many in a day as there are letters. The answers name the
// quota (n), do not (u), are errors that do not (e), or do not come (o). It returns when the next one is due.
func (d *desk) ask(from time.Duration, letters string) (next time.Duration) {
	d.t.Helper()
	const day = 24 * time.Hour
	for i, c := range letters {
		l := d.send(from, "", api(1))
		r := quota.Report{Failed: c == 'e'}
		if c == 'n' {
			r.Terms = terms("api", int64(len(letters)), day)
			r.Figures = figure("api", int64(len(letters)-i-1), day-time.Duration(i)*sec)
		}
		if c != 'o' {
			d.done(from, l, r)
		}
		from += sec
	}
	return from
}

// next returns the first request that departs from then on, and when.
func (d *desk) next(from time.Duration) (at time.Duration, l *quota.Lease) {
	d.t.Helper()
	for at = from; l == nil; at += sec {
		require.Less(d.t, at, from+24*time.Hour)
		l, _ = d.try(at, "", api(1))
	}
	return at - sec, l
}

// Where each of 16 served answers in a row named a quota, and the next 16 did not, one request tries as soon as
// our own count is used up. Else one tries ten minutes after the quota was named. Those that are
// refused before are told to come back then.
func TestAbsentAtOnce(t *testing.T) {
	n, u := strings.Repeat("n", 16), strings.Repeat("u", 16)
	for name, tt := range map[string]struct {
		letters string
		named   int // the number of the last answer that named it, from 0; 0: one tries at once
	}{
		"16 and 16":            {n + u, 0},
		"many":                 {n + n + n + u + u, 0},
		"15 named it":          {n[1:] + u + u, 14},
		"15 did not":           {n + n + u[1:], 31},
		"named now and then":   {n + u + "n" + u, 32},
		"once between":         {n + "un" + u, 17},
		"an error is none":     {n + u[2:] + "eu", 15},
		"errors after it":      {n + "eee" + u, 0},
		"errors while it told": {n[8:] + "e" + n[8:] + u, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			usedUp := d.ask(0, tt.letters)
			expected := usedUp
			if tt.named > 0 {
				expected = time.Duration(tt.named)*sec + 10*mins
				assert.Equal(t, expected-usedUp, d.refused(usedUp, "", api(1)).RetryAfter)
			}
			at, l := d.next(usedUp)
			assert.Equal(t, expected, at)
			d.done(at+ms, l, quota.Report{})
			d.exchange(at+2*ms, "", quota.Report{}, api(1))
		})
	}
}

// While the last request that our own count allows is out, others wait for its answer: then one may
// try. They need not come back at the end of the window.
func TestAbsentAtOnceWaits(t *testing.T) {
	for letters, expected := range map[string]bool{
		strings.Repeat("n", 16) + strings.Repeat("u", 16) + "o": true,
		strings.Repeat("n", 16) + strings.Repeat("u", 15) + "o": false,
	} {
		d := newDesk(t)
		asked := d.ask(0, letters) - sec
		_, waits := d.o.Check(t.Context(), d.at(asked+ms), &quota.Ask{Claims: []quota.Claim{api(1)}, MaxDelay: sec})
		assert.Equal(t, expected, waits, letters)
	}
}

// If the request that tries is refused, and the refusal names the quota, that is still meant. If answers
// name it again, and stop, none tries at once.
func TestAbsentAtOnceRefused(t *testing.T) {
	letters := strings.Repeat("n", 16) + strings.Repeat("u", 16)
	d := newDesk(t)
	usedUp := d.ask(0, letters)
	at, l := d.next(usedUp)
	assert.Equal(t, usedUp, at)
	d.done(at+ms, l, quota.Report{Refused: true, Pause: 10 * sec, Figures: figure("api", 0, 10*sec)})
	again, l := d.next(at + sec)
	assert.Equal(t, at+11*sec, again)
	d.done(again, l, quota.Report{Terms: terms("api", 33, time.Hour), Figures: figure("api", 32, time.Hour)})
	usedUp = d.ask(again+sec, letters)
	at, _ = d.next(usedUp)
	assert.Equal(t, again+16*sec+10*mins, at)
}
