package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// writeReport writes what happened, with a table and a timeline, in at most 80 columns.
func writeReport(w io.Writer, plain, shaped result) {
	writeExchange(w, shaped.recording.first)
	writeTable(w, plain, shaped)
	writeTimeline(w, plain, shaped)
	fmt.Fprint(w, `
Alice's workers spend her quota at the start of each window. The low bars are
Bob's requests: he has his own quota and does not wait for Alice. Without the
Shaper, each worker learns from a refusal that the quota is exhausted, and
retries after Retry-After, a whole number of seconds. The Shaper knows from the
responses how much is left and until when. It holds the requests that would be
refused and sends them when the next window starts.
`)
}

// writeExchange writes a request and the fields of its response that advertise quota.
func writeExchange(w io.Writer, resp *http.Response) {
	fmt.Fprintf(w, "One of the first requests and its response:\n\n")
	fmt.Fprintf(w, "  > %s %s %s\n", resp.Request.Method, resp.Request.URL.RequestURI(), resp.Request.Proto)
	fmt.Fprintf(w, "  > X-User: %s\n", resp.Request.Header.Get("X-User"))
	fmt.Fprintf(w, "  < %s %s\n", resp.Proto, resp.Status)
	for _, name := range []string{"RateLimit", "RateLimit-Policy", "RateLimit-Partition"} {
		fmt.Fprintf(w, "  < %s: %s\n", name, resp.Header.Get(name))
	}
	fmt.Fprint(w, `
The policy grants each user q requests per w seconds. In Alice's partition (pk),
a requests are left for the next w seconds. The Shaper has learned this from the
response; the program only tells it the user of each request.

`)
}

func writeTable(w io.Writer, results ...result) {
	fmt.Fprintln(w, "              requests                    time                   Bob waited")
	fmt.Fprintln(w, "          sent  served  refused     ideal     taken  goodput   median   worst")
	for _, r := range results {
		fmt.Fprintf(w, "%-8s %5d %7d %8d %7.2f s %7.2f s %8.2f %5d ms %4d ms\n",
			r.client,
			r.counts.Served+r.counts.Refused, r.counts.Served, r.counts.Refused,
			ideal.Seconds(), r.taken.Seconds(), ideal.Seconds()/r.taken.Seconds(),
			median(r.waits).Milliseconds(), slices.Max(r.waits).Milliseconds())
	}
	fmt.Fprintf(w, `
ideal: a client that knows when each window starts; goodput = ideal / taken.
Bob's waits include the %v that an exchange takes.

`, exchange)
}

// writeTimeline draws the recordings one below the other, on the same scale.
func writeTimeline(w io.Writer, results ...result) {
	const height = 4 // rows of the highest bar
	highest, columns := 1, 0
	for _, r := range results {
		columns = max(columns, len(r.recording.served))
		for i := range r.recording.served {
			highest = max(highest, r.recording.served[i], r.recording.refused[i])
		}
	}
	scale := (highest + height - 1) / height

	fmt.Fprintf(w, "Responses per %v, █ = %d; windows start at the marks or later\n\n", slice, scale)
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

// rising draws an upward bar for each count, the top row first. A full block is scale. A
// count that is not zero is always visible.
func rising(counts []int, scale int) []string {
	rows := bars(counts, scale, []rune(" ▁▂▃▄▅▆▇█"))
	slices.Reverse(rows)
	return rows
}

// hanging draws a downward bar for each count.
func hanging(counts []int, scale int) []string {
	return bars(counts, scale, []rune(" ▀█")) // there are no finer blocks
}

// bars draws a bar for each count. The first row is next to the axis. The levels are the
// blocks of a row, from empty to full.
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

// axis draws a line with a mark at regular columns.
func axis(columns, every int) string {
	line := []rune(strings.Repeat("─", columns))
	for i := 0; i < columns; i += every {
		line[i] = '┼'
	}
	return string(line)
}

// seconds draws the scale below an axis.
func seconds(columns, every int) string {
	var line strings.Builder
	for i := 0; i < columns; i += every {
		fmt.Fprintf(&line, "%-*s", every, fmt.Sprintf("%v", time.Duration(i)*slice))
	}
	return line.String()
}

// median returns the median, the lower one of two, and 0 if there are no durations.
func median(ds []time.Duration) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	ds = slices.Sorted(slices.Values(ds))
	return ds[(len(ds)-1)/2]
}
