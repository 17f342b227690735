package transport

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// fillReport turns what the response says into x.report.
func (x *exchange) fillReport(got *parse.Reading) {
	status, r := x.resp.StatusCode, &x.report
	clearReport(r)
	r.Terms, r.Figures = r.Terms[:0], r.Figures[:0]
	set(&x.saidOf, saidOf{})
	dropTokenSummary(got)
	percentages := dropPercentages(status, got)
	if got.Cached {
		// The response costs nothing and is not current (the draft, Section 8.4).
		// A stored refusal still makes us back off, by our own times.
		r.Unsent, r.Refused = true, status == http.StatusTooManyRequests
		return
	}
	r.Scope = x.answeredModel(got)
	if len(got.Declarations) > 0 {
		r.Moved = x.directory.declare(got.Declarations)
	}
	inheritKeys(got.Policies, got.Limits)
	r.Refused = status == http.StatusTooManyRequests || !percentages && refused(status, got.Limits)
	r.Failed = status >= http.StatusInternalServerError
	r.Unsure = x.unsure() && status != http.StatusTooManyRequests // that is a refusal, whatever the figures say
	switch {
	case got.Advised:
		if r.Pause, r.WholeOrigin = pauseOf(status, got.RetryAfter); r.Pause == 0 {
			r.Pause, r.WholeOrigin = -1, false
		}
	case advisesTooMuch(status, got.Ignored):
		_, r.WholeOrigin = pauseOf(status, 0)
		r.Refused, r.Unsure = true, false
	}
	if len(got.Policies)+len(got.Limits) == 0 {
		return // this does not mean that no policy concerns the request
	}
	r.Date = got.Date
	x.notePath(got.Vendor)
	for i := range got.Policies {
		p := &got.Policies[i]
		r.Terms = append(r.Terms, quota.Policy{}) // filled in place: a literal would be copied
		t := &r.Terms[i]
		t.Name, t.Quota, t.Unit, t.Window = p.Name, p.Quota, p.Unit, p.Window
		t.Key, t.Keyed = string(p.Key), p.HasKey && x.hasKey(got, p.Key)
	}
	for i := range got.Limits {
		l := &got.Limits[i]
		r.Figures = append(r.Figures, quota.Figure{})
		f := &r.Figures[i]
		f.Policy, f.Key, f.Keyed = l.Policy, string(l.Key), l.HasKey && x.hasKey(got, l.Key)
		setFigure(f, l)
	}
	x.name(got)
	x.checkPartitions()
	x.learnKind(got)
	x.keepInScope()
	x.keepInPath()
}

// dropPercentages removes the accounts of a vendor in per cent of which something is left: how many requests
// that is, is not known. Where no request was refused, it removes all: requests go on at 100 per cent, and
// other accounts than that of the request are listed. It reports whether some remain: alone, they are no sign of a
// refusal.
func dropPercentages(status int, got *parse.Reading) (remain bool) {
	isPercent := func(p parse.Policy) bool { return p.Unit == "percent" }
	if got.Dialect != parse.VendorFields || !slices.ContainsFunc(got.Policies, isPercent) {
		return false
	}
	mayRefuse := status == http.StatusBadRequest || status == http.StatusForbidden || status == http.StatusTooManyRequests
	got.Limits = without(got.Limits, func(l *parse.Limit) bool {
		return !(mayRefuse && l.Available == 0) && slices.ContainsFunc(got.Policies, func(p parse.Policy) bool { return p.Name == l.Policy && isPercent(p) })
	})
	got.Policies = slices.DeleteFunc(slices.Clone(got.Policies), func(p parse.Policy) bool { // the Reader may remember them
		return isPercent(p) && !slices.ContainsFunc(got.Limits, func(l parse.Limit) bool { return l.Policy == p.Name })
	})
	return slices.ContainsFunc(got.Policies, isPercent)
}

// saidOf says from what the report was made, if the next response to a request of the kind can
// repeat it: see repeats. Else it is zero.
type saidOf struct {
	policies *parse.Policy
	n        int
}

// saidOfReading is saidOf for what a response says. In drafts -07 and -06 a policy may have another
// name each time.
func saidOfReading(got *parse.Reading) (of saidOf) {
	if len(got.Policies) > 0 && got.Dialect != parse.Draft07 && got.Dialect != parse.Draft06 {
		of.policies, of.n = &got.Policies[0], len(got.Policies)
	}
	return of
}

// repeats reports whether the response says the same as the one before in the same memory, but for
// its figures, so that its kind has nothing to learn. Then the report is that of the response before,
// with these figures.
func (x *exchange) repeats(got *parse.Reading) bool {
	d, r := x.directory, &x.report
	if x.saidOf.n == 0 || x.saidOf != saidOfReading(got) || d.changes.Load() != x.knownOf.changes ||
		len(r.Figures) != len(got.Limits) || len(got.Declarations) > 0 || d.declared.Load() != nil ||
		x.resp.StatusCode >= http.StatusBadRequest || got.Advised || x.pathKey != "" {
		return false
	}
	for i := range got.Limits {
		l, f, said := &got.Limits[i], &r.Figures[i], &x.policies[i]
		if l.Policy != f.Policy || l.HasKey != f.Keyed || string(l.Key) != f.Key ||
			l.Available > said.maxAvailable || l.Cost >= 0 && l.Cost != said.cost {
			return false // what was set before is not used: the report is made anew
		}
		setFigure(f, l)
	}
	clearReport(r)
	set(&r.Date, got.Date)
	r.Unsure = x.unsure()
	return true
}

