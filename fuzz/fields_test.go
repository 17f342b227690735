package fuzz

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
)

// forms are values from the drafts and from real servers.
var forms = []string{
	``,
	`"burst";q=100;w=60,"daily";q=1000;w=86400`,
	`"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:`,
	"\"burst\"; q=5; w=2; pk=:MTJjYTE3YjQ5YWYy:\n\"sustained\"; q=15; w=10; pk=:MTJjYTE3YjQ5YWYy:",
	`"default";r=50;t=30`,
	`"api";a=99;w=60;pk=:R0VUH2FsaWNl:;c=1`,
	`quota;t=1, "sliding";q=12;r=6;t=1`,
	`"api";a=5;w=1;c=2, "api";a=3;w=9, api;r=50;a=9;t=30;w=5`,
	`"reads";user_id;method=GET, "api";shard=12;city=%"%c5%81%c3%b3d%c5%ba";x=?0;y=1.5;z=@1`,
	`limit=100, remaining=50, reset=5`,
	`limit=5;x=1, reset=1795236530, remaining=("a" b)`,
	`10;w=1, 50;w=60, 1000;w=3600, 5000;w=86400`,
	`10;w=1, 10;w=60`,
	`100;w=60;burst=1000;comment="sliding window", 5000;w=3600;burst=0;comment="fixed window"`,
	`10, 10;w=1;name="per-ip", 1000;w=3600`,
	`"a\"b\\c";a=999999999999999;w=-1, 1.500, (1 2);x`,
	`"x";pk=:YQ:, "x";pk=::, "x";pk=:YR==:`,
}

func FuzzPolicies(f *testing.F) {
	for _, form := range forms {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, text string) {
		policies, ignored := parse.Policies(of("Ratelimit-Policy", lines(text)), caps)
		checkPolicies(t, policies)
		checkIgnored(t, ignored)
		again, _ := parse.Policies(of("Ratelimit-Policy", joined(text)), caps)
		if len(joined(text)[0]) <= caps.FieldBytes { // the separators count as bytes
			require.Equal(t, policies, again, "joined and split field lines agree")
		}
		if len(policies) == 0 {
			return
		}
		require.True(t, strictPolicies(lines(text)...), "accepted a field that is not a List")
	})
}

// strictPolicies reports whether field lines are a List, or may be one of Hugging Face,
// whose policies have a String before the name.
func strictPolicies(lines ...string) bool {
	return strictList(lines...) || strings.Contains(strings.Join(lines, ", "), `";"`)
}

// unbounded has no bounds.
var unbounded = parse.Caps{Quota: -1, Window: -1, RetryAfter: -1, Items: -1, FieldBytes: -1, NameBytes: -1, KeyBytes: -1}

func FuzzLimits(f *testing.F) {
	for _, form := range forms {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limits, ignored := parse.Limits(of("Ratelimit", lines(text)), caps)
		checkLimits(t, limits)
		checkIgnored(t, ignored)
		if len(joined(text)[0]) <= caps.FieldBytes {
			again, _ := parse.Limits(of("Ratelimit", joined(text)), caps)
			require.Equal(t, limits, again, "joined and split field lines agree")
		}
		if len(limits) == 0 {
			return
		}
		require.True(t, strictList(lines(text)...), "accepted a field that is not a List")
	})
}

// FuzzOlder reads the fields of drafts -07 and -06.
func FuzzOlder(f *testing.F) {
	for i, form := range forms {
		f.Add(form, forms[len(forms)-1-i], "100", "1795236530")
	}
	f.Add("limit=100, remaining=50, reset=5", "100;w=10", "100, 100;w=60", "5")
	f.Add("limit=10, reset=1", "10;w=1, 50;w=60", "100;w=21600", "20;w=21600")
	var r parse.Reader
	r.Caps = caps
	now := time.Unix(1795236500, 0)
	f.Fuzz(func(t *testing.T, ratelimit, policy, limit, reset string) {
		h := of("Ratelimit", lines(ratelimit))
		h["Ratelimit-Policy"] = lines(policy)
		h["Ratelimit-Limit"] = lines(limit)
		h["Ratelimit-Reset"] = lines(reset)
		got := r.Read("", 200, h, now)
		checkReading(t, got)
		switch got.Dialect {
		case parse.EditorsDraft, parse.Draft08:
			require.True(t, strictList(lines(ratelimit)...) || strictPolicies(lines(policy)...))
		case parse.Draft07:
			require.True(t, strictDictionary(lines(ratelimit)...) || strictPolicies(lines(policy)...))
		}
		if got.Dialect == parse.Draft07 || got.Dialect == parse.Draft06 && !strings.ContainsAny(limit+reset, ",\n") {
			require.Len(t, got.Limits, min(len(got.Limits), 1), "one account")
			for _, l := range got.Limits {
				require.Empty(t, l.Policy)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{
		"20", "0", "1.5", "2.0", "64.57", "-1", "86401", "9223372036854775808", "1795236530", "1795236530000",
		"Mon, 05 Aug 2019 09:27:05 GMT", "Monday, 05-Aug-19 09:27:05 GMT", "Mon Aug  5 09:27:05 2019",
		"Sat, 21 Nov 2026 04:48:19 UTC", "Sat Nov 21 2026 04:48:02 GMT+0000 (Coordinated Universal Time)",
		"2026-03-26T16:00Z", "2016-08-30T11:41:40+00:00", "6m0s", "12ms", "1e3", "5\n10",
	} {
		f.Add(value, "Mon, 05 Aug 2019 09:27:00 GMT", int64(1795236500), int64(0))
		f.Add(value, "", int64(-62135596800), int64(999999999))
		f.Add(value, "Sat, 21 Nov 2026 04:48:00 UTC", int64(1<<62), int64(0))
	}
	f.Fuzz(func(t *testing.T, value, date string, sec, nsec int64) {
		now := time.Unix(sec, nsec)
		for _, field := range []string{"Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
			h := of(field, lines(value))
			h["Date"] = []string{date}
			d, ok, ignored := parse.RetryAfter(h, now, caps)
			checkIgnored(t, ignored)
			require.GreaterOrEqual(t, d, time.Duration(0))
			require.LessOrEqual(t, d, caps.RetryAfter)
			require.True(t, ok || d == 0)
			if d, _, _ = parse.RetryAfter(h, now, unbounded); d < 0 {
				t.Fatal("negative")
			}
		}
		// The same values as a reset.
		r := parse.Reader{Caps: caps}
		for _, field := range []string{"X-Ratelimit-Reset", "Ratelimit-Reset", "X-Ratelimit-Reset-Requests"} {
			h := of(field, lines(value))
			h["Date"] = []string{date}
			checkReading(t, r.Read("", 200, h, now))
		}
	})
}

func FuzzCached(f *testing.F) {
	f.Add("0", "A; hit", "1")
	f.Add("5, 0", `"CDN"; fwd=uri-miss; stored`, "")
	f.Fuzz(func(t *testing.T, age, status, mark string) {
		h := of("Age", lines(age))
		h["Cache-Status"], h["X-From-Cache"] = lines(status), lines(mark)
		cached := parse.Cached(h)
		var r parse.Reader
		h["X-Ratelimit-Remaining"] = []string{"5"}
		require.Equal(t, cached, r.Read("", 200, h, time.Time{}).Cached)
		if cached && !strictList(lines(status)...) {
			h.Del("Cache-Status")
			require.True(t, parse.Cached(h), "a hit in a field that is not a List")
		}
	})
}
