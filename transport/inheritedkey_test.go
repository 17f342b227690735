package transport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
)

// A service limit without a partition key has that of its policy, if the response names
// the policy for one partition (the draft, Section 3.1). If it names several, the limit
// may belong to any of them, and no key is made up.
func TestInheritedKey(t *testing.T) {
	for name, tt := range map[string]struct {
		policy string
		want   partition.Key
	}{
		"one partition":              {`"api";q=10;w=60;pk=:YQ==:`, "a"},
		"one partition, and another": {`"api";q=10;w=60;pk=:YQ==:, "day";q=10;w=60;pk=:Yg==:`, "a"},
		"two partitions":             {`"api";q=10;w=60;pk=:YQ==:, "api";q=20;w=60;pk=:Yg==:`, ""},
		"three partitions":           {`"api";q=10;w=60;pk=:YQ==:, "api";q=20;w=60;pk=:Yg==:, "api";q=30;w=60;pk=:Yw==:`, ""},
		"another policy's":           {`"day";q=10;w=60;pk=:Yg==:`, ""},
	} {
		bubble(t, name, func(t *testing.T) {
			var got []parse.Limit
			s := &transport.Shaper{
				Base:  newServer(says(200, "RateLimit", `"api";a=5;w=60`, "RateLimit-Policy", tt.policy)),
				Trace: &transport.Trace{Learned: func(i transport.LearnedInfo) { got = append(got, i.Limits...) }},
			}
			pass(t, s, getItems(t.Context()))
			if assert.Len(t, got, 1) {
				assert.Equal(t, tt.want, got[0].Key)
			}
		})
	}
}
