package inspect

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
)

const (
	maxOrigins  = 20 // shown
	maxAccounts = 50 // shown of an origin
	shownEvents = 50
)

// A pageView is what the page shows, in plain words. It is also what state returns as JSON.
type pageView struct {
	Time    time.Time    `json:"time"`
	Verdict string       `json:"verdict"` // what matters most, in a sentence
	Calm    bool         `json:"calm"`    // no request waits and nothing is held
	Fleet   string       `json:"fleet,omitempty"`
	Origins []originView `json:"origins"`
	More    int          `json:"more,omitempty"` // origins that are not shown
	Events  []occurrence `json:"events"`
	Traced  bool         `json:"traced"` // a Shaper tells what happens
	Refresh int          `json:"-"`      // seconds until the page loads itself again; 0: never
}

// An originView is what the page shows of an origin.
type originView struct {
	Name      string      `json:"name"`
	Out       int64       `json:"out"`
	Oldest    string      `json:"oldest,omitempty"` // for how long the oldest of Out has been on its way
	InLine    int         `json:"inLine"`
	HeldBack  uint64      `json:"heldBack"` // requests that had to wait, since the start
	Refusals  uint64      `json:"refusals"` // by the server, since the start
	Refused   string      `json:"refused,omitempty"`
	Hold      string      `json:"hold,omitempty"`
	Waits     string      `json:"waits,omitempty"` // how many wait for what no account shows
	Quotas    []quotaView `json:"quotas,omitempty"`
	More      int         `json:"more,omitempty"` // accounts that are not shown
	trouble   int         // for the order
	used      time.Time   // for the order
	longest   time.Duration
	oldest    time.Duration
	worstNote string
}

// A quotaView is what the page shows of a policy.
type quotaView struct {
	Policy   string        `json:"policy"`          // "": the server named none
	Terms    string        `json:"terms"`           // such as 100 requests per 10 s, or that accounts have different ones
	Says     string        `json:"says,omitempty"`  // all accounts in a sentence, if there are several
	Wrong    string        `json:"wrong,omitempty"` // what the server declares of its partitions and does not keep to
	Bad      bool          `json:"bad,omitempty"`   // it holds requests
	Accounts []accountView `json:"accounts"`        // those of which something is known
	Plot     *plotView     `json:"plot,omitempty"`  // of all accounts together
}

// An accountView is what the page shows of an account.
type accountView struct {
	Owner    string   `json:"owner"`           // partition or scope, and a hash
	Terms    string   `json:"terms,omitempty"` // if other accounts have other ones
	State    string   `json:"state"`           // as in quota.AccountSnapshot
	Left     string   `json:"left"`
	Percent  int      `json:"percent"` // of the quota that is left; -1: not known
	Ends     string   `json:"ends,omitempty"`
	InFlight int64    `json:"inFlight"`
	InLine   int      `json:"inLine"`
	Says     string   `json:"says"` // which request goes when, and why
	Bad      bool     `json:"bad,omitempty"`
	Line     []string `json:"line,omitempty"`
	Learned  []string `json:"learned,omitempty"`
}

// view makes the view of now.
func (h *Handler) view(now time.Time) *pageView {
	v := &pageView{Time: now.Round(0), Origins: []originView{}, Calm: true}
	h.sample(now)
	evs, counted := h.events.recent(shownEvents)
	v.Events, v.Traced = append([]occurrence{}, evs...), counted != nil
	if h.Fleet != nil {
		v.Fleet = ofFleet(h.Fleet.Status())
	}
	if h.Accounts == nil {
		v.Verdict = "There are no accounts to show: set inspect.Handler.Accounts."
		return v
	}
	origins := h.Accounts.Snapshot(now, quota.SnapshotOptions{MaxAccounts: maxAccounts})
	for i := range origins {
		v.Origins = append(v.Origins, h.origin(&origins[i], counted, now))
	}
	slices.SortStableFunc(v.Origins, func(x, y originView) int {
		return cmp.Or(cmp.Compare(y.trouble, x.trouble), cmp.Compare(y.InLine, x.InLine), y.used.Compare(x.used))
	})
	v.verdict(h.events.notSent(now))
	if n := len(v.Origins); n > maxOrigins {
		v.Origins, v.More = v.Origins[:maxOrigins], n-maxOrigins
	}
	return v
}

