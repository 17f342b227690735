package quota

import (
	"errors"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// TokenBucketOptions are the options of a TokenBucket.
type TokenBucketOptions struct {
	Permits   int64         // in a full bucket: the largest burst; at least 1
	PerPeriod int64         // added at the end of each period; at least 1
	Period    time.Duration // length of a period; more than 0
	Queue     Queue         // of waiting requests; the zero Queue has room for DefaultMaxQueue permits
}

// A TokenBucket grants permits from a bucket. The bucket is full at first, and
// gets PerPeriod permits at the end of each period, until it is full again. The
// first period begins with the first grant from a full bucket.
//
// Within any time d, at most Permits + PerPeriod*(d/Period rounded up) permits
// are granted.
type TokenBucket struct{ limiterCore }

// NewTokenBucket returns a limiter with a full bucket. The error says which
// option is out of range.
func NewTokenBucket(o TokenBucketOptions) (*TokenBucket, error) {
	if err := errors.Join(
		atLeast("TokenBucketOptions.Permits", o.Permits, 1),
		atLeast("TokenBucketOptions.PerPeriod", o.PerPeriod, 1),
		atLeast("TokenBucketOptions.Period", o.Period, 1),
		o.Queue.check("TokenBucketOptions"),
	); err != nil {
		return nil, err
	}
	b := new(TokenBucket)
	b.open(b, meter.NewTokenBucket(o.Permits, o.PerPeriod, o.Period), o.Queue)
	return b, nil
}
