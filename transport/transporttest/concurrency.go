package transporttest

import "time"

// A concurrency limits the units of the requests in progress.
type concurrency struct {
	quota int64
	busy  int64 // units of requests in progress
}

func (c *concurrency) available(time.Time) int64 { return c.quota - c.busy }

func (c *concurrency) charge(_ time.Time, n int64) { c.busy += n }

// release returns the units that a request retained.
func (c *concurrency) release(n int64) { c.busy -= n }

func (c *concurrency) window(time.Time) (time.Duration, bool) { return 0, false }

// wait reports false if fewer than n units are available: it is unknown when a
// request in progress will end.
func (c *concurrency) wait(_ time.Time, n int64) (time.Duration, bool) {
	return 0, n <= c.quota-c.busy
}
