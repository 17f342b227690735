package transport

import (
	"fmt"
	"testing"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// BenchmarkLearnKind measures what a response costs that says something new of its
// kind: a server that names a policy in every other response. It must not depend on
// how many kinds are known.
func BenchmarkLearnKind(b *testing.B) {
	for _, kinds := range []int{10, maxKinds} {
		b.Run(fmt.Sprint(kinds), func(b *testing.B) {
			d := newDirectory(new(quota.Accounts), "https://api.example")
			for i := range kinds {
				d.learn("", pathOfURL(fmt.Sprintf("/a/b/%c%c/c/d", 'a'+i%26, 'a'+i/26)), says(true, "a", "b"))
			}
			path, one, two := pathOfURL("/a/b/aa/c/d"), says(true, "a"), says(true, "a", "b")
			b.ReportAllocs()
			for b.Loop() {
				d.learn("", path, one)
				d.learn("", path, two)
			}
		})
	}
}

// BenchmarkHostileKinds measures what a response costs where the server makes up keys
// as long as it may, and each request is of another kind.
func BenchmarkHostileKinds(b *testing.B) {
	d := newDirectory(new(quota.Accounts), "https://api.example")
	key := make([]byte, 200)
	n := 0
	for b.Loop() {
		n++
		r := says(true)
		for i := range maxKindPolicies {
			copy(key, fmt.Sprint(n, i))
			r.policies = append(r.policies, policyStats{policy: fmt.Sprint("p", i), keyed: true, key: partition.Key(key)})
		}
		var path [5]byte
		for i, m := 0, n; i < len(path); i, m = i+1, m/26 {
			path[i] = 'a' + byte(m%26)
		}
		d.learn(fmt.Sprint("scope", n%100), pathOfURL("/a/b/c/d/"+string(path[:])), r)
	}
	b.ReportMetric(float64(d.kindBytes), "kind-bytes")
}
