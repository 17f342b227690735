// Package wait lets work through several constraints at one instant, and has it
// wait in line where one of them refuses.
//
// A [Constraint] is anything that can refuse: a limiter, an account. What it
// counts, and when there is more of it, is its own business. This package knows
// how its mutex is taken together with others ([Lock]), how the waiters of a
// constraint are ordered and woken ([Line]), and how several constraints are
// checked, then charged ([Admit]).
package wait
