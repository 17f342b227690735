package transporttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A try is a request at an instant, and what is said of it: RateLimit, and
// Retry-After where it is refused, "" where it is served.
type try struct {
	at    time.Duration
	limit string
	retry string
}

func TestPenalties(t *testing.T) {
	const sec = time.Second
	for _, tt := range []struct {
		name   string
		policy Policy
		tries  []try
	}{
		{
			"a refusal counts",
			Policy{Quota: 2, Window: 10 * sec, Algorithm: SlidingLog, Penalty: CountRefused},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{5 * sec, `"p";a=0;w=5`, "5"},
				{9 * sec, `"p";a=0;w=1`, "6"},
				{12 * sec, `"p";a=0;w=3`, "7"},
				{19 * sec, `"p";a=0;w=3`, ""},
			},
		},
		{
			"it counts in a window that slides",
			Policy{Quota: 2, Window: 10 * sec, Algorithm: SlidingWindow, Penalty: CountRefused},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{5 * sec, `"p";a=0;w=5`, "12"}, // 3 of which one may count: two thirds of the next
				{10 * sec, `"p";a=0;w=10`, "10"},
				{20 * sec, `"p";a=0;w=10`, ""},
			},
		},
		{
			"it does not without a penalty",
			Policy{Quota: 2, Window: 10 * sec, Algorithm: SlidingLog},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{5 * sec, `"p";a=0;w=5`, "5"},
				{9 * sec, `"p";a=0;w=1`, "1"},
				{10 * sec, `"p";a=1;w=10`, ""},
			},
		},
		{
			"a refusal restarts a block",
			Policy{Quota: 2, Window: 10 * sec, Penalty: Block, Block: 5 * sec},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{1 * sec, `"p";a=0;w=9`, "9"},
				{8 * sec, `"p";a=0;w=5`, "5"},
				{10 * sec, `"p";a=0;w=5`, "5"},
				{15*sec - 1, `"p";a=0;w=5`, "5"},
				{20 * sec, `"p";a=1;w=10`, ""},
			},
		},
		{
			"a block is longer each time",
			Policy{Quota: 2, Window: 10 * sec, Penalty: BlockLonger, Block: 5 * sec},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{1 * sec, `"p";a=0;w=9`, "9"},
				{2 * sec, `"p";a=0;w=10`, "10"},
				{3 * sec, `"p";a=0;w=20`, "20"},
				{23 * sec, `"p";a=1;w=10`, ""}, // and begins anew
				{23 * sec, `"p";a=0;w=10`, ""},
				{32 * sec, `"p";a=0;w=5`, "5"},
				{33 * sec, `"p";a=0;w=10`, "10"},
			},
		},
		{
			"but not for ever longer",
			Policy{Quota: 0, Window: sec, Penalty: BlockLonger, Block: sec},
			[]try{
				{0, `"p";a=0;w=1`, "-"}, {0, `"p";a=0;w=2`, "-"}, {0, `"p";a=0;w=4`, "-"}, {0, `"p";a=0;w=8`, "-"},
				{0, `"p";a=0;w=16`, "-"}, {0, `"p";a=0;w=32`, "-"}, {0, `"p";a=0;w=64`, "-"}, {0, `"p";a=0;w=128`, "-"},
				{0, `"p";a=0;w=256`, "-"}, {0, `"p";a=0;w=512`, "-"}, {0, `"p";a=0;w=1024`, "-"}, {0, `"p";a=0;w=1024`, "-"},
			},
		},
		{
			"a block of a bucket",
			Policy{Quota: 10, Window: 10 * sec, Burst: 1, Algorithm: TokenBucket, Penalty: Block, Block: 3 * sec},
			[]try{
				{0, `"p";a=0;w=1`, ""},
				{0, `"p";a=0;w=3`, "3"},
				{2 * sec, `"p";a=0;w=3`, "3"}, // though the bucket is full
				{5 * sec, `"p";a=0;w=1`, ""},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.policy.Name = "p"
			api := &API{Policies: []Policy{tt.policy}}
			for i, try := range tt.tries {
				d := api.Decide(epoch.Add(try.at), by("", "GET"))
				assert.Equal(t, try.limit, d.Header.Get("RateLimit"), "request %d", i)
				assert.Equal(t, try.retry == "", d.Served, "request %d", i)
				if try.retry == "-" {
					try.retry = ""
				}
				assert.Equal(t, try.retry, d.Header.Get("Retry-After"), "request %d", i)
			}
		})
	}
}

func TestUnknownPenalty(t *testing.T) {
	assert.Panics(t, func() { newMeter(Policy{Quota: 1, Window: 1, Penalty: 99}) })
}
