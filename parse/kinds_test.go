package parse_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
)

// Kinds of fields that few servers send; and what looks like them.
var kinds = []struct {
	name   string
	host   string
	status int
	fields string // separated by |
	want   string
}{
	// Names that begin alike may be of a quota that few requests count in.
	{"of a feature, perhaps", "x.example", 200, "X-FloodControl-Limit: 30|X-FloodControl-Remaining: 1|X-FloodControl-Reset: 1776938445", "none"},
	{"of a feature, perhaps: a refusal", "x.example", 429, "X-FloodControl-Limit: 30|X-FloodControl-Remaining: 0|X-FloodControl-Reset: 45", "none"},
	{"of a feature, perhaps: beside a rate", "x.example", 200, "X-RateLimit-Limit: 500|X-RateLimit-Remaining: 499|X-Exports-Quota: 30|X-Exports-Left: 1|X-Exports-Resets-In: 600", "X-RateLimit; policy '' 500; limit '' 499"},

	// Service limits in the form of the drafts under an older name.
	{"drafts, X", "x.example", 200, `X-RateLimit-Policy: "default";q=3000;w=60, "uploads";q=5000;w=86400|X-RateLimit: "default";r=2987;t=1, "uploads";r=4210;t=13651`, "X-RateLimit; policy 'default' 3000/1m0s; policy 'uploads' 5000/24h0m0s; limit 'default' 2987/1s; limit 'uploads' 4210/3h47m31s"},
	{"drafts, X, the newest", "x.example", 200, `X-RateLimit: "default";a=5;w=30`, "X-RateLimit; limit 'default' 5/30s"},
	{"no drafts, X: nothing is left of what", "x.example", 200, `X-RateLimit: "default";t=1`, "none; parse: value of a wrong type (X-RateLimit, item 0)"},
	{"no drafts, X: an item is none", "x.example", 200, `X-RateLimit: "default";r=5;t=1, 7`, "X-RateLimit; policy '' 7; parse: value of a wrong type (X-RateLimit, item 0)"},
	{"counter, one request", "x.example", 200, "X-Api-Request-Limit: 100|X-Api-Request-Remaining: 76", "X-RateLimit; policy 'api-request' 100; limit 'api-request' 76"},

	// The window beside fields of draft -06.
	{"window, draft -06", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Reset: 21|RateLimit-Window: 60", "draft -06; policy '' 100/1m0s; limit '' 73/21s"},
	{"window, draft -06, a duration", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Window: 1m", "draft -06; policy '' 100/1m0s; limit '' 73"},
	{"window, draft -06, in milliseconds", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Window-Ms: 60000", "draft -06; policy '' 100/1m0s; limit '' 73"},
	{"window, draft -06, a word", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Period: hour", "draft -06; policy '' 100/1h0m0s; limit '' 73"},
	{"window, draft -06, beside a policy", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Window: 5|RateLimit-Policy: 100;w=60", "draft -06; policy '' 100/1m0s; limit '' 73"},
	{"window, draft -06, of a limit with windows", "x.example", 200, "RateLimit-Limit: 100, 100;w=60|RateLimit-Remaining: 73|RateLimit-Window: 5", "draft -06; policy '' 100/1m0s; limit '' 73"},
	{"window, draft -06, underscores", "x.example", 200, "ratelimit_limit: 100|ratelimit_remaining: 73|ratelimit_window: 60", "draft -06; policy '' 100/1m0s; limit '' 73"},
	{"window, draft -06, in minutes perhaps", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Reset: 16|RateLimit-Window: 15", "draft -06; policy '' 100; limit '' 73/16s; parse: contradicts another item (RateLimit-Window)"},
	{"window, draft -06, as long as the reset", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Reset: 15|RateLimit-Window: 15", "draft -06; policy '' 100/15s; limit '' 73/15s"},
	{"window, draft -06, a period of minutes perhaps", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 0|RateLimit-Reset: 899|RateLimit-Period: 15", "draft -06; policy '' 100; limit '' 0/14m59s; parse: contradicts another item (RateLimit-Period)"},
	{"window, draft -06, an instant", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Reset: 1776938416|RateLimit-Window: 15", "draft -06; policy '' 100/15s; limit '' 73/17s"},
	{"window, draft -06, shorter than to an instant", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 73|RateLimit-Reset: 1776938417|RateLimit-Window: 15", "draft -06; policy '' 100; limit '' 73/18s; parse: contradicts another item (RateLimit-Window)"},
	{"window, draft -06, of nothing", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Window: 0", "draft -06; policy '' 100; parse: value out of range (RateLimit-Window)"},
	{"window, draft -06, no figures", "x.example", 200, "RateLimit-Window: 60", "none"},
	{"window, without X", "x.example", 200, "Rate-Limit-Limit: 100|Rate-Limit-Remaining: 73|Rate-Limit-Window: 60", "X-RateLimit; policy '' 100/1m0s; limit '' 73"},
	{"window, draft -07", "x.example", 200, "RateLimit: limit=100, remaining=73, reset=21|RateLimit-Window: 60", "draft -07; policy '' 100; limit '' 73/21s"},

	// A window that is over long before what is left is renewed: the time between two requests, or minutes.
	{"window, over before the reset", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 599|X-RateLimit-Interval: 60|X-RateLimit-Reset: 1776940800", "X-RateLimit; policy '' 600; limit '' 599/40m1s; parse: contradicts another item (X-RateLimit-Interval)"},
	{"window, over before the reset, a duration", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 599|X-RateLimit-Window: 60|X-RateLimit-Reset: 40m0s", "X-RateLimit; policy '' 600; limit '' 599/40m0s; parse: contradicts another item (X-RateLimit-Window)"},
	{"window, over before the reset, a period as the limit", "x.example", 200, "X-Rate-Limit-Limit: 1m|X-Rate-Limit-Remaining: 8|X-Rate-Limit-Reset: 2026-04-23T10:40:00Z", "X-RateLimit; limit '' 8/40m1s; parse: contradicts another item (X-Rate-Limit-Limit)"},
	{"window, as long as the reset", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 599|X-RateLimit-Window: 60|X-RateLimit-Reset: 1776938460", "X-RateLimit; policy '' 600/1m0s; limit '' 599/1m1s"},
	{"window, a clock that is ahead", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 599|X-RateLimit-Window: 60|X-RateLimit-Reset: 1776938522", "X-RateLimit; policy '' 600/1m0s; limit '' 599/2m3s"},
	{"window, over before the reset by little more", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 599|X-RateLimit-Window: 60|X-RateLimit-Reset: 1776938523", "X-RateLimit; policy '' 600; limit '' 599/2m4s; parse: contradicts another item (X-RateLimit-Window)"},
	{"window, over before the reset: locked out", "x.example", 429, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 0|X-RateLimit-Window: 60|X-RateLimit-Reset: 1776940800", "X-RateLimit; policy '' 600/1m0s; limit '' 0/40m1s"},
	{"window, over before the reset: nothing says what is left", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Window: 60|X-RateLimit-Reset: 1776940800", "X-RateLimit; policy '' 600/1m0s; limit '' ?/40m1s"},
	{"window, over before the reset: of an unknown unit", "x.example", 200, "X-RateLimit-Limit: 600|X-RateLimit-Remaining: 599|X-RateLimit-Window: 60|X-RateLimit-Reset: 900", "X-RateLimit; policy '' 600/1m0s; limit '' 599/15m0s"},

	{"window, over before the reset: of two", "x.example", 200, "X-RateLimit-Limit: 10, 600|X-RateLimit-Remaining: 9, 599|X-RateLimit-Window: 1, 60|X-RateLimit-Reset: 1776938450", "X-RateLimit; policy '10;w=1' 10/1s; policy '600;w=60' 600/1m0s; limit '10;w=1' 9/51s; limit '600;w=60' 599/51s"},
	{"window, over before one of two resets", "x.example", 200, "X-RateLimit-Limit: 10, 600|X-RateLimit-Remaining: 9, 599|X-RateLimit-Window: 60|X-RateLimit-Reset: 1776940800, 1776938450", "X-RateLimit; policy '10;w=60' 10/1m0s; policy '600;w=60' 600/1m0s; limit '10;w=60' 9/40m1s; limit '600;w=60' 599/51s"},

	// Policies with a parameter for the name, as Envoy and drafts before -08 may have, beside service limits with names.
	{"policies, named in parameters", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip", 30;w=60;name=min|RateLimit: "ip";r=2;t=4`, "draft -08; policy 'ip' 3/10s; policy 'min' 30/1m0s; limit 'ip' 2/4s"},
	{"policies, named in parameters: the newest draft", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip"|RateLimit: "ip";a=2;w=4`, "editor's draft; policy 'ip' 3/10s; limit 'ip' 2/4s"},
	{"policies, named in parameters: of one quota", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip", 3;w=60;name="user"|RateLimit: "ip";r=2;t=4`, "draft -08; policy 'ip' 3/10s; policy 'user' 3/1m0s; limit 'ip' 2/4s"},
	{"policies, named in parameters: a name twice", "x.example", 200, `RateLimit-Policy: 2;w=10;name="ip", 3;w=60;name="ip"|RateLimit: "ip";r=2;t=4`, "draft -08; policy 'ip' 2/1m0s; limit 'ip' 2/4s"},
	{"policies, named in parameters: beside a declaration", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip"|RateLimit-Partition: "ip";user_id`, "editor's draft; policy 'ip' 3/10s"},
	{"policies, one without a name", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip", 30;w=60|RateLimit: "ip";r=2;t=4`, "draft -08; limit 'ip' 2/4s; parse: value of a wrong type (RateLimit-Policy, item 0); parse: value of a wrong type (RateLimit-Policy, item 1)"},
	{"policies, one without a window", "x.example", 200, `RateLimit-Policy: 3;name="ip"|RateLimit: "ip";r=2;t=4`, "draft -08; limit 'ip' 2/4s; parse: value of a wrong type (RateLimit-Policy, item 0)"},
	{"policies, one whose name is a number", "x.example", 200, `RateLimit-Policy: 3;w=10;name=7|RateLimit: "ip";r=2;t=4`, "draft -08; limit 'ip' 2/4s; parse: value of a wrong type (RateLimit-Policy, item 0)"},
	{"policies, a List within", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip", (1 2)|RateLimit: "ip";r=2;t=4`, "draft -08; limit 'ip' 2/4s; parse: value of a wrong type (RateLimit-Policy, item 0); parse: value of a wrong type (RateLimit-Policy, item 1)"},
	{"policies, named in parameters: draft -06 has one account", "x.example", 200, `RateLimit-Policy: 3;w=10;name="ip"|RateLimit-Limit: 3|RateLimit-Remaining: 2|RateLimit-Reset: 4`, "draft -06; policy '' 3/10s; limit '' 2/4s"},

	// Units.
	{"bytes", "x.example", 200, "X-RateLimit-Limit-Bytes: 1000|X-RateLimit-Remaining-Bytes: 500|X-RateLimit-Reset: 60", "X-RateLimit; policy 'bytes' 1000 content-bytes; limit 'bytes' 500/1m0s"},
	{"bytes of a day", "x.example", 200, "X-RateLimit-Bytes-Day-Limit: 1000|X-RateLimit-Bytes-Day-Remaining: 500", "X-RateLimit; policy 'bytes-day' 1000/24h0m0s content-bytes; limit 'bytes-day' 500"},
	{"bandwidth: bytes, or more", "x.example", 200, "X-RateLimit-Limit-Bandwidth: 1000|X-RateLimit-Remaining-Bandwidth: 500", "X-RateLimit; policy 'bandwidth' 1000 bandwidth; limit 'bandwidth' 500"},
	{"megabytes", "x.example", 200, "X-RateLimit-Limit-MB: 1000|X-RateLimit-Remaining-MB: 500", "X-RateLimit; policy 'mb' 1000 mb; limit 'mb' 500"},
	{"points", "x.example", 200, "X-RateLimit-Limit-Points: 1000|X-RateLimit-Remaining-Points: 500", "X-RateLimit; policy 'points' 1000 points; limit 'points' 500"},
	{"emails: a request is one", "x.example", 200, "X-RateLimit-Limit-Emails: 1000|X-RateLimit-Remaining-Emails: 500", "X-RateLimit; policy 'emails' 1000; limit 'emails' 500"},
	{"uploads and messages: a request is one", "x.example", 200, "X-RateLimit-Limit-Uploads: 5|X-RateLimit-Remaining-Uploads: 3|X-RateLimit-Limit-Messages: 9|X-RateLimit-Remaining-Messages: 8", "X-RateLimit; policy 'messages' 9; policy 'uploads' 5; limit 'messages' 8; limit 'uploads' 3"},

	// Money: what a request costs is not known.
	{"money, dollars", "x.example", 200, "X-RateLimit-Limit-USD: 1|X-RateLimit-Remaining-USD: 0.979|X-RateLimit-Reset: 43200", "none; parse: may not concern the request (X-RateLimit-Limit-*)"},
	{"money, cents of a budget", "x.example", 200, "X-RateLimit-Limit-Budget-Cents: 500|X-RateLimit-Remaining-Budget-Cents: 499.1234567890", "none; parse: may not concern the request (X-RateLimit-Limit-*)"},
	{"money, beside requests", "x.example", 200, "X-RateLimit-Limit-Requests: 60|X-RateLimit-Remaining-Requests: 59|X-RateLimit-EUR-Limit: 5|X-RateLimit-EUR-Remaining: 0", "X-RateLimit; policy 'requests' 60; limit 'requests' 59; parse: may not concern the request (X-RateLimit-*-Limit)"},
	{"money, beside tokens", "x.example", 200, "X-RateLimit-Limit-Tokens: 6000|X-RateLimit-Remaining-Tokens: 5990|X-RateLimit-Limit-USD: 10|X-RateLimit-Remaining-USD: 0", "OpenAI; policy 'tokens' 6000 tokens; limit 'tokens' 5990; parse: may not concern the request (X-RateLimit-Limit-*)"},
	{"money, spent", "x.example", 429, "X-RateLimit-Limit-USD: 1|X-RateLimit-Remaining-USD: 0|Retry-After: 20000", "none; retry after 5h33m20s!; parse: may not concern the request (X-RateLimit-Limit-*)"},
	{"money, a fraction of what were ten tokens", "x.example", 200, "X-AI-RateLimit-Limit-3600-openai: 10|X-AI-RateLimit-Remaining-3600-openai: 9.997", "none; parse: may not concern the request (X-AI-RateLimit-Limit-*)"},
	{"no money: few tokens", "x.example", 200, "X-AI-RateLimit-Limit-minute-openai: 10|X-AI-RateLimit-Remaining-minute-openai: 9", "AI gateways; policy 'minute-openai' 10/1m0s tokens; limit 'minute-openai' 9"},
	{"no money: a bucket of tokens", "x.example", 200, "X-RateLimit-Limit-Tokens: 1000|X-RateLimit-Remaining-Tokens: 999.5", "OpenAI; policy 'tokens' 1000 tokens; limit 'tokens' 999"},
	{"no money: a fraction of unknown tokens", "x.example", 200, "X-RateLimit-Limit-Tokens: many|X-RateLimit-Remaining-Tokens: 99.5", "OpenAI; limit 'tokens' 99; parse: value of a wrong type (X-RateLimit-Limit-*, item 0)"},
	{"no money: a fraction of a request", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 9.5", "X-RateLimit; policy '' 10; limit '' 9"},

	// A policy beside the figures: a name says nothing.
	{"policy, a name", "x.example", 200, "X-Rate-Limit-Policy: per-client|X-Rate-Limit-Remaining: 42|X-Rate-Limit-Reset: 35", "X-RateLimit; limit '' 42/35s; parse: value of a wrong type (X-Rate-Limit-Policy, item 0)"},
	{"policy, a String", "x.example", 200, `X-RateLimit-Policy: "per client"|X-RateLimit-Remaining: 7`, "X-RateLimit; limit '' 7; parse: value of a wrong type (X-RateLimit-Policy, item 0)"},
	{"policy, a time", "x.example", 200, "X-RateLimit-Policy: per-minute|X-RateLimit-Limit: 50|X-RateLimit-Remaining: 7", "X-RateLimit; policy '' 50; limit '' 7; parse: value of a wrong type (X-RateLimit-Policy, item 0)"},
	{"policy, of draft -08", "x.example", 200, `X-RateLimit-Policy: "default";q=100;w=60|X-RateLimit-Limit: 100|X-RateLimit-Remaining: 7`, "X-RateLimit; policy 'default' 100/1m0s; limit 'default' 7"},
	{"policy, a list", "x.example", 200, "X-RateLimit-Policy: 100;w=60|X-RateLimit-Limit: 100|X-RateLimit-Remaining: 7", "X-RateLimit; policy '' 100/1m0s; limit '' 7"},
	{"policy, upper-case keys: no Structured Field", "x.example", 200, `RateLimit-Limit: 300|RateLimit-Remaining: 219|RateLimit-Reset: 2|RateLimit-Policy: 300;w=5;burst=330;serviceLevel="free"`, "draft -06; policy '' 300; limit '' 219/2s; parse: malformed field value (RateLimit-Policy)"},

	{"policy, a name, beside the reset of all accounts", "x.example", 429, "X-RateLimit-Remaining-User: 9|X-RateLimit-Reset: 7|X-RateLimit-Policy: webhooks", "X-RateLimit; limit 'user' 9/7s"},

	// A burst beside a quota is no bucket.
	{"burst beside a quota", "x.example", 200, "X-RateLimit-Limit: 100;w=60;burst=20;rate=10|X-RateLimit-Remaining: 7", "X-RateLimit; policy '' 100/1m0s; limit '' 7"},
	{"burst beside a quota, window", "x.example", 200, "X-RateLimit-Limit: 600;window=60;burst=50;rate=10|X-RateLimit-Remaining: 7", "X-RateLimit; policy '' 600/1m0s; limit '' 7"},
	{"burst beside one quota of two", "x.example", 200, "X-RateLimit-Limit: 100;w=60;burst=200;rate=10, 1000;w=3600|X-RateLimit-Remaining: 7", "X-RateLimit; policy '' 100/1m0s; policy '1000;w=3600' 1000/1h0m0s; limit '' 7"},
	{"burst beside an older draft's policy", "x.example", 200, "X-RateLimit-Limit: 10, 10;w=1;burst=20;rate=10|X-RateLimit-Remaining: 7", "X-RateLimit; policy '' 10/1s; limit '' 7"},
	{"burst, of which more is left", "x.example", 200, "X-RateLimit-Limit: burst:20;rate:10|X-RateLimit-Remaining: 21", "X-RateLimit; limit '' 21; parse: malformed field value (X-RateLimit-Limit)"},
	{"burst beside a quota in pairs", "x.example", 200, "X-RateLimit-Limit: quota=100;burst=20;rate=10|X-RateLimit-Remaining: 57", "X-RateLimit; limit '' 57; parse: malformed field value (X-RateLimit-Limit)"},

	// How much a bucket holds, and how fast it fills.
	{"bucket", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:10|X-RateLimit-Remaining: 87|X-RateLimit-ResetTime: 2", "X-RateLimit; policy '' 100/10s; limit '' 87/153.846154ms (full in 2s)"},
	{"bucket, in another order", "x.example", 200, "X-RateLimit-Limit: rate=10;burst=100|X-RateLimit-Remaining: 87|X-RateLimit-Reset: 1.3", "X-RateLimit; policy '' 100/10s; limit '' 87/100ms (full in 1.3s)"},
	{"bucket, a list", "x.example", 200, "X-RateLimit-Limit: rate=10, burst=100|X-RateLimit-Remaining: 87|X-RateLimit-Reset: 1.3", "X-RateLimit; limit '' 87/1.3s; parse: malformed field value (X-RateLimit-Limit)"},
	{"bucket, an instant", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:10|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 1776938410", "X-RateLimit; policy '' 100/10s; limit '' 0/110ms (full in 11s)"},
	{"bucket, by the minute", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:60|X-RateLimit-Remaining: 87|X-RateLimit-Reset: 13", "X-RateLimit; policy '' 100/1m40s; limit '' 87/1s (full in 13s)"},
	{"bucket, its time is said", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:10/s|X-RateLimit-Remaining: 87", "X-RateLimit; policy '' 100/10s; limit '' 87/100ms (full in 1.3s)"},
	{"bucket, no reset", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:10|X-RateLimit-Remaining: 87", "X-RateLimit; policy '' 100; limit '' 87"},
	{"bucket, a window", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:10|X-RateLimit-Remaining: 87|X-RateLimit-Reset: 1800", "X-RateLimit; policy '' 100; limit '' 87/30m0s"},
	{"bucket, full", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:10|X-RateLimit-Remaining: 100|X-RateLimit-Reset: 0", "X-RateLimit; policy '' 100; limit '' 100/0s"},
	{"bucket, that never fills", "x.example", 200, "X-RateLimit-Limit: burst:100;rate:0|X-RateLimit-Remaining: 87", "X-RateLimit; limit '' 87; parse: malformed field value (X-RateLimit-Limit)"},
	{"bucket, that fills in a million years", "x.example", 200, "X-RateLimit-Limit: burst:999999999999;rate:0.01/day|X-RateLimit-Remaining: 87", "X-RateLimit; policy '' 999999999999; limit '' 87"},
	{"bucket, no rate", "x.example", 200, "X-RateLimit-Limit: burst:100|X-RateLimit-Remaining: 87", "X-RateLimit; limit '' 87; parse: value of a wrong type (X-RateLimit-Limit, item 0)"},
	{"bucket, negative", "x.example", 200, "X-RateLimit-Limit: burst:-1;rate:-1|X-RateLimit-Remaining: 87", "X-RateLimit; limit '' 87; parse: malformed field value (X-RateLimit-Limit)"},

	// The limit of an account, without a word for it.
	{"an account's limit", "x.example", 200, "X-RateLimit: 100|X-RateLimit-Remaining: 97|X-RateLimit-Table: 20|X-RateLimit-Remaining-Table: 4", "X-RateLimit; policy '' 100; policy 'table' 20; limit '' 97; limit 'table' 4"},
	{"an account's limit, after the account", "x.example", 200, "X-Rate-Limit-Big-Table: 20|X-Rate-Limit-Big-Table-Remaining: 4", "X-RateLimit; policy 'big-table' 20; limit 'big-table' 4"},
	{"an account's limit, and used", "x.example", 200, "X-RateLimit-Table: 20|X-RateLimit-Used-Table: 16", "X-RateLimit; policy 'table' 20; limit 'table' 4"},
	{"an account's limit, also with the word", "x.example", 200, "X-RateLimit-Table: 7|X-RateLimit-Limit-Table: 20|X-RateLimit-Remaining-Table: 4", "X-RateLimit; policy 'table' 20; limit 'table' 4"},
	{"no account's limit: nothing is left of it", "x.example", 200, "X-RateLimit: 100|X-RateLimit-Remaining: 97|X-RateLimit-Table: 20", "X-RateLimit; policy '' 100; limit '' 97"},
	{"no account's limit: a word", "x.example", 200, "X-RateLimit-User: alice|X-RateLimit-Remaining-User: 4", "X-RateLimit; limit 'user' 4"},
	{"no account's limit: less than is left", "x.example", 200, "X-RateLimit-User: 3|X-RateLimit-Remaining-User: 4", "X-RateLimit; limit 'user' 4"},

	// Percentages.
	{"Meta, the app", "graph.facebook.com", 200, `X-App-Usage: {"call_count":28,"total_time":25,"total_cputime":100}`, "Meta; policy 'app call_count' 100 percent; policy 'app total_cputime' 100 percent; policy 'app total_time' 100 percent; limit 'app call_count' 72; limit 'app total_cputime' 0; limit 'app total_time' 75"},
	{"Meta, more than all", "graph.instagram.com", 200, `X-App-Usage: {"call_count":118}`, "Meta; policy 'app call_count' 100 percent; limit 'app call_count' 0"},
	{"Meta, a business", "graph.facebook.com", 400, `X-Business-Use-Case-Usage: {"66782684":[{"type":"ads_management","call_count":100,"total_cputime":25,"estimated_time_to_regain_access":19,"ads_api_access_tier":"standard_access"}]}`, `Meta; policy 'ads_management call_count'@"66782684" 100 percent; policy 'ads_management total_cputime'@"66782684" 100 percent; limit 'ads_management call_count'@"66782684" 0/19m0s; limit 'ads_management total_cputime'@"66782684" 75`},
	{"Meta, a business that is refused before all is used", "graph.facebook.com", 400, `X-Business-Use-Case-Usage: {"6":[{"type":"pages","call_count":97,"total_time":25,"estimated_time_to_regain_access":19}]}`, `Meta; policy 'pages call_count'@"6" 100 percent; policy 'pages total_time'@"6" 100 percent; limit 'pages call_count'@"6" 0/19m0s; limit 'pages total_time'@"6" 75`},
	{"Meta, two businesses", "graph.facebook.com", 200, `X-Business-Use-Case-Usage: {"7":[{"type":"instagram","call_count":1}],"6":[{"type":"instagram","call_count":2},{"type":"pages","call_count":3}]}`, `Meta; policy 'instagram call_count'@"6" 100 percent; policy 'pages call_count'@"6" 100 percent; policy 'instagram call_count'@"7" 100 percent; limit 'instagram call_count'@"6" 98; limit 'pages call_count'@"6" 97; limit 'instagram call_count'@"7" 99`},
	{"Meta, an ad account", "graph.facebook.com", 200, `X-Ad-Account-Usage: {"acc_id_util_pct":9.67,"reset_time_duration":100}`, "Meta; policy 'ad-account acc_id_util_pct' 100 percent; limit 'ad-account acc_id_util_pct' 90/1m40s"},
	{"Meta, an ad account's last part", "graph.facebook.com", 200, `X-Ad-Account-Usage: {"acc_id_util_pct":99.9,"reset_time_duration":100}`, "Meta; policy 'ad-account acc_id_util_pct' 100 percent; limit 'ad-account acc_id_util_pct' 1/1m40s"},
	{"Meta, nothing", "graph.facebook.com", 200, `X-App-Usage: {}`, "none"},
	{"Meta, no object", "graph.facebook.com", 200, `X-App-Usage: {"call_count":28`, "none; parse: malformed field value (X-App-Usage, item 0)"},
	{"Meta, two objects", "graph.facebook.com", 200, `X-App-Usage: {"call_count":28}{"call_count":29}`, "none; parse: malformed field value (X-App-Usage, item 0)"},
	{"Meta, no numbers", "graph.facebook.com", 200, `X-App-Usage: {"call_count":"28","total_time":null,"total_cputime":{"a":[1]},"tier_count":1e2}`, "none"},
	{"Meta, less than nothing", "graph.facebook.com", 200, `X-App-Usage: {"call_count":-1}`, "none; parse: value out of range (X-App-Usage)"},
	{"Meta, for ever", "graph.facebook.com", 200, `X-Business-Use-Case-Usage: {"6":[{"type":"pages","call_count":100,"estimated_time_to_regain_access":99999999999999999999}]}`, `Meta; policy 'pages call_count'@"6" 100 percent; limit 'pages call_count'@"6" 0; parse: above a safety cap (X-Business-Use-Case-Usage)`},
	{"Meta, deep", "graph.facebook.com", 200, `X-App-Usage: ` + strings.Repeat(`[`, 100) + `{"call_count":28}` + strings.Repeat(`]`, 100), "none"},
	{"Meta, of one feature", "graph.facebook.com", 200, `X-FB-Ads-Insights-Throttle: {"app_id_util_pct":100,"acc_id_util_pct":100}`, "none"},
	{"not Meta", "x.example", 200, `X-App-Usage: {"call_count":100}`, "none"},

	// The two spellings of the names in common use: of two quotas, of a gateway and of the server behind it.
	{"two spellings: nothing is left of the gateway's", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 0|X-Rate-Limit-Limit: 5000|X-Rate-Limit-Remaining: 4999|X-Rate-Limit-Reset: 3000", "X-RateLimit; policy '' 10; policy 'rate-limit' 5000; limit '' 0; limit 'rate-limit' 4999/50m0s"},
	{"two spellings: nothing is left of the server's", "x.example", 200, "X-RateLimit-Limit: 5000|X-RateLimit-Remaining: 4999|X-RateLimit-Reset: 1776941400|X-Rate-Limit-Limit: 10|X-Rate-Limit-Remaining: 0|X-Rate-Limit-Reset-In: 7", "X-RateLimit; policy '' 5000; policy 'rate-limit' 10; limit '' 4999/50m1s; limit 'rate-limit' 0/7s"},
	{"two spellings, another quota with as much left", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 0|X-RateLimit-Reset: 5|Rate-Limit-Limit: 5000|Rate-Limit-Remaining: 0|Rate-Limit-Reset: 3000", "X-RateLimit; policy '' 10; policy 'rate-limit' 5000; limit '' 0/5s; limit 'rate-limit' 0/50m0s"},
	{"two spellings, of a minute", "x.example", 200, "X-RateLimit-Limit-Minute: 10|X-RateLimit-Remaining-Minute: 0|X-Rate-Limit-Limit-Minute: 60|X-Rate-Limit-Remaining-Minute: 59|X-Rate-Limit-Reset-Minute: 58", "X-RateLimit; policy 'minute' 10/1m0s; policy 'rate-limit-minute' 60/1m0s; limit 'minute' 0; limit 'rate-limit-minute' 59/58s"},
	{"two spellings of one quota", "x.example", 200, "X-RateLimit-Limit: 100, 100;w=60|X-RateLimit-Remaining: 99|X-RateLimit-Reset: 1776938430|X-Rate-Limit-Limit: 100|X-Rate-Limit-Remaining: 99|X-Rate-Limit-Reset: 30", "X-RateLimit; policy '' 100/1m0s; limit '' 99/30s"},
	{"two spellings that complete each other", "x.example", 200, "X-RateLimit-Limit: 100|X-RateLimit-Remaining: 99|X-Rate-Limit-Reset: 30", "X-RateLimit; policy '' 100; limit '' 99/30s"},
	{"two spellings, one without a limit", "x.example", 429, "X-RateLimit-Limit: unlimited|X-RateLimit-Remaining: unlimited|X-RateLimit-Reset: 3000|X-Rate-Limit-Limit: 10|X-Rate-Limit-Remaining: 0", "X-RateLimit; policy 'rate-limit' 10; limit '' ?/50m0s; limit 'rate-limit' 0; parse: value of a wrong type (X-RateLimit-Limit, item 0); parse: value of a wrong type (X-RateLimit-Remaining, item 0)"},
	{"two spellings, one in words", "x.example", 200, "X-RateLimit-Limit: 100|X-RateLimit-Remaining: 99|X-Rate-Limit-Limit: 1m|X-Rate-Limit-Remaining: 99|X-Rate-Limit-Reset: 30", "X-RateLimit; policy '' 100; limit '' 99/30s"},
	{"two spellings, one below zero", "x.example", 429, "X-RateLimit-Remaining: -1|X-Rate-Limit-Remaining: 0|X-Rate-Limit-Reset: 30", "X-RateLimit; limit '' 0/30s"},
	{"two spellings, a limit in words", "x.example", 200, "X-RateLimit-Limit: per minute|X-RateLimit-Remaining: 99|X-Rate-Limit-Limit: 100|X-Rate-Limit-Remaining: 99|X-Rate-Limit-Reset: 30", "X-RateLimit; policy '' 100; limit '' 99/30s; parse: malformed field value (X-RateLimit-Limit)"},

	{"two spellings, what is used of one", "x.example", 429, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 0|X-Rate-Limit-Limit: 1000|X-Rate-Limit-Used: 20|X-Rate-Limit-Reset: 3000", "X-RateLimit; policy '' 10; policy 'rate-limit' 1000; limit '' 0; limit 'rate-limit' 980/50m0s"},
	{"two spellings, what is used and what is left of one quota", "x.example", 200, "X-RateLimit-Limit: 100|X-RateLimit-Used: 1|X-Rate-Limit-Remaining: 99|X-Rate-Limit-Reset: 30", "X-RateLimit; policy '' 100; limit '' 99/30s"},

	// What a quota counts, in a field.
	{"unit, tokens", "x.example", 200, "X-RateLimit-Limit: 20000|X-RateLimit-Remaining: 1500|X-RateLimit-Unit: tokens", "X-RateLimit; policy '' 20000 tokens; limit '' 1500"},
	{"unit, credits", "x.example", 200, "X-RateLimit-Limit: 500000|X-RateLimit-Remaining: 487655|X-RateLimit-Unit: Credits|X-RateLimit-Window: 60", "X-RateLimit; policy '' 500000/1m0s credits; limit '' 487655"},
	{"unit, of requests", "x.example", 200, "X-RateLimit-Limit: 60|X-RateLimit-Remaining: 59|X-RateLimit-Unit: requests/minute", "X-RateLimit; policy '' 60/1m0s; limit '' 59"},
	{"unit, of money", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 0|X-RateLimit-Unit: USD", "none; parse: may not concern the request (X-RateLimit-Limit)"},
	{"unit, of money, perhaps", "x.example", 200, "X-RateLimit-Limit: 10.00|X-RateLimit-Remaining: 0.00|X-RateLimit-Unit: credits", "none; parse: may not concern the request (X-RateLimit-Limit)"},
	{"unit, unknown", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 9|X-RateLimit-Unit: things", "X-RateLimit; policy '' 10; limit '' 9; parse: value of a wrong type (X-RateLimit-Unit, item 0)"},
	{"unit, beside another account", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 9|X-RateLimit-Unit: credits|X-RateLimit-Search-Limit: 5|X-RateLimit-Search-Remaining: 4", "X-RateLimit; policy '' 10 credits; policy 'search' 5; limit '' 9; limit 'search' 4"},
	{"of all clients", "api.sirv.com", 200, "X-Global-RateLimit-Limit: 7000|X-Global-RateLimit-Remaining: 6477|X-Global-RateLimit-Reset: 1776938435", "X-RateLimit; policy 'global' 7000; limit 'global' 6477/36s"},
	{"of all clients: a refusal", "x.example", 429, "X-Global-RateLimit-Max: 100|X-Global-RateLimit-Used: 100|X-Global-RateLimit-Available: 0|X-Global-RateLimit-Reset: 1776938409", "X-RateLimit; policy 'global' 100; limit 'global' 0/10s"},

	// Names of exchanges: the window ends in so many milliseconds.
	{"expire", "x.example", 200, "X-RateLimit-Requests-Remain: 0|X-RateLimit-Requests-Expire: 4122", "X-RateLimit; limit 'requests' 0/4.122s"},
	{"expire, a Unix time", "x.example", 200, "X-RateLimit-Requests-Remain: 0|X-RateLimit-Requests-Expire: 1776938402500", "X-RateLimit; limit 'requests' 0/2.5s"},
	{"expire, HTX", "api.huobi.pro", 200, "X-HB-RateLimit-Requests-Remain: 9|X-HB-RateLimit-Requests-Expire: 1776938402000", "X-RateLimit; limit 'requests' 9/2s"},
	{"expire, another quota's", "x.example", 429, "X-RateLimit-User-Remaining: 0|X-RateLimit-User-Expire: 60", "X-RateLimit; limit 'user' 0/1m0s"},
	{"expire, without a quota's name", "x.example", 200, "X-RateLimit-Remaining: 0|X-RateLimit-Expire: 50", "X-RateLimit; limit '' 0/50s"},

	// Other words for what is left, and for the quota of a time.
	{"remains", "x.example", 200, "X-Rate-Limit-Remains: 3|X-Rate-Limit-Expires: 50", "X-RateLimit; limit '' 3/50s"},
	{"remains, without X", "x.example", 200, "Rate-Limit-Remains: 3|Rate-Limit-Total: 5|Rate-Limit-Reset: Thu, 23 Apr 2026 10:00:30 GMT", "X-RateLimit; policy '' 5; limit '' 3/31s"},
	{"usage limit", "x.example", 200, "X-RateLimit-Limit: 30|X-RateLimit-Remaining: 29|X-RateLimit-Reset: 12|X-UsageLimit-Limit: 200|X-UsageLimit-Remaining: 0|X-UsageLimit-Reset: 3600", "X-RateLimit; policy '' 30; policy 'usagelimit' 200; limit '' 29/12s; limit 'usagelimit' 0/1h0m0s"},
	{"usage limit, a refusal", "x.example", 429, "X-Usage-Limit-Max: 100|X-Usage-Limit-Current: 100|X-Usage-Limit-Reset: 1776942000", "X-RateLimit; policy 'usage-limit' 100; limit 'usage-limit' 0/1h0m1s"},
	{"usage, of what is not said", "x.example", 200, "X-Usage-Limit: 100|X-Usage-Remaining: 0|X-Usage-Reset: 3600", "none"},
	{"the limit of a daily limit", "x.example", 200, "X-Daily-Limit-Limit: 10|X-Daily-Limit-Remaining: 0", "X-RateLimit; policy 'daily' 10/24h0m0s; limit 'daily' 0"},
	{"what is allowed until a reset", "x.example", 200, "X-Quota-Allowed: 100|X-Quota-Used: 7|X-Quota-Reset: 1776940200000", "X-RateLimit; policy 'quota' 100; limit 'quota' 93/30m0s"},
	{"bytes until a reset", "x.example", 200, "X-Quota-Limit: 5368709120|X-Quota-Used: 5368709120|X-Quota-Reset: 86400", "none"},
	{"whether it is allowed", "x.example", 200, "X-Quota-Allowed: 1|X-Quota-Used: 7|X-Quota-Reset: 1800", "none"},
	{"whether it is allowed, beside a rate", "x.example", 200, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 9|X-Quota-Allowed: 1|X-Quota-Used: 7|X-Quota-Reset: 1800", "X-RateLimit; policy '' 10; limit '' 9; limit 'quota' ?/30m0s"},
	{"what is allowed, of a size", "x.example", 200, "X-Quota-Allowed: 5000000|X-Quota-Used: 5000000", "none"},
	{"what is used of a quota, until a reset", "x.example", 200, "X-Quota-Limit: 10000|X-Quota-Used: 42|X-Quota-Reset: 2026-04-24T00:00:00Z", "X-RateLimit; policy 'quota' 10000; limit 'quota' 9958/14h0m1s"},
	{"what is used of a quota, all of it", "x.example", 200, "X-Quota-Limit: 10000|X-Quota-Used: 10000|X-Quota-Reset: 1776940200", "X-RateLimit; policy 'quota' 10000; limit 'quota' 0/30m1s"},
	{"what is used of a quota, and no reset that can be read", "x.example", 200, "X-Quota-Limit: 10000|X-Quota-Used: 10000|X-Quota-Reset: never", "none"},
	{"a quota of a day, joined", "x.example", 200, "X-RateLimit-Limit: 60|X-RateLimit-Remaining: 59|X-DailyQuota-Limit: 10000|X-DailyQuota-Remaining: 0|X-DailyQuota-Reset: 14400", "X-RateLimit; policy '' 60; policy 'daily' 10000/24h0m0s; limit '' 59; limit 'daily' 0/4h0m0s"},
	{"a quota of a month, joined, what is used", "x.example", 200, "X-MonthlyQuota-Limit: 1000|X-MonthlyQuota-Used: 900", "X-RateLimit; policy 'monthly' 1000/744h0m0s; limit 'monthly' 100"},
	{"a quota of something, joined", "x.example", 200, "X-DiskQuota-Limit: 1000|X-DiskQuota-Remaining: 0", "none"},
	{"records", "x.example", 200, "X-RateLimit-Limit-Records: 1000|X-RateLimit-Remaining-Records: 0|X-RateLimit-Reset-Records: 30", "X-RateLimit; policy 'records' 1000 records; limit 'records' 0/30s"},
	{"images", "api.openai.com", 200, "X-RateLimit-Limit-Images: 50|X-RateLimit-Remaining-Images: 42|X-RateLimit-Reset-Images: 1s|X-RateLimit-Limit-Requests: 5000|X-RateLimit-Remaining-Requests: 4999", "X-RateLimit; policy 'images' 50 images; policy 'requests' 5000; limit 'images' 42/1s; limit 'requests' 4999"},
	{"characters of a month", "x.example", 200, "X-RateLimit-Limit-Characters-Month: 10000|X-RateLimit-Remaining-Characters-Month: 9000", "X-RateLimit; policy 'characters-month' 10000/744h0m0s characters; limit 'characters-month' 9000"},
	{"tokens, joined to what they are of", "x.example", 200, "X-RateLimit-Limit-CompletionTokens: 1000|X-RateLimit-Remaining-CompletionTokens: 400|X-RateLimit-Reset-CompletionTokens: 30", "X-RateLimit; policy 'completiontokens' 1000 tokens; limit 'completiontokens' 400/30s"},
	{"milliseconds left of an interval", "x.example", 429, "X-RateLimit-Limit: 10|X-RateLimit-Remaining: 0|X-RateLimit-Remaining-Interval-Milliseconds: 3000", "X-RateLimit; policy '' 10; limit '' 0/3s"},
	{"milliseconds left of an interval, alone", "x.example", 429, "X-RateLimit-Remaining-Interval-Milliseconds: 3000", "X-RateLimit; limit '' 0/3s"},
	{"an account that begins with interval", "x.example", 200, "X-RateLimit-Limit-Interval-Data: 10|X-RateLimit-Remaining-Interval-Data: 9", "X-RateLimit; policy 'interval-data' 10; limit 'interval-data' 9"},
	{"policies with a semicolon after each", "x.example", 200, "X-RateLimit-Limit: 100|X-RateLimit-Remaining: 99|X-RateLimit-Policy: 100;w=60; , 1000;w=3600;", "X-RateLimit; policy '' 100/1m0s; policy '1000;w=3600' 1000/1h0m0s; limit '' 99"},
	{"a limit with a semicolon after it", "x.example", 200, "X-RateLimit-Limit: 100;w=60;|X-RateLimit-Remaining: 99;", "X-RateLimit; policy '' 100/1m0s; limit '' 99"},
	{"thousands with a semicolon after them", "x.example", 200, "X-RateLimit-Limit: 10,000;|X-RateLimit-Remaining: 9,500;", "X-RateLimit; policy '' 10000; limit '' 9500"},
	{"semicolons and no figure", "x.example", 200, "X-RateLimit-Limit: ;;|X-RateLimit-Remaining: 99", "X-RateLimit; limit '' 99; parse: malformed field value (X-RateLimit-Limit)"},
	{"a semicolon after a policy of a draft", "x.example", 200, "RateLimit-Limit: 100|RateLimit-Remaining: 99|RateLimit-Policy: 100;w=60;", "draft -06; policy '' 100; limit '' 99; parse: malformed field value (RateLimit-Policy)"},
	{"a quota, and requests at a time", "x.example", 200, "X-Quota-Limit: 1000|X-Quota-Remaining: 943|X-Quota-Reset: 3600|X-Concurrency-Limit: 3", "Gravitee; policy 'concurrency' 3 concurrent-requests; policy 'quota' 1000; limit 'quota' 943/1h0m0s"},
}

func TestKinds(t *testing.T) {
	for _, tt := range kinds {
		assert.Equal(t, tt.want, readFields(tt.host, tt.status, tt.fields), tt.name)
	}
}

// Without a Date, an instant says nothing against a window: one of the clocks may be wrong.
func TestWindowBesideAnInstantWithoutDate(t *testing.T) {
	var r parse.Reader
	h := fields("X-RateLimit-Limit: 600", "X-RateLimit-Remaining: 599", "X-RateLimit-Window: 60", "X-RateLimit-Reset: 2026-11-21T05:28:00Z")
	assert.Contains(t, tell(r.Read("x.example", 200, h, saturday)), "policy '' 600/1m0s;")
	h.Set("Date", saturday.UTC().Format(http.TimeFormat))
	assert.Contains(t, tell(r.Read("x.example", 200, h, saturday)), "policy '' 600;")
}

// A user who says what a quota of money counts knows what requests take of it.
func TestMoneyOfOwnRow(t *testing.T) {
	own := parse.Vendor{Name: "own", Limit: []string{"X-Budget-<USD>"}, Remaining: []string{"X-Left-<USD>"}}
	for unit, want := range map[string]string{
		"usd": "own; policy 'usd' 10 usd; limit 'usd' 9", "": "none; parse: may not concern the request (X-Budget-USD)",
	} {
		if own.Units = nil; unit != "" {
			own.Units = map[string]string{"": unit}
		}
		r := parse.Reader{Vendors: []parse.Vendor{own}}
		assert.Equal(t, want, tell(r.Read("x.example", 200, fields("X-Budget-USD: 10", "X-Left-USD: 9"), saturday)))
	}
}

// A name in a parameter is no longer than others.
func TestNameInParameterCapped(t *testing.T) {
	r := parse.Reader{Caps: parse.Caps{NameBytes: 2}}
	for name, want := range map[string]string{"ip": "draft -08; policy 'ip' 3/10s; limit 'ip' 2/4s", "ips": "draft -08; limit 'ip' 2/4s; parse: value of a wrong type (RateLimit-Policy, item 0)"} {
		assert.Equal(t, want, tell(r.Read("x.example", 200, fields(`RateLimit-Policy: 3;w=10;name="`+name+`"`, `RateLimit: "ip";r=2;t=4`), saturday)))
	}
}

// The accounts that a value names are within that of the field.
func TestAccountsWithinThatOfTheField(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{Name: "own", Summary: []string{"X-*-Usage"}}}}
	for _, tt := range []struct{ field, want string }{
		{"X-Team-Usage: b=per_hour;q=100;r=90;t=340", "own; policy 'team per_hour' 100/1h0m0s; limit 'team per_hour' 90/5m40s"},
		{"X-Team-Usage: reads=1/10; writes=2/20", "own; policy 'team reads' 10; policy 'team writes' 20; limit 'team reads' 9; limit 'team writes' 18"},
		{"X-Team-Usage: user-hour-lim:3500; user-hour-rem:500", "own; policy 'team user-hour' 3500/1h0m0s; limit 'team user-hour' 500"},
		{"X-Team-Usage: token:ABCD 2/1000 reset=3514s", "own; policy 'team token' 1000; limit 'team token' 998/58m34s"},
	} {
		assert.Equal(t, tt.want, tell(r.Read("x.example", 200, fields(tt.field), saturday)), tt.field)
	}
}

// A user's row may have percentages, too.
func TestPercentagesOfOwnRow(t *testing.T) {
	r := parse.Reader{Vendors: []parse.Vendor{{
		Name: "own", Summary: []string{"X-Usage", "X-<Day>-Usage"}, Units: map[string]string{"": "percent"},
	}}}
	for _, tt := range []struct{ field, want string }{
		{"X-Usage: 87.5", "own; policy '' 100 percent; limit '' 12"},
		{"X-Usage: 99.1", "own; policy '' 100 percent; limit '' 1"},
		{"X-Usage: 100.5%", "own; policy '' 100 percent; limit '' 0"},
		{"X-Usage: 100%", "own; policy '' 100 percent; limit '' 0"},
		{`X-Day-Usage: {"reads_pct":1,"writes_pct":2}`, "own; policy 'day reads_pct' 100 percent; policy 'day writes_pct' 100 percent; limit 'day reads_pct' 99; limit 'day writes_pct' 98"},
		{"X-Usage: much", "none; parse: malformed field value (X-Usage, item 0)"},
	} {
		assert.Equal(t, tt.want, tell(r.Read("x.example", 200, fields(tt.field), saturday)), tt.field)
	}
	r.Caps.Items = 2
	assert.Equal(t, "own; policy 'a_pct' 100 percent; policy 'b_pct' 100 percent; limit 'a_pct' 99; limit 'b_pct' 98; parse: above a safety cap (X-Usage, item 0)",
		tell(r.Read("x.example", 200, fields(`X-Usage: {"c_pct":3,"b_pct":2,"a_pct":1}`), saturday)))
}

// The quota of the second spelling counts among the accounts.
func TestSpellingsCapped(t *testing.T) {
	h := fields("X-RateLimit-Limit: 10", "X-RateLimit-Remaining: 0", "X-Rate-Limit-Limit: 5000", "X-Rate-Limit-Remaining: 4999", "X-RateLimit-Limit-Search: 7")
	for items, want := range map[int]string{
		1: "X-RateLimit; policy '' 10; limit '' 0; parse: above a safety cap (X-Rate-Limit-Limit, item 1); parse: above a safety cap (X-RateLimit-Limit-*, item 2)",
		2: "X-RateLimit; policy '' 10; policy 'rate-limit' 5000; limit '' 0; limit 'rate-limit' 4999; parse: above a safety cap (X-RateLimit-Limit-*, item 2)",
		3: "X-RateLimit; policy '' 10; policy 'rate-limit' 5000; policy 'search' 7; limit '' 0; limit 'rate-limit' 4999",
	} {
		r := parse.Reader{Caps: parse.Caps{Items: items}}
		assert.Equal(t, want, tell(r.Read("x.example", 200, h, saturday)), items)
	}
}
