package main

import (
	"bytes"
	"cmp"
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

// write writes the explanation, one statement per line.
func (e *explanation) write(w io.Writer) {
	fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))))
	for _, line := range e.lines() {
		fmt.Fprintln(w, indent(line))
	}
}

func (e *explanation) lines() []string {
	switch {
	case e.status/100 == 1:
		return []string{"An interim response: the Shaper reads only the final one."}
	case e.got.Cached:
		return append([]string{"From a cache: the Shaper learns nothing from it."}, e.outlooks()...)
	}
	lines := e.understood()
	if len(lines) == 0 {
		lines = e.suggest()
	} else {
		lines = append(lines, e.sources()...)
	}
	for _, i := range e.ignored {
		lines = append(lines, "Ignored: "+ignored(i)+".")
	}
	if e.byTime {
		lines = append(lines, "There is no Date, so times are relative to the clock of this computer.")
	}
	return append(lines, e.outlooks()...)
}

// sources says which fields the reading comes from, and why others make no difference.
func (e *explanation) sources() (lines []string) {
	add := func(what string, names []string, why string) {
		if len(names) > 0 {
			lines = append(lines, what+": "+strings.Join(names, ", ")+"."+why)
		}
	}
	if e.got.Dialect != parse.NoDialect {
		add("Read from", e.from, "")
	}
	if len(e.got.Limits) > 1 {
		add("Several values", e.lists, " They describe one policy each, by their position.")
	} else {
		add("Several values", e.lists, " They were merged: the most cautious of each field counts.")
	}
	add("Makes no difference", e.other, " A response is read in one dialect.")
	add("Adds nothing", e.repeats, " Other fields say the same, or it means nothing by itself.")
	add("Not known", e.unknown, " No row of the table has a field of that name.")
	if e.millis > 0 {
		lines = append(lines, fmt.Sprintf("The reset is a number without a unit: of seconds (%s), or of milliseconds (%s). The next responses show which. "+
			"A row with Hosts and ResetIn in Shaper.Vendors says so at once (see parse.Vendor).", words(1000*e.millis), words(e.millis)))
	}
	return lines
}

// understood says what the response says about quota. It returns nothing if nothing was
// understood.
func (e *explanation) understood() (lines []string) {
	if d := e.dialect(); d != "" {
		lines = append(lines, "Dialect: "+d+".")
	}
	for _, p := range e.learned.Policies {
		lines = append(lines, named("Policy", p.Name)+": "+terms(p)+".")
	}
	for _, l := range e.learned.Limits {
		lines = append(lines, e.available(l))
		if l.Cost >= 0 {
			lines = append(lines, fmt.Sprintf("%s: this request cost %s.", under("Cost", l.Policy), e.amount(l.Policy, l.Cost)))
		}
		if l.HasKey {
			lines = append(lines, e.key(l.Policy, len(l.Key)))
		}
	}
	for _, p := range e.got.Policies {
		alone := !slices.ContainsFunc(e.learned.Limits, func(l parse.Limit) bool { return l.Policy == p.Name })
		if p.HasKey && alone {
			lines = append(lines, e.key(p.Name, len(p.Key)))
		}
	}
	for _, l := range e.got.Limits {
		if l.Available > 0 && e.isPercent(l.Policy) {
			lines = append(lines, fmt.Sprintf("%s: %d %%. How many requests that is, is not known: it counts when all is used and a request is refused.",
				under("Used", l.Policy), 100-l.Available))
		}
	}
	for _, d := range e.got.Declarations {
		lines = append(lines, under("Partition dimensions", d.Policy)+": "+dimensions(d)+".")
	}
	for _, name := range e.mispredicted {
		lines = append(lines, under("Partition key", name)+
			": not the one that the declaration gives for a GET. The Shaper does not predict keys of this policy.")
	}
	if e.got.RetryAfter >= 0 {
		lines = append(lines, "Retry-After: "+words(e.got.RetryAfter)+"; "+e.advice()+".")
	}
	if e.problem != "" {
		lines = append(lines, "The body is a problem: "+problem(e.problem, e.violated)+".")
	}
	if e.inBody > 0 && e.got.RetryAfter < 0 && len(e.got.Policies)+len(e.got.Limits) == 0 {
		lines = append(lines, "The body asks to wait for "+words(e.inBody)+"; obeyed if the answer is a refusal, because no field says when to come back.")
	}
	return lines
}

// dialect returns the dialect and how to recognise it.
func (e *explanation) dialect() string {
	policies, limits := len(e.got.Policies) > 0, len(e.got.Limits) > 0
	switch d := e.got.Dialect; {
	case d == parse.VendorFields:
		return fmt.Sprintf("%v (row %q of the vendor table)", d, e.got.Vendor)
	case d == parse.EditorsDraft && limits:
		return "the editor's draft (RateLimit with a and w)"
	case d == parse.EditorsDraft && policies:
		return "the editor's draft (RateLimit-Policy alone, which has the same form in drafts -08 to -11)"
	case d == parse.EditorsDraft:
		return "the editor's draft"
	case d == parse.Draft08:
		return "drafts -08 to -11 (RateLimit with r and t)"
	case d == parse.Draft07 && limits:
		return "draft -07 (RateLimit is a Dictionary: limit, remaining, reset)"
	case d == parse.Draft07:
		return "draft -07 (RateLimit-Policy alone, without names)"
	case d == parse.Draft06:
		return "draft -06 or older (RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset)"
	}
	return ""
}

