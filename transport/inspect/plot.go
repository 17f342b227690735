package inspect

import (
	"strconv"
	"strings"
	"time"
)

// A plotView is drawn as SVG by the template: x and y are in units of its view box. Texts
// stand beside it.
type plotView struct {
	Left    string `json:"left,omitempty"`    // the line of what is left, as points of a polyline
	Area    string `json:"-"`                 // below it
	InLine  string `json:"inLine,omitempty"`  // the line of requests that wait
	Flight  string `json:"flight,omitempty"`  // the line of units in flight
	Holds   []band `json:"holds,omitempty"`   // in which a Retry-After or a back-off was in force
	Windows []int  `json:"windows,omitempty"` // where windows began
	Top     string `json:"top,omitempty"`     // what is at the top of Left
	Most    string `json:"most"`              // the number at the top of InLine and Flight
	Span    string `json:"span"`              // how long ago the left edge is
	Says    string `json:"says"`              // the same in words
}

// A band is a part of the time axis.
type band struct {
	X     int `json:"x"`
	Width int `json:"width"`
}

const (
	plotWidth  = 600
	plotHeight = 60 // of what is left
	lineTop    = 70 // of what waits, below it
	lineHeight = 30
	maxPoints  = 300
)

// draw draws samples of the last span.
func draw(xs []sample, windows []time.Time, now time.Time, span time.Duration) *plotView {
	p := &plotView{Span: duration(span)}
	// If not all samples are of one quota, the line shows which part of it is left.
	var top, most int64
	one := xs[0].quota
	for i := range xs {
		x := &xs[i]
		if one < 0 {
			one = x.quota
		}
		if x.available >= 0 && x.quota > 0 && x.quota != one {
			one = 0
		}
		top = max(top, int64(x.available), int64(x.quota))
		most = max(most, int64(x.inFlight), int64(x.inLine))
	}
	seconds := span.Seconds()
	at := func(unix int64) int {
		return int(float64(plotWidth) * (1 - float64(now.Unix()-unix)/seconds))
	}
	step := max((len(xs)+maxPoints-1)/maxPoints, 1)
	var left, inLine, flight points
	lowest, waited := int64(none), int64(0)
	if one == 0 {
		top = 100
	}
	for i := 0; i < len(xs); i += step {
		x := xs[i]
		if one == 0 {
			x.available = x.percent()
		}
		for _, o := range xs[i:min(i+step, len(xs))] { // what is worst is shown
			if one == 0 {
				o.available = o.percent()
			}
			x.available, x.inLine, x.inFlight = min(x.available, o.available), max(x.inLine, o.inLine), max(x.inFlight, o.inFlight)
			x.held = x.held || o.held
		}
		px := at(x.time)
		if x.available >= 0 && top > 0 {
			left.step(px, plotHeight-int(int64(x.available)*plotHeight/top))
			if lowest == none || int64(x.available) < lowest {
				lowest = int64(x.available)
			}
		}
		scale := max(most, 1)
		inLine.step(px, lineTop+lineHeight-int(int64(x.inLine)*lineHeight/scale))
		flight.step(px, lineTop+lineHeight-int(int64(x.inFlight)*lineHeight/scale))
		waited = max(waited, int64(x.inLine))
		if x.held {
			p.Holds = extend(p.Holds, px, at(x.time+int64(step)))
		}
	}
	if left.any() {
		p.Left = left.String()
		p.Area = left.first + "," + strconv.Itoa(plotHeight) + " " + p.Left + " " + left.last + "," + strconv.Itoa(plotHeight)
		if p.Top = number(top); one == 0 {
			p.Top = "100 %"
		}
	}
	p.InLine, p.Flight, p.Most = inLine.String(), flight.String(), number(most)
	for _, w := range windows {
		if x := at(w.Unix()); x > 0 && len(p.Windows) < maxWindows {
			p.Windows = append(p.Windows, x)
		}
	}
	if len(p.Windows) > 60 {
		p.Windows = nil // too many to tell apart
	}
	p.Says = "The last " + p.Span + ": "
	if lowest != none {
		of := number(lowest) + " of " + p.Top
		if one == 0 {
			of = number(lowest) + " % of the quota"
		}
		p.Says += "at least " + of + " left, "
	}
	p.Says += "at most " + number(waited) + " in line"
	if len(p.Holds) > 0 {
		p.Says += ", held at times"
	}
	p.Says += "."
	return p
}

// percent is which part of the quota was left; none: that is not known.
func (x *sample) percent() int32 {
	if x.available < 0 || x.quota <= 0 {
		return none
	}
	return int32(min(int64(x.available)*100/int64(x.quota), 100))
}

// extend adds a band, or makes the last one longer.
func extend(bs []band, from, to int) []band {
	to = min(max(to, from+1), plotWidth)
	if n := len(bs); n > 0 && bs[n-1].X+bs[n-1].Width >= from {
		bs[n-1].Width = to - bs[n-1].X
		return bs
	}
	return append(bs, band{from, to - from})
}

// points are those of a line that goes in steps.
type points struct {
	b           strings.Builder
	y           int
	first, last string
}

func (p *points) any() bool { return p.first != "" }

func (p *points) step(x, y int) {
	p.last = strconv.Itoa(x)
	if !p.any() {
		p.first = p.last
	} else {
		p.b.WriteString(" " + p.last + "," + strconv.Itoa(p.y) + " ")
	}
	p.b.WriteString(p.last + "," + strconv.Itoa(y))
	p.y = y
}

func (p *points) String() string { return p.b.String() }
