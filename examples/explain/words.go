package main

import (
	"bytes"
	"fmt"
	"go/format"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// write writes the explanation, a sentence a line.
func (e *explanation) write(w io.Writer) {
	fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))))
	for _, line := range e.lines() {
		fmt.Fprintln(w, indent(line))
	}
}

func (e *explanation) lines() []string {
	switch {
	case e.status/100 == 1:
		return []string{"An interim response: it is never read. What counts is the one that follows."}
	case e.got.Cached:
		return append([]string{"From a cache: nothing is learned."}, e.outlooks()...)
	}
	lines := e.understood()
	if len(lines) == 0 {
		lines = e.teach()
	} else if len(e.idle) > 0 {
		lines = append(lines, "Makes no difference: "+strings.Join(e.idle, ", ")+". A response is read in one dialect.")
	}
	for _, i := range e.ignored {
		lines = append(lines, "Ignored: "+ignored(i)+".")
	}
	if e.byTime {
		lines = append(lines, "Without a Date, instants count from the clock of this computer.")
	}
	return append(lines, e.outlooks()...)
}

// understood says what the response says about quota. There is nothing to be
// said where nothing was understood.
func (e *explanation) understood() (lines []string) {
	if d := e.dialect(); d != "" {
		lines = append(lines, "Dialect: "+d+".")
	}
	for _, p := range e.learned.Policies {
		lines = append(lines, named("Policy", p.Name)+": "+terms(p)+".")
	}
	for i, l := range e.learned.Limits {
		lines = append(lines, e.left(l))
		if l.Cost >= 0 {
			lines = append(lines, fmt.Sprintf("%s: this request cost %s.", under("Cost", l.Policy), e.amount(l.Policy, l.Cost)))
		}
		if l.Partition != "" || e.got.Limits[i].HasKey {
			lines = append(lines, e.key(l.Policy, len(l.Partition)))
		}
	}
	for _, p := range e.got.Policies {
		alone := !slices.ContainsFunc(e.learned.Limits, func(l transport.Limit) bool { return l.Policy == p.Name })
		if p.HasKey && alone {
			lines = append(lines, e.key(p.Name, len(p.Key)))
		}
	}
	for _, d := range e.got.Declarations {
		lines = append(lines, under("Partitions", d.Policy)+": declared by "+dimensions(d)+".")
	}
	for _, name := range e.mispredicted {
		lines = append(lines, under("Partition key", name)+
			": another than a GET has by the declaration. The keys of this policy are not predicted.")
	}
	if e.got.RetryAfter >= 0 {
		lines = append(lines, "Retry-After: "+words(e.got.RetryAfter)+"; "+e.advice()+".")
	}
	if e.problem.Type != parse.NoProblem {
		lines = append(lines, "The body is a problem: "+problem(e.problem)+".")
	}
	return lines
}

// dialect names the dialect and its marks.
func (e *explanation) dialect() string {
	policies, limits := len(e.got.Policies) > 0, len(e.got.Limits) > 0
	switch d := e.got.Dialect; {
	case d == parse.VendorFields:
		return fmt.Sprintf("%v, read by the row %q of the table", d, e.got.Vendor)
	case d == parse.EditorsDraft && limits:
		return "the editor's draft (RateLimit with a and w)"
	case d == parse.EditorsDraft && policies:
		return "the editor's draft (RateLimit-Policy alone, which drafts -08 to -11 write in the same way)"
	case d == parse.EditorsDraft:
		return "the editor's draft"
	case d == parse.Draft08:
		return "drafts -08 to -11 (RateLimit with r and t)"
	case d == parse.Draft07 && limits:
		return "draft -07 (RateLimit is a Dictionary: limit, remaining, reset)"
	case d == parse.Draft07:
		return "draft -07 (RateLimit-Policy alone, with policies that have no names)"
	case d == parse.Draft06:
		return "draft -06 or older (RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset)"
	}
	return ""
}

// terms says what a policy grants.
func terms(p quota.Policy) string {
	s := amount(p.Quota, p.Unit)
	switch {
	case p.Unit == quota.UnitConcurrentRequests:
		s += " at a time"
	case p.Window > 0:
		s += " " + per(p.Window)
	default:
		s += ", in a window that is not told"
	}
	switch p.Unit {
	case "", quota.UnitRequests, quota.UnitContentBytes, quota.UnitConcurrentRequests:
		return s
	}
	return s + " (a unit that is shown and not enforced)"
}

// left says what is left under a policy.
func (e *explanation) left(l transport.Limit) string {
	s := under("Left", l.Policy) + ": "
	if l.Available < 0 {
		s += "the server does not say"
	} else {
		s += e.amount(l.Policy, l.Available)
	}
	switch {
	case l.Window < 0:
		return s + ", until an answer says otherwise."
	case l.Window == 0:
		return s + "; the window is over now."
	case l.Available < 0:
		return s + "; the window is over in " + words(l.Window) + "."
	}
	return s + " for the next " + words(l.Window) + "."
}

