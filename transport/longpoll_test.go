package transport_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

// All requests are long polls, which are answered half a minute after they were counted. At the end of a window the others
// do not wait for the first answer: a client is no slower than in a loop, and refused less often.
func TestWindowsOfLongPolls(t *testing.T) {
	for name, tt := range map[string]struct {
		quota      int64
		n, workers int
	}{
		"few":     {10, 40, 10},
		"waiting": {30, 100, 40},
		"many":    {100, 400, 400},
	} {
		t.Run(name, func(t *testing.T) {
			var took [2]stream
			for i := range took {
				took[i] = stream{path: "/poll", n: tt.n, workers: tt.workers}
				api := &transporttest.API{Dialect: parse.VendorFields, Policies: []transporttest.Policy{{Name: "a", Quota: tt.quota, Window: time.Minute}}}
				api.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { time.Sleep(30 * time.Second) })
				flow(t, routes{"/poll": api}, i == 1, &took[i])
			}
			loop, ours := &took[0], &took[1]
			t.Logf("loop %v, refused %d; ours %v, refused %d", loop.took, loop.refused, ours.took, ours.refused)
			assert.LessOrEqual(t, ours.took, loop.took+loop.took*3/100)
			assert.LessOrEqual(t, ours.refused, loop.refused)
		})
	}
}
