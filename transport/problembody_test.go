package transport

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A problemBody keeps up to maxBytes, however it is read. Of a longer body it keeps
// nothing, so that a server cannot make it grow.
func TestProblemBodyIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		size, maxBytes, chunk int
		kept                  bool
	}{
		"shorter":                     {size: 99, maxBytes: 100, chunk: 7, kept: true},
		"as long":                     {size: 100, maxBytes: 100, chunk: 7, kept: true},
		"longer by one":               {size: 101, maxBytes: 100, chunk: 7},
		"longer by one, in one piece": {size: 101, maxBytes: 100, chunk: 512},
		"much longer":                 {size: 100_000, maxBytes: 100, chunk: 512},
		"no bound":                    {size: 100_000, maxBytes: -1, chunk: 512, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte(strings.Repeat("x", tt.size))
			var got [][]byte
			b := &problemBody{
				ReadCloser: io.NopCloser(bytes.NewReader(content)), maxBytes: tt.maxBytes,
				done: func(body []byte) { got = append(got, bytes.Clone(body)) },
			}
			for p := make([]byte, tt.chunk); ; {
				_, err := b.Read(p)
				if tt.maxBytes >= 0 {
					assert.LessOrEqual(t, len(b.kept), tt.maxBytes)
				}
				if err == io.EOF {
					break
				}
				if !assert.NoError(t, err) {
					return
				}
				assert.Empty(t, got, "done was called before the end")
			}
			for range 2 { // at the end, once, and not again when it is closed
				if tt.kept {
					assert.Equal(t, [][]byte{content}, got)
				} else {
					assert.Empty(t, got)
				}
				assert.NoError(t, b.Close())
			}
			assert.Empty(t, b.kept)
		})
	}
}
