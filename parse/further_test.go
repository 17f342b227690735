package parse_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Responses of APIs as they are documented, of which no recording is at hand: the host, the
// status, the fields, and what they say.
var documented = []struct {
	api    string
	host   string
	status int
	fields string // separated by |
	want   string
}{
	{"Twitch", "api.twitch.tv", 200, "Ratelimit-Limit: 800|Ratelimit-Remaining: 780|Ratelimit-Reset: 1776938402", "Twitch; policy '' 800 points; limit '' 780/150ms (full in 3s)"},
	{"Intercom", "api.intercom.io", 200, "X-RateLimit-Limit: 1000|X-RateLimit-Remaining: 400|X-RateLimit-Reset: 1776938410", "X-RateLimit; policy '' 1000; limit '' 400/11s"},
	{"Pipl", "api.pipl.com", 403, "X-QPS-Allotted: 20|X-QPS-Current: 21|X-QPS-Live-Allotted: 10|X-QPS-Live-Current: 3|X-APIKey-Quota-Allotted: 2000|X-APIKey-Quota-Current: 846|X-Quota-Reset: Friday, April 24, 2026 12:00:00 AM UTC", "Pipl; policy 'qps' 20/1s; policy 'quota' 2000; limit 'qps' 0; limit 'quota' 1154/14h0m1s"},
	{"Pipedrive", "api.pipedrive.com", 200, "x-ratelimit-limit: 80|x-ratelimit-remaining: 79|x-ratelimit-reset: 2|x-daily-requests-left: 9000", "X-RateLimit; policy '' 80; policy 'daily' ?/24h0m0s; limit '' 79/2s; limit 'daily' 9000"},
	{"Figma", "api.figma.com", 429, "Retry-After: 30|X-Figma-Plan-Tier: pro|X-Figma-Rate-Limit-Type: low", "none; retry after 30s!"},
	{"Mailgun", "api.mailgun.net", 200, "X-RateLimit-Limit: 500|X-RateLimit-Remaining: 499|X-RateLimit-Reset: 1776938460000", "X-RateLimit; policy '' 500; limit '' 499/1m0s"},
	{"Klaviyo", "a.klaviyo.com", 200, "RateLimit-Limit: 10, 10;w=1, 150;w=60|RateLimit-Remaining: 9|RateLimit-Reset: 1", "draft -06; policy '' 10/1s; policy '150;w=60' 150/1m0s; limit '' 9/1s"},
	{"Twilio", "api.twilio.com", 200, "Twilio-Concurrent-Requests: 3", "none"},
	{"Bitbucket", "api.bitbucket.org", 200, "X-RateLimit-Limit: 1000|X-RateLimit-Resource: api-repo|X-RateLimit-NearLimit: false", `GitHub; policy ''@"api-repo" 1000`},
	{"Zoom, per second", "api.zoom.us", 200, "X-RateLimit-Category: Light|X-RateLimit-Type: Per-second-limit|X-RateLimit-Limit: 30|X-RateLimit-Remaining: 29", `Zoom; policy ''@"Light\x1fPer-second-limit" 30; limit ''@"Light\x1fPer-second-limit" 29`},
	{"Zoom, per day", "api.zoom.us", 429, "X-RateLimit-Category: Light|X-RateLimit-Type: Daily-limit|X-RateLimit-Limit: 5000|X-RateLimit-Remaining: 0|Retry-After: 2026-04-24T00:00:00Z", `Zoom; policy ''@"Light\x1fDaily-limit" 5000; limit ''@"Light\x1fDaily-limit" 0; retry after 14h0m0s!`},
	{"Fitbit", "api.fitbit.com", 200, "Fitbit-Rate-Limit-Limit: 150|Fitbit-Rate-Limit-Remaining: 149|Fitbit-Rate-Limit-Reset: 1478", "Fitbit; policy '' 150; limit '' 149/24m38s"},
	{"Pinterest", "api.pinterest.com", 200, "X-RateLimit-Limit: 100, 100;w=1, 1000;w=60|X-RateLimit-Remaining: 99|X-RateLimit-Reset: 1", "X-RateLimit; policy '' 100/1s; policy '1000;w=60' 1000/1m0s; limit '' 99/1s"},
	{"Meta", "graph.facebook.com", 200, `X-App-Usage: {"call_count":28,"total_time":25}|X-Business-Use-Case-Usage: {"12":[{"type":"ads","call_count":95}]}`, `Meta; policy 'ads call_count'@"12" 100 percent; policy 'app call_count' 100 percent; policy 'app total_time' 100 percent; limit 'ads call_count'@"12" 5; limit 'app call_count' 72; limit 'app total_time' 75`},
	{"NASA", "api.nasa.gov", 200, "X-RateLimit-Limit: 1000|X-RateLimit-Remaining: 998", "X-RateLimit; policy '' 1000; limit '' 998"},
	{"Mapbox", "api.mapbox.com", 200, "X-Rate-Limit-Interval: 60|X-Rate-Limit-Limit: 600|X-Rate-Limit-Reset: 1776938460", "X-RateLimit; policy '' 600/1m0s; limit '' ?/1m1s"},
	{"PagerDuty", "api.pagerduty.com", 200, "ratelimit-limit: 960|ratelimit-remaining: 959|ratelimit-reset: 51", "draft -06; policy '' 960; limit '' 959/51s"},
	{"Opsgenie", "api.opsgenie.com", 429, "X-RateLimit-State: THROTTLED|X-RateLimit-Reason: ACCOUNT|X-RateLimit-Period-In-Sec: 60", "none"},
	{"Walmart", "marketplace.walmartapis.com", 200, "X-Current-Token-Count: 19|X-Next-Replenish-Time: 1776938461000", "Walmart; limit '' 19/1m1s"},
	{"Freshdesk", "x.freshdesk.com", 200, "X-RateLimit-Total: 50|X-RateLimit-Remaining: 49|X-RateLimit-Used-CurrentRequest: 2", "X-RateLimit; policy '' 50; limit '' 49 cost 2"},
	{"Help Scout", "api.helpscout.net", 200, "X-RateLimit-Limit-Minute: 400|X-RateLimit-Remaining-Minute: 399", "X-RateLimit; policy 'minute' 400/1m0s; limit 'minute' 399"},
	{"Front", "api2.frontapp.com", 200, "X-RateLimit-Limit: 100|X-RateLimit-Remaining: 50|X-RateLimit-Reset: 1776938460.123|X-RateLimit-Burst-Limit: 50|X-RateLimit-Burst-Remaining: 49|X-Front-Tier: 1", "X-RateLimit; policy '' 100; policy 'burst' 50; limit '' 50/1m0.123s; limit 'burst' 49"},
	{"Keap", "api.infusionsoft.com", 200, "x-keap-product-quota-limit: 1500|x-keap-product-quota-used: 3|x-keap-product-quota-available: 1497|x-keap-product-quota-time-unit: day", "Keap; policy 'product-quota' 1500/24h0m0s; limit 'product-quota' 1497"},
	{"Toggl", "api.track.toggl.com", 200, "X-Toggl-Quota-Remaining: 29|X-Toggl-Quota-Resets-In: 3600", "Toggl; limit '' 29/1h0m0s"},
	{"Discogs", "api.discogs.com", 200, "X-Discogs-Ratelimit: 60|X-Discogs-Ratelimit-Remaining: 59|X-Discogs-Ratelimit-Used: 1", "Discogs; policy '' 60/1m0s; limit '' 59"},
	{"MusicBrainz", "musicbrainz.org", 200, "X-RateLimit-Zone: 1.2.3.4|X-RateLimit-Request-Remaining: 1199|X-RateLimit-Limit: 1200|X-RateLimit-Remaining: 1182|X-RateLimit-Reset: 1776938401", "X-RateLimit; policy '' 1200; limit '' 1182/2s; limit 'request' 1199"},
	{"ServiceNow", "x.service-now.com", 429, "X-RateLimit-Limit: 100|X-RateLimit-Reset: 1776938460|X-RateLimit-Rule: abcdef|Retry-After: 60", "X-RateLimit; policy '' 100; limit '' 0/1m1s; retry after 1m0s!"},
	{"GoCardless", "api.gocardless.com", 200, "RateLimit-Limit: 1000|RateLimit-Remaining: 163|RateLimit-Reset: Thu, 23 Apr 2026 10:01:00 GMT", "draft -06; policy '' 1000; limit '' 163/1m1s"},
	{"DatoCMS", "site-api.datocms.com", 200, "X-RateLimit-Limit: 60|X-RateLimit-Remaining: 59|X-RateLimit-Reset: 3", "X-RateLimit; policy '' 60; limit '' 59/3s"},
	{"Dynamics 365", "x.crm.dynamics.com", 200, "x-ms-ratelimit-burst-remaining-xrm-requests: 7998|x-ms-ratelimit-time-remaining-xrm-requests: 1,200.00", "Dataverse; limit 'burst' 7998"},
	{"Cerebras", "api.cerebras.ai", 200, "x-ratelimit-limit-requests-day: 14400|x-ratelimit-limit-tokens-minute: 60000|x-ratelimit-remaining-requests-day: 14399|x-ratelimit-remaining-tokens-minute: 59000|x-ratelimit-reset-requests-day: 33011.382867|x-ratelimit-reset-tokens-minute: 11.382867", "X-RateLimit; policy 'requests-day' 14400/24h0m0s; policy 'tokens-minute' 60000/1m0s tokens; limit 'requests-day' 14399/9h10m11.382867s; limit 'tokens-minute' 59000/11.382867s"},
	{"Together", "api.together.xyz", 200, "x-ratelimit-limit: 10|x-ratelimit-remaining: 9|x-ratelimit-reset: 1|x-tokenlimit-limit: 3000|x-tokenlimit-remaining: 2500", "Together; policy '' 10/1s; policy 'token' 3000/1s tokens; limit '' 9/1s; limit 'token' 2500"},
	{"Fireworks", "api.fireworks.ai", 200, "x-ratelimit-limit-requests: 60|x-ratelimit-remaining-requests: 59|x-ratelimit-limit-tokens-prompt: 60000|x-ratelimit-remaining-tokens-prompt: 59000|x-ratelimit-limit-tokens-generated: 6000|x-ratelimit-remaining-tokens-generated: 5500|x-ratelimit-over-limit: no", "X-RateLimit; policy 'requests' 60; policy 'tokens-generated' 6000 tokens; policy 'tokens-prompt' 60000 tokens; limit 'requests' 59; limit 'tokens-generated' 5500; limit 'tokens-prompt' 59000; parse: value of a wrong type (X-RateLimit-*-Limit, item 0)"},
	{"Cohere", "api.cohere.com", 200, "x-trial-endpoint-call-limit: 10|x-trial-endpoint-call-remaining: 9", "Cohere; policy '' 10/1m0s; limit '' 9"},
	{"ElevenLabs", "api.elevenlabs.io", 200, "current-concurrent-requests: 1|maximum-concurrent-requests: 5", "ElevenLabs; policy '' 5 concurrent-requests; limit '' 4"},
	{"Tumblr", "api.tumblr.com", 200, "X-Ratelimit-Perday-Limit: 5000|X-Ratelimit-Perday-Remaining: 4999|X-Ratelimit-Perday-Reset: 86000|X-Ratelimit-Perhour-Limit: 1000|X-Ratelimit-Perhour-Remaining: 999|X-Ratelimit-Perhour-Reset: 3500", "X-RateLimit; policy 'perday' 5000/24h0m0s; policy 'perhour' 1000/1h0m0s; limit 'perday' 4999/23h53m20s; limit 'perhour' 999/58m20s"},
	{"DocuSign", "na1.docusign.net", 200, "X-RateLimit-Limit: 3000|X-RateLimit-Remaining: 2999|X-RateLimit-Reset: 1776942000|X-BurstLimit-Limit: 500|X-BurstLimit-Remaining: 499", "DocuSign; policy '' 3000/1h0m0s; policy 'burst' 500/30s; limit '' 2999/1h0m1s; limit 'burst' 499"},
	{"SpaceTraders", "api.spacetraders.io", 429, "x-ratelimit-type: IP|x-ratelimit-limit-burst: 30|x-ratelimit-limit-per-second: 2|x-ratelimit-remaining: 0|x-ratelimit-reset: 2026-04-23T10:00:02.500Z|retry-after: 1", "X-RateLimit; policy 'burst' 30; policy 'per-second' 2/1s; limit '' 0/2.5s; retry after 1s!"},
	{"Trakt", "api.trakt.tv", 429, `X-Ratelimit: {"name":"UNAUTHED_API_GET_LIMIT","period":300,"limit":1000,"remaining":0,"until":"2026-04-23T10:04:00Z"}|Retry-After: 10`, "X-RateLimit; policy 'unauthed_api_get_limit' 1000/5m0s; limit 'unauthed_api_get_limit' 0/4m1s; retry after 10s!"},
	{"Azure DevOps", "dev.azure.com", 200, "X-RateLimit-Resource: ATG:20:TF|X-RateLimit-Delay: 2.5|X-RateLimit-Limit: 200|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1776938460|Retry-After: 10", `Azure DevOps; policy ''@"ATG:20:TF" 200 TSTU; retry after 10s`},
	{"LaunchDarkly", "app.launchdarkly.com", 200, "X-Ratelimit-Global-Remaining: 99|X-Ratelimit-Route-Remaining: 4|X-Ratelimit-Reset: 1776938410000", "LaunchDarkly; limit 'global' 99/10s; limit 'route' 4/10s"},
	{"Ticketmaster", "app.ticketmaster.com", 200, "Rate-Limit: 5000|Rate-Limit-Available: 4999|Rate-Limit-Over: 0|Rate-Limit-Reset: 1776988800000", "Ticketmaster; policy '' 5000; limit '' 4999/14h0m0s"},
	{"urlscan", "urlscan.io", 200, "X-Rate-Limit-Action: search|X-Rate-Limit-Limit: 120|X-Rate-Limit-Remaining: 119|X-Rate-Limit-Reset: 2026-04-23T10:00:35.000Z|X-Rate-Limit-Reset-After: 35|X-Rate-Limit-Scope: user|X-Rate-Limit-Window: minute", `urlscan; policy ''@"search" 120/1m0s; limit ''@"search" 119/35s`},
	{"Resend", "api.resend.com", 200, "ratelimit-policy: 2;w=1|ratelimit-limit: 2|ratelimit-remaining: 1|ratelimit-reset: 1", "draft -06; policy '' 2/1s; limit '' 1/1s"},
	{"Pingdom", "api.pingdom.com", 200, "Req-Limit-Short: Remaining: 394 Time until reset: 3589|Req-Limit-Long: Remaining: 71994 Time until reset: 2591989", "Pingdom; limit 'long' 71994/719h59m49s; limit 'short' 394/59m49s"},
	{"Roblox", "apis.roblox.com", 200, "x-ratelimit-limit: 100, 100;w=60|x-ratelimit-remaining: 99|x-ratelimit-reset: 33", "X-RateLimit; policy '' 100/1m0s; limit '' 99/33s"},
	{"Bluesky", "bsky.social", 200, "RateLimit-Limit: 3000|RateLimit-Remaining: 2999|RateLimit-Reset: 1776938700|RateLimit-Policy: 3000;w=300", "draft -06; policy '' 3000/5m0s; limit '' 2999/5m1s"},
	{"Mastodon", "mastodon.social", 200, "X-RateLimit-Limit: 300|X-RateLimit-Remaining: 299|X-RateLimit-Reset: 2026-04-23T10:05:00.123456Z", "X-RateLimit; policy '' 300; limit '' 299/5m0.123456s"},
	{"Canvas", "x.instructure.com", 200, "X-Request-Cost: 0.0185|X-Rate-Limit-Remaining: 699.98", "Canvas; limit '' 699"},
	{"App Store Connect", "api.appstoreconnect.apple.com", 200, "X-Rate-Limit: user-hour-lim:3500;user-hour-rem:500;", "App Store Connect, Eventbrite; policy 'user-hour' 3500/1h0m0s; limit 'user-hour' 500"},
	{"Heroku", "api.heroku.com", 200, "RateLimit-Remaining: 4499", "draft -06; limit '' 4499"},
	{"Groq", "api.groq.com", 429, "retry-after: 2|x-ratelimit-limit-requests: 14400|x-ratelimit-limit-tokens: 18000|x-ratelimit-remaining-requests: 14370|x-ratelimit-remaining-tokens: 17997|x-ratelimit-reset-requests: 2m59.56s|x-ratelimit-reset-tokens: 7.66s", "OpenAI; policy 'requests' 14400; policy 'tokens' 18000 tokens; limit 'requests' 14370/5.985333334s (full in 2m59.56s); limit 'tokens' 17997/2.553333334s (full in 7.66s); retry after 2s!"},
	{"xAI", "api.x.ai", 200, "x-ratelimit-limit-requests: 480|x-ratelimit-limit-tokens: 2000000|x-ratelimit-remaining-requests: 479|x-ratelimit-remaining-tokens: 1999000", "OpenAI; policy 'requests' 480; policy 'tokens' 2000000 tokens; limit 'requests' 479; limit 'tokens' 1999000"},
	{"AbuseIPDB", "api.abuseipdb.com", 429, "X-RateLimit-Limit: 1000|X-RateLimit-Remaining: 0|Retry-After: 29241|X-RateLimit-Reset: 1776967641", "X-RateLimit; policy '' 1000; limit '' 0/8h7m22s; retry after 8h7m21s!"},
	{"Guardian", "content.guardianapis.com", 200, "X-RateLimit-Limit-day: 5000|X-RateLimit-Limit-minute: 720|X-RateLimit-Remaining-day: 4999|X-RateLimit-Remaining-minute: 719", "X-RateLimit; policy 'day' 5000/24h0m0s; policy 'minute' 720/1m0s; limit 'day' 4999; limit 'minute' 719"},
	{"Laravel", "x.example", 429, "X-RateLimit-Limit: 60|X-RateLimit-Remaining: 0|Retry-After: 58|X-RateLimit-Reset: 1776938458", "X-RateLimit; policy '' 60; limit '' 0/59s; retry after 58s!"},
	{"Nexus Mods", "api.nexusmods.com", 200, "x-rl-daily-limit: 2500|x-rl-daily-remaining: 2499|x-rl-daily-reset: 2026-04-24 00:00:00 +0000|x-rl-hourly-limit: 100|x-rl-hourly-remaining: 99|x-rl-hourly-reset: 2026-04-23T11:00:00+00:00", "Nexus Mods; policy 'daily' 2500/24h0m0s; policy 'hourly' 100/1h0m0s; limit 'daily' 2499/14h0m1s; limit 'hourly' 99/1h0m1s"},
	{"Artifactory", "x.jfrog.io", 429, "X-RateLimit-Limit: 20|X-RateLimit-Remaining: -1|X-RateLimit-Reset: 1776938401", "X-RateLimit; policy '' 20; limit '' 0/2s"},
	{"Discord, everywhere", "discord.com", 429, "X-RateLimit-Global: true|X-RateLimit-Scope: global|X-RateLimit-Bucket: abcd|X-RateLimit-Limit: 5|X-RateLimit-Remaining: 4|Retry-After: 3", "Discord; retry after 3s!"},
}

