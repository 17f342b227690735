package main

import (
	"fmt"
	"io"
	"time"

	"github.com/headway-go/headway/parse"
)

// progress is a line on how far the crawler has come.
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

// summary writes what came of each site.
func summary(out io.Writer, all []*site, hosts map[string]tally) {
	fmt.Fprint(out, `
                 pages                requests        held back by    longest   quota
site      fetched  forbidden  left   sent  refused   us  the server      wait    used
`)
	for _, s := range all {
		t := hosts[hostOf(s)]
		fmt.Fprintf(out, "%-8s %8d %10d %5d %6d %8d %4d %11d %7.1f s %7s  %s\n",
			s.name, t.fetched, t.disallowed, t.stopped+t.failed, t.sent, t.refused,
			t.polite, t.short, t.longest.Seconds(), percent(t.share), dialect(t.dialect))
	}
	fmt.Fprint(out, `
Held back: by what stood in the way first, the crawler's own limits or the server's
quota. Quota used: the most that was gone of it in a window, where the site tells.
`)
}

func percent(share float64) string {
	if share == 0 {
		return "?"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func dialect(d parse.Dialect) string {
	if d == parse.NoDialect {
		return "(refusals only)"
	}
	return d.String()
}
