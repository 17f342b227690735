package parse

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The index finds every field of every row, whatever the account in place of an
// asterisk, and nothing else.
func TestFieldIndex(t *testing.T) {
	table := newTable([]Vendor{
		{Name: "own", Remaining: []string{"Acme-*-Left", "q*", "*-everything", "X-*-Seats", "X*Chairs", strings.Repeat("Far-", 20) + "*"}},
		{Name: "long", Sign: strings.Repeat("Long-", 20), Limit: []string{"Beside-Sign"}},
	})
	accounts := []string{"X", "-", "Core", "-Core", "Requests-Per-Minute", strings.Repeat("N", 80)}
	names := 0
	for i := range table.rows {
		r := &table.rows[i]
		patterns := []pattern{newPattern(r.Sign)}
		if r.Sign == "" {
			patterns = append(r.patterns(), r.retry...)
		}
		for _, p := range patterns {
			fields := []string{p.prefix}
			if p.star {
				fields = nil
				for _, account := range accounts {
					fields = append(fields, p.prefix+account+p.suffix)
				}
			}
			for _, name := range fields {
				names++
				assert.Equal(t, table.bits[i], seenIn(&table.index, http.Header{name: {"1"}})&table.bits[i], name)
				assert.Zero(t, seenIn(&table.index, http.Header{name: {}}), "no line of %s", name)
				assert.True(t, table.index.any(http.Header{name: {"1"}}), name)
				assert.False(t, table.index.any(http.Header{name: {}}), "no line of %s", name)
			}
		}
	}
	assert.Greater(t, names, 100)
	for _, common := range []string{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Rate-Limit-Limit", "Ratelimit-Limit", "Ratelimit-Reset"} {
		seen := seenIn(&builtIn().index, http.Header{common: {"1"}})
		assert.Zero(t, seen&(seenRow<<sharedRow), "%s is in none of the rows that are tried one after another", common)
	}
	for _, name := range []string{
		"", "Date", "Content-Type", "X-Request-Id", "X-Ratelimit-Limi", "X-Ratelimit-Limited", "Ratelimit-", "Beside-Sign",
		"Acme--Left", "Q", "x-ratelimit-limit", "RateLimit", "X-Ratelimit-Foo",
	} {
		assert.Zero(t, seenIn(&table.index, http.Header{name: {"1"}}), name)
		assert.False(t, table.index.any(http.Header{name: {"1"}}), name)
	}
}

// seenIn returns the fields of the index that a header has.
func seenIn(x *fieldIndex, h http.Header) sightings {
	var f found
	x.scan(h, &f)
	return f.seen
}

// A name with underscores is read as that with hyphens, unless that is there, too; the header stays as it is.
func TestUnderscores(t *testing.T) {
	var r Reader
	h := http.Header{"X_ratelimit_remaining": {"7"}, "X_ratelimit_limit": {"100"}, "X-Ratelimit-Limit": {"50"}, "Retry_after": {"3"}, "X_other_name": nil}
	before := h.Clone()
	got := r.Read("app.example", 429, h, time.Unix(1776938400, 0))
	assert.Equal(t, before, h)
	assert.Equal(t, []Policy{{Quota: 50, Unit: requests}}, got.Policies)
	assert.Equal(t, []Limit{{Available: 7, Window: None, Cost: None}}, got.Limits)
	assert.Equal(t, 3*time.Second, got.RetryAfter)
	assert.True(t, got.Advised)
	assert.False(t, r.Silent(http.Header{"Retry_after": {"3"}}))
	for _, name := range []string{"Retry_Later", "X_items_remaining", "X-Ratelimit_Remaining", "_", "X_"} {
		assert.True(t, r.Silent(http.Header{name: {"3"}}), name)
	}
	own := Reader{Vendors: []Vendor{{Name: "own", Remaining: []string{"calls_left"}}}}
	assert.Equal(t, "own", own.Read("app.example", 200, http.Header{"Calls_left": {"7"}}, time.Unix(1776938400, 0)).Vendor)
}
