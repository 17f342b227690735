package quota

import "time"

const (
	ms   = time.Millisecond
	sec  = time.Second
	mins = time.Minute
)

// spare is how many units of an account may still depart.
func spare(a *account) int64 {
	n, _ := a.Left(0)
	return n
}
