package transporttest

import "time"

// A concurrency limits what is in progress at a time.
type concurrency struct {
	quota int64
	busy  int64 // units of requests that are not over
}

func (c *concurrency) available(time.Time) int64 { return c.quota - c.busy }

func (c *concurrency) charge(_ time.Time, n int64) { c.busy += n }

// done gives back what a request held.
func (c *concurrency) done(n int64) { c.busy -= n }

func (c *concurrency) window(time.Time) (time.Duration, bool) { return 0, false }

// wait reports false where less than n are available: nobody knows when a request
// will be over.
func (c *concurrency) wait(_ time.Time, n int64) (time.Duration, bool) {
	return 0, n <= c.quota-c.busy
}
