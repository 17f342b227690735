package main

import (
	"container/heap"
	"time"
)

// A loop is an event queue on one thread, and the only clock of a simulation.
// Of events at one instant, the one that was planned first happens first.
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

// after plans what is to happen when d has passed.
func (l *loop) after(d time.Duration, do func()) {
	l.count++
	heap.Push(&l.events, event{at: l.now.Add(max(d, 0)), serial: l.count, do: do})
}

// run lets everything happen until nothing is left, or stop says so.
func (l *loop) run(stop func() bool) {
	for len(l.events) > 0 && !stop() {
		e := heap.Pop(&l.events).(event)
		l.now = e.at
		e.do()
	}
}

// events are a heap, by instant and then in the order in which they were planned.
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
