package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// An arrival is a request as the server sees it.
type arrival struct {
	at     time.Duration // since the start of the run
	served bool
}

// A picture is the arrivals in two windows of a row with one strategy.
type picture struct {
	name     string
	from, to time.Duration
	arrivals []arrival
}

// depict simulates the contenders in a row and returns their arrivals in the third and
// fourth clock-aligned window: by then they have learned what the server does. If the
// policy has no window, it takes seconds.
func depict(r *row, cs []contender, seed uint64) []picture {
	window := r.policies[0].Window
	if window <= 0 {
		window = time.Second
	}
	from := 2*window - r.into%window
	var ps []picture
	for _, c := range cs {
		p := picture{name: c.name, from: from, to: from + 2*window}
		x := newRun(r, c, seed)
		x.server.watch = func(served bool) {
			if at := x.now.Sub(begins.Add(r.into)); at >= p.from && at < p.to {
				p.arrivals = append(p.arrivals, arrival{at, served})
			}
		}
		x.run(func() bool { return x.now.Sub(begins.Add(r.into)) >= p.to })
		ps = append(ps, p)
	}
	return ps
}

// bins counts the served and the refused arrivals in n equal parts of the time.
func (p *picture) bins(n int) (served, refused []int) {
	served, refused = make([]int, n), make([]int, n)
	for _, a := range p.arrivals {
		i := int(time.Duration(n) * (a.at - p.from) / (p.to - p.from))
		if a.served {
			served[i]++
		} else {
			refused[i]++
		}
	}
	return served, refused
}

// The size of a text picture: the width of a terminal and the height of the bars.
const (
	columns = 76
	lines   = 8
)

// writeText draws the pictures one below the other. A column is a part of the time, a
// mark up to scale requests; x marks refused ones.
func writeText(w io.Writer, title string, ps []picture) {
	scale := 1
	for _, p := range ps {
		served, refused := p.bins(columns)
		for i := range served {
			scale = max(scale, (served[i]+refused[i]+lines-1)/lines)
		}
	}
	fmt.Fprintf(w, "%s: from %v to %v; each mark is up to %d requests, x refused\n", title, ps[0].from, ps[0].to, scale)
	for _, p := range ps {
		served, refused := p.bins(columns)
		fmt.Fprintf(w, "\n%s\n", p.name)
		for line := lines; line > 0; line-- {
			var b strings.Builder
			for i := range served {
				switch below := (line - 1) * scale; {
				case served[i] > below:
					b.WriteByte('#')
				case served[i]+refused[i] > below:
					b.WriteByte('x')
				default:
					b.WriteByte(' ')
				}
			}
			fmt.Fprintln(w, strings.TrimRight("|"+b.String(), " "))
		}
		fmt.Fprintln(w, "+"+strings.Repeat("-", columns/2)+"+"+strings.Repeat("-", columns/2-1))
	}
}

// The sizes of an SVG picture.
const (
	panelWidth  = 360
	panelHeight = 200
	margin      = 40
)

// writeSVG draws the pictures side by side. Each request is a dot: x is its time, y the
// number of requests that have arrived in its window, including it.
func writeSVG(w io.Writer, title string, ps []picture) {
	maxHeight := 1
	for _, p := range ps {
		for _, n := range p.heights() {
			maxHeight = max(maxHeight, n)
		}
	}
	width, height := len(ps)*(panelWidth+margin)+margin, panelHeight+2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(w, "<title>%s</title>\n", escape(title))
	for i, p := range ps {
		fmt.Fprintf(w, `<g transform="translate(%d %d)">`+"\n", margin+i*(panelWidth+margin), margin)
		p.writePanel(w, maxHeight)
		fmt.Fprintln(w, "</g>")
	}
	fmt.Fprintln(w, "</svg>")
}

// writePanel draws one picture.
func (p *picture) writePanel(w io.Writer, maxHeight int) {
	fmt.Fprintf(w, `<text y="-8">%s</text>`+"\n", escape(p.name))
	fmt.Fprintf(w, `<text x="-4" y="10" text-anchor="end" fill="#666">%d</text>`+"\n", maxHeight)
	fmt.Fprintf(w, `<path d="M0 0V%[1]dH%[2]dM%[3]d 0V%[1]d" fill="none" stroke="#999"/>`+"\n", panelHeight, panelWidth, panelWidth/2)
	for i, at := range []time.Duration{p.from, (p.from + p.to) / 2, p.to} {
		fmt.Fprintf(w, `<text x="%d" y="%d" text-anchor="middle" fill="#666">%v</text>`+"\n", i*panelWidth/2, panelHeight+16, at)
	}
	for i, n := range p.heights() {
		a := p.arrivals[i]
		color := "#07c"
		if !a.served {
			color = "#d30"
		}
		x := panelWidth * (a.at - p.from).Seconds() / (p.to - p.from).Seconds()
		fmt.Fprintf(w, `<circle cx="%.1f" cy="%.1f" r="1.5" fill="%s"/>`+"\n", x, panelHeight-float64(panelHeight*n)/float64(maxHeight), color)
	}
}

// heights returns for each arrival the number of arrivals in its window so far,
// including itself.
func (p *picture) heights() []int {
	hs := make([]int, len(p.arrivals))
	middle := (p.from + p.to) / 2
	for i, a := range p.arrivals {
		hs[i] = 1
		if i > 0 && (a.at < middle) == (p.arrivals[i-1].at < middle) {
			hs[i] += hs[i-1]
		}
	}
	return hs
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace
