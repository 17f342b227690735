package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// writeTable writes the scores of the contenders in each row. Our strategies get a line
// each with all columns. The goodput and the refusals of the others are to the right of
// our first one; if full, the others have a line each, too.
func writeTable(w io.Writer, cs []contender, rows []row, scores [][]score, full bool) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	head := fmt.Sprintf("%-*s %-9s %s", width, "", "", scoreHead)
	for _, c := range cs {
		if !c.ours && !full {
			head += fmt.Sprintf(" | %-13s", c.name)
		}
	}
	fmt.Fprintln(w, strings.TrimRight(head, " "))
	for i, r := range rows {
		name, others := r.name, ""
		for k, c := range cs {
			if !c.ours && !full {
				others += " | " + scores[i][k].brief()
			}
		}
		for k, c := range cs {
			if c.ours || full {
				line := fmt.Sprintf("%-*s %-9s %s%s", width, name, c.name, scores[i][k].line(), others)
				fmt.Fprintln(w, strings.TrimRight(line, " "))
				name, others = "", ""
			}
		}
	}
	writeSummary(w, cs, rows, scores)
}

// The goodput and the refusals that a strategy should reach in each row; the shared ones
// apply if several processes share a quota and cannot talk, those of a fleet if they can.
const (
	goodGoodput, goodShared, goodFleet                  = 0.97, 0.95, 0.97
	goodRefusals, goodSharedRefusals, goodFleetRefusals = 0.5, 3, 1 // percent
)

// writeSummary writes the number of rows in which each contender is good, the rows in
// which our first strategy costs more than another of ours, by more than a hundredth of
// the bound, those in which a client is worse off with it than with retry in most seeds, what a fleet
// tells each other, and the rows in which our first strategy is not good, with the reason.
func writeSummary(w io.Writer, cs []contender, rows []row, scores [][]score) {
	fmt.Fprintf(w, "\ngoodput ≥ %v and refused ≤ %v%% (several processes: %v and %v%%; a fleet: %v and %v%%), in rows of %d:",
		goodGoodput, goodRefusals, goodShared, goodSharedRefusals, goodFleet, goodFleetRefusals, len(rows))
	for k, c := range cs {
		n := 0
		for i := range rows {
			if scores[i][k].good(&rows[i]) {
				n++
			}
		}
		fmt.Fprintf(w, " %s %d", c.name, n)
	}
	fmt.Fprintln(w)
	first := slices.IndexFunc(cs, func(c contender) bool { return c.ours })
	for k, c := range cs {
		if !c.ours || k == first {
			continue
		}
		for i, r := range rows {
			if more := scores[i][first].cost() - scores[i][k].cost(); more > scores[i][k].bound/100 {
				fmt.Fprintf(w, "%s costs %s more than %s: %s\n", cs[first].name, short(more), c.name, r.name)
			}
		}
	}
	if k := slices.IndexFunc(cs, func(c contender) bool { return c.name == "retry" }); k >= 0 {
		for i, r := range rows {
			if s, retry := &scores[i][first], &scores[i][k]; s.worse {
				fmt.Fprintf(w, "%s is worse off than retry: %s:%s, refused %d; retry%s, %d\n",
					cs[first].name, r.name, s.success(), s.refused+s.wave, retry.success(), retry.refused+retry.wave)
			}
		}
	}
	for i, r := range rows {
		if s := &scores[i][first]; r.fleet {
			fmt.Fprintf(w, "%s: %.2f exchanges a request, %.1f%% left without one; fair %.3f\n",
				r.name, float64(s.turns)/float64(s.served), 100*float64(s.atOnce)/float64(s.served), s.fair)
		}
	}
	for i, r := range rows {
		if !scores[i][first].good(&rows[i]) {
			fmt.Fprintf(w, "%s misses: %s: %s\n", cs[first].name, r.name, cmp.Or(misses[r.name], unknown))
		}
	}
}

// harms reports whether a client that has score s is worse off than one that retries: it
// is slower by more than 3 %, or refused more often. A goodput above 1 counts as 1.
func (s *score) harms(retry *score) bool {
	if retry.end != done {
		return s.end != done
	}
	return s.end != done || s.goodput() < 0.97*min(retry.goodput(), 1) || s.refused+s.wave > retry.refused+retry.wave
}

// unknown stands for a reason that is missing in misses.
const unknown = "?"

// good reports whether a score reaches the goodput and the refusals.
func (s *score) good(r *row) bool {
	goodput, refusals := goodGoodput, goodRefusals
	if r.fleet {
		goodput, refusals = goodFleet, goodFleetRefusals
	} else if r.size() > 1 {
		goodput, refusals = goodShared, goodSharedRefusals
	}
	return s.end == done && s.goodput() >= goodput && s.refusals() <= refusals
}

const scoreHead = "goodput refused  wave  median     p99 burst fair    cost"

// line returns all columns of a score.
func (s *score) line() string {
	return fmt.Sprintf("%s %6.2f%% %5d %7s %7s %5d %4.2f %7s", s.success(), s.refusals(), s.wave,
		short(s.median), short(s.worst), s.burst, s.fair, short(s.cost()))
}

// brief returns the goodput and the refusals.
func (s *score) brief() string {
	return fmt.Sprintf("%s %4.0f%%", s.success(), s.refusals())
}

// success returns the goodput, or the reason why there is none.
func (s *score) success() string {
	switch s.end {
	case late:
		return "   late"
	case stuck:
		return "  stuck"
	}
	return fmt.Sprintf("%7.3f", s.goodput())
}

// short formats a duration with about three digits.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d < time.Millisecond:
		return "0"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond)/time.Millisecond)
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.1fm", d.Minutes())
	}
	return fmt.Sprintf("%.1fh", d.Hours())
}
