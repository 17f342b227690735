package main

import (
	"container/heap"
	"time"
)

// A loop is a single-threaded event queue, and the only clock of a simulation. Events
// at the same time happen in the order in which they were planned.
type loop struct {
	now    time.Time
	events events
	count  uint64 // of events planned
}

type event struct {
	at     time.Time
	serial uint64
	do     func()
}

// after plans to call do after d.
func (l *loop) after(d time.Duration, do func()) {
	l.count++
	heap.Push(&l.events, event{at: l.now.Add(max(d, 0)), serial: l.count, do: do})
}

// run runs the events until none is left or stop returns true.
func (l *loop) run(stop func() bool) {
	for len(l.events) > 0 && !stop() {
		e := heap.Pop(&l.events).(event)
		l.now = e.at
		e.do()
	}
}

// events is a heap, ordered by time and then by the order of planning.
type events []event

func (es events) Len() int { return len(es) }

func (es events) Less(i, j int) bool {
	if es[i].at.Equal(es[j].at) {
		return es[i].serial < es[j].serial
	}
	return es[i].at.Before(es[j].at)
}

func (es events) Swap(i, j int) { es[i], es[j] = es[j], es[i] }

func (es *events) Push(e any) { *es = append(*es, e.(event)) }

func (es *events) Pop() any {
	last := len(*es) - 1
	e := (*es)[last]
	(*es)[last] = event{}
	*es = (*es)[:last]
	return e
}
