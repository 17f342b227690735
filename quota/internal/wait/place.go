package wait

import "time"

// A Place is a waiter's place in a line, for people to see.
type Place struct {
	Priority int
	Units    int64     // of the constraint; negative: an estimate
	Came     time.Time // when it began to wait
	Latest   time.Time // when it runs out of time; zero: never
}

// First returns the places of the first n waiters, in the order in which they go. It
// looks at few of the others.
func (l *Line) First(n int) (places []Place) {
	if l == nil || n <= 0 {
		return nil
	}
	next := []int{0} // in the heap: the first that goes next is among these
	for len(next) > 0 && len(places) < n && l.Len() > 0 {
		least := 0
		for i := range next {
			if l.byTurn.Less(next[i], next[least]) {
				least = i
			}
		}
		at := next[least]
		w := l.byTurn.ws[at]
		places = append(places, Place{Priority: w.priority, Units: w.units, Came: w.came, Latest: w.latest})
		next[least] = next[len(next)-1]
		next = next[:len(next)-1]
		for child := 2*at + 1; child <= 2*at+2 && child < l.Len(); child++ {
			next = append(next, child)
		}
	}
	return places
}