// terms returns what a policy grants.
func terms(p parse.Policy) string {
	s := amount(p.Quota, p.Unit)
	if p.Quota < 0 {
		s = "an unknown number of " + cmp.Or(p.Unit, "requests")
	}
	switch {
	case p.Unit == quota.UnitConcurrentRequests:
		s += " at a time"
	case p.Window > 0:
		s += " " + per(p.Window)
	default:
		s += " per window of unknown length"
	}
	switch p.Unit {
	case "", "requests", quota.UnitContentBytes, quota.UnitConcurrentRequests:
		return s
	}
	return s + " (what a request costs is what Shaper.Cost says, or was seen)"
}

// available returns what is available under a policy.
func (e *explanation) available(l parse.Limit) string {
	s := under("Available", l.Policy) + ": "
	if l.Available < 0 {
		s += "unknown"
	} else {
		s += e.amount(l.Policy, l.Available)
	}
	switch {
	case l.Window < 0:
		return s + ", until a response says otherwise."
	case l.Window == 0:
		return s + "; the window has ended."
	case l.Available < 0:
		return s + "; the window ends in " + words(l.Window) + "."
	}
	return s + " for the next " + words(l.Window) + "."
}

// isPercent reports whether a policy is one of those in per cent, which a Shaper leaves out while something is left.
func (e *explanation) isPercent(policy string) bool {
	return slices.ContainsFunc(e.got.Policies, func(p parse.Policy) bool { return p.Name == policy && p.Unit == "percent" })
}

// amount returns n units of a policy in words.
func (e *explanation) amount(policy string, n int64) string {
	for _, p := range e.learned.Policies {
		if p.Name == policy {
			return amount(n, p.Unit)
		}
	}
	return amount(n, "requests")
}

func amount(n int64, unit string) string {
	one := func(noun string) string {
		if n == 1 {
			return "1 " + noun
		}
		return fmt.Sprintf("%d %ss", n, noun)
	}
	switch unit {
	case "", "requests":
		return one("request")
	case quota.UnitContentBytes:
		return one("byte") + " of content"
	case quota.UnitConcurrentRequests:
		return one("request")
	}
	return fmt.Sprintf("%d of %q", n, unit)
}

// key returns the size of a partition key, but not the key.
func (e *explanation) key(policy string, size int) string {
	if size == 0 && e.got.Dialect == parse.VendorFields {
		return under("Partition key", policy) + ": parts of the path of the request."
	}
	s := fmt.Sprintf("%s: present (%d bytes)", under("Partition key", policy), size)
	declared := slices.ContainsFunc(e.got.Declarations, func(d parse.Declaration) bool { return d.Policy == policy })
	if !declared && e.got.Dialect != parse.VendorFields {
		s += ", without a declaration of its dimensions; the Shaper assumes it for all requests like this one"
	}
	return s + "."
}

