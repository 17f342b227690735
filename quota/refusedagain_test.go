package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// A server keeps a log of 5 requests in a minute, counts those that it refuses, and says when the
// first of its log is a minute old. Who comes back then is refused, and counted, for ever: all
// but five of the minute before must have stayed away.
func TestServerThatCountsRefusals(t *testing.T) {
	d := newDesk(t)
	var log []time.Duration
	var refused int
	now, served := time.Duration(0), time.Duration(0)
	for now < 2*time.Hour {
		l := d.send(now, "", api(1))
		for len(log) > 0 && log[0] <= now-mins {
			log = log[1:]
		}
		log = append(log, now)
		report := quota.Report{Terms: terms("api", 5, mins), Figures: figure("api", max(5-int64(len(log)), 0), 0)}
		report.Figures[0].Window = (log[0] + mins - now + sec - 1).Truncate(sec)
		if report.Refused = len(log) > 5; report.Refused {
			refused++
		} else {
			served = now
		}
		d.done(now, l, report)
		if now == 0 { // others of this client have not waited
			for i := range 4 {
				log = append(log, time.Duration(i+1)*10*sec)
			}
		}
		now += d.wait(now, "", api(1))
	}
	assert.Less(t, refused, 200, "in two hours")
	assert.Greater(t, served, 2*time.Hour-2*mins)
}