// ofFleet describes a fleet. The error of its store is not shown: it may name the store.
func ofFleet(s fleet.Status) string {
	text := "not linked: this process goes on alone"
	if s.Linked {
		text = "linked, " + count(int64(s.Peers), "process shares", "processes share") + " an account"
	}
	return fmt.Sprintf("%s; %s with the store, %s failed", text, count(s.Exchanges, "exchange", "exchanges"), number(s.Failures))
}

// verdict says what matters most. notSent says of requests that were refused; "": none was.
func (v *pageView) verdict(notSent string) {
	waiting, origins, out, oldest := 0, 0, int64(0), time.Duration(0)
	for i := range v.Origins {
		out += v.Origins[i].Out
		oldest = max(oldest, v.Origins[i].oldest)
		if v.Origins[i].InLine > 0 {
			waiting += v.Origins[i].InLine
			origins++
		}
	}
	switch {
	case len(v.Origins) == 0:
		v.Verdict = "No request has been sent yet."
	case waiting > 0:
		first := &v.Origins[0]
		v.Calm = false
		v.Verdict = count(int64(waiting), "request waits", "requests wait")
		if origins > 1 {
			v.Verdict += fmt.Sprintf(" for %d origins, most of all", origins)
		}
		v.Verdict += " for " + first.Name + ": " + first.worstNote
	case v.Origins[0].trouble > 0:
		v.Calm = false
		v.Verdict = "No request waits. The next request to " + v.Origins[0].Name + " cannot go at once: " + v.Origins[0].worstNote
	case out > 0:
		one, many := "request is on its way", "requests are on their way"
		if oldest > 0 {
			one += ", for " + duration(oldest)
			many += ", the oldest for " + duration(oldest)
		}
		v.Verdict = "No request waits, and nothing is held. " + count(out, one+": it waits for its server", many+": they wait for their servers") + ", not for a quota."
	default:
		v.Verdict = "No request waits, and nothing is held."
	}
	if notSent != "" {
		v.Calm = false
		v.Verdict += " " + notSent
	}
}

// note remembers the account that matters most for the verdict.
func (o *originView) note(trouble int, longest time.Duration, says string) {
	if trouble > o.trouble || trouble == o.trouble && longest > o.longest {
		o.trouble, o.longest, o.worstNote = trouble, longest, says
	}
}

