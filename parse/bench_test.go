package parse_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headway-go/headway/parse"
)

// benchmark measures one reading of a field beside what the Structured Fields
// parser alone takes for the same lines.
func benchmark(b *testing.B, field string, lines []string, read func(http.Header)) {
	h := header(field, lines...)
	b.Run("headway", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			read(h)
		}
	})
	b.Run("httpsfv", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			httpsfv.UnmarshalList(lines)
		}
	})
}

func BenchmarkLimits(b *testing.B) {
	read := func(h http.Header) { parse.Limits(h, parse.Caps{}) }
	b.Run("one", func(b *testing.B) { benchmark(b, "RateLimit", []string{`"api";a=99;w=60`}, read) })
	b.Run("key", func(b *testing.B) { benchmark(b, "RateLimit", []string{`"api";a=99;w=60;pk=:R0VUH2FsaWNl:`}, read) })
	b.Run("two", func(b *testing.B) { benchmark(b, "RateLimit", []string{`"burst";a=9;w=6, "daily";a=99;w=600`}, read) })
	b.Run("lines", func(b *testing.B) {
		benchmark(b, "RateLimit", []string{`"burst";a=9;w=6`, `"daily";a=99;w=600`}, read)
	})
}

func BenchmarkPolicies(b *testing.B) {
	read := func(h http.Header) { parse.Policies(h, parse.Caps{}) }
	b.Run("one", func(b *testing.B) { benchmark(b, "RateLimit-Policy", []string{`"api";q=100;w=60`}, read) })
	b.Run("key", func(b *testing.B) {
		benchmark(b, "RateLimit-Policy", []string{`"api";q=100;w=60;pk=:R0VUH2FsaWNl:`}, read)
	})
}

func BenchmarkDeclarations(b *testing.B) {
	benchmark(b, "RateLimit-Partition", []string{`"api";user_id;method`}, func(h http.Header) { parse.Declarations(h, parse.Caps{}) })
}

// BenchmarkAbsent is what a response without any of the fields costs.
func BenchmarkAbsent(b *testing.B) {
	h := http.Header{"Content-Type": {"text/plain"}, "Date": {"Mon, 05 Aug 2019 09:27:00 GMT"}}
	b.ReportAllocs()
	for b.Loop() {
		parse.Cached(h)
		parse.Policies(h, parse.Caps{})
		parse.Limits(h, parse.Caps{})
		parse.Declarations(h, parse.Caps{})
		parse.RetryAfter(h, time.Time{}, parse.Caps{})
	}
}

func BenchmarkRetryAfter(b *testing.B) {
	for name, value := range map[string]string{"seconds": "20", "date": "Mon, 05 Aug 2019 09:27:05 GMT"} {
		h := http.Header{"Date": {"Mon, 05 Aug 2019 09:27:00 GMT"}, "Retry-After": {value}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parse.RetryAfter(h, time.Time{}, parse.Caps{})
			}
		})
	}
}
