package parse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Bodies of refusals as servers send them, and others.
func TestWaitInBody(t *testing.T) {
	const date = "Mon, 30 Nov 2026 10:00:00 GMT"
	const unix = 1796032800 // date
	for _, tt := range []struct {
		name, media, body string
		want              time.Duration
	}{
		{"Telegram", "application/json", `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, 35 * time.Second},
		{"Matrix", "application/json", `{"errcode":"M_LIMIT_EXCEEDED","error":"Too Many Requests","retry_after_ms":2500}`, 2500 * time.Millisecond},
		{"Discord", "application/json", `{"message":"You are being rate limited.","retry_after":64.57,"global":false}`, 64570 * time.Millisecond},
		{"Gemini", "application/json; charset=UTF-8", `{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 34.07s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, 34 * time.Second},
		{"OpenAI", "application/json", `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.","type":"requests","code":"rate_limit_exceeded"}}`, 20 * time.Second},
		{"OpenAI, minutes", "application/json", `{"error":{"message":"Please try again in 7m12.5s. Visit"}}`, 432500 * time.Millisecond},
		{"OpenAI, milliseconds", "application/json", `{"error":{"message":"Please try again in 120ms."}}`, 120 * time.Millisecond},
		{"API Management", "application/json", `{ "statusCode": 429, "message": "Rate limit is exceeded. Try again in 26 seconds." }`, 26 * time.Second},
		{"Azure OpenAI", "application/json", `{"error":{"code":"429","message":"Requests have exceeded call rate limit. Please retry after 6 seconds."}}`, 6 * time.Second},
		{"Azure Resource Manager", "application/json", `{"error":{"code":"TooManyRequests","message":"The request is being throttled. Please try again after '5' minutes."}}`, 5 * time.Minute},
		{"Django REST", "application/json", `{"detail":"Request was throttled. Expected available in 54 seconds."}`, 54 * time.Second},
		{"Todoist", "application/json", `{"error":"Too many requests","error_code":35,"error_extra":{"retry_after":52}}`, 52 * time.Second},
		{"Dropbox", "application/json", `{"error_summary":"too_many_requests/.","error":{"reason":{".tag":"too_many_requests"},"retry_after":300}}`, 5 * time.Minute},
		{"monday.com", "application/json", `{"errors":[{"message":"Complexity budget exhausted","extensions":{"code":"COMPLEXITY_BUDGET_EXHAUSTED","retry_in_seconds":28}}]}`, 28 * time.Second},
		{"Viessmann", "application/json", `{"viErrorId":"x","statusCode":429,"errorType":"RATE_LIMIT_EXCEEDED","extendedPayload":{"requestCountLimit":1450,"limitReset":1796032930000}}`, 130 * time.Second},
		{"Vercel", "application/json", `{"error":{"code":"rate_limited","limit":{"remaining":0,"reset":1796032860,"resetMs":1796032860563,"total":6}}}`, time.Minute},
		{"OpenRouter", "application/json", `{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1796032845000"}}}}`, 45 * time.Second},
		{"Cloudflare", "application/problem+json", `{"type":"https://developers.cloudflare.com/","title":"Error 1015","status":429,"retryable":true,"retry_after":30}`, 30 * time.Second},
		{"Bungie", "application/json", `{"Response":{},"ErrorCode":51,"ThrottleSeconds":7,"Message":"wait"}`, 7 * time.Second},
		{"APIM policy", "application/json", `{"error":"x","Retry-After":"12"}`, 12 * time.Second},
		{"camelCase", "application/json", `{"retryAfterMs":1500}`, 1500 * time.Millisecond},
		{"capitals", "application/json", `{"RETRY_AFTER":3}`, 3 * time.Second},
		{"an instant", "application/json", `{"retryAt":"2026-11-30T10:00:20Z"}`, 20 * time.Second},
		{"a wait before a reset", "application/json", `{"reset_in":3600,"retry_after":5}`, 5 * time.Second},
		{"the longest", "application/json", `[{"retry_after":5},{"retry_after":9}]`, 9 * time.Second},
		{"in a list", "application/json", `{"retry_after":[5]}`, 5 * time.Second},
		{"text", "text/plain; charset=utf-8", "You are doing that too much. Try again in 9 minutes.\n", 9 * time.Minute},
		{"text without a type", "", "Too many requests. Please wait 15 seconds", 0},
		{"WSO2", "application/json", `{"code":"900804","message":"Message throttled out","description":"You have exceeded your quota .You can access API after 2026-Nov-30 10:20:00+0000 UTC","nextAccessTime":"2026-Nov-30 10:30:00+0000 UTC"}`, 30 * time.Minute},
		{"Home Connect", "application/json", `{"error":{"key":"429","description":"The rate limit \"50 calls in 1 minute\" was reached. Requests are blocked during the remaining period of 43 seconds."}}`, 43 * time.Second},
		{"API Management, a quota", "application/json", `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 00:30:02."}`, 30*time.Minute + 2*time.Second},
		{"crates.io", "application/json", `{"errors":[{"detail":"You have published too many new crates. Please try again after Mon, 30 Nov 2026 10:10:00 GMT and see https://crates.io/docs/rate-limits"}]}`, 10 * time.Minute},
		{"Replicate", "application/json", `{"title":"Request was throttled","detail":"Your rate limit for prediction creation is reduced to 6 requests per minute. Your rate limit resets in ~30s.","status":429}`, 30 * time.Second},
		{"Open-Meteo", "application/json", `{"error":true,"reason":"Minutely API request limit exceeded. Please try again in one minute."}`, time.Minute},
		{"Binance", "application/json", `{"code":-1003,"msg":"Way too much request weight used; IP banned until 1796032920000. Please use WebSocket Streams"}`, 2 * time.Minute},
		{"Bitvavo", "application/json", `{"errorCode":110,"error":"Your IP or API key has been banned. The ban expires at 1796032845000."}`, 45 * time.Second},
		{"Akamai", "application/json", `{"rateLimitNext":"2026-11-30T10:00:49Z","rateLimit":2,"title":"Account Rate Limit Exceeded","rateLimitRemaining":0,"status":429}`, 49 * time.Second},
		{"MetaApi", "application/json", `{"id":1,"error":"TooManyRequestsError","metadata":{"recommendedRetryTime":"2026-11-30T10:00:52.361Z"}}`, 52361 * time.Millisecond},
		{"Close", "application/json", `{"error":{"rate_reset":3.5,"message":"API call count exceeded for this 15 second window","rate_limit":240,"rate_window":15}}`, 3500 * time.Millisecond},
		{"minutes and seconds", "application/json", `{"message":"Try again in 2 minutes and 30 seconds."}`, 150 * time.Second},
		{"parts of a second", "text/plain", "Please wait 0.5 seconds, or wait 500 ms.", 500 * time.Millisecond},
		{"at least", "text/plain", "Wait at least 30 seconds", 30 * time.Second},
		{"a colon", "text/plain", "Retry after: 30 seconds", 30 * time.Second},
		{"the shortest sentence", "text/plain", "Do not retry for 30 minutes or more, wait 2 seconds between requests", 2 * time.Second},
		{"the shortest reset", "application/json", `{"limits":{"minute":{"remaining":0,"reset":1796032830},"day":{"remaining":8000,"reset":1796076000}}}`, 30 * time.Second},
		{"a reset of tomorrow", "application/json", `{"monthly":{"resets_at":"2026-12-01T00:00:00Z"}}`, time.Hour},
		{"hours", "text/plain", "try again in 5h2m0s", time.Hour},
		{"API Management, hours", "application/json", `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 00:59:38."}`, 59*time.Minute + 38*time.Second},
		{"API Management, more than one", "application/json", `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 01:27:38."}`, time.Hour},
		{"API Management, days and a clock", "text/plain", "Quota will be replenished in 6.02:00:00.", time.Hour},
		{"API Management, days", "application/json", `{"statusCode":403,"message":"Out of call volume quota. Quota will be replenished in 2.12 days."}`, time.Hour},
		{"Visma", "application/json", `{"ErrorCode":4010,"DeveloperErrorMessage":"API calls quota exceeded! maximum admitted 600 per Minute. Try again in 55 seconds."}`, 55 * time.Second},
		{"Supabase", "application/json", `{"code":"over_email_send_rate_limit","message":"For security purposes, you can only request this after 42 seconds."}`, 42 * time.Second},
		{"another thing that may be done", "text/plain", "You can send another message after 5 minutes.", 5 * time.Minute},
		{"ACME", problemJSON, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many certificates (5) already issued in the last 168h0m0s, retry after 2026-11-30 10:07:45 UTC: see https://letsencrypt.org/docs/rate-limits/"}`, 465 * time.Second},
		{"ACME, the next day", problemJSON, `{"detail":"too many new orders in the last 24h0m0s, retry after 2026-12-01 06:07:45 UTC"}`, time.Hour},
		{"Gmail", "application/json", `{"error":{"code":429,"message":"User-rate limit exceeded.  Retry after 2026-11-30T10:15:00.500Z"}}`, 900500 * time.Millisecond},
		{"an instant with slashes and an offset", "text/plain", "Try again at 2026/11/30 11:00:40 +0100", 40 * time.Second},
		{"SoundCloud", "application/json", `{"errors":[{"meta":{"rate_limit":{"time_window":"PT24H"},"remaining_requests":0,"reset_time":"2026/11/30 10:50:00 +0000"}}]}`, 50 * time.Minute},
		{"WSO2, in French", "application/json", `{"nextAccessTime":"2026-nov.-30 10:05:00+0000 UTC"}`, 5 * time.Minute},
		{"WSO2, a month in French", "application/json", `{"nextAccessTime":"2026-d\u00e9c.-01 09:30:00+0000 UTC"}`, 23*time.Hour + 30*time.Minute},
		{"WSO2, no month", "application/json", `{"nextAccessTime":"2026-foo-30 10:05:00+0000 UTC"}`, 0},

		{"seconds or milliseconds", "application/json", `{"retry_after":5000}`, 0},
		{"zero", "application/json", `{"retry_after":0}`, 0},
		{"past", "application/json", `{"reset":1796032700}`, 0},
		{"negative", "application/json", `{"retry_after":-4}`, 0},
		{"above the cap", "application/json", `{"retry_after_seconds":86401}`, 0},
		{"null", "application/json", `{"retry_after":null}`, 0},
		{"a boolean", "application/json", `{"retry_after":true,"wait":false}`, 0},
		{"no wait", "application/json", `{"error":"Rate limit exceeded: 5 per 1 minute","limit":5,"retries":3}`, 0},
		{"a rate", "text/plain", "Limit of 10 per 60 seconds exceeded", 0},
		{"a rate of a request", "text/plain", "Limit of 1 request 60 seconds long exceeded; 10 requests in 1 minute", 0},
		{"a threat", "application/json", `{"message":"Repeated violations will get your IP blocked for 24 hours, or your key banned for 1 day."}`, 0},
		{"a period", "application/json", `{"message":"Limit of 100 requests in a period of 60 minutes exceeded. Your free trial period of 14 days"}`, 0},
		{"what the client sent", "application/json", `{"query":"how long to wait 1 hour","params":{"wait":600},"text":"try again in 5 minutes"}`, 0},
		{"a phone number", "text/plain", "Please retry 4155551234 later", 0},
		{"a time of day", "text/plain", "The counter resets at 00:30:00 UTC", 0},
		{"a rate by the clock", "text/plain", "You may send 100 requests in 02:00:00", 0},
		{"a time of day after which", "text/plain", "Try again after 18:00:00", 0},
		{"a date without a zone", "text/plain", "Retry after 2026-11-30 10:07:45", 0},
		{"an instant that is over", "text/plain", "The request of user 5 at 2026-11-30 09:59:59 UTC was refused", 0},
		{"an instant as in logs", "text/plain", "Rate limit exceeded at 2026-11-30T10:00:00.700Z. Try again in 30 seconds.", 30 * time.Second},
		{"when a key expires", "text/plain", "Your key is valid until 2026-11-30T10:20:00Z", 0},
		{"an instant above the cap", "text/plain", "Your trial is valid until 2026-12-15 00:00:00 UTC", 0},
		{"days above all", "text/plain", "Try again in 45 days", 0},
		{"what can be done to a client", "text/plain", "Accounts can be blocked after 5 minutes", 0},
		{"other members", "application/json", `{"retry":3,"throttle":600,"retry_after_count":900,"period_end":1796032825}`, 0},
		{"many", "application/json", `{"` + strings.Repeat("x", 8000) + `":[` + strings.Repeat("1,", 3900) + `1],"z":{"retry_after":5}}`, 0},
		{"an endless wait", "text/plain", "Wait 99999999999999999999 days and 30 days and 7 days and 99999999999 days and 1 day", 0},
		{"tomorrow", "application/json", `{"reason":"Daily API request limit exceeded. Please try again tomorrow."}`, 0},
		{"later", "text/plain", "Too many requests, please try again later.", 0},
		{"HTML", "text/html", "Try again in 9 minutes.", 0},
		{"cut off", "application/json", `{"retry_after":5`, 0},
		{"empty", "application/json", ``, 0},
		{"too long", "application/json", `{"retry_after":5,"x":"` + strings.Repeat("x", 16<<10) + `"}`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := http.Header{"Date": {date}, "Content-Type": {tt.media}}
			_, _, got := parse.ReadBody(429, h, []byte(tt.body), time.Unix(unix+500, 0), parse.Caps{})
			assert.Equal(t, tt.want, got)
		})
	}
}
