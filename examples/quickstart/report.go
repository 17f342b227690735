package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// writeReport says what happened: in words, as a table, and as a timeline. It
// fits into 80 columns.
func writeReport(w io.Writer, plain, shaped result) {
	writeExchange(w, shaped.recording.first)
	writeTable(w, plain, shaped)
	writeTimeline(w, plain, shaped)
	fmt.Fprint(w, `
Alice's workers spend her quota as soon as a window begins; the low bars are
bob's, who has a quota of his own and waits for nobody. With retries alone, each
worker finds out by a refusal that a window is used up, and comes back after as
many whole seconds as Retry-After says. The Shaper knows from the answers what
is left and until when, holds back what would be refused, and lets it go when
the next window begins.
`)
}

// writeExchange shows what a client can learn from.
func writeExchange(w io.Writer, resp *http.Response) {
	fmt.Fprintf(w, "One of the first exchanges:\n\n")
	fmt.Fprintf(w, "  > %s %s %s\n", resp.Request.Method, resp.Request.URL.RequestURI(), resp.Request.Proto)
	fmt.Fprintf(w, "  > X-User: %s\n", resp.Request.Header.Get("X-User"))
	fmt.Fprintf(w, "  < %s %s\n", resp.Proto, resp.Status)
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Partition"} {
		fmt.Fprintf(w, "  < %s: %s\n", name, resp.Header.Get(name))
	}
	fmt.Fprint(w, `
The policy grants q requests in w seconds to each user; of alice's (pk), a are
left for the next w seconds. The Shaper was told nothing but who asks.

`)
}

func writeTable(w io.Writer, results ...result) {
	fmt.Fprintln(w, "              requests                    time                   bob waited")
	fmt.Fprintln(w, "          sent  served  refused     ideal     taken  goodput   median   worst")
	for _, r := range results {
		fmt.Fprintf(w, "%-8s %5d %7d %8d %7.2f s %7.2f s %8.2f %5d ms %4d ms\n",
			r.client,
			r.counts.Served+r.counts.Refused, r.counts.Served, r.counts.Refused,
			ideal.Seconds(), r.taken.Seconds(), ideal.Seconds()/r.taken.Seconds(),
			median(r.waits).Milliseconds(), slices.Max(r.waits).Milliseconds())
	}
	fmt.Fprintf(w, `
ideal is a client that knows when each window begins, goodput = ideal / taken.
Bob waited for each answer at least the %v that an exchange takes.

`, exchange)
}

// writeTimeline draws the recordings one under the other, to one scale.
func writeTimeline(w io.Writer, results ...result) {
	const height = 4 // rows of the highest bar
	most, columns := 1, 0
	for _, r := range results {
		columns = max(columns, len(r.recording.served))
		for i := range r.recording.served {
			most = max(most, r.recording.served[i], r.recording.refused[i])
		}
	}
	scale := (most + height - 1) / height

	fmt.Fprintf(w, "Answers in slices of %v, █ = %d; windows begin at the marks, at the earliest\n\n", slice, scale)
	for _, r := range results {
		label := r.client
		for _, row := range rising(r.recording.served, scale) {
			writeRow(w, label, row)
			label = ""
		}
		writeRow(w, "  served", axis(columns, int(window/slice)))
		label = "  refused"
		for _, row := range hanging(r.recording.refused, scale) {
			writeRow(w, label, row)
			label = ""
		}
		if label != "" { // no row was drawn
			writeRow(w, label, "none")
		}
		fmt.Fprintln(w)
	}
	writeRow(w, "", seconds(columns, int(window/slice)))
}

func writeRow(w io.Writer, label, row string) {
	fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-10s%s", label, row), " "))
}

// rising draws a bar upwards for each count, the top row first. A full block
// stands for scale; what is not zero can be seen.
func rising(counts []int, scale int) []string {
	rows := bars(counts, scale, []rune(" ▁▂▃▄▅▆▇█"))
	slices.Reverse(rows)
	return rows
}

// hanging draws a bar downwards for each count.
func hanging(counts []int, scale int) []string {
	return bars(counts, scale, []rune(" ▀█")) // there are no finer ones
}

// bars draws a bar for each count in rows, of which the first is next to the
// axis. The levels of a row go from empty to full.
func bars(counts []int, scale int, levels []rune) []string {
	full := len(levels) - 1
	var rows []string
	for floor := 0; slices.ContainsFunc(counts, func(n int) bool { return n > floor }); floor += scale {
		row := make([]rune, len(counts))
		for i, n := range counts {
			n = min(max(n-floor, 0), scale)
			row[i] = levels[(n*full+scale-1)/scale]
		}
		rows = append(rows, string(row))
	}
	return rows
}

// axis draws a line of so many columns with a mark at every so many.
func axis(columns, every int) string {
	line := []rune(strings.Repeat("─", columns))
	for i := 0; i < columns; i += every {
		line[i] = '┼'
	}
	return string(line)
}

// seconds is the scale below an axis.
func seconds(columns, every int) string {
	var line strings.Builder
	for i := 0; i < columns; i += every {
		fmt.Fprintf(&line, "%-*s", every, fmt.Sprintf("%v", time.Duration(i)*slice))
	}
	return line.String()
}

// median is the lower one of two, and 0 for none.
func median(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Sorted(slices.Values(ds))
	return ds[(len(ds)-1)/2]
}
