package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// notBefore is the constraint of Ask.NotBefore, made for one admission.
type notBefore struct {
	uncharged
	mutex wait.Mutex
	line  *wait.Line
	at    time.Time
}

func newNotBefore(at time.Time) *notBefore {
	c := &notBefore{at: at}
	c.mutex.TakeRank()
	return c
}

func (c *notBefore) Mutex() *wait.Mutex { return &c.mutex }

func (c *notBefore) Look(now time.Time, _ int64) wait.Decision {
	return wait.Decision{OK: !now.Before(c.at), Again: c.at, Reason: uint8(ReasonRetryAfter)}
}

func (c *notBefore) Line() *wait.Line   { return c.line }
func (c *notBefore) CloseLine()         { c.line = nil }
func (c *notBefore) Round() *wait.Round { return nil }

func (c *notBefore) OpenLine() *wait.Line {
	c.line = wait.NewLine(c, wait.LineOptions{})
	return c.line
}
