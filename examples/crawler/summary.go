package main

import (
	"fmt"
	"io"
	"time"

	"github.com/headway-go/headway/parse"
)

// progress returns a line with the counts of pages so far.
func progress(taken time.Duration, hosts map[string]tally) string {
	var all tally
	for _, t := range hosts {
		all.known += t.known
		all.fetched += t.fetched
		all.disallowed += t.disallowed
		all.stopped += t.stopped
		all.failed += t.failed
	}
	return fmt.Sprintf("%5.1f s  %3d pages known, %3d fetched, %3d forbidden, %3d to go",
		taken.Seconds(), all.known, all.fetched, all.disallowed,
		all.known-all.fetched-all.disallowed-all.stopped-all.failed)
}

// summary writes a table of the sites.
func summary(out io.Writer, all []*site, hosts map[string]tally) {
	fmt.Fprint(out, `
                 pages                requests            held by       longest   quota
site      fetched  forbidden  left   sent  refused  own  the server      wait    used
`)
	for _, s := range all {
		t := hosts[hostOf(s)]
		fmt.Fprintf(out, "%-8s %8d %10d %5d %6d %8d %4d %11d %7.1f s %7s  %s\n",
			s.name, t.fetched, t.disallowed, t.stopped+t.failed, t.sent, t.refused,
			t.own, t.server, t.longest.Seconds(), percent(t.used), dialect(t.dialect))
	}
	fmt.Fprint(out, `
Held by: what requests waited for longest, the crawler's own limits or the server's
quota. Quota used: the largest part of the quota that was used in a window,
if the site advertises it.
`)
}

func percent(fraction float64) string {
	if fraction == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*fraction)
}

func dialect(d parse.Dialect) string {
	if d == parse.NoDialect {
		return "(refusals only)"
	}
	return d.String()
}