// clearReport clears all but Terms and Figures. It writes no pointer that is there already: see set.
func clearReport(r *quota.Report) {
	r.Refused, r.Pause, r.Wait, r.Failed, r.Unsure = false, 0, 0, false, false
	r.Lost, r.Unsent, r.WholeOrigin = false, false, false
	set(&r.Date, time.Time{})
	set(&r.Scope, "")
	set(&r.Changes, nil)
	if r.LeftOut != nil {
		r.LeftOut = nil
	}
	if r.Moved != nil {
		r.Moved = nil
	}
}

// setFigure sets what a limit says, but not of which account.
func setFigure(f *quota.Figure, l *parse.Limit) {
	f.Available, f.Window, f.Full, f.Cost, f.Seen = l.Available, l.Window, l.Full, l.Cost, 0
	set(&f.Resets, windowEnd(l))
}

// unsure reports whether the response does not show that the server has served and counted the
// request. Some refuse with a 400 (Linear), a 402 or a 456, and GraphQL with a 200 (GitHub). Some do
// not count what was not modified (GitHub), or a HEAD (Docker Hub). One that did not ask may be of
// those that are never counted, such as those for the state of the quota.
func (x *exchange) unsure() bool {
	method := x.req.Method
	return x.resp.StatusCode/100 != 2 || method == http.MethodHead || method == http.MethodOptions ||
		isGraphQL(x.req.URL.Path) || x.unconditional()
}

// isGraphQL reports whether the last segment of a path is graphql, in any case.
func isGraphQL(path string) bool {
	const name = "graphql"
	from := len(path) - len(name)
	return (from == 0 || from > 0 && path[from-1] == '/') && strings.EqualFold(path[from:], name)
}

// emptyName stands for the name of a policy that a server has named "". In package
// quota "" is the policy without a name of drafts -07 and -06. No field of a server
// can hold emptyName: names are ASCII (RFC 9651, Section 3.3.3).
const emptyName = "“”"

// listName returns the name of a policy in the accounts, for a name in a List.
func listName(name string) string {
	if name == "" {
		return emptyName
	}
	return name
}

// name turns the names of the report into those of the accounts.
func (x *exchange) name(got *parse.Reading) {
	unnamed := ""
	switch got.Dialect {
	case parse.EditorsDraft, parse.Draft08:
		unnamed = emptyName
	case parse.Draft07, parse.Draft06:
		for i := range got.Policies {
			if p := &got.Policies[i]; p.Name == "" && p.Quota >= 0 && p.Window > 0 {
				unnamed = x.directory.nameOf(p.Quota, p.Window)
			}
		}
	}
	if unnamed == "" {
		return
	}
	r := &x.report
	for i := range r.Terms {
		if t := &r.Terms[i]; t.Name == "" {
			t.Name = unnamed
		}
	}
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Policy == "" {
			f.Policy = unnamed
		}
	}
}

// checkPartitions compares the partition keys that the response names with the
// predicted one. The item of the predicted key is the request's own; those of other
// partitions of the policy are not its business. An item without a key belongs to the
// predicted partition. If the response names other keys only, the declaration is not
// used for the scope any more.
func (x *exchange) checkPartitions() {
	if declared := x.directory.declared.Load(); declared != x.declared {
		x.predict(declared) // another response has declared something, or this one
	}
	for i := range x.partitions {
		p := &x.partitions[i]
		if p.answer != partition.Known || p.failed {
			continue
		}
		actual, wrong := x.mispredicts(p)
		if !wrong {
			x.keepOwn(p)
			continue
		}
		p.failed = true
		if x.directory.distrust(x.ask.Scope, p.decl) {
			x.report.Moved = append(x.report.Moved, p.policy)
			x.traceMispredicted(p.policy, p.key, actual)
		}
	}
}

// mispredicts reports whether the report names partitions of a policy, but not the
// predicted one, and returns the first of them.
func (x *exchange) mispredicts(p *prediction) (actual partition.Key, wrong bool) {
	for i := range x.report.Figures {
		if f := &x.report.Figures[i]; f.Keyed && f.Policy == p.policy {
			if f.Key == string(p.key) {
				return "", false
			}
			if !wrong {
				actual, wrong = partition.Key(f.Key), true
			}
		}
	}
	for i := range x.report.Terms {
		if t := &x.report.Terms[i]; t.Keyed && t.Name == p.policy {
			if t.Key == string(p.key) {
				return "", false
			}
			if !wrong {
				actual, wrong = partition.Key(t.Key), true
			}
		}
	}
	return actual, wrong
}