func TestDocumentedResponses(t *testing.T) {
	for _, tt := range documented {
		assert.Equal(t, tt.want, readFields(tt.host, tt.status, tt.fields), tt.api)
	}
}

// readFields tells what is read from fields with | between them, of April 23rd, 10:00:00.
func readFields(host string, status int, fields string) string {
	now := time.Date(2026, time.April, 23, 10, 0, 0, 0, time.UTC)
	h := http.Header{"Date": {now.Format(http.TimeFormat)}}
	for _, field := range strings.Split(fields, "|") {
		name, value, _ := strings.Cut(field, ": ")
		h.Add(name, value)
	}
	return tell(new(parse.Reader).Read(host, status, h, now))
}

// The path of a request partitions what a row names, by the first pattern that matches.
func TestPathKey(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{
		Name: "rooms", Remaining: []string{"X-Left"}, Paths: []string{"rooms/{room}/seats/{seat}", "/rooms/{room}", "{user}/me"},
	}}}
	for _, tt := range []struct{ vendor, path, want string }{
		{"Discord", "/api/v10/channels/123/messages/456", "/123"},
		{"Discord", "/api/v10/guilds/9", "/9"},
		{"Discord", "/api/webhooks/1/token/messages", "/1/token"},
		{"Discord", "/api/webhooks/1", "/1"},
		{"Discord", "/api/v10/users/@me", ""},
		{"Discord", "/channels", ""},
		{"Blockscout", "/api/v2/blocks/17", "/v2"},
		{"Blockscout", "/api/eth-rpc", "/eth-rpc"},
		{"Blockscout", "/api", ""},
		{"Sharkey", "/api/notes/show", "/notes/show"},
		{"Sharkey", "/api/drive/files/create", "/drive/files/create"},
		{"Sharkey", "/api/i", "/i"},
		{"BitMart", "/spot/v4/query/open-orders", "/spot/v4/query/open-orders"},
		{"BitMart", "/contract/public/details", "/contract/public/details"},
		{"Bitget", "/api/v2/spot/market/tickers", "/v2/spot/market/tickers"},
		{"Bitget", "/api/v2/public/time", "/v2/public/time"},
		{"Discord", "/channels/", ""},
		{"Discord", "", ""},
		{"rooms", "/rooms/3/seats/7/", "/3/7"},
		{"rooms", "/x/rooms/3", "/3"},
		{"rooms", "/rooms", ""},
		{"rooms", "/ann/me", "/ann"},
		{"GitHub", "/channels/123", ""},
		{"nobody", "/channels/123", ""},
		{"Discord", strings.Repeat("/x", 100_000) + "/channels/1", ""},
	} {
		assert.Equal(t, tt.want, r.PathKey(tt.vendor, tt.path), tt.path)
	}
}
