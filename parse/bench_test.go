package parse_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headway-go/headway/parse"
)

// benchmark measures reading a field, and the Structured Fields parser alone on the same
// lines.
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

// BenchmarkAbsent reads a response without any of the fields.
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

// typical returns a header of ten fields, none of which is about quota.
func typical() http.Header {
	h := http.Header{}
	for name, value := range map[string]string{
		"Date": "Mon, 05 Aug 2019 09:27:00 GMT", "Content-Type": "application/json; charset=utf-8",
		"Content-Length": "1256", "Cache-Control": "no-store", "Etag": `"33a64df5"`, "Vary": "Accept-Encoding",
		"Server": "nginx", "X-Content-Type-Options": "nosniff", "X-Request-Id": "8f14e45f",
		"Strict-Transport-Security": "max-age=63072000",
	} {
		h.Set(name, value)
	}
	return h
}

// BenchmarkRead reads whole responses. A Reader remembers the policies of the one before.
func BenchmarkRead(b *testing.B) {
	sets := []struct {
		name   string
		fields map[string]string
	}{
		{"nothing", nil},
		{"newest", map[string]string{"RateLimit": `"api";a=99;w=60`, "RateLimit-Policy": `"api";q=100;w=60`}},
		{"draft07", map[string]string{"RateLimit": "limit=100, remaining=50, reset=5", "RateLimit-Policy": "100;w=10"}},
		{"draft06", map[string]string{"RateLimit-Limit": "100", "RateLimit-Remaining": "50", "RateLimit-Reset": "5", "RateLimit-Policy": "100;w=10"}},
		{"x", map[string]string{"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "50", "X-RateLimit-Reset": "1564997225"}},
		{"openai", map[string]string{
			"x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "150000",
			"x-ratelimit-remaining-requests": "59", "x-ratelimit-remaining-tokens": "149984",
			"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s",
		}},
	}
	var r parse.Reader
	for _, set := range sets {
		h := typical()
		for name, value := range set.fields {
			h.Set(name, value)
		}
		b.Run(set.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Read("api.example", 200, h, time.Time{})
			}
		})
	}
	h := typical()
	b.Run("nothing/silent", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.Silent(h)
		}
	})
	h.Set("RateLimit", `"api";a=99;w=60`)
	h.Set("RateLimit-Policy", `"api";q=100;w=60`)
	b.Run("newest/limits+policies", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			parse.Limits(h, parse.Caps{})
			parse.Policies(h, parse.Caps{})
		}
	})
}

// BenchmarkWorst reads 16 and 64 KiB of the slowest inputs, without caps: four times the
// input takes four times the time.
func BenchmarkWorst(b *testing.B) {
	caps := parse.Caps{Quota: -1, Window: -1, RetryAfter: -1, Items: -1, FieldBytes: -1, NameBytes: -1, KeyBytes: -1}
	r := parse.Reader{Caps: caps}
	for name, unit := range map[string]string{
		"items": "a;a=1,", "parameters": "a;b;c;d;e;f;g;h,", "inner": "(a a a a),", "long": "a", "unnamed": "1;w=1,", "members": "a=1,",
	} {
		for _, size := range []int{16 << 10, 64 << 10} {
			value := strings.Repeat(unit, size/len(unit)) + "z"
			for _, field := range []string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit", "X-Ratelimit-Limit"} {
				h := http.Header{field: {value}}
				b.Run(fmt.Sprintf("%s/%s/%dKiB", name, field, size>>10), func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(int64(size))
					for b.Loop() {
						r.Read("", 200, h, time.Time{})
					}
				})
			}
		}
	}
	for _, n := range []int{500, 2000} {
		h := http.Header{}
		for i := range n {
			h.Set(fmt.Sprintf("X-RateLimit-Remaining-%d", i), "1")
		}
		b.Run(fmt.Sprintf("names/%d", n), func(b *testing.B) {
			for b.Loop() {
				r.Read("", 200, h, time.Time{})
			}
		})
	}
}
