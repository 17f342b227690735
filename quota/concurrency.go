package quota

import (
	"errors"

	"github.com/headway-go/headway/quota/internal/meter"
)

// ConcurrencyOptions are the options of a Concurrency.
type ConcurrencyOptions struct {
	Permits int64 // taken at the same time; at least 1
	Queue   Queue // of waiting requests; the zero Queue has room for DefaultMaxQueue permits
}

// A Concurrency limits how much happens at the same time: up to Permits permits
// are taken at once, and each stays taken until its lease is released or
// cancelled.
type Concurrency struct{ limiterCore }

// NewConcurrency returns a limiter with all permits available. The error says
// which option is out of range.
func NewConcurrency(o ConcurrencyOptions) (*Concurrency, error) {
	if err := errors.Join(
		atLeast("ConcurrencyOptions.Permits", o.Permits, 1),
		o.Queue.check("ConcurrencyOptions"),
	); err != nil {
		return nil, err
	}
	c := new(Concurrency)
	c.retains = true
	c.open(c, meter.NewConcurrency(o.Permits), o.Queue)
	return c, nil
}
