package transporttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A try is a request and the expected fields of its response. retry is "" if the request
// is served, and "-" if it is refused without Retry-After.
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
			"refusals count in a sliding log",
			Policy{Quota: 2, Window: 10 * sec, Algorithm: SlidingLog, CountRefused: true},
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
			"refusals count in a sliding window",
			Policy{Quota: 2, Window: 10 * sec, Algorithm: SlidingWindow, CountRefused: true},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{5 * sec, `"p";a=0;w=5`, "12"}, // 3 units; one may count: two thirds into the next window
				{10 * sec, `"p";a=0;w=10`, "10"},
				{20 * sec, `"p";a=0;w=10`, ""},
			},
		},
		{
			"refusals do not count by default",
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
			Policy{Quota: 2, Window: 10 * sec, Block: 5 * sec},
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
			"the block doubles",
			Policy{Quota: 2, Window: 10 * sec, BlockLonger: true, Block: 5 * sec},
			[]try{
				{0, `"p";a=1;w=10`, ""},
				{0, `"p";a=0;w=10`, ""},
				{1 * sec, `"p";a=0;w=9`, "9"},
				{2 * sec, `"p";a=0;w=10`, "10"},
				{3 * sec, `"p";a=0;w=20`, "20"},
				{23 * sec, `"p";a=1;w=10`, ""}, // resets the block
				{23 * sec, `"p";a=0;w=10`, ""},
				{32 * sec, `"p";a=0;w=5`, "5"},
				{33 * sec, `"p";a=0;w=10`, "10"},
			},
		},
		{
			"the block doubles ten times",
			Policy{Quota: 0, Window: sec, BlockLonger: true, Block: sec},
			[]try{
				{0, `"p";a=0;w=1`, "-"}, {0, `"p";a=0;w=2`, "-"}, {0, `"p";a=0;w=4`, "-"}, {0, `"p";a=0;w=8`, "-"},
				{0, `"p";a=0;w=16`, "-"}, {0, `"p";a=0;w=32`, "-"}, {0, `"p";a=0;w=64`, "-"}, {0, `"p";a=0;w=128`, "-"},
				{0, `"p";a=0;w=256`, "-"}, {0, `"p";a=0;w=512`, "-"}, {0, `"p";a=0;w=1024`, "-"}, {0, `"p";a=0;w=1024`, "-"},
			},
		},
		{
			"a full bucket can be blocked",
			Policy{Quota: 10, Window: 10 * sec, Burst: 1, Algorithm: TokenBucket, Block: 3 * sec},
			[]try{
				{0, `"p";a=0;w=1`, ""},
				{0, `"p";a=0;w=3`, "3"},
				{2 * sec, `"p";a=0;w=3`, "3"},
				{5 * sec, `"p";a=0;w=1`, ""},
			},
		},
		{
			"refusals count and block",
			Policy{Quota: 1, Window: 10 * sec, Algorithm: SlidingLog, CountRefused: true, Block: 3 * sec},
			[]try{
				{0, `"p";a=0;w=10`, ""},
				{9 * sec, `"p";a=0;w=3`, "10"}, // the log is free at 19 s, the block ends at 12 s
				{12 * sec, `"p";a=0;w=7`, "10"},
				{22 * sec, `"p";a=0;w=10`, ""},
			},
		},
		{
			"a block alone does not count refusals",
			Policy{Quota: 1, Window: 10 * sec, Algorithm: SlidingLog, Block: 3 * sec},
			[]try{
				{0, `"p";a=0;w=10`, ""},
				{6 * sec, `"p";a=0;w=4`, "4"},
				{10 * sec, `"p";a=0;w=10`, ""},
			},
		},
		{
			"BlockLonger alone does nothing",
			Policy{Quota: 1, Window: 10 * sec, BlockLonger: true},
			[]try{
				{0, `"p";a=0;w=10`, ""},
				{9 * sec, `"p";a=0;w=1`, "1"},
				{10 * sec, `"p";a=0;w=10`, ""},
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
