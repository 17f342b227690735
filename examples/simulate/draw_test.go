package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawing returns a picture of two windows of a second: a burst, then single requests.
func drawing() picture {
	p := picture{name: "a <b>", from: 2 * sec, to: 4 * sec}
	for range 3 {
		p.arrivals = append(p.arrivals, arrival{2 * sec, true})
	}
	p.arrivals = append(p.arrivals, arrival{2*sec + 1, false}, arrival{3 * sec, true}, arrival{3500 * ms, true}, arrival{4*sec - 1, true})
	return p
}

func TestBins(t *testing.T) {
	p := drawing()
	served, refused := p.bins(4)
	assert.Equal(t, []int{3, 0, 1, 2}, served)
	assert.Equal(t, []int{1, 0, 0, 0}, refused)
	assert.Equal(t, []int{1, 2, 3, 4, 1, 2, 3}, p.heights())
}

func TestWriteText(t *testing.T) {
	var b strings.Builder
	p := drawing()
	writeText(&b, "row", []picture{p, p})
	got := strings.Split(b.String(), "\n")
	assert.Equal(t, "row: from 2s to 4s; each mark is up to 1 requests, x refused", got[0])
	at := func(column int, s string) string { return "|" + strings.Repeat(" ", column) + s }
	panel := []string{
		"a <b>", "|", "|", "|", "|", at(0, "x"), at(0, "#"), at(0, "#"),
		"|#" + strings.Repeat(" ", 37) + "#" + strings.Repeat(" ", 18) + "#" + strings.Repeat(" ", 17) + "#",
		"+" + strings.Repeat("-", 38) + "+" + strings.Repeat("-", 37),
	}
	assert.Equal(t, slices.Concat([]string{""}, panel, []string{""}, panel, []string{""}), got[1:])
}

func TestWriteSVG(t *testing.T) {
	var b strings.Builder
	writeSVG(&b, "row & row", []picture{drawing(), drawing()})
	d := xml.NewDecoder(strings.NewReader(b.String()))
	names := make(map[string]int)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok {
			names[e.Name.Local]++
		}
	}
	assert.Equal(t, map[string]int{"svg": 1, "title": 1, "g": 2, "text": 10, "path": 2, "circle": 14}, names)
	assert.Contains(t, b.String(), `<circle cx="0.0" cy="0.0" r="1.5" fill="#d30"/>`)     // the fourth of four in the first window, refused
	assert.Contains(t, b.String(), `<circle cx="270.0" cy="100.0" r="1.5" fill="#07c"/>`) // the second of three in the second window
}

// The picture shows the third and the fourth clock-aligned window.
func TestDepict(t *testing.T) {
	ours := contenders()[:1]
	ps := depict(rowCalled(t, "aligned 100/10s"), ours, 1)
	require.Len(t, ps, 1)
	assert.Equal(t, 20*sec-3300*ms, ps[0].from)
	assert.Equal(t, 40*sec-3300*ms, ps[0].to)
	assert.Len(t, ps[0].arrivals, 200)
	for _, a := range ps[0].arrivals {
		assert.True(t, a.served)
		assert.GreaterOrEqual(t, a.at, ps[0].from)
		assert.Less(t, a.at, ps[0].to)
	}
	assert.Equal(t, time.Second, depict(rowCalled(t, "concurrency 8"), ours, 1)[0].from/2)
}