// keepOwn removes the items of other partitions of a policy from the report, and
// gives those without a key the predicted one.
func (x *exchange) keepOwn(p *prediction) {
	r, key := &x.report, string(p.key)
	others := func(policy string, of *string, keyed *bool) bool {
		switch {
		case policy != p.policy:
			return false
		case *keyed:
			return *of != key
		}
		*of, *keyed = key, true
		return false
	}
	r.Figures = without(r.Figures, func(f *quota.Figure) bool { return others(f.Policy, &f.Key, &f.Keyed) })
	r.Terms = without(r.Terms, func(t *quota.Policy) bool { return others(t.Name, &t.Key, &t.Keyed) })
}

// notePath notes that a vendor's row partitions by path, if it does.
func (x *exchange) notePath(vendor string) {
	if vendor == "" || x.pathKey != "" {
		return
	}
	if x.pathKey = x.directory.reader.PathKey(vendor, x.req.URL.Path); x.pathKey != "" {
		row := vendor // only then in memory of its own
		x.directory.byPath.Store(&row)
	}
}

// hasKey reports whether a key of a response partitions. The empty one of a vendor's row stands for the path of the
// request: see parse.Vendor.Paths.
func (x *exchange) hasKey(got *parse.Reading, key parse.Key) bool {
	return key != "" || got.Dialect != parse.VendorFields || x.pathKey != ""
}

// keepInPath moves what the response says of a partition to the account of the path.
func (x *exchange) keepInPath() {
	if x.pathKey == "" {
		return
	}
	for i := range x.report.Figures {
		if f := &x.report.Figures[i]; f.Keyed {
			f.Key = x.accountKey(partition.Key(f.Key), false)
		}
	}
	for i := range x.report.Terms {
		if t := &x.report.Terms[i]; t.Keyed {
			t.Key = x.accountKey(partition.Key(t.Key), false)
		}
	}
}

// keepInScope moves what the response says of a policy whose predictions failed to
// accounts of the scope.
func (x *exchange) keepInScope() {
	for i := range x.partitions {
		p := &x.partitions[i]
		if !p.failed {
			continue
		}
		for i := range x.report.Figures {
			if f := &x.report.Figures[i]; f.Keyed && f.Policy == p.policy {
				f.Key = x.accountKey(partition.Key(f.Key), true)
			}
		}
		for i := range x.report.Terms {
			if t := &x.report.Terms[i]; t.Keyed && t.Name == p.policy {
				t.Key = x.accountKey(partition.Key(t.Key), true)
			}
		}
	}
}

// windowEnd is the instant at which a limit's window ends, if the server named one
// and it is not when the quota is full.
func windowEnd(l *parse.Limit) time.Time {
	if l.Full > 0 {
		return time.Time{}
	}
	return l.Resets
}

// refused reports whether the server refused the request for lack of quota: the
// status is 429; or it is 403, 503 or 420 (Podio), which are also used for that, and a
// service limit says that nothing is left. (A 404 may well be the last response of a window
// that is used up.)
func refused(status int, limits []parse.Limit) bool {
	if status == http.StatusTooManyRequests {
		return true
	}
	if status != http.StatusForbidden && status != http.StatusServiceUnavailable && status != 420 {
		return false
	}
	for i := range limits {
		if limits[i].Available == 0 {
			return true
		}
	}
	return false
}

// pauseOf returns how long Retry-After holds later requests, and which (RFC 9110,
// Section 10.2.3). With 5xx it is the whole origin, which is unavailable. With 3xx
// it is only the request that follows the redirect (see redirect.go), and with 413
// none: only the request that was too large is meant. Else it is the partitions
// that the response names.
func pauseOf(status int, wait time.Duration) (pause time.Duration, wholeOrigin bool) {
	switch {
	case status >= 500:
		return wait, true
	case status/100 == 3, status == http.StatusRequestEntityTooLarge:
		return 0, false
	}
	return wait, false
}

// advisesTooMuch reports whether a refusal has a Retry-After above its cap (the
// draft, Section 9.5.1). It counts as a refusal without one, and not as nothing.
func advisesTooMuch(status int, ignored []parse.Ignored) bool {
	if status != http.StatusForbidden && status != http.StatusTooManyRequests && status < http.StatusInternalServerError {
		return false
	}
	return slices.ContainsFunc(ignored, func(i parse.Ignored) bool {
		return strings.HasPrefix(i.Field, "Retry-After") && errors.Is(i.Err, parse.ErrCap)
	})
}

// inheritKeys gives a service limit without a partition key the key of its policy,
// if the response names the policy for one partition only. It changes limits.
func inheritKeys(policies []parse.Policy, limits []parse.Limit) {
	for i := range limits {
		l := &limits[i]
		if l.HasKey {
			continue
		}
		keys := 0
		for j := range policies {
			if p := &policies[j]; p.Name == l.Policy && p.HasKey {
				l.Key = p.Key
				keys++
			}
		}
		if l.HasKey = keys == 1; !l.HasKey {
			l.Key = "" // the limit may belong to any of several partitions
		}
	}
}