// dimensions returns the partition dimensions of a policy. It omits literals, which can
// identify people.
func dimensions(d parse.Declaration) string {
	if len(d.Dimensions) == 0 {
		return "none, so there is a single partition"
	}
	var names []string
	for _, dim := range d.Dimensions {
		name := dim.Name
		switch {
		case name == "":
			name = "unknown, because items contradict each other"
		case dim.IsLiteral:
			name += " (one value only)"
		case !dim.Varies:
			name += " (with an unknown kind of value)"
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// throttles reports whether Retry-After counts by itself on a response with a status.
func throttles(status int) bool {
	switch status {
	case http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, 420:
		return true
	}
	return status/100 == 3 || status/100 == 5
}

// advice returns whether the Shaper obeys Retry-After, and why.
func (e *explanation) advice() string {
	status := e.status
	beside := e.got.Dialect >= parse.EditorsDraft && e.got.Dialect <= parse.Draft06
	rule := beside || throttles(status)
	switch {
	case !e.got.Advised && throttles(status):
		return "ignored, because it only repeats when a quota is renewed of which something is left"
	case e.got.Advised != rule && rule:
		return "ignored, because the row of the vendor table says so"
	case !e.got.Advised && e.got.Dialect == parse.NoDialect:
		return fmt.Sprintf("ignored, because the status is %d and there are no fields of a draft", status)
	case !e.got.Advised:
		return fmt.Sprintf("ignored, because the status is %d and the other fields are of no draft", status)
	case e.got.RetryAfter == 0:
		return "that asks for no wait"
	case e.got.Advised != rule && e.overdrawn():
		return "obeyed, because a negative figure beside it says that the request was refused"
	case e.got.Advised != rule && e.got.Dialect == parse.NoDialect:
		return "obeyed, because a back-off is asked for whatever the status"
	case e.got.Advised != rule:
		return "obeyed, because the row of the vendor table says so"
	case status == http.StatusRequestEntityTooLarge:
		return "it applies only to the request that was too large"
	case status/100 == 3:
		return "it applies only to the request that follows the redirect"
	case !throttles(status):
		return "obeyed, because the response has fields of a draft"
	case status >= 500:
		return fmt.Sprintf("obeyed by all requests to this server, because the status is %d", status)
	}
	return fmt.Sprintf("obeyed, because the status is %d", status)
}

// overdrawn reports whether a figure of a success says that nothing is left.
func (e *explanation) overdrawn() bool {
	return e.host == "" && slices.ContainsFunc(e.got.Limits, func(l parse.Limit) bool { return l.Available == 0 })
}

func problem(kind string, violated []string) string {
	if len(violated) == 0 {
		return kind + ", without names of policies"
	}
	var names []string
	for _, name := range violated {
		names = append(names, strconv.Quote(name))
	}
	return kind + ", violated policies " + strings.Join(names, ", ")
}

// ignored returns what was ignored, and why.
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

// outlooks returns when the next request could be sent.
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
	if o.Reason == quota.ReasonBackOff {
		s = "in " + words(o.Wait.Round(time.Second)) + " or a little more"
	}
	s += ", because " + because(o)
	if then := e.then(o); then != "" {
		s += "; " + then
	}
	if o.Rejected != nil {
		s += fmt.Sprintf(". That is longer than MaxDelay (%s), so the Shaper refuses it", words(transport.DefaultMaxDelay))
	}
	if about(o.back) != about(o.Wait) && o.back > o.Wait {
		s += ". The window ends in " + about(o.back)
	}
	return s
}

func because(o outlook) string {
	switch o.Reason {
	case quota.ReasonRetryAfter:
		return "the server says when to retry"
	case quota.ReasonBackOff:
		return "the server refused this one without a usable time to retry"
	case quota.ReasonExhausted:
		if o.Policy == "" {
			return "nothing is left"
		}
		return fmt.Sprintf("nothing is left under policy %q", o.Policy)
	}
	return o.Reason.String()
}

// then returns what may be sent at the end of the wait.
func (e *explanation) then(o outlook) string {
	const (
		probe   = "then a single probe, whose response says what is available"
		counted = "then as many as the quota allows, by the Shaper's own count"
	)
	switch {
	case o.Reason == quota.ReasonBackOff || e.status >= 500:
		return probe
	case o.Reason == quota.ReasonRetryAfter && e.status/100 == 3:
		return ""
	case o.Reason == quota.ReasonRetryAfter && e.exhausted() >= o.Wait+time.Second/2:
		return probe + "; the fields say that nothing is left for " + words(e.exhausted())
	}
	for _, l := range e.learned.Limits {
		switch {
		case l.Policy != o.Policy:
		case l.Available > 0:
			return "then as many as are available"
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

// exhausted returns how long nothing is available under some policy.
func (e *explanation) exhausted() (d time.Duration) {
	for _, l := range e.learned.Limits {
		if l.Available == 0 {
			d = max(d, l.Window)
		}
	}
	return d
}

// suggest says that nothing was understood, and which row of the vendor table could help.
func (e *explanation) suggest() []string {
	lines := []string{"The Shaper finds no quota in this response."}
	if e.learned.Refused {
		lines[0] = "The Shaper finds no quota in this response, but its status is a refusal."
	}
	if len(e.like) == 0 {
		return append(lines, `No field has "limit", "quota", "remaining", "retry", "backoff" or "throttl" in its name.`,
			"If another one says it, a row of Shaper.Vendors makes it known: go doc ./parse Vendor")
	}
	lines = append(lines, "The names of these fields suggest a quota: "+strings.Join(e.like, ", ")+".")
	if e.row != nil {
		lines = append(lines, "If they advertise one, add a row to Shaper.Vendors. This row reads some of them (see parse.Vendor):",
			"\n"+indent(rowSource(e.row))+"\n")
	}
	return lines
}

// rowSource returns a row as Go source.
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
		{"Used", row.Used},
		{"Cost", row.Cost},
		{"Reset", row.Reset},
		{"Window", row.Window},
		{"Retry", row.Retry},
	} {
		if list.names != nil {
			fmt.Fprintf(&b, "%s: %#v,\n", list.field, list.names)
		}
	}
	b.WriteString("}}}\n")
	source, err := format.Source(b.Bytes())
	if err != nil {
		return b.String() // unformatted
	}
	return string(source)
}

// named returns what with the name of a policy, if it has one.
func named(what, policy string) string {
	if policy == "" {
		return what
	}
	return what + " " + strconv.Quote(policy)
}

// under returns what with the policy that it belongs to, if that has a name.
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

// about returns a measured duration in words, to a tenth of a second.
func about(d time.Duration) string {
	const tenth = 100 * time.Millisecond
	if d < tenth/2 {
		return "less than 0.1 s"
	}
	return words(d.Round(tenth))
}

// words returns a duration in words, in its two largest units.
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
