package quota

import "time"

// uncharged is the part of a wait.Constraint that takes nothing from anything: so there is
// nothing to give back, and nothing to count.
type uncharged struct{}

func (uncharged) Charge(time.Time, int64) (epoch uint32, retained bool)    { return 0, false }
func (uncharged) Cancel(time.Time, int64, uint32)                          {}
func (uncharged) Release(time.Time, int64)                                 {}
func (uncharged) Backlog(time.Time, int64, int64) (notKnown time.Duration) { return 0 }
func (uncharged) Refused(bool)                                             {}
