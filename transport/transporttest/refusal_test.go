package transporttest

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRetryAfter(t *testing.T) {
	const sec = time.Second
	start := time.Date(2019, 8, 5, 9, 26, 0, 0, time.UTC)
	for _, tt := range []struct {
		name      string
		algorithm Algorithm // of a quota of 4 in 60 s, used up at start
		form      string    // of Retry-After
		rounding  func(float64) float64
		after     time.Duration
		cost      int64
		date      string
		want      string
	}{
		{"seconds", FixedWindow, "", nil, 55 * sec, 1, "Mon, 05 Aug 2019 09:26:55 GMT", "5"},
		{"rounded up", FixedWindow, "", nil, 55*sec + 1, 1, "Mon, 05 Aug 2019 09:26:55 GMT", "5"},
		{"rounded down", FixedWindow, "", math.Floor, 55*sec + 1, 1, "Mon, 05 Aug 2019 09:26:55 GMT", "4"},
		{"last instant", FixedWindow, "", math.Floor, 60*sec - 1, 1, "Mon, 05 Aug 2019 09:26:59 GMT", "0"},
		{"date", FixedWindow, "date", nil, 55 * sec, 1, "Mon, 05 Aug 2019 09:26:55 GMT", "Mon, 05 Aug 2019 09:27:00 GMT"},
		{"date lies seconds after Date", FixedWindow, "date", nil, 54*sec + 1, 1, "Mon, 05 Aug 2019 09:26:54 GMT", "Mon, 05 Aug 2019 09:27:00 GMT"},
		{"date rounded down", FixedWindow, "date", math.Floor, 54*sec + 1, 1, "Mon, 05 Aug 2019 09:26:54 GMT", "Mon, 05 Aug 2019 09:26:59 GMT"},
		{"none", FixedWindow, "none", nil, 55 * sec, 1, "Mon, 05 Aug 2019 09:26:55 GMT", ""},
		{"aligned", AlignedWindow, "", nil, 12 * sec, 1, "Mon, 05 Aug 2019 09:26:12 GMT", "48"},
		{"bucket", TokenBucket, "", nil, 12 * sec, 1, "Mon, 05 Aug 2019 09:26:12 GMT", "3"},
		{"bucket, all of it", TokenBucket, "", nil, 12 * sec, 4, "Mon, 05 Aug 2019 09:26:12 GMT", "48"},
		{"never", FixedWindow, "", nil, 12 * sec, 5, "Mon, 05 Aug 2019 09:26:12 GMT", ""},
		{"never, bucket", TokenBucket, "date", nil, 12 * sec, 5, "Mon, 05 Aug 2019 09:26:12 GMT", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cost := int64(4)
			api := &API{
				Policies:       []Policy{{Name: "p", Quota: 4, Window: time.Minute, Algorithm: tt.algorithm}},
				RetryAfterDate: tt.form == "date",
				OmitRetryAfter: tt.form == "none",
				Rounding:       tt.rounding,
				Cost:           func(*http.Request) int64 { return cost },
			}
			require.True(t, api.Decide(start, &http.Request{}).Served)
			cost = tt.cost
			d := api.Decide(start.Add(tt.after), &http.Request{})
			require.False(t, d.Served)
			assert.Equal(t, tt.date, d.Header.Get("Date"))
			assert.Equal(t, tt.want, d.Header.Get("Retry-After"))
		})
	}
}

// A wait that rounds up to more than the longest Duration.
func TestRetryAfterFar(t *testing.T) {
	api := &API{Policies: []Policy{{Name: "p", Quota: 1, Window: 1<<63 - 1}}}
	api.Decide(epoch, &http.Request{})
	assert.Equal(t, "9223372037", api.Decide(epoch, &http.Request{}).Header.Get("Retry-After"))
	api.RetryAfterDate = true
	assert.Equal(t, "Fri, 11 Apr 2262 23:47:17 GMT", api.Decide(epoch, &http.Request{}).Header.Get("Retry-After"))
}

// Retry-After is the longest wait of all violated policies. There is none if one of
// them will never have enough quota.
func TestRetryAfterOfSeveralPolicies(t *testing.T) {
	api := &API{Policies: []Policy{
		{Name: "minute", Quota: 2, Window: time.Minute},
		{Name: "hour", Quota: 2, Window: time.Hour},
		{Name: "day", Quota: 3, Window: 24 * time.Hour},
		{Name: "second", Quota: 2, Window: time.Second},
	}}
	for range 2 {
		require.True(t, api.Decide(epoch, &http.Request{}).Served)
	}
	d := api.Decide(epoch, &http.Request{})
	assert.Equal(t, []string{"minute", "hour", "second"}, d.Violated)
	assert.Equal(t, "3600", d.Header.Get("Retry-After"))

	d = api.Decide(epoch.Add(time.Second), &http.Request{})
	assert.Equal(t, []string{"minute", "hour"}, d.Violated)

	cost := int64(1)
	api = &API{
		Policies: []Policy{{Name: "once", Quota: 1}, {Name: "minute", Quota: 2, Window: time.Minute}},
		Cost:     func(*http.Request) int64 { return cost },
	}
	require.True(t, api.Decide(epoch, &http.Request{}).Served)
	cost = 2
	d = api.Decide(epoch, &http.Request{})
	assert.Equal(t, []string{"once", "minute"}, d.Violated)
	assert.Empty(t, d.Header.Values("Retry-After"))
}

func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		name        string
		api         *API
		status      int
		contentType string
		body        string
	}{
		{"text", &API{}, 429, "text/plain; charset=utf-8", "quota exceeded\n"},
		{"status", &API{Status: 403}, 403, "text/plain; charset=utf-8", "quota exceeded\n"},
		{
			"problem", &API{Problem: true, Status: 503}, 503, "application/problem+json",
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
				`"title":"Request cannot be satisfied as assigned quota has been exceeded",` +
				`"status":503,"violated-policies":["empty","spent"]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			api := tt.api
			api.Policies = []Policy{{Name: "enough", Quota: 1}, {Name: "empty"}, {Name: "spent"}}
			api.Handler = http.NotFoundHandler()
			d := api.Decide(epoch, &http.Request{})
			assert.False(t, d.Served)
			assert.Equal(t, tt.status, d.Status)
			assert.Equal(t, tt.contentType, d.Header.Get("Content-Type"))
			assert.Equal(t, tt.body, string(d.Body))
			assert.Equal(t, []string{"empty", "spent"}, d.Violated)
			assert.Equal(t, `"enough";a=1, "empty";a=0, "spent";a=0`, d.Header.Get("RateLimit"))
			assert.Equal(t, `"enough";q=1, "empty";q=0, "spent";q=0`, d.Header.Get("RateLimit-Policy"))
		})
	}
}
