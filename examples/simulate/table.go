package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// writeTable writes the scores of all contenders in each row.
func writeTable(w io.Writer, names []string, rows []row, scores [][]score) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	fmt.Fprintf(w, "%-*s  %-8s %7s %9s %6s %8s %8s %6s %5s %10s\n", width, "row", "strategy",
		"goodput", "refused %", "wave", "median", "p99", "burst", "fair", "cost")
	for i, r := range rows {
		for k, s := range scores[i] {
			name := r.name
			if k > 0 {
				name = ""
			}
			fmt.Fprintf(w, "%-*s  %-8s %s\n", width, name, names[k], s.line())
		}
	}
}

// line is a score without the names.
func (s *score) line() string {
	goodput := fmt.Sprintf("%7.3f", s.goodput())
	if !s.over {
		goodput = "  gives up"[3:]
	}
	return strings.TrimRight(fmt.Sprintf("%s %9.2f %6d %8s %8s %6d %5.2f %10s", goodput, s.refusals(), s.wave,
		short(s.median), short(s.worst), s.burst, s.fair, short(s.cost())), " ")
}

// short is a duration in three digits or so.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + short(-d)
	case d == 0:
		return "0"
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second / 10).String()
}
