package parse

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Law: find returns the same with and without the map.
func TestFind(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var (
			x      index
			values []Limit
			places = map[identity]int{}
		)
		for range random.IntN(5 * maxScan) {
			v := Limit{
				Policy: strconv.Itoa(random.IntN(2 * maxScan)),
				Key:    Key(strconv.Itoa(random.IntN(2))),
				HasKey: random.IntN(2) == 0,
			}
			want, known := places[v.identity()]
			if !known {
				want = None
			}
			require.Equal(t, want, find(&x, values, v), "seed %d", seed)
			if !known {
				places[v.identity()] = len(values)
				values = append(values, v)
			}
		}
	}
}