func (h *Handler) origin(o *quota.OriginSnapshot, of map[string]counted, now time.Time) originView {
	c := of[o.Name]
	v := originView{
		Name: o.Name, Out: o.Out, InLine: o.InLine, HeldBack: c.held, Refusals: o.Refusals, More: o.Omitted, used: o.Used,
	}
	if o.Refusals > 0 {
		v.Refused = duration(now.Sub(o.Refused)) + " ago"
	}
	if v.oldest = h.departures.oldest(o.Name, now); v.oldest > 0 && o.Out > 0 {
		v.Oldest = duration(v.oldest)
	}
	if o.Hold > 0 {
		v.Hold = "the Retry-After" + h.events.holdBy(o.Name, now.Add(o.Hold)) + " holds the whole origin for " + duration(o.Hold) + "."
		v.note(1, o.Hold, v.Hold)
		if o.InLine > 0 {
			v.trouble = 2
		}
	}
	waiting := 0
	for from := 0; from < len(o.Accounts); {
		to := from + 1
		for to < len(o.Accounts) && o.Accounts[to].Name == o.Accounts[from].Name {
			to++
		}
		q, n := h.quota(o, o.Accounts[from:to], &v, now)
		if waiting += n; len(q.Accounts) > 0 {
			v.Quotas = append(v.Quotas, q)
		}
		from = to
	}
	// Others wait for the accounts that are omitted, or for the whole origin.
	if others := o.InLine - waiting; others > 0 && o.Hold == 0 && o.Omitted == 0 {
		what := c.waitsFor()
		if of == nil {
			what = "the first answer of the origin, or for a limit of your own (Shaper.Limits)"
		}
		if what != "" {
			v.Waits = count(int64(others), "request waits", "requests wait") + " for " + what + "."
			v.note(2+others, 0, v.Waits)
		}
	}
	slices.SortStableFunc(v.Quotas, func(x, y quotaView) int {
		return cmp.Compare(b2i(y.Bad), b2i(x.Bad))
	})
	return v
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// quota makes the view of the accounts of one policy. waiting is how many wait for them.
func (h *Handler) quota(o *quota.OriginSnapshot, as []quota.AccountSnapshot, ov *originView, now time.Time) (v quotaView, waiting int) {
	name, window := as[0].Name, time.Duration(0)
	v.Policy, v.Terms = shownPolicy(name), "no quota advertised"
	if at, wrong := h.events.mispredicted(seriesID{o.Name, name}); wrong {
		v.Wrong = "The server counts in other partitions than it declares (last seen at " + at.Format(time.TimeOnly) +
			"), so several partitions may share one quota."
	}
	if name == "" {
		v.Terms = "all requests"
	}
	// The terms of the first account of which they are known are those of all, unless others
	// have other ones.
	known, different := "", false
	for i := range as {
		window = max(window, as[i].Window)
		if own := termsOf(&as[i]); own != "" {
			different = different || known != "" && own != known
			known = own
		}
	}
	switch {
	case different:
		v.Terms = "several quotas"
	case known != "":
		v.Terms = known
	}
	for i := range as {
		a := &as[i]
		waiting += a.InLine
		if !worthShowing(a) {
			continue
		}
		av := h.account(o.Name, a, len(as) > 1, now)
		says, own := av.Says, v.Terms
		if different {
			av.Terms = cmp.Or(termsOf(a), "no quota advertised")
			own = av.Terms + " of " + av.Owner
		}
		if name != "" {
			says = `policy "` + v.Policy + `", ` + own + ": " + says
		}
		if v.Wrong != "" {
			says += " " + v.Wrong
		}
		switch {
		case name == "" && 0 < a.Hold && a.Hold <= o.Hold: // the hold of the origin says it
		case a.InLine > 0:
			ov.note(2+a.InLine, a.Next, says)
		case av.Bad:
			ov.note(1, max(a.Hold, a.BackOff, a.Left), says)
		}
		v.Bad = v.Bad || av.Bad
		v.Accounts = append(v.Accounts, av)
	}
	slices.SortStableFunc(v.Accounts, func(x, y accountView) int {
		return cmp.Or(cmp.Compare(y.InLine, x.InLine), cmp.Compare(b2i(y.Bad), b2i(x.Bad)), cmp.Compare(x.Percent, y.Percent))
	})
	if len(v.Accounts) > 0 {
		v.Plot = h.history.plot(seriesID{o.Name, name}, now, window, h.kept())
		if n := len(v.Accounts); n > 1 {
			bad := 0
			for i := range v.Accounts {
				bad += b2i(v.Accounts[i].Bad)
			}
			v.Says = fmt.Sprintf("%s shown, %s in line, %d with nothing left or held.",
				count(int64(n), "account", "accounts"), count(int64(waiting), "request", "requests"), bad)
		}
	}
	return v, waiting
}

// termsOf describes the quota of an account; "": it is not known.
func termsOf(a *quota.AccountSnapshot) string {
	s := terms(a.Policy)
	if a.State == "inferred" {
		s += ", inferred from refusals"
	}
	return s
}

// worthShowing reports whether something is known of an account. Every scope has one
// that no policy concerns.
func worthShowing(a *quota.AccountSnapshot) bool {
	return a.Name != "" || a.State != "unknown" || a.InLine > 0 || a.Hold > 0 || a.BackOff > 0 || a.Quota >= 0
}

// account makes the view of an account, which is one of several of its policy or the only one.
func (h *Handler) account(origin string, a *quota.AccountSnapshot, several bool, now time.Time) accountView {
	v := accountView{State: a.State, Left: "not known", Percent: -1, InFlight: a.InFlight + a.Concurrent, InLine: a.InLine}
	switch {
	case a.Key == "" && several:
		v.Owner = "all other requests"
	case a.Key == "":
		v.Owner = "all requests"
	case a.Keyed:
		v.Owner = "partition " + a.Key
	default:
		v.Owner = "scope " + a.Key
	}
	if a.Available >= 0 && a.State != "expired" {
		v.Left = number(a.Available)
		if a.Quota > 0 {
			v.Percent = int(min(a.Available*100/a.Quota, 100))
		}
	}
	if a.State == "expired" && a.Window > 0 {
		v.Left = "not known, the window is over"
	}
	if a.Left > 0 {
		v.Ends = duration(a.Left)
	}
	by := ""
	if a.Hold > 0 {
		by = h.events.holdBy(origin, now.Add(a.Hold))
	}
	v.Says, v.Bad = verdictOf(a, by)
	for i, w := range a.Line {
		s := fmt.Sprintf("#%d", i+1)
		if needs := amount(w.Units, a.Unit); needs != "1 request" {
			s += ", needs " + needs
		}
		s += ", has waited for " + duration(now.Sub(w.Since))
		if w.Priority != 0 {
			s += fmt.Sprintf(", priority %d", w.Priority)
		}
		if !w.Until.IsZero() {
			s += ", gives up in " + duration(w.Until.Sub(now))
		}
		v.Line = append(v.Line, s)
	}
	if n := a.InLine - len(a.Line); n > 0 {
		v.Line = append(v.Line, "and "+count(int64(n), "other", "others"))
	}
	v.Learned = a.Learned
	return v
}

// verdictOf says what an account does to requests, and whether that is bad. heldBy is the
// answer that its Retry-After came with, if that is known.
func verdictOf(a *quota.AccountSnapshot, heldBy string) (says string, bad bool) {
	why, next := "", ""
	switch {
	case a.Hold > 0 && a.Hold >= a.BackOff:
		why = "The server asked for a pause (the Retry-After" + heldBy + "), " + duration(a.Hold) + " left."
	case a.BackOff > 0:
		why = refusedInARow(a) + "; backing off, " + duration(a.BackOff) + " left. Then one request goes as a trial."
	case a.State == "expired" && a.Refusals > 0:
		why = refusedInARow(a)
		if a.Probing {
			why += ". A request is on its way as a trial."
		} else {
			why += ". One request goes as a trial."
		}
	case a.State == "expired":
		if a.Window > 0 {
			why = "The window is over. "
		}
		if a.Probing {
			why += "A request is on its way that asks what is left."
		} else {
			why += "One request asks what is left."
		}
	case a.Available == 0 && a.State != "unknown":
		why = "Nothing is left."
		if a.Left > 0 {
			why = "Nothing is left; the window ends in " + duration(a.Left) + "."
		}
	}
	if a.InLine == 0 {
		if why == "" {
			return "Requests go at once.", false
		}
		return why, a.State != "expired" || a.Hold > 0 || a.BackOff > 0
	}
	next = count(int64(a.InLine), "request waits", "requests wait")
	if a.Next > 0 {
		next += "; the first goes in " + duration(a.Next)
		if a.InLine > 1 && (a.Left > 0 && a.Next >= a.Left || a.BackOff > a.Hold) {
			next += ", and the others wait for its answer"
		}
	}
	if why == "" {
		why = "Too little is left for the first in line."
		if len(a.Line) > 0 && a.Available > 0 {
			why = amount(a.Available, a.Unit) + " left; the first in line needs " + number(a.Line[0].Units) + "."
		}
	}
	return why + " " + next + ".", true
}

func refusedInARow(a *quota.AccountSnapshot) string {
	times := "once"
	if a.Refusals > 1 {
		times = number(int64(a.Refusals)) + " times in a row"
	}
	return "The server refused " + times + " without saying for how long"
}

var (
	templates    = template.Must(template.New("").Funcs(template.FuncMap{"number": number, "num64": func(n uint64) string { return number(int64(n)) }}).ParseFS(files, "page.tmpl"))
	pageTemplate = templates.Lookup("page")
	viewTemplate = templates.Lookup("view")
)

// render makes a page, or a part of it.
func (h *Handler) render(t *template.Template, now time.Time) []byte {
	var b bytes.Buffer
	_ = t.Execute(&b, h.view(now)) // writes to memory do not fail, and a test executes all of the template
	return b.Bytes()
}