// amount is a number of units of a policy.
func (e *explanation) amount(policy string, n int64) string {
	for _, p := range e.learned.Policies {
		if p.Name == policy {
			return amount(n, p.Unit)
		}
	}
	return amount(n, quota.UnitRequests)
}

func amount(n int64, unit string) string {
	one := func(noun string) string {
		if n == 1 {
			return "1 " + noun
		}
		return fmt.Sprintf("%d %ss", n, noun)
	}
	switch unit {
	case "", quota.UnitRequests:
		return one("request")
	case quota.UnitContentBytes:
		return one("byte") + " of content"
	case quota.UnitConcurrentRequests:
		return one("request")
	}
	return fmt.Sprintf("%d of %q", n, unit)
}

// key tells of a partition key no more than how long it is.
func (e *explanation) key(policy string, size int) string {
	s := fmt.Sprintf("%s: given (%d bytes)", under("Partition key", policy), size)
	declared := slices.ContainsFunc(e.got.Declarations, func(d parse.Declaration) bool { return d.Policy == policy })
	if !declared && e.got.Dialect != parse.VendorFields {
		s += ", of what is not declared; it is taken for that of all requests like this one"
	}
	return s + "."
}

// dimensions names what a policy's quota is divided by. Literals may be
// somebody's name, and are not told.
func dimensions(d parse.Declaration) string {
	if len(d.Dimensions) == 0 {
		return "no dimension, so there is one partition"
	}
	var names []string
	for _, dim := range d.Dimensions {
		name := dim.Name
		switch {
		case name == "":
			name = "items that contradict each other"
		case dim.Kind == parse.Literal:
			name += " (one value only)"
		case dim.Kind == parse.NotUnderstood:
			name += " (in a way that is not understood)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// advice says whether Retry-After is obeyed, and why.
func (e *explanation) advice() string {
	status := e.status
	rule := parse.AdviceByRule.On(status, e.got.Beside)
	switch {
	case e.got.Advised != rule && rule:
		return "ignored, because the row of the table for this host says so"
	case !e.got.Advised && e.got.Dialect == parse.NoDialect:
		return fmt.Sprintf("ignored, because it stands alone on a %d", status)
	case !e.got.Advised:
		return fmt.Sprintf("ignored, because it stands on a %d, beside fields of no draft", status)
	case e.got.RetryAfter == 0:
		return "that asks for no wait"
	case e.got.Advised != rule:
		return "obeyed, because the row of the table for this host says so"
	case status == http.StatusRequestEntityTooLarge:
		return "it concerns only the request that was too large"
	case status/100 == 3:
		return "it concerns only the request that follows the redirect"
	case !parse.AdviceByRule.On(status, false):
		return "obeyed, because it stands beside fields of a draft"
	case status >= 500:
		return fmt.Sprintf("obeyed by all requests to this server, because the status is %d", status)
	}
	return fmt.Sprintf("obeyed, because the status is %d", status)
}

func problem(p parse.Problem) string {
	s := p.Type.String()
	if len(p.Violated) == 0 {
		return s + ", which names no policy"
	}
	var names []string
	for _, name := range p.Violated {
		names = append(names, strconv.Quote(name))
	}
	return s + ", of " + strings.Join(names, ", ")
}

// ignored says what was ignored, and why.
func ignored(i parse.Ignored) string {
	s := i.Field
	if i.Item != parse.None {
		s += ", " + ordinal(i.Item+1) + " item"
	}
	if i.Param != "" {
		s += ", parameter " + i.Param
	}
	return s + ": " + strings.TrimPrefix(i.Err.Error(), "parse: ")
}

// outlooks says when the next request could go.
func (e *explanation) outlooks() []string {
	next := "The next request: " + e.outlook(e.next) + "."
	if e.status/100 != 3 || e.follow.Reason == e.next.Reason {
		return []string{next}
	}
	return []string{"The request that follows the redirect to the same server: " + e.outlook(e.follow) + ".", next}
}

func (e *explanation) outlook(o outlook) string {
	if o.Reason == 0 {
		return "at once"
	}
	s := "in " + about(o.Wait)
	if o.Reason == transport.ReasonBackOff {
		s = "in " + words(o.Wait.Round(time.Second)) + " or a little more"
	}
	s += ", because " + because(o)
	if then := e.then(o); then != "" {
		s += "; " + then
	}
	if o.Rejected != nil {
		s += fmt.Sprintf(". That is longer than MaxDelay (%s): it is not held but refused", words(transport.DefaultMaxDelay))
	}
	if about(o.back) != about(o.Wait) && o.back > o.Wait {
		s += ". The window is over in " + about(o.back)
	}
	return s
}

func because(o outlook) string {
	switch o.Reason {
	case transport.ReasonRetryAfter:
		return "the server says when to come back"
	case transport.ReasonBackOff:
		return "the server refused without a usable word on when to come back"
	case transport.ReasonExhausted:
		if o.Policy == "" {
			return "nothing is left"
		}
		return fmt.Sprintf("nothing is left under policy %q", o.Policy)
	}
	return o.Reason.String()
}

// then says what goes when the wait is over.
func (e *explanation) then(o outlook) string {
	const (
		probe   = "one request goes first then, and asks"
		counted = "then whatever the quota has room for, by the Shaper's own count"
	)
	switch {
	case o.Reason == transport.ReasonBackOff || e.status >= 500:
		return probe
	case o.Reason == transport.ReasonRetryAfter && e.status/100 == 3:
		return ""
	case o.Reason == transport.ReasonRetryAfter && e.exhausted() >= o.Wait+time.Second/2:
		return probe + ", although nothing is left for " + words(e.exhausted())
	}
	for _, l := range e.learned.Limits {
		switch {
		case l.Policy != o.Policy:
		case l.Available > 0:
			return "then what is left may be used"
		case l.Available == 0 || e.status == http.StatusTooManyRequests:
			return probe
		default:
			return counted
		}
	}
	for _, p := range e.learned.Policies {
		if p.Name == o.Policy && p.Window > 0 {
			return counted
		}
	}
	return probe
}

// exhausted is how long nothing is left under some policy.
func (e *explanation) exhausted() (d time.Duration) {
	for _, l := range e.learned.Limits {
		if l.Available == 0 {
			d = max(d, l.Window)
		}
	}
	return d
}

// teach says that nothing was understood, and what row of the table might help.
func (e *explanation) teach() []string {
	lines := []string{"Nothing here is understood as quota: requests are not shaped by it."}
	if e.learned.Refused {
		lines[0] = "Nothing here is understood as quota, save that the status is that of a refusal."
	}
	if len(e.like) == 0 {
		return append(lines, `No field has "limit", "quota", "remaining" or "retry" in its name.`)
	}
	lines = append(lines, "These fields look like it: "+strings.Join(e.like, ", ")+".")
	if e.row != nil {
		lines = append(lines, "If they are, a row of your own teaches a Shaper to read them. This one understands something (see parse.Vendor):",
			"\n"+indent(rowSource(e.row))+"\n")
	}
	return lines
}

// rowSource is a row as one writes it in Go.
func rowSource(row *parse.Vendor) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "&transport.Shaper{Vendors: []parse.Vendor{{\nName: %q,\n", row.Name)
	for _, list := range []struct {
		field string
		names []string
	}{
		{"Hosts", row.Hosts},
		{"Limit", row.Limit},
		{"Remaining", row.Remaining},
		{"Reset", row.Reset},
	} {
		if list.names != nil {
			fmt.Fprintf(&b, "%s: %#v,\n", list.field, list.names)
		}
	}
	b.WriteString("}}}\n")
	source, err := format.Source(b.Bytes())
	if err != nil {
		return b.String() // no worse than unformatted
	}
	return string(source)
}

// named puts a policy's name behind what is said of it.
func named(what, policy string) string {
	if policy == "" {
		return what
	}
	return what + " " + strconv.Quote(policy)
}

// under says under which policy something is as it is.
func under(what, policy string) string {
	if policy == "" {
		return what
	}
	return what + " under " + strconv.Quote(policy)
}

func per(window time.Duration) string {
	switch window {
	case time.Second:
		return "per second"
	case time.Minute:
		return "per minute"
	case time.Hour:
		return "per hour"
	case 24 * time.Hour:
		return "per day"
	}
	return "per " + words(window)
}

// about is a duration that was measured, to a tenth of a second.
func about(d time.Duration) string {
	const tenth = 100 * time.Millisecond
	if d < tenth/2 {
		return "less than 0.1 s"
	}
	return words(d.Round(tenth))
}

// words is a duration in the two largest of its units.
func words(d time.Duration) string {
	const day = 24 * time.Hour
	two := func(large time.Duration, name string, small time.Duration, rest string) string {
		d := d.Round(small)
		s := fmt.Sprintf("%d %s", d/large, name)
		if r := d % large / small; r > 0 {
			s += fmt.Sprintf(" %d %s", r, rest)
		}
		return s
	}
	switch {
	case d > 0 && d < time.Millisecond:
		return "less than 0.001 s"
	case d < 2*time.Minute:
		millis := d.Round(time.Millisecond).Milliseconds()
		return strconv.FormatFloat(float64(millis)/1000, 'f', -1, 64) + " s"
	case d < 2*time.Hour:
		return two(time.Minute, "min", time.Second, "s")
	case d < 2*day:
		return two(time.Hour, "h", time.Minute, "min")
	}
	return two(day, "days", time.Hour, "h")
}

func ordinal(n int) string {
	switch n {
	case 1:
		return "first"
	case 2:
		return "second"
	case 3:
		return "third"
	}
	return fmt.Sprintf("%dth", n)
}

func indent(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}
