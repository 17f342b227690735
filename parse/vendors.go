package parse

import (
	"slices"
	"strings"
	"time"
)

// Vendors returns a new copy of the built-in rows. The first row that applies and says
// something valid is read. The last row is X-RateLimit, for all servers that need no row
// of their own.
//
// A vendor that sends the fields of a draft has no row: Cloudflare (-08 to -11), Persona
// (-06), Zendesk without a field for an endpoint. Fields of Atlassian whose names begin
// with Beta or X-Beta announce quotas that are not enforced; they are never read. Slack,
// Wikimedia, Stripe and Azure Cosmos DB send at most Retry-After.
func Vendors() []Vendor {
	return []Vendor{
		{
			// learn.microsoft.com/azure/devops/integrate/concepts/rate-limits. What is left until
			// requests are delayed, by up to 30 seconds. When nothing is, they are served still.
			Name:      "Azure DevOps",
			Hosts:     []string{"dev.azure.com", "visualstudio.com"},
			Limit:     []string{"X-RateLimit-Limit"},
			Units:     map[string]string{"": "TSTU"},
			Partition: []string{"X-RateLimit-Resource"},
		},
		{
			// docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
			// The secondary limit refuses requests while units are left, with or
			// without a Retry-After. TradeStation has a resource, too, and sends the window.
			Name:      "GitHub",
			Sign:      "X-RateLimit-Resource",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Used:      []string{"X-RateLimit-Used"},
			Reset:     []string{"X-RateLimit-Reset"},
			Window:    []string{"X-RateLimit-Period"},
			Partition: []string{"X-RateLimit-Resource"},
			Refusals:  []Refusal{{Status: 403, Text: "secondary rate limit", Wait: time.Minute}},
		},
		{
			// docs.mem.ai, and GraphQL servers: requests, and what they cost.
			Name:      "X-Complexity",
			Sign:      "X-Complexity-Remaining",
			Limit:     append(rateLimits("Limit"), "X-<Complexity>-Limit"),
			Remaining: append(rateLimits("Remaining"), "X-<Complexity>-Remaining"),
			Reset:     append(rateLimits("Reset"), "X-<Complexity>-Reset"),
			Cost:      []string{"X-<Complexity>-Cost"},
			Units:     units(),
			Partition: []string{"X-RateLimit-Bucket"},
		},
		{
			// developers.revolt.chat, ratelimits: as Discord's, in milliseconds.
			Name:      "Revolt",
			Hosts:     []string{"revolt.chat", "stoat.chat"},
			Sign:      "X-RateLimit-Bucket",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset-After"},
			ResetIn:   time.Millisecond,
			Partition: []string{"X-RateLimit-Bucket"},
		},
		{
			// docs.discord.com/developers/topics/rate-limits. A bucket is counted for
			// each channel, guild or webhook in the path. Reset-After needs no clock.
			// X-RateLimit-Scope stands on refusals only: as part of the key it would split the
			// account.
			Name:      "Discord",
			Sign:      "X-RateLimit-Bucket",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset-After", "X-RateLimit-Reset"},
			Partition: []string{"X-RateLimit-Bucket"},
			Paths:     []string{"channels/{id}", "guilds/{id}", "webhooks/{id}/{token}", "webhooks/{id}"},
			Whole:     []string{"X-RateLimit-Global"},
		},
		{
			// github.com/BerriAI/litellm, parallel_request_limiter_v3. What the key, the user or the
			// team may do; the names of OpenAI beside them may tell of one of several providers.
			Name:      "LiteLLM",
			Sign:      "X-LiteLLM-*",
			Limit:     []string{"X-RateLimit-*-Limit-<Requests>", "X-RateLimit-*-Limit-<Tokens>"},
			Remaining: []string{"X-RateLimit-*-Remaining-<Requests>", "X-RateLimit-*-Remaining-<Tokens>"},
			Every:     map[string]time.Duration{"": time.Minute},
		},
		{
			// platform.openai.com/docs/guides/rate-limits. At the reset, a duration,
			// the bucket is full. Other servers with these names send the seconds until
			// the end of a window, or its instant (Venice, LiteLLM). Accounts may be added at any time.
			Name:      "OpenAI",
			Sign:      "X-RateLimit-Limit-Tokens",
			Limit:     []string{"X-RateLimit-Limit-*", "X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining-*", "X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset-*", "X-RateLimit-Reset"},
			Window:    []string{"X-RateLimit-RenewalPeriod-*"},
			Refills:   true,
			Units:     units(),
		},
		{
			// docs.anthropic.com. At the reset the bucket is full; one in the past
			// means that it is.
			Name:      "Anthropic",
			Limit:     []string{"Anthropic-RateLimit-*-Limit"},
			Remaining: []string{"Anthropic-RateLimit-*-Remaining"},
			Reset:     []string{"Anthropic-RateLimit-*-Reset"},
			ResetUnix: true,
			Refills:   true,
			Units:     units(),
		},
		{
			// learn.microsoft.com, azure-resource-manager. The counts look like a
			// Structured Field and are not one.
			Name:      "Azure Resource Manager",
			Remaining: []string{"X-Ms-RateLimit-Remaining-*"},
			Summary:   []string{"X-Ms-RateLimit-Remaining-Resource"},
			Retry:     []string{"X-Ms-RateLimit-*-Retry-After"},
		},
		{
			// shopify.dev/docs/api/admin-rest/usage/rate-limits. A leaky bucket: 40 leak
			// at 2 a second, 80 at 4, 400 at 20. So do those of docs.haravan.com and support.sapo.vn
			// (formerly Bizweb), shops whose APIs are like Shopify's.
			Name:    "Shopify",
			Summary: []string{"X-Shopify-Shop-Api-Call-Limit", "X-Haravan-Api-Call-Limit", "X-Sapo-Api-Call-Limit", "X-Bizweb-Api-Call-Limit"},
			Refills: true,
			Every:   map[string]time.Duration{"": 20 * time.Second},
		},
		{
			// dev.tiendanube.com, dev.nuvemshop.com.br: a leaky bucket of 40, two a second. The reset is when it is full.
			Name:      "Tiendanube",
			Hosts:     []string{"tiendanube.com", "nuvemshop.com.br"},
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset"},
			ResetIn:   time.Millisecond,
			Refills:   true,
		},
		{
			// docs.wattwatchers.com.au, rate limits: transactions per day and per second.
			Name:      "Wattwatchers",
			Limit:     []string{"X-RateLimit-<Tpd>Limit", "X-RateLimit-<Tps>Limit"},
			Remaining: []string{"X-RateLimit-<Tpd>Remaining", "X-RateLimit-<Tps>Remaining"},
			Reset:     []string{"X-RateLimit-<Tpd>Reset", "X-RateLimit-<Tps>Reset"},
			ResetIn:   time.Second,
			Every:     map[string]time.Duration{"tpd": 24 * time.Hour, "tps": time.Second},
			Units:     map[string]string{"": "requests"},
		},
		{
			// apidocs.sirv.com, rate limits: each type of requests has a quota of an hour.
			Name:      "Sirv",
			Hosts:     []string{"api.sirv.com"},
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetUnix: true,
			Partition: []string{"X-RateLimit-Type"},
		},
		{
			// dev.netatmo.com, rate limits.
			Name:     "Netatmo",
			Hosts:    []string{"api.netatmo.com"},
			Refusals: []Refusal{{Status: 403, Text: `"User usage reached"`}, {Status: 403, Text: `"Application usage reached"`}},
		},
		{
			// bungie-net.github.io: ThrottleSeconds in the body is the wait.
			Name:     "Bungie",
			Hosts:    []string{"bungie.net"},
			Refusals: []Refusal{{Status: 503, Text: `"ThrottleLimitExceeded`}},
		},
		{
			// developer.atlassian.com/cloud/jira/platform/rate-limiting. Refusals
			// only; the sign names the exceeded limit.
			Name:      "Atlassian",
			Sign:      "RateLimit-Reason",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Units:     map[string]string{"": "points"},
			Partition: []string{"RateLimit-Reason"},
		},
		{
			// confluence.atlassian.com/doc/_ratelimiting_httpheaders-992678779.html.
			// A token bucket. The interval belongs to the fill rate, so it is the window if all comes back in it.
			Name:      "Atlassian Data Center",
			Sign:      "X-RateLimit-FillRate",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Window:    []string{"X-RateLimit-Interval-Seconds", "X-RateLimit-FillRate"},
		},
		{
			// docs.docker.com/docker-hub/usage/pulls. There is no reset.
			Name:      "Docker Hub",
			Sign:      "Docker-RateLimit-Source",
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining"},
			Partition: []string{"Docker-RateLimit-Source"},
		},
		{
			// developer.zendesk.com. One account for all, and one for each endpoint.
			Name:      "Zendesk",
			Sign:      "Zendesk-RateLimit-*",
			Limit:     []string{"RateLimit-Limit", "X-Rate-Limit"},
			Remaining: []string{"RateLimit-Remaining", "X-Rate-Limit-Remaining"},
			Reset:     []string{"RateLimit-Reset"},
			Summary:   []string{"Zendesk-RateLimit-*"},
		},
		{
			// docs.oracle.com, Access Governance.
			Name:      "Oracle",
			Remaining: []string{"RequestLimit-*-Remaining"},
			Retry:     []string{"RequestLimit-*-RetryAfter"},
			ResetIn:   time.Millisecond,
		},
		{
			// github.com/reddit/reddit/wiki/API. Remaining is a decimal.
			Name:      "Reddit",
			Hosts:     []string{"reddit.com"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Used:      []string{"X-RateLimit-Used"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetIn:   time.Second,
			Every:     map[string]time.Duration{"": 10 * time.Minute},
		},
		{
			// linear.app/developers/rate-limiting.
			Name:      "Linear",
			Hosts:     []string{"api.linear.app"},
			Limit:     []string{"X-RateLimit-*-Limit"},
			Remaining: []string{"X-RateLimit-*-Remaining"},
			Reset:     []string{"X-RateLimit-*-Reset"},
			ResetIn:   time.Millisecond,
			ResetUnix: true,
			Units:     units(),
		},
		{
			// docs.x.com/fundamentals/rate-limits. The limits of 24 hours stand on what creates posts.
			Name:      "X",
			Hosts:     []string{"api.x.com", "api.twitter.com"},
			Limit:     []string{"X-Rate-Limit-Limit", "X-<App-Limit-24hour>-Limit", "X-<User-Limit-24hour>-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining", "X-<App-Limit-24hour>-Remaining", "X-<User-Limit-24hour>-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset", "X-<App-Limit-24hour>-Reset", "X-<User-Limit-24hour>-Reset"},
			ResetUnix: true,
		},
		{
			// developer.okta.com/docs/reference/rl-best-practices.
			Name:      "Okta",
			Hosts:     []string{"okta.com"},
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset"},
			ResetUnix: true,
			Every:     map[string]time.Duration{"": time.Minute},
		},
		{
			// developer.lemlist.com. Retry-After stands on successes, too.
			Name:                 "lemlist",
			Hosts:                []string{"api.lemlist.com"},
			Limit:                []string{"X-RateLimit-Limit"},
			Remaining:            []string{"X-RateLimit-Remaining"},
			Reset:                []string{"X-RateLimit-Reset"},
			Every:                map[string]time.Duration{"": 2 * time.Second},
			RetryAfterOnRefusals: true,
		},
		{
			// docs.agent.ai/ratelimits: draft -06 with Retry-After on successes.
			Name:                 "agent.ai",
			Hosts:                []string{"agent.ai"},
			RetryAfterOnRefusals: true,
		},
		{
			// developer.raindrop.io.
			Name:      "Raindrop",
			Hosts:     []string{"api.raindrop.io"},
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining", "X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
		},
		{
			// docs.gitlab.com/administration/settings/user_and_ip_rate_limits. The
			// name of the throttle is the partition.
			Name:      "GitLab",
			Sign:      "RateLimit-Name",
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining"},
			Used:      []string{"RateLimit-Observed"},
			Reset:     []string{"RateLimit-Reset"},
			Partition: []string{"RateLimit-Name"},
		},
		{
			// docs.hetzner.cloud. One request a second is given back; at the reset
			// all are.
			Name:      "Hetzner",
			Hosts:     []string{"api.hetzner.cloud", "api.hetzner.com"},
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining"},
			Reset:     []string{"RateLimit-Reset"},
			ResetUnix: true,
			Refills:   true,
		},
		{
			// docs.developer.yelp.com.
			Name:      "Yelp",
			Sign:      "RateLimit-DailyLimit",
			Limit:     []string{"RateLimit-DailyLimit"},
			Remaining: []string{"RateLimit-Remaining"},
			Reset:     []string{"RateLimit-ResetTime"},
			Every:     map[string]time.Duration{"": 24 * time.Hour},
		},
		{
			// developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines.
			Name:      "HubSpot",
			Limit:     []string{"X-HubSpot-RateLimit-Max", "X-HubSpot-RateLimit-<Daily>", "X-HubSpot-RateLimit-<Secondly>"},
			Remaining: []string{"X-HubSpot-RateLimit-Remaining", "X-HubSpot-RateLimit-*-Remaining"},
			Window:    []string{"X-HubSpot-RateLimit-Interval-Milliseconds"},
		},
		{
			// docs.sentry.io/api/ratelimits.
			Name:      "Sentry",
			Limit:     []string{"X-Sentry-Rate-Limit-Limit", "X-Sentry-Rate-Limit-<Concurrent>Limit"},
			Remaining: []string{"X-Sentry-Rate-Limit-Remaining", "X-Sentry-Rate-Limit-<Concurrent>Remaining"},
			Reset:     []string{"X-Sentry-Rate-Limit-Reset"},
		},
		{
			// developers.brevo.com/docs/api-limits.
			Name:      "Brevo",
			Limit:     []string{"X-Sib-RateLimit-Limit"},
			Remaining: []string{"X-Sib-RateLimit-Remaining"},
			Reset:     []string{"X-Sib-RateLimit-Reset"},
		},
		{
			// www.fastly.com/documentation/reference/api/#rate-limiting.
			Name:      "Fastly",
			Remaining: []string{"Fastly-RateLimit-Remaining"},
			Reset:     []string{"Fastly-RateLimit-Reset"},
		},
		{
			// docs.datadoghq.com/api/latest/rate-limits. The name of the limit is the
			// partition.
			Name:      "Datadog",
			Sign:      "X-RateLimit-Name",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Window:    []string{"X-RateLimit-Period"},
			Partition: []string{"X-RateLimit-Name"},
		},
		{
			// developers.eveonline.com/docs/services/esi/rate-limiting. Used is the
			// cost of the request.
			Name:      "EVE",
			Sign:      "X-RateLimit-Group",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Cost:      []string{"X-RateLimit-Used"},
			Reset:     []string{"X-RateLimit-Reset"},
			Partition: []string{"X-RateLimit-Group"},
		},
		{
			// developer.xero.com/documentation/guides/oauth2/limits.
			Name:      "Xero",
			Remaining: []string{"X-<Min>Limit-Remaining", "X-<Day>Limit-Remaining", "X-<AppMin>Limit-Remaining"},
			Every:     map[string]time.Duration{"appmin": time.Minute},
		},
		{
			// developer.riotgames.com/docs/portal#web-apis_rate-limiting. "20:1,100:120":
			// 20 in a second and 100 in two minutes.
			Name:  "Riot Games",
			Limit: []string{"X-<App>-Rate-Limit", "X-<Method>-Rate-Limit"},
			Used:  []string{"X-<App>-Rate-Limit-Count", "X-<Method>-Rate-Limit-Count"},
		},
		{
			// developers.strava.com/docs/rate-limits.
			Name:     "Strava",
			Hosts:    []string{"strava.com"},
			Limit:    []string{"X-RateLimit-Limit", "X-<Read>RateLimit-Limit"},
			Used:     []string{"X-RateLimit-Usage", "X-<Read>RateLimit-Usage"},
			Accounts: []string{"15-minute", "day"},
		},
		{
			// api.labs.sophos.com/doc, Intelix, rate limits: a sliding window. End is the seconds until the next
			// request is served.
			Name:      "Sophos Intelix",
			Sign:      "X-Rate-Limit-End",
			Limit:     []string{"X-Rate-Limit-Value"},
			Remaining: []string{"X-Rate-Limit-Requests-Left"},
			Window:    []string{"X-Rate-Limit-Period"},
			Retry:     []string{"X-Rate-Limit-End"},
			ResetIn:   time.Second,
		},
		{
			// developer.bigcommerce.com/docs/start/best-practices/api-rate-limits.
			Name:      "BigCommerce",
			Limit:     []string{"X-Rate-Limit-Requests-Quota"},
			Remaining: []string{"X-Rate-Limit-Requests-Left"},
			Reset:     []string{"X-Rate-Limit-Time-Reset-Ms"},
			Window:    []string{"X-Rate-Limit-Time-Window-Ms"},
		},
		{
			// developer-docs.amazon.com/sp-api/docs/usage-plans-and-rate-limits.
			// Requests a second, which may be less than one.
			Name:  "Amazon SP-API",
			Limit: []string{"X-Amzn-RateLimit-Limit"},
			Every: map[string]time.Duration{"": time.Second},
		},
		{
			// developer.salesforce.com, Limit Info Header.
			Name:    "Salesforce",
			Summary: []string{"Sforce-Limit-Info"},
			Every:   map[string]time.Duration{"api-usage": 24 * time.Hour, "per-app-api-usage": 24 * time.Hour},
		},
		{
			// auth0.com/docs/troubleshoot/customer-support/operational-policies. Tokens of a client and of an
			// organization, beside the requests of the tenant.
			Name:      "Auth0",
			Sign:      "Auth0-*-Quota-Limit",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Summary:   []string{"Auth0-*-Quota-Limit"},
		},
		{
			// www.contentful.com/developers/docs/references/content-delivery-api.
			Name:      "Contentful",
			Limit:     []string{"X-Contentful-RateLimit-*-Limit"},
			Remaining: []string{"X-Contentful-RateLimit-*-Remaining"},
			Retry:     []string{"X-Contentful-RateLimit-Reset"},
		},
		{
			// developers.etsy.com/documentation/essentials/rate-limits.
			Name:      "Etsy",
			Limit:     []string{"X-Limit-Per-<Second>", "X-Limit-Per-<Day>"},
			Remaining: []string{"X-Remaining-This-<Second>", "X-Remaining-To<day>"},
		},
		{
			// apidocs.imgur.com; github.com/wraithgar/hapi-rate-limit.
			Name: "Imgur, hapi",
			Sign: "X-RateLimit-*Remaining",
			Limit: []string{
				"X-RateLimit-<User>Limit", "X-RateLimit-<Client>Limit", "X-RateLimit-<Path>Limit", "X-RateLimit-<UserPath>Limit",
			},
			Remaining: []string{
				"X-RateLimit-<User>Remaining", "X-RateLimit-<Client>Remaining", "X-RateLimit-<Path>Remaining", "X-RateLimit-<UserPath>Remaining",
			},
			Reset: []string{"X-RateLimit-<User>Reset", "X-RateLimit-<Path>Reset", "X-RateLimit-<UserPath>Reset"},
		},
		{
			// www.kucoin.com/docs/basic-info/request-rate-limit.
			Name:      "KuCoin",
			Limit:     []string{"Gw-RateLimit-Limit"},
			Remaining: []string{"Gw-RateLimit-Remaining"},
			Reset:     []string{"Gw-RateLimit-Reset"},
			ResetIn:   time.Millisecond,
		},
		{
			// bybit-exchange.github.io/docs/v5/rate-limit.
			Name:      "Bybit",
			Limit:     []string{"X-Bapi-Limit"},
			Remaining: []string{"X-Bapi-Limit-Status"},
			Reset:     []string{"X-Bapi-Limit-Reset-Timestamp"},
			ResetIn:   time.Millisecond,
			ResetUnix: true,
		},
		{
			// Language models: platform.openai.com/docs/guides/error-codes,
			// docs.anthropic.com/en/api/rate-limits. These refusals have the status 429
			// and no Retry-After. Others have adopted the codes of OpenAI.
			Name:     "language models",
			Refusals: unrelatedRefusals(),
		},
		{
			// dev.twitch.tv/docs/api/guide. At the reset the bucket is full.
			Name:      "Twitch",
			Hosts:     []string{"api.twitch.tv"},
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining"},
			Reset:     []string{"RateLimit-Reset"},
			ResetUnix: true,
			Refills:   true,
			Units:     map[string]string{"": "points"},
		},
		{
			// dev.fitbit.com/build/reference/web-api/developer-guide/application-design.
			Name:      "Fitbit",
			Limit:     []string{"Fitbit-Rate-Limit-Limit"},
			Remaining: []string{"Fitbit-Rate-Limit-Remaining"},
			Reset:     []string{"Fitbit-Rate-Limit-Reset"},
			ResetIn:   time.Second,
		},
		{
			// www.discogs.com/developers.
			Name:      "Discogs",
			Limit:     []string{"X-Discogs-RateLimit"},
			Remaining: []string{"X-Discogs-RateLimit-Remaining"},
			Used:      []string{"X-Discogs-RateLimit-Used"},
			Every:     map[string]time.Duration{"": time.Minute},
		},
		{
			// engineering.toggl.com/docs.
			Name:      "Toggl",
			Remaining: []string{"X-Toggl-Quota-Remaining"},
			Reset:     []string{"X-Toggl-Quota-Resets-In"},
			ResetIn:   time.Second,
		},
		{
			// docs.together.ai/docs/rate-limits. Tokens and requests of a second.
			Name:      "Together",
			Hosts:     []string{"together.xyz", "together.ai"},
			Sign:      "X-TokenLimit-Limit",
			Limit:     []string{"X-RateLimit-Limit", "X-<Token>Limit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining", "X-<Token>Limit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Every:     map[string]time.Duration{"": time.Second},
			Units:     map[string]string{"token": "tokens"},
		},
		{
			// Gateways with Together's names, whose windows may be others.
			Name:      "TokenLimit",
			Sign:      "X-TokenLimit-Limit",
			Limit:     []string{"X-RateLimit-Limit", "X-<Token>Limit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining", "X-<Token>Limit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset", "X-<Token>Limit-Reset"},
			Units:     map[string]string{"token": "tokens"},
		},
		{
			// developers.docusign.com/docs/esign-rest-api/esign101/rules-and-limits.
			Name:      "DocuSign",
			Sign:      "X-BurstLimit-Limit",
			Hosts:     []string{"docusign.net", "docusign.com"},
			Limit:     []string{"X-RateLimit-Limit", "X-<Burst>Limit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining", "X-<Burst>Limit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Every:     map[string]time.Duration{"": time.Hour, "burst": 30 * time.Second},
		},
		{
			// developers.zoom.us/docs/api/rate-limits. The same fields tell of a
			// limit per second and of one per day, for each category of calls.
			Name:      "Zoom",
			Sign:      "X-RateLimit-Category",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Partition: []string{"X-RateLimit-Category", "X-RateLimit-Type"},
		},
		{
			// urlscan.io/docs/api. Each action has quotas of its own.
			Name:      "urlscan",
			Sign:      "X-Rate-Limit-Action",
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset-After", "X-Rate-Limit-Reset"},
			Window:    []string{"X-Rate-Limit-Window"},
			Partition: []string{"X-Rate-Limit-Action"},
		},
		{
			// developer.entur.no, journey planner, rate limiting.
			Name:      "Entur",
			Sign:      "Rate-Limit-Allowed",
			Limit:     []string{"Rate-Limit-Allowed", "<Spike-Arrest>-Allowed"},
			Remaining: []string{"Rate-Limit-Available"},
			Used:      []string{"Rate-Limit-Used"},
			Reset:     []string{"Rate-Limit-Expiry-Time"},
			Window:    []string{"Rate-Limit-Range"},
		},
		{
			// developer.ticketmaster.com/products-and-docs/apis/getting-started.
			Name:      "Ticketmaster",
			Sign:      "Rate-Limit-Available",
			Limit:     []string{"Rate-Limit"},
			Remaining: []string{"Rate-Limit-Available"},
			Reset:     []string{"Rate-Limit-Reset"},
			ResetIn:   time.Millisecond,
			ResetUnix: true,
		},
		{
			// elevenlabs.io/docs, models, concurrency.
			Name:  "ElevenLabs",
			Limit: []string{"Maximum-Concurrent-Requests"},
			Used:  []string{"Current-Concurrent-Requests"},
			Units: map[string]string{"": "concurrent-requests"},
		},
		{
			// developer.walmart.com, rate limiting. Tokens count requests.
			Name:      "Walmart",
			Remaining: []string{"X-Current-Token-Count"},
			Reset:     []string{"X-Next-Replenish-Time", "X-Next-Replenishment-Time"},
		},
		{
			// developerdocs.instructure.com, Canvas, throttling. The cost of a request is
			// taken while it is served; there is no reset. Brightspace has one, in seconds.
			Name:      "Canvas",
			Sign:      "X-Request-Cost",
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset"},
			Units:     map[string]string{"": "cost"},
			Refusals:  []Refusal{{Status: 403, Text: "Rate Limit Exceeded"}},
		},
		{
			// developer.apple.com/documentation/appstoreconnectapi, rate limits;
			// www.eventbrite.com/platform/api.
			Name:    "App Store Connect, Eventbrite",
			Hosts:   []string{"api.appstoreconnect.apple.com", "eventbriteapi.com"},
			Summary: []string{"X-Rate-Limit"},
		},
		{
			// app.swaggerhub.com/apis-docs/NexusMods.
			Name:      "Nexus Mods",
			Limit:     []string{"X-RL-*-Limit"},
			Remaining: []string{"X-RL-*-Remaining"},
			Reset:     []string{"X-RL-*-Reset"},
		},
		{
			// launchdarkly.com/docs/api, rate limiting.
			Name:      "LaunchDarkly",
			Sign:      "X-RateLimit-Route-Remaining",
			Remaining: []string{"X-RateLimit-<Route>-Remaining", "X-RateLimit-<Global>-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
		},
		{
			// docs.aws.amazon.com, "Common error types": refusals have a code in a field or in the body.
			Name:     "AWS",
			Hosts:    []string{"amazonaws.com"},
			Refusals: awsRefusals(),
		},
		{
			// developers.google.com/workspace/drive/api/guides/handle-errors: rates of a user and of a project. A quota of a day has other
			// reasons.
			Name:  "Google APIs",
			Hosts: []string{"googleapis.com"},
			Refusals: []Refusal{
				{Status: 403, Text: `"userRateLimitExceeded"`}, {Status: 403, Text: `"rateLimitExceeded"`},
			},
		},
		{
			// learn.microsoft.com/azure/api-management/quota-policy: the gateways of API Management at their own hosts, at those
			// of Azure AI services, and at those of BMW and Vaillant. The body says how long to wait. A 403 of another host may be
			// anything, and what its fields say would not count if its body might have a sign.
			Name:     "Azure API Management",
			Hosts:    []string{"azure-api.net", "api.cognitive.microsoft.com", "bmwgroup.com", "vaillant-group.com"},
			Refusals: []Refusal{{Status: 403, Text: "Quota will be replenished in"}},
		},
		{
			// www.alibabacloud.com/help, common error codes: Throttling, Throttling.User, Throttling.Api.
			Name:     "Alibaba Cloud",
			Hosts:    []string{"aliyuncs.com"},
			Refusals: []Refusal{{Status: 400, Text: `"Code":"Throttling`}, {Status: 400, Text: "<Code>Throttling"}},
		},
		{
			// learn.microsoft.com/rest/api/storageservices, common error codes.
			Name:     "Azure Storage",
			Hosts:    []string{"core.windows.net"},
			Refusals: []Refusal{{Status: 503, Field: "X-Ms-Error-Code", Text: "ServerBusy"}},
		},
		{
			// Mashery (Boomi Cloud API Management), developer.mashery.com. The figures
			// are those of the gateway's customers: Egnyte, Sportradar and others.
			Name: "Mashery",
			Limit: []string{
				"X-Plan-<Qps>-Allotted", "X-Packagekey-<Qps>-Allotted", "X-Accesstoken-<Qps>-Allotted",
				"X-Plan-<Quota>-Allotted", "X-Packagekey-<Quota>-Allotted", "X-Accesstoken-<Quota>-Allotted",
			},
			Used: []string{
				"X-Plan-<Qps>-Current", "X-Packagekey-<Qps>-Current", "X-Accesstoken-<Qps>-Current",
				"X-Plan-<Quota>-Current", "X-Packagekey-<Quota>-Current", "X-Accesstoken-<Quota>-Current",
			},
			Reset: []string{"X-Plan-<Quota>-Reset"},
			Every: map[string]time.Duration{"qps": time.Second},
		},
		{
			// docs.pipl.com: as Mashery, by other names. X-QPS-Live and X-QPS-Demo are quotas of some requests only.
			Name:  "Pipl",
			Sign:  "X-Qps-Allotted",
			Limit: []string{"X-<Qps>-Allotted", "X-Apikey-<Quota>-Allotted"},
			Used:  []string{"X-<Qps>-Current", "X-Apikey-<Quota>-Current"},
			Reset: []string{"X-<Quota>-Reset"},
			Every: map[string]time.Duration{"qps": time.Second},
		},
		{
			// support.huaweicloud.com, API response headers.
			Name:    "Huawei API Gateway",
			Summary: []string{"X-Apig-RateLimit-*"},
		},
		{
			// docs.marketcheck.com.
			Name:      "MarketCheck",
			Sign:      "RateLimit-Reset-Time",
			Limit:     []string{"RateLimit-Limit", "<Quota>-Limit"},
			Remaining: []string{"RateLimit-Remaining", "<Quota>-Remaining"},
			Reset:     []string{"RateLimit-Reset-Time", "<Quota>-Reset-Time"},
			Every:     map[string]time.Duration{"": time.Second, "quota": 31 * 24 * time.Hour},
		},
		{
			// docs.apilayer.com: marketstack, fixer and others. The increment is what the request has cost.
			Name:      "apilayer",
			Sign:      "X-Increment-Usage",
			Limit:     []string{"X-Quota-Limit"},
			Remaining: []string{"X-Quota-Remaining"},
			Cost:      []string{"X-Increment-Usage"},
		},
		// A quota of the day, and others, beside a rate; and a quota whose time is not in its name
		// (documentation.gravitee.io), or only in that of its limit. The last row has those of other times, too.
		besideRate("X-Quota", "X-Quota-Daily-Remaining", "X-Quota-<Daily>-Limit"),
		besideRate("Gravitee", "X-Quota-Remaining", "X-<Quota>-Daily-Limit"),
		{
			// Without a reset, credits are a balance.
			Name:      "X-Credits",
			Sign:      "X-Credits-Reset",
			Limit:     append(rateLimits("Limit"), "X-<Credits>-Limit"),
			Remaining: append(rateLimits("Remaining"), "X-<Credits>-Remaining"),
			Used:      []string{"X-<Credits>-Used"},
			Reset:     append(rateLimits("Reset"), "X-<Credits>-Reset"),
		},
		{
			// ibm.com/docs/en/datapower-gateway, count limit: the calls in progress.
			Name:      "DataPower count limit",
			Limit:     []string{"X-CountLimit-Limit"},
			Remaining: []string{"X-CountLimit-Remaining"},
			Units:     map[string]string{"": "concurrent-requests"},
		},
		{
			Name:      "X-Limit",
			Sign:      "X-Limit-Limit",
			Limit:     []string{"X-Limit-Limit"},
			Remaining: []string{"X-Limit-Remaining"},
			Reset:     []string{"X-Limit-Reset"},
		},
		{
			// support.twelvedata.com.
			Name:      "Twelve Data",
			Remaining: []string{"Api-Credits-Left"},
			Used:      []string{"Api-Credits-Used"},
			Every:     map[string]time.Duration{"": time.Minute},
			Units:     map[string]string{"": "credits"},
		},
		{
			// www.gate.com/docs/developers/apiv4. The reset is that of an exceeded limit; else it is now.
			Name:      "Gate",
			Limit:     []string{"X-Gate-RateLimit-Limit"},
			Remaining: []string{"X-Gate-RateLimit-Requests-Remain"},
			Reset:     []string{"X-Gate-RateLimit-Reset-Timestamp"},
			ResetUnix: true,
		},
		{
			Name:      "Bitvavo",
			Limit:     []string{"Bitvavo-RateLimit-Limit"},
			Remaining: []string{"Bitvavo-RateLimit-Remaining"},
			Reset:     []string{"Bitvavo-RateLimit-ResetAt"},
		},
		{
			// docs.upbit.com.
			Name:    "Upbit",
			Summary: []string{"Remaining-Req"},
		},
		{
			// docs.spring.io/spring-cloud-gateway, RequestRateLimiter. Uzum's has a quota of the day beside the bucket.
			Name:      "Spring Cloud Gateway",
			Sign:      "X-RateLimit-Replenish-Rate",
			Limit:     append(perTimes("X-RateLimit-Limit-<?>"), "X-RateLimit-Burst-Capacity"),
			Remaining: append(perTimes("X-RateLimit-Remaining-<?>"), "X-RateLimit-Remaining"),
			Reset:     perTimes("X-RateLimit-Reset-<?>"),
			Cost:      []string{"X-RateLimit-Requested-Tokens"},
			Window:    []string{"X-RateLimit-Replenish-Rate"},
		},
		{
			// documentation.tradier.com.
			Name:      "Tradier",
			Limit:     []string{"X-RateLimit-Allowed"},
			Remaining: []string{"X-RateLimit-Available"},
			Used:      []string{"X-RateLimit-Used"},
			Reset:     []string{"X-RateLimit-Expiry"},
			Sign:      "X-RateLimit-Expiry",
		},
		{
			// docs.mistral.ai: the names before those in the last row.
			Name:      "Mistral, by size",
			Limit:     []string{"X-RateLimitBySize-Limit-*"},
			Remaining: []string{"X-RateLimitBySize-Remaining-*"},
			Cost:      []string{"RateLimitBySize-Query-Cost"},
			Units:     map[string]string{"": "tokens"},
		},
		{
			// docs.konghq.com, AI Rate Limiting Advanced; apisix.apache.org, ai-rate-limiting.
			Name:      "AI gateways",
			Limit:     []string{"X-AI-RateLimit-Limit-*"},
			Remaining: []string{"X-AI-RateLimit-Remaining-*"},
			Reset:     []string{"X-AI-RateLimit-Reset-*"},
			Units:     map[string]string{"": "tokens"},
		},
		{
			// learn.microsoft.com, Azure Resource Graph, throttling.
			Name:      "Azure Resource Graph",
			Remaining: []string{"X-Ms-User-Quota-Remaining"},
			Reset:     []string{"X-Ms-User-Quota-Resets-After"},
		},
		{
			// learn.microsoft.com, Dataverse, service protection API limits. The other
			// field is execution time.
			Name:      "Dataverse",
			Remaining: []string{"X-Ms-RateLimit-<Burst>-Remaining-Xrm-Requests"},
		},
		{
			// developers.gorgias.com. A leaky bucket, as Shopify's.
			Name:    "Gorgias",
			Summary: []string{"X-Gorgias-Account-Api-Call-Limit"},
			Refills: true,
			Every:   map[string]time.Duration{"": 20 * time.Second},
		},
		{
			// docs.getrecharge.com. 40 leak at 2 a second.
			Name:    "Recharge",
			Summary: []string{"X-Recharge-Limit"},
			Refills: true,
			Every:   map[string]time.Duration{"": 20 * time.Second},
		},
		{
			// developers.lightspeedhq.com/retail.
			Name:    "Lightspeed Retail",
			Summary: []string{"X-LS-API-Bucket-Level"},
			Cost:    []string{"X-LS-API-Request-Cost"},
			Window:  []string{"X-LS-API-Drip-Rate"},
			Units:   map[string]string{"": "points"},
		},
		{
			// developers.ringcentral.com, rate limits.
			Name:      "RingCentral",
			Sign:      "X-Rate-Limit-Group",
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Window:    []string{"X-Rate-Limit-Window"},
			Partition: []string{"X-Rate-Limit-Group"},
		},
		{
			// developer.aircall.io.
			Name:      "Aircall",
			Limit:     []string{"X-AircallApi-Limit"},
			Remaining: []string{"X-AircallApi-Remaining"},
			Reset:     []string{"X-AircallApi-Reset"},
		},
		{
			// www.pathofexile.com/developer/docs. "5:10:60": 5 in 10 seconds, else nothing for a minute.
			Name:      "Path of Exile",
			Sign:      "X-Rate-Limit-Rules",
			Limit:     []string{"X-Rate-Limit-<Ip>", "X-Rate-Limit-<Account>", "X-Rate-Limit-<Client>"},
			Used:      []string{"X-Rate-Limit-<Ip>-State", "X-Rate-Limit-<Account>-State", "X-Rate-Limit-<Client>-State"},
			Partition: []string{"X-Rate-Limit-Policy"},
		},
		{
			// docs.openalex.org. Credits are what the request has cost.
			Name:      "OpenAlex",
			Sign:      "X-RateLimit-Credits-Used",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Cost:      []string{"X-RateLimit-Credits-Used"},
			Units:     map[string]string{"": "credits"},
		},
		{
			// www.polar.com/accesslink-api.
			Name:     "Polar",
			Hosts:    []string{"polaraccesslink.com"},
			Sign:     "RateLimit-Usage",
			Limit:    []string{"RateLimit-Limit"},
			Used:     []string{"RateLimit-Usage"},
			Reset:    []string{"RateLimit-Reset"},
			Accounts: []string{"15-minute", "day"},
		},
		{
			// docs.apollo.io.
			Name:      "Apollo",
			Sign:      "X-Minute-Requests-Left",
			Limit:     []string{"X-Rate-Limit-<Minute>", "X-Rate-Limit-<Hourly>", "X-Rate-Limit-<24-hour>", "X-Rate-Limit-<Daily>"},
			Remaining: []string{"X-*-Requests-Left"},
			Used:      []string{"X-*-Usage"},
		},
		{
			// www.football-data.org/documentation.
			Name:      "football-data.org",
			Remaining: []string{"X-Requests-Available-<Minute>"},
			Reset:     []string{"X-RequestCounter-Reset"},
			ResetIn:   time.Second,
		},
		{
			// ip-api.com/docs.
			Name:      "ip-api.com",
			Hosts:     []string{"ip-api.com"},
			Remaining: []string{"X-Rl"},
			Reset:     []string{"X-Ttl"},
			ResetIn:   time.Second,
		},
		{
			// docs.qualys.com, API limits. Refusals have the status 409.
			Name:      "Qualys",
			Sign:      "X-RateLimit-ToWait-Sec",
			Limit:     []string{"X-RateLimit-Limit", "X-<Concurrency>-Limit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Used:      []string{"X-<Concurrency>-Limit-Running"},
			Window:    []string{"X-RateLimit-Window-Sec"},
			Retry:     []string{"X-RateLimit-ToWait-Sec"},
			Refusals:  []Refusal{{Status: 409, Field: "X-RateLimit-ToWait-Sec"}},
		},
		{
			// docs.cohere.com: a trial key's.
			Name:      "Cohere",
			Limit:     []string{"X-Trial-Endpoint-Call-Limit"},
			Remaining: []string{"X-Trial-Endpoint-Call-Remaining"},
			Every:     map[string]time.Duration{"": time.Minute},
		},
		{
			// developer.infusionsoft.com.
			Name:      "Keap",
			Limit:     []string{"X-Keap-*-Limit"},
			Remaining: []string{"X-Keap-*-Available"},
			Used:      []string{"X-Keap-*-Used"},
			Window:    []string{"X-Keap-*-Time-Unit"},
		},
		{
			// docs.pingdom.com/api. "Remaining: 394 Time until reset: 3589".
			Name:    "Pingdom",
			Summary: []string{"Req-Limit-*"},
		},
		{
			// docs.mulesoft.com, rate limiting policies: "remaining time, in milliseconds", in
			// X-RateLimit-Reset. Other fields are those of the applications that run there.
			Name:    "MuleSoft CloudHub",
			Hosts:   []string{"cloudhub.io"},
			ResetIn: time.Millisecond,
		},
		{
			// Schibsted's product search.
			Name:    "Prisjakt",
			Hosts:   []string{"api.schibsted.com"},
			ResetIn: time.Millisecond,
		},
		{
			// dev.skuvault.com.
			Name:    "SkuVault",
			Hosts:   []string{"skuvault.com"},
			ResetIn: time.Millisecond,
		},
		{
			// developer.genesys.cloud, rate limits. The count is that of the window of a minute.
			Name:    "Genesys Cloud",
			Limit:   []string{"inin-RateLimit-Allowed"},
			Used:    []string{"inin-RateLimit-Count"},
			Reset:   []string{"inin-RateLimit-Reset"},
			ResetIn: time.Second,
			Every:   map[string]time.Duration{"": time.Minute},
		},
		{
			// open.larksuite.com, rate limits: on refusals. Those of older interfaces have the status 400.
			Name:     "Lark",
			Sign:     "X-Ogw-RateLimit-*",
			Limit:    []string{"X-Ogw-RateLimit-Limit"},
			Reset:    []string{"X-Ogw-RateLimit-Reset"},
			ResetIn:  time.Second,
			Refusals: []Refusal{{Status: 400, Text: "99991400"}},
		},
		{
			// www.xweather.com/docs/weather-api/getting-started/rate-limiting.
			Name:      "Xweather",
			Sign:      "X-RateLimit-Remaining-Period",
			Limit:     []string{"X-RateLimit-Limit-<Minute>", "X-RateLimit-Limit-<Period>"},
			Remaining: []string{"X-RateLimit-Remaining-<Minute>", "X-RateLimit-Remaining-<Period>"},
			Reset:     []string{"X-RateLimit-Reset-<Minute>", "X-RateLimit-Reset-<Period>"},
			Window:    []string{"X-RateLimit-Limit-<Period>-Type"},
		},
		{
			// developer.gocardless.com/bank-account-data. The quota for each bank account, with
			// _ACCOUNT_SUCCESS in its names, is not that of other requests.
			Name:      "GoCardless Bank Account Data",
			Limit:     []string{"HTTP_X_RATELIMIT_LIMIT"},
			Remaining: []string{"HTTP_X_RATELIMIT_REMAINING"},
			Reset:     []string{"HTTP_X_RATELIMIT_RESET"},
			ResetIn:   time.Second,
		},
		{
			// developer-pro.bitmart.com, rate limit. Remaining is what has been used, and Reset is the
			// window. Each endpoint is counted for itself.
			Name:   "BitMart",
			Limit:  []string{"X-BM-RateLimit-Limit"},
			Used:   []string{"X-BM-RateLimit-Remaining"},
			Window: []string{"X-BM-RateLimit-Reset"},
			Paths:  []string{"{product}/{version}/{group}/{endpoint}", "{product}/{group}/{endpoint}"},
		},
		{
			// cloudinary.com/documentation/admin_api#usage_limits. Refusals have the status 420 or 429.
			Name:      "Cloudinary",
			Limit:     []string{"X-FeatureRateLimit-Limit"},
			Remaining: []string{"X-FeatureRateLimit-Remaining"},
			Reset:     []string{"X-FeatureRateLimit-Reset"},
			Every:     map[string]time.Duration{"": time.Hour},
		},
		{
			// doc.toasttab.com/doc/devguide/apiRateLimiting.html. The limit that is closest to its end.
			Name:      "Toast",
			Remaining: []string{"X-Toast-RateLimit-Remaining"},
			Reset:     []string{"X-Toast-RateLimit-Reset"},
			ResetUnix: true,
			Partition: []string{"X-Toast-RateLimit-By"},
		},
		{
			// developer.planning.center/docs, rate limiting: 100 in "20 seconds".
			Name:   "Planning Center",
			Limit:  []string{"X-PCO-API-Request-Rate-Limit"},
			Used:   []string{"X-PCO-API-Request-Rate-Count"},
			Window: []string{"X-PCO-API-Request-Rate-Period"},
		},
		{
			// qiita.com/api/v2/docs.
			Name:      "Qiita",
			Sign:      "Rate-Remaining",
			Limit:     []string{"Rate-Limit"},
			Remaining: []string{"Rate-Remaining"},
			Reset:     []string{"Rate-Reset"},
		},
		{
			// spoonacular.com/food-api/docs. Points of a day, which may be fractions.
			Name:      "spoonacular",
			Remaining: []string{"X-API-Quota-Left"},
			Used:      []string{"X-API-Quota-Used"},
			Cost:      []string{"X-API-Quota-Request"},
			Every:     map[string]time.Duration{"": 24 * time.Hour},
			Units:     map[string]string{"": "points"},
		},
		{
			// dev.moysklad.ru, limits. The interval is in milliseconds, and so is Retry-After.
			Name:      "MoySklad",
			Sign:      "X-Lognex-Retry-TimeInterval",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Window:    []string{"X-Lognex-Retry-TimeInterval"},
			Retry:     []string{"X-Lognex-Retry-After"},
			ResetIn:   time.Millisecond,
		},
		{
			// www.weatherapi.com/docs: queries per minute.
			Name:      "WeatherAPI",
			Remaining: []string{"X-WeatherAPI-<Qpm>-Left"},
		},
		{
			// SmartThings, and limiters made by hand for Express: a count of the requests. Beside X-RateLimit-Max it may be of those
			// that are left (Stack Exchange). Whether the reset is in seconds or in milliseconds, a transport.Shaper finds out.
			Name:      "X-RateLimit-Current",
			Sign:      "X-RateLimit-Current",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Used:      []string{"X-RateLimit-Current"},
			Reset:     []string{"X-RateLimit-TTL", "X-RateLimit-Reset"},
			Window:    []string{"X-RateLimit-Window"},
		},
		{
			// console.upstage.ai/docs, rate limits.
			Name:      "Upstage",
			Limit:     []string{"X-Upstage-RateLimit-Limit", "X-Upstage-RateLimit-Limit-*"},
			Remaining: []string{"X-Upstage-RateLimit-Remaining", "X-Upstage-RateLimit-Remaining-*"},
			Reset:     []string{"X-Upstage-RateLimit-Reset", "X-Upstage-RateLimit-Reset-*"},
			Retry:     []string{"X-Upstage-RateLimit-Retry-After-*"},
		},
		{
			// developer.xurrent.com, GraphQL: requests, and what queries cost.
			Name:      "Xurrent",
			Sign:      "X-CostLimit-Limit",
			Limit:     []string{"X-RateLimit-Limit", "X-<CostLimit>-Limit"},
			Remaining: []string{"X-RateLimit-Remaining", "X-<CostLimit>-Remaining"},
			Reset:     []string{"X-RateLimit-Reset", "X-<CostLimit>-Reset"},
			Cost:      []string{"X-<CostLimit>-Cost"},
			Units:     map[string]string{"costlimit": "points"},
		},
		{
			// github.com/IBM/watsonx-ai-python-sdk: the rate is that of a second.
			Name:      "watsonx",
			Limit:     []string{"X-Requests-Limit-Rate"},
			Remaining: []string{"X-Requests-Limit-Remaining"},
			Reset:     []string{"X-Requests-Limit-Reset"},
			Every:     map[string]time.Duration{"": time.Second},
		},
		{
			// maif.github.io/otoroshi: what is left of an API key's calls.
			Name:      "Otoroshi",
			Remaining: []string{"Otoroshi-<Daily>-Calls-Remaining", "Otoroshi-<Monthly>-Calls-Remaining"},
		},
		{
			// github.com/cloud-apim/otoroshi-llm-extension.
			Name:      "Otoroshi, language models",
			Limit:     []string{"X-LLM-RateLimit-Max-<Tokens>"},
			Remaining: []string{"X-LLM-RateLimit-Remaining-<Tokens>"},
			Used:      []string{"X-LLM-RateLimit-Consumed-<Tokens>"},
		},
		{
			// docs.helicone.ai, custom rate limits.
			Name:      "Helicone",
			Limit:     []string{"Helicone-RateLimit-Limit"},
			Remaining: []string{"Helicone-RateLimit-Remaining"},
			Reset:     []string{"Helicone-RateLimit-Reset"},
			Policy:    []string{"Helicone-RateLimit-Policy"},
		},
		{
			// ollama.com/cloud, refusals: how many requests run at a time. As many as Queue-Limit wait there.
			Name:  "Ollama",
			Hosts: []string{"ollama.com"},
			Sign:  "X-RateLimit-Max-Concurrent",
			Limit: []string{"X-RateLimit-Max-Concurrent"},
			Used:  []string{"X-RateLimit-Active"},
			Units: map[string]string{"": concurrentRequests},
		},
		{
			// docs.coinglass.com/reference/responses-error-codes: of a minute.
			Name:  "CoinGlass",
			Hosts: []string{"coinglass.com"},
			Limit: []string{"API-KEY-MAX-LIMIT"},
			Used:  []string{"API-KEY-USE-LIMIT"},
			Every: map[string]time.Duration{"": time.Minute},
		},
		{
			// docs.tic.io/throttling. What ends in -IP counts the addresses that requests come from.
			Name:      "TIC",
			Hosts:     []string{"tic.io"},
			Sign:      "X-RateLimit-Limit-IP",
			Limit:     []string{"X-RateLimit-Limit", "X-RateLimit-Limit-<Minute>"},
			Remaining: []string{"X-RateLimit-Remaining", "X-RateLimit-Remaining-<Minute>"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetIn:   time.Second,
		},
		{
			// solana.com/docs/references/clusters, and Triton, which runs these servers. The fields beside
			// these count connections, subscriptions and free coins, and are on all responses.
			Name:      "Solana",
			Hosts:     []string{"solana.com", "rpcpool.com"},
			Sign:      "X-RateLimit-Conn-Limit",
			Limit:     []string{"X-RateLimit-<RPS>-Limit", "X-RateLimit-<Method>-Limit"},
			Remaining: []string{"X-RateLimit-<RPS>-Remaining", "X-RateLimit-<Method>-Remaining"},
		},
		{
			// github.com/tkhamez/neucore, rate limit for apps.
			Name:      "Neucore",
			Remaining: []string{"X-Neucore-Rate-Limit-Remain"},
			Reset:     []string{"X-Neucore-Rate-Limit-Reset"},
			ResetIn:   time.Second,
		},
		{
			// apicenter.commerce.naver.com: a Spring Cloud Gateway. The quota beside it is that of one
			// endpoint, for a time that is not said.
			Name:      "Naver Commerce",
			Limit:     []string{"GNCP-GW-RateLimit-Burst-Capacity"},
			Remaining: []string{"GNCP-GW-RateLimit-Remaining"},
			Window:    []string{"GNCP-GW-RateLimit-Replenish-Rate"},
		},
		{
			// metacpan.org/pod/Plack::Middleware::Throttle::Lite. Older versions refuse with the status 503 and
			// without Retry-After.
			Name:   "Plack::Middleware::Throttle::Lite",
			Limit:  []string{"X-Throttle-Lite-Limit"},
			Used:   []string{"X-Throttle-Lite-Used"},
			Reset:  []string{"X-Throttle-Lite-Expire"},
			Window: []string{"X-Throttle-Lite-Units"},
		},
		{
			// api-docs.brightpearl.com, request throttling.
			Name:      "Brightpearl",
			Remaining: []string{"Brightpearl-Requests-Remaining"},
			Reset:     []string{"Brightpearl-Next-Throttle-Period"},
			ResetIn:   time.Millisecond,
		},
		{
			// yandex.ru/dev/market/partner-api, limits. Refusals have the status 420.
			Name:      "Yandex Market",
			Sign:      "X-RateLimit-Resource-Until",
			Limit:     []string{"X-RateLimit-Resource-Limit"},
			Remaining: []string{"X-RateLimit-Resource-Remaining"},
			Reset:     []string{"X-RateLimit-Resource-Until"},
		},
		{
			// yandex.com/dev/direct/doc/dg/concepts/units.html: the cost of the request, what is left,
			// and what a day has.
			Name:    "Yandex Direct",
			Hosts:   []string{"api.direct.yandex.com", "api.direct.yandex.ru", "api-sandbox.direct.yandex.com", "api-sandbox.direct.yandex.ru"},
			Summary: []string{"Units"},
			Every:   map[string]time.Duration{"": 24 * time.Hour},
			Units:   map[string]string{"": "units"},
		},
		{
			// developers.eveonline.com/docs/services/esi/best-practices: a hundred errors a minute. When
			// none is left, all requests are refused with the status 420.
			Name:      "EVE, errors",
			Remaining: []string{"X-ESI-Error-Limit-Remain"},
			Reset:     []string{"X-ESI-Error-Limit-Reset"},
			ResetIn:   time.Second,
			Units:     map[string]string{"": errorsUnit},
		},
		{
			// docs.graphhopper.com. Credits are what the request has cost.
			Name:      "GraphHopper",
			Hosts:     []string{"graphhopper.com"},
			Sign:      "X-RateLimit-Credits",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Cost:      []string{"X-RateLimit-Credits"},
			Units:     map[string]string{"": "credits"},
		},
		{
			// opendata.aemet.es.
			Name:      "AEMET",
			Hosts:     []string{"opendata.aemet.es"},
			Remaining: []string{"Remaining-Request-Count"},
		},
		{
			// deskie.io/api.
			Name:      "Deskie",
			Hosts:     []string{"deskie.io"},
			Limit:     []string{"rate_limit_per_minute"},
			Remaining: []string{"api_calls_left"},
			Every:     map[string]time.Duration{"": time.Minute},
		},
		{
			// developer.u4pp.com, throttling.
			Name:      "Unit4",
			Remaining: []string{"X-U4-RemainingLimit"},
			Partition: []string{"X-U4-QuotaType"},
		},
		{
			// docs.emergingtravel.com, request limits.
			Name:      "Emerging Travel",
			Sign:      "X-RateLimit-SecondsNumber",
			Limit:     []string{"X-RateLimit-RequestsNumber"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Window:    []string{"X-RateLimit-SecondsNumber"},
		},
		{
			// pushover.net/api: messages of an application in a month.
			Name:      "Pushover",
			Limit:     []string{"X-Limit-App-Limit"},
			Remaining: []string{"X-Limit-App-Remaining"},
			Reset:     []string{"X-Limit-App-Reset"},
			ResetUnix: true,
		},
		{
			// github.com/openai/codex: what is used of the quotas of a plan, in per cent.
			Name:    "OpenAI Codex",
			Summary: []string{"X-Codex-*-Used-Percent"},
			Reset:   []string{"X-Codex-*-Reset-After-Seconds", "X-Codex-*-Reset-At"},
			Units:   map[string]string{"": percent},
		},
		{
			// github.com/alibaba/higress, ai-token-ratelimit.
			Name:      "Higress",
			Limit:     []string{"X-TokenRateLimit-Limit"},
			Remaining: []string{"X-TokenRateLimit-Remaining"},
			Reset:     []string{"X-TokenRateLimit-Reset"},
			ResetIn:   time.Second,
			Units:     map[string]string{"": tokens},
		},
		{
			// api-sports.io/documentation: the plain fields are those of a minute.
			Name:      "API-Sports",
			Hosts:     []string{"api-sports.io"},
			Sign:      "X-RateLimit-Requests-Limit",
			Limit:     []string{"X-RateLimit-Limit", "X-RateLimit-<Requests>-Limit"},
			Remaining: []string{"X-RateLimit-Remaining", "X-RateLimit-<Requests>-Remaining"},
			Every:     map[string]time.Duration{"": time.Minute, "requests": 24 * time.Hour},
		},
		{
			// Amazon Kiro: milliseconds.
			Name:    "Kiro",
			Retry:   []string{"X-Amzn-Kiro-RateLimit-Retry-After"},
			ResetIn: time.Millisecond,
		},
		{
			// docs.developer.amazonservices.com, MWS, throttling.
			Name:      "Amazon MWS",
			Limit:     []string{"X-MWS-Quota-Max"},
			Remaining: []string{"X-MWS-Quota-Remaining"},
			Reset:     []string{"X-MWS-Quota-ResetsOn"},
		},
		{
			// beds24.com/api/v2: credits, of which requests take parts.
			Name:      "Beds24",
			Remaining: []string{"X-<Five-Min>-Limit-Remaining"},
			Reset:     []string{"X-<Five-Min>-Limit-Resets-In"},
			ResetIn:   time.Second,
			Units:     map[string]string{"": "credits"},
			Every:     map[string]time.Duration{"": 5 * time.Minute},
		},
		{
			// apifreaks.com, concurrency limits.
			Name:  "APIFreaks",
			Limit: []string{"X-<Concurrent>-Threads"},
			Used:  []string{"X-<Concurrent>-Threads-Active"},
		},
		{
			// ads.line.me: requests at a time.
			Name:  "LINE Ads",
			Hosts: []string{"ads.line.me"},
			Limit: []string{"X-Request-Quota-Limit"},
			Used:  []string{"X-Request-Quota-Used"},
			Units: map[string]string{"": concurrentRequests},
		},
		{
			// docs.zenrows.com, response headers.
			Name:      "ZenRows",
			Sign:      "Concurrency-Remaining",
			Limit:     []string{"<Concurrency>-Limit"},
			Remaining: []string{"<Concurrency>-Remaining"},
		},
		{
			// docs.sentinel-hub.com, rate limiting: Retry-After is in milliseconds.
			Name:      "Sentinel Hub",
			Hosts:     []string{"sentinel-hub.com", "sh.dataspace.copernicus.eu"},
			Sign:      "X-ProcessingUnits-Remaining",
			Remaining: []string{"X-RateLimit-Remaining", "X-<ProcessingUnits>-Remaining"},
			Units:     map[string]string{"processingunits": "processing-units"},
			Retry:     []string{"Retry-After"},
			ResetIn:   time.Millisecond,
		},
		{
			// tiendanube.github.io/api-documentation, rate limiting.
			Name:    "Nuvemshop, Tiendanube",
			Hosts:   []string{"api.nuvemshop.com.br", "api.tiendanube.com"},
			ResetIn: time.Millisecond,
		},
		{
			// integrations.mimecast.com, rate limiting.
			Name:    "Mimecast",
			Hosts:   []string{"mimecast.com"},
			ResetIn: time.Millisecond,
		},
		{
			// developers.tbcbank.ge/docs/error-type-503.
			Name:    "TBC Bank",
			Hosts:   []string{"tbcbank.ge"},
			Retry:   []string{"Retry-After"},
			ResetIn: time.Millisecond,
		},
		{
			// docs.mangopay.com/api-reference/overview/rate-limiting: the calls made in each window.
			Name:      "Mangopay",
			Hosts:     []string{"mangopay.com"},
			Sign:      "X-RateLimit",
			Used:      []string{"X-RateLimit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetUnix: true,
			Accounts:  []string{"15-minute", "30-minute", "hour", "day"},
		},
		{
			// developers.expediagroup.com/xap-apis, rate limiting.
			Name:      "Expedia XAP",
			Limit:     []string{"EG-Rate-Limit-<Minute>"},
			Remaining: []string{"EG-Rate-Limit-Remaining-<Minute>"},
			Reset:     []string{"EG-Rate-Limit-Reset-<Minute>"},
		},
		{
			// developers.facebook.com/docs/graph-api/overview/rate-limiting: Facebook, Instagram, WhatsApp, Threads.
			// The quotas of a business are counted for each page, ad or other account, which the path names.
			Name:     "Meta",
			Hosts:    []string{"graph.facebook.com", "graph-video.facebook.com", "graph.instagram.com", "graph.whatsapp.com", "graph.threads.net"},
			Summary:  []string{"X-<App>-Usage", "X-<Page>-Usage", "X-<Ad-Account>-Usage", "X-Business-Use-Case-Usage"},
			Units:    map[string]string{"": percent},
			Paths:    []string{"{version}/{node}"},
			Refusals: metaRefusals(),
		},
		{
			// developer.kpn.com, response headers.
			Name:   "KPN",
			Sign:   "Quota-Reset-UTC",
			Limit:  []string{"Quota-Limit"},
			Used:   []string{"Quota-Used"},
			Reset:  []string{"Quota-Reset-UTC"},
			Window: []string{"Quota-Time-Unit"},
		},
		{
			// docs.therundown.io/rate-limits: requests in a second. More data points than are left cost money, and are served.
			Name:  "TheRundown",
			Hosts: []string{"therundown.io"},
			Limit: []string{"X-Rate-Limit"},
			Every: map[string]time.Duration{"": time.Second},
		},
		{
			// bitget.com/api-doc, Q11: what is left of the requests to an endpoint in a second.
			Name:      "Bitget",
			Hosts:     []string{"bitget.com"},
			Remaining: []string{"X-Mbx-Used-Remain-Limit"},
			Every:     map[string]time.Duration{"": time.Second},
			Paths:     []string{"api/{version}/{market}/{group}/{endpoint}", "api/{version}/{market}/{endpoint}"},
		},
		{
			// docs.learnupon.com/api, rate limits.
			Name:      "LearnUpon",
			Remaining: []string{"X-LU-Rate-Limit-Remaining-<Minute>", "X-LU-Rate-Limit-Remaining-<Week>"},
		},
		{
			// api.opengwas.io, allowance: requests cost from 1 to some hundreds of it.
			Name:      "OpenGWAS",
			Hosts:     []string{"opengwas.io"},
			Limit:     []string{"X-Allowance-Limit"},
			Remaining: []string{"X-Allowance-Remaining"},
			Reset:     []string{"X-Allowance-Reset"},
			Units:     map[string]string{"": "allowance"},
		},
		{
			// developers.e-goi.com: requests of an hour. Trakt's X-Account-Limit counts items of lists.
			Name:      "E-goi",
			Hosts:     []string{"egoiapp.com"},
			Limit:     []string{"X-Account-Limit"},
			Remaining: []string{"X-Account-Remaining"},
			Reset:     []string{"X-Account-Reset"},
			ResetIn:   time.Second,
			Every:     map[string]time.Duration{"": time.Hour},
		},
		{
			// modelscope.cn, API-Inference, limits: requests of a day. The quota with
			// Model in its names is that of one model, which only the request's body names.
			Name:      "ModelScope",
			Limit:     []string{"ModelScope-RateLimit-Requests-Limit"},
			Remaining: []string{"ModelScope-RateLimit-Requests-Remaining"},
			Every:     map[string]time.Duration{"": 24 * time.Hour},
		},
		{
			// The exchange IX: milliseconds until the next request. The limit is the time between two.
			Name:    "IX",
			Hosts:   []string{"ixex.io", "ix.com"},
			Reset:   []string{"X-RateLimit-Next"},
			Retry:   []string{"X-RateLimit-Next"},
			ResetIn: time.Millisecond,
		},
		{
			// discuss.worldweatheronline.com/t/63: what is left of the day, as of ten minutes ago.
			Name:      "World Weather Online",
			Remaining: []string{"X-WWO-Qpd-Left"},
			Every:     map[string]time.Duration{"": 24 * time.Hour},
		},
		{
			// developer.kookapp.cn, rate limits: as Discord's, in other letters, and without a path.
			Name:      "X-Rate-Limit-Bucket",
			Sign:      "X-Rate-Limit-Bucket",
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Used:      []string{"X-Rate-Limit-Used"},
			Reset:     []string{"X-Rate-Limit-Reset-After", "X-Rate-Limit-Reset"},
			Window:    []string{"X-Rate-Limit-Window"},
			Partition: []string{"X-Rate-Limit-Bucket"},
		},
		{
			// Stack Overflow Internal (for Teams, Enterprise), API v3, rate limiting. The bucket is given a hundred
			// tokens a minute; each request takes one.
			Name:      "Stack Overflow",
			Remaining: []string{"X-<Burst>-Throttle-Calls-Left", "X-<Token-Bucket>-Calls-Left"},
			Reset:     []string{"X-<Burst>-Throttle-Seconds-Until-Full", "X-<Token-Bucket>-Seconds-Until-Next-Refill"},
			ResetIn:   time.Second,
		},
		{
			// developers.plentymarkets.com, REST API, throttling. X-Plenty-Route-* is a quota of each route, and
			// the path of a request does not tell its route.
			Name:      "plentymarkets",
			Limit:     []string{"X-Plenty-Global-<Short-Period>-Limit", "X-Plenty-Global-<Long-Period>-Limit"},
			Remaining: []string{"X-Plenty-Global-<Short-Period>-Calls-Left", "X-Plenty-Global-<Long-Period>-Calls-Left"},
			Reset:     []string{"X-Plenty-Global-<Short-Period>-Decay", "X-Plenty-Global-<Long-Period>-Decay"},
			ResetIn:   time.Second,
		},
		{
			// developers.cafe24.com, API limits. A leaky bucket, as Shopify's; Remain is when calls are served again, on
			// refusals: for their number, and for the time that they take.
			Name:    "Cafe24",
			Hosts:   []string{"cafe24api.com"},
			Summary: []string{"X-Api-Call-Limit"},
			Refills: true,
			Every:   map[string]time.Duration{"": 20 * time.Second},
			Retry:   []string{"X-Cafe24-Call-Remain", "X-Cafe24-Time-Remain"},
		},
		{
			// github.com/blockscout/blockscout, API rate limits: milliseconds; -1 is no limit. Its configuration has quotas
			// by the beginning of the path, such as api/v2 and api/eth-rpc.
			Name:      "Blockscout",
			Sign:      "Bypass-429-Option",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetIn:   time.Millisecond,
			Paths:     []string{"api/{family}"},
		},
		{
			// api.watchmode.com, usage and rate limits; developer.hootsuite.com. Elsewhere a quota of an account may be one
			// of bytes.
			Name:  "Watchmode, Hootsuite",
			Hosts: []string{"watchmode.com", "hootsuite.com"},
			Limit: []string{"X-Account-Quota"},
			Used:  []string{"X-Account-Quota-Used"},
		},
		{
			// jumpseller.com/support/api: of a minute and of a second. They are a calendar's, and nothing says when they end: with
			// their lengths alone a Shaper would wait for too long. The last field tells when a banned address is served again.
			Name:      "Jumpseller",
			Limit:     []string{"Jumpseller-<PerMinuteRateLimit>-Limit", "Jumpseller-<PerSecondRateLimit>-Limit"},
			Remaining: []string{"Jumpseller-<PerMinuteRateLimit>-Remaining", "Jumpseller-<PerSecondRateLimit>-Remaining"},
			Retry:     []string{"Jumpseller-BannedByRateLimit-Reset"},
		},
		{
			// developer.clarivate.com, Web of Science API Expanded. X-REC-* counts records, not requests. Nothing says when
			// the second ends, as at Jumpseller.
			Name:      "Web of Science",
			Remaining: []string{"X-REQ-<ReqPerSec>-Remaining", "X-REQ-<ReqPerDay>-Remaining"},
			Every:     map[string]time.Duration{"reqperday": 24 * time.Hour},
		},
		{
			// docs.x.com/x-ads-api, rate limits: beside those of the token and of the ad account, analytics have one of costs.
			Name:      "X Ads",
			Sign:      "X-Cost-Rate-Limit-Limit",
			Hosts:     []string{"ads-api.x.com", "ads-api.twitter.com", "ads-api-sandbox.x.com", "ads-api-sandbox.twitter.com"},
			Limit:     []string{"X-Rate-Limit-Limit", "X-<Account>-Rate-Limit-Limit", "X-<Cost>-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining", "X-<Account>-Rate-Limit-Remaining", "X-<Cost>-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset", "X-<Account>-Rate-Limit-Reset", "X-<Cost>-Rate-Limit-Reset"},
			ResetUnix: true,
			Cost:      []string{"X-Request-<Cost>"},
			Units:     map[string]string{"cost": "cost"},
		},
		{
			// scrapfly.io/docs, billing and concurrency: requests at a time, of the account and of a project.
			Name:      "Scrapfly",
			Remaining: []string{"X-Scrapfly-<Account>-Remaining-Concurrent-Usage", "X-Scrapfly-<Project>-Remaining-Concurrent-Usage"},
			Used:      []string{"X-Scrapfly-<Account>-Concurrent-Usage", "X-Scrapfly-<Project>-Concurrent-Usage"},
			Units:     map[string]string{"": concurrentRequests},
		},
		{
			// api.cartrover.com: what is left of the minute. Nothing says when it ends, as at Jumpseller.
			Name:      "CartRover",
			Remaining: []string{"X-CartRover-Api-Minute-Hits-Remaining"},
		},
		{
			// developer.sage.com/intacct, REST API, headers: of an hour, and requests at a time. The limit of a minute is
			// a soft one: requests beyond it are served.
			Name:      "Sage Intacct",
			Limit:     []string{"X-IA-<Hour>-Rate-Limit", "X-IA-<Throttle>-Limit"},
			Remaining: []string{"X-IA-<Hour>-Rate-Limit-Remaining", "X-IA-<Throttle>-Limit-Remaining"},
			Units:     map[string]string{"throttle": concurrentRequests},
		},
		{
			// pockethost.io/docs, limits: of an address and of an instance, in an hour and at a time.
			Name:      "PocketHost",
			Limit:     []string{"X-PocketHost-RateLimit-*-Limit"},
			Remaining: []string{"X-PocketHost-RateLimit-*-Remaining"},
			Reset:     []string{"X-PocketHost-RateLimit-*-Reset"},
			ResetUnix: true,
		},
		{
			// activitypub.software/TransFem-org/Sharkey, SkRateLimiterService: a bucket for each endpoint, of which
			// X-RateLimit-Clear is when it is full.
			Name:      "Sharkey",
			Sign:      "X-RateLimit-Clear",
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetIn:   time.Second,
			Paths:     []string{"api/{group}/{part}/{endpoint}", "api/{group}/{endpoint}", "api/{endpoint}"},
		},
		{
			// pan.dev/dns-security/docs/access-limits, and a library for .NET.
			Name:      "X-Quota-Limit",
			Limit:     []string{"X-Quota-Limit-Total", "X-Quota-Limit-Limit"},
			Remaining: []string{"X-Quota-Limit-Remaining"},
			Reset:     []string{"X-Quota-Limit-Reset"},
		},
		{
			// api.docs.shoptet.com, rate limiting: a leaky bucket, from which ten leak in a second.
			Name:    "Shoptet",
			Summary: []string{"X-RateLimit-Bucket-Filling"},
			Refills: true,
			Every:   map[string]time.Duration{"": 20 * time.Second},
		},
		{
			// Paymo, API: the period is what is left of it.
			Name:      "Paymo",
			Sign:      "X-RateLimit-Decay-Period",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Decay-Period"},
			ResetIn:   time.Second,
		},
		{
			// Fracttal, API. Refusals have the status 406.
			Name:      "Fracttal",
			Limit:     []string{"Request-Call-Limit"},
			Remaining: []string{"Request-Call-Limit-Remaining"},
			Reset:     []string{"Request-Call-Limit-Reset"},
			ResetIn:   time.Second,
		},
		{
			// api-docs.dnsmadeeasy.com: 150 in five minutes.
			Name:      "DNS Made Easy",
			Limit:     []string{"X-Dnsme-RequestLimit"},
			Remaining: []string{"X-Dnsme-RequestsRemaining"},
			Every:     map[string]time.Duration{"": 5 * time.Minute},
		},
		{
			// tiny.com.br/api-docs, limits: calls in a minute.
			Name:  "Tiny",
			Hosts: []string{"tiny.com.br"},
			Limit: []string{"X-Limit-Api"},
			Every: map[string]time.Duration{"": time.Minute},
		},
		{
			// docs.lettr.com, rate limits: the fields of a day and of a month count emails, not requests.
			Name:      "Lettr",
			Hosts:     []string{"lettr.com"},
			Sign:      "X-Daily-Limit",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
		},
		{
			// customtradescrm.com/developer: calls of a month. Elsewhere, a usage is often of something else than requests.
			Name:      "Custom Trades CRM",
			Hosts:     []string{"customtradescrm.com"},
			Limit:     []string{"X-<Usage>-Limit"},
			Remaining: []string{"X-<Usage>-Remaining"},
			Used:      []string{"X-<Usage>-Count"},
			Reset:     []string{"X-<Usage>-Resets"},
		},
		{
			// github.com/eludris: the first field is how long a window takes. Last-Reset is when it began.
			Name:   "Eludris",
			Sign:   "X-RateLimit-Last-Reset",
			Limit:  []string{"X-RateLimit-Max"},
			Used:   []string{"X-RateLimit-Request-Count"},
			Window: []string{"X-RateLimit-Reset"},
		},
		{
			// help.sportsengine.com, API rate limits.
			Name:      "SportsEngine",
			Sign:      "Retry-Remaining",
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"Retry-Remaining"},
			Reset:     []string{"Retry-Reset"},
		},
		{
			// docs.rye.com, rate limits: each tier of queries has a quota of its own.
			Name:      "Rye",
			Hosts:     []string{"rye.com"},
			Sign:      "RateLimit-Tier",
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining"},
			Reset:     []string{"RateLimit-Reset"},
			Partition: []string{"RateLimit-Tier"},
		},
		{
			// docs.serpmaster.com, usage stats: of a plan and a date. What is left of the subscription.
			Name:      "SerpMaster",
			Remaining: []string{"X-SerpMaster-RateLimit-*-Remaining"},
		},
		{
			// github.com/apiman/apiman, TransferQuotaPolicy: bytes. Its rate limits and quotas have names in common use.
			Name:      "apiman, transfer",
			Limit:     []string{"X-<TransferQuota>-Limit"},
			Remaining: []string{"X-<TransferQuota>-Remaining"},
			Reset:     []string{"X-<TransferQuota>-Reset"},
			Units:     map[string]string{"": "content-bytes"},
		},
		{
			// The fields in common use (draft -06, "RateLimit header fields
			// currently used on the web"), with windows or units in the names
			// (Kong, RapidAPI, NestJS), with lists (Envoy, WHOOP, Brave Search),
			// without "-Limit" (Composio), without "X-" (koa), with other words
			// (Trello, Akamai, Mistral, Openverse, Feedly), with a JSON object
			// (Basecamp, Trakt), with named figures (IBM API Connect). Names without
			// "RateLimit" say that they are about requests, or of which time a quota is.
			Name: "X-RateLimit",
			Limit: slices.Concat(rateLimits("Limit"), []string{"X-RateLimit", "X-Rate-Limit", "Rate-Limit-Limit", "Rate-Limit-Total", "Rate-Limit"},
				rateLimits("Total", "Max", "Limit-*", "*-Limit", "*-Max", "*-Allowed", "Allowed-*", "Capacity", "Maximum", "<Quota>-Limit", "<Quota>-Allocated", "<Quota>"),
				ofTimes("X-?-Limit", "X-?-Limit-Limit", "X-?-Limit-Max", "X-?-Request-Limit", "X-?-Requests-Limit", "?-Request-Limit", "?-Requests-Limit", "X-?-Quota-Limit", "?-Quota-Limit", "X-?Quota-Limit", "X-Quota-?-Limit", "X-Quota-Limit-?", "X-RateLimit-?Limit", "X-Rate-Limit-?Limit", "X-RateLimit-Limit?", "X-RateLimit-?", "X-Rate-Limit-?", "X-Requests-Limit-?"),
				rateLimits("<Burst>Limit", "<Concurrent>Limit"),
				perTimes("X-RateLimit-<?>", "X-RateLimit-<Requests-?>", "X-Rate-Limit-<?>", "X-Rate-Limit-<Requests-?>", "X-<Requests-?>-Limit"),
				counters("Limit", "Max"), ownRateLimits("-Limit", "-Max", ""), ofTimes("X-?RateLimit-Limit"), []string{
					"X-<Quota>-Limit", "X-<Quota>-Allowed", "X-<Api>-Limit", "X-<Throttle-Limit>-Total", "X-<Concurrency>-Limit", "X-<Concurrent>-Limit", "X-<Concurrency>-Limit-Limit", "X-<Concurrency>Limit-Limit", "X-<Burst>Limit-Limit", "X-<Burst>-Limit",
					"RateLimit-Limit-*", "RateLimit-*-Limit", "X-RateLimit-Capacity-*",
				}),
			Remaining: slices.Concat(rateLimits("Remaining"), []string{"Rate-Limit-Remaining", "Rate-Limit-Remains", "X-HB-RateLimit-<Requests>-Remain"},
				rateLimits("Remaining-*", "*-Remaining", "Remain", "Remains", "Limit-Remaining", "Limit-*-Remaining", "Remaining-Quota", "<Burst>Remaining", "<Concurrent>Remaining", "Available", "Available-*",
					"Left", "*-Remain", "<Quota>-Remaining"),
				ofTimes("X-?-Remaining", "X-?-Request-Remaining", "?-Request-Remaining", "?-Requests-Remaining", "X-?-Quota-Remaining", "X-?-Quota-Available", "?-Quota-Remaining", "?-Quota-Available", "X-?Quota-Remaining", "X-Quota-?-Remaining", "X-Quota-Remaining-?", "X-?-Quota-Left", "X-?-Limit-Remaining", "?-Limit-Remaining", "X-?-Requests-Left", "X-?-Requests-Remaining",
					"X-RateLimit-?Remaining", "X-Rate-Limit-?Remaining", "X-RateLimit-Remaining?", "X-Requests-Remaining-?", "X-Requests-Left-?"),
				perTimes("X-Remaining-<Requests-?>", "X-Remaining-<Calls-?>", "X-<Requests-?>-Remaining"),
				counters("Remaining", "Left", "Available"), ofTimes("X-?RateLimit-Remaining"), ownRateLimits("-Remaining", "-Limit-Remaining", "-Left", "-Available"), []string{
					"X-Remaining-<Requests>", "X-Remaining-<Calls>", "Remaining-<Requests>", "Remaining-<Calls>", "X-<Api>-Remaining", "X-<Throttle>-Remaining-Calls", "X-<Queries>-Remaining",
					"X-<Concurrency>-Remaining", "X-<Concurrent>-Remaining", "X-<Concurrency>-Limit-Remaining", "X-<Concurrency>Limit-Remaining", "X-<Burst>Limit-Remaining", "X-<Burst>-Remaining",
					"RateLimit-Remaining-*", "RateLimit-*-Remaining",
				}),
			Used: slices.Concat(rateLimits("Used", "Usage", "Used-*", "*-Used", "Limit-Used", "Count", "*-Count", "Consumed", "<Quota>-Used"),
				ofTimes("X-?-Used", "X-?-Limit-Used", "X-?-Request-Used", "X-?-Requests-Used", "?-Request-Used", "?-Requests-Used", "X-?-Usage", "X-?-Quota-Used", "?-Quota-Used", "X-?Quota-Used", "X-?-Quota-Count", "X-Quota-?-Used", "X-Quota-Used-?", "X-Requests-Used-?"), counters("Used"), ownRateLimits("-Used"),
				[]string{"X-<Quota>-Used", "X-<Api>-Used", "X-<Api>-Usage", "X-<Request-Limit>-Count", "X-<Api-Usage>-Count", "Rate-Limit-Used", "X-<Concurrency>Limit-Running", "X-<Concurrency>-Current", "X-<Concurrency>-Active", "X-<Concurrency>-Used", "X-<Concurrent>-Current", "X-<Concurrent>-Active"}),
			Cost: slices.Concat([]string{
				"X-RateLimit-Cost", "X-Rate-Limit-Cost", "X-RateLimit-*-Query-Cost", "X-RateLimit-*-Cost",
				"X-RateLimit-Used-CurrentRequest", "X-RateLimit-Increment", "X-Rate-Limit-Request-Weight-*",
			}, withEach(rateLimits("?-Cost"), "Request", "Query", "Method", "Operation"), counters("Cost"), []string{"X-<Requests>-Last"}),
			Reset: slices.Concat(rateLimits("Reset-After", "Reset-Ms", "Reset"), []string{"Rate-Limit-Reset"},
				rateLimits("Next", "Reset-*", "*-Reset"), rateLimits(resetWords()...),
				rateLimits("Limit-Reset", "Limit-*-Reset", "Reset-Seconds-*", "Remaining-Seconds", "TTL", "Remaining-TTL", "*-Remaining-TTL", "*-Expire",
					"Refresh", "Expire", "Expires", "Expires-At", "Expires-In", "Expiry", "Until",
					"Window-Reset", "Window-Reset-Ms", "Window-End", "TimeRemaining", "RemainingTime", "<Quota>-Reset"),
				ofTimes("X-?-Reset", "X-?-Request-Reset", "X-?-Requests-Reset", "?-Request-Reset", "?-Requests-Reset", "X-?-Quota-Reset", "X-?-Quota-ResetTime", "?-Quota-Reset", "?-Quota-ResetTime", "X-?Quota-Reset", "X-Quota-?-Reset", "X-Quota-Reset-?", "X-?-Limit-Reset", "?-Limit-Reset", "X-RateLimit-?Reset", "X-Rate-Limit-?Reset", "X-RateLimit-Reset?", "X-Requests-Reset-?"),
				perTimes("X-<Requests-?>-Reset"),
				ofTimes("X-?RateLimit-Reset", "X-?-Quota-Reset-At"),
				counters("Reset", "Reset-Time", "Resets", "Reset-At", "Resets-At", "Reset-In", "Resets-In", "Reset-Timestamp"),
				ownRateLimits("-Reset", "-Limit-Reset", "-Next", "-Reset-At", "-Resets-At", "-Reset-In", "-Resets-In", "-Reset-After"), []string{
					"X-<Quota>-Reset", "X-<Api>-Reset", "X-HB-RateLimit-<Requests>-Expire", "X-<Burst>Limit-Reset", "X-<Burst>-Limit-Reset", "X-<Burst>-Reset", "RateLimit-Reset-*", "RateLimit-*-Reset",
				}),
			Window: slices.Concat(rateLimits("*-Interval-Ms", "RenewalPeriod-*"), rateLimits(windowWords()...), withEach([]string{"Rate-Limit-?"}, windowWords()...),
				ownRateLimits("-Window")),
			Policy: []string{"X-RateLimit-Policy", "X-Rate-Limit-Policy"},
			Units:  units(),
		},
	}
}

// besideRate returns a row for quotas beside a rate: its sign, and what X-Quota-Daily-Limit is.
func besideRate(name, sign, daily string) Vendor {
	limits := slices.DeleteFunc(ofTimes("X-Quota-?-Limit"), func(name string) bool { return strings.Contains(name, "Daily") })
	resets := withEach([]string{"X-<Quota>-?"}, "Reset", "Resets", "Reset-At", "Resets-At", "Reset-In", "Resets-In")
	return Vendor{
		Name: name, Sign: sign,
		Limit:     append(limits, "X-Rate-Limit-Limit", "X-RateLimit-Limit", "X-RateLimit-Limit-*", "X-Rate-Limit-Limit-*", "X-<Burst>-Limit", "X-<Concurrency>-Limit", "X-<Quota>-Limit", "X-<Quota>-Max", daily),
		Remaining: append(ofTimes("X-Quota-?-Remaining"), "X-Rate-Limit-Remaining", "X-RateLimit-Remaining", "X-RateLimit-Remaining-*", "X-Rate-Limit-Remaining-*", "X-<Burst>-Remaining", "X-<Concurrency>-Remaining", "X-<Quota>-Remaining"),
		Used:      append(ofTimes("X-Quota-?-Used"), "X-Rate-Limit-Used", "X-RateLimit-Used", "X-<Quota>-Used"),
		Reset:     slices.Concat(ofTimes("X-Quota-?-Reset"), []string{"X-Rate-Limit-Reset", "X-RateLimit-Reset", "X-RateLimit-Reset-*", "X-<Burst>-Reset"}, resets),
		Window:    []string{"X-Rate-Limit-Window", "X-RateLimit-Window", "X-<Quota>-Window", "X-<Quota>-Period"},
		Cost:      []string{"X-<Quota>-Cost"},
		Partition: []string{"X-Quota-Type"},
	}
}

// windowWords returns what the names of fields with the window of a policy end in.
func windowWords() []string {
	return append(withEach(withEach([]string{"?"}, "Window?", "Period?", "Interval?", "Duration?"), "", "-Seconds", "-Sec", "-Milliseconds", "-Ms"),
		"Window-Size", "WindowSize", "Limit-Period", "TimePeriod", "Refresh-Period", "Timeframe", "Time-Window", "Unit")
}

// resetWords returns what the names of fields with a reset end in, beside Reset and the words after it that isForm knows.
func resetWords() []string {
	return []string{
		"ResetAt", "Reset-At", "Reset-Timestamp", "ResetTime", "ResetSeconds", "ResetIn", "ResetIn-Ms", "ResetsAt", "Resets", "Resets-At", "Resets-In",
		"ResetsOn", "Resets-On", "ResetOn", "ResetDate", "ResetsIn", "RenewsAt", "Renews-At", "RenewsOn", "Renews-On", "Next-Reset", "NextReset",
	}
}

// rateLimits returns the names of the fields in common use that end in each of some words.
func rateLimits(words ...string) (all []string) {
	for _, word := range words {
		all = append(all, "X-RateLimit-"+word, "X-Rate-Limit-"+word)
	}
	return all
}

// ownRateLimits returns names that begin with the name of the API, or with a word for its client: see owns.
func ownRateLimits(ends ...string) (all []string) {
	for _, end := range ends {
		all = append(all, "*-RateLimit"+end, "*-Rate-Limit"+end)
	}
	return all
}

// counters returns names that say that requests are counted: X-Api-Calls-Remaining.
func counters(measures ...string) []string {
	of := withEach([]string{"X-<?>-"}, "Requests", "Request", "Api-Requests", "Api-Request", "Calls", "Api-Calls", "Api-Call", "Request-Limit", "Call-Limit", "CallLimit", "Api-Limit",
		"Request-Quota", "Api-Quota", "ApiQuota", "Api-Usage", "Usage-Limit", "UsageLimit", "Throttle", "Throttle-Limit", "RL")
	of = append(of, withEach([]string{"<?>-"}, "Requests", "Api-Requests", "Calls", "Api-Calls", "Api-Limit")...)
	for i := range of {
		of[i] += "?"
	}
	return withEach(of, measures...)
}

// withEach returns each name with each word in place of its question mark.
func withEach(names []string, words ...string) (all []string) {
	for _, name := range names {
		for _, word := range words {
			all = append(all, strings.Replace(name, "?", word, 1))
		}
	}
	return all
}

// ofTimes returns each name for the accounts that are named after a time: X-<Daily>-Quota-Left. With
// any other word, these names may be about pages, storage or money.
func ofTimes(names ...string) []string {
	return withEach(names, "<Second>", "<Minute>", "<Hour>", "<Hourly>", "<Day>", "<Daily>", "<Week>", "<Weekly>", "<Month>", "<Monthly>")
}

// perTimes returns each name for the accounts of a rate: X-Remaining-<Calls-Per-Minute>.
func perTimes(names ...string) []string {
	return withEach(names, "Per-Second", "Per-Minute", "Per-Hour", "Per-Day", "Per-Month")
}

// units returns the units of accounts that are named after what they count, beside tokens.
func units() map[string]string {
	return map[string]string{
		"complexity": "complexity",
		"api-units":  "api-units",
	}
}

// unrelatedRefusals returns the codes of refusals with the status 429 after which waiting
// does not help.
func unrelatedRefusals() (signs []Refusal) {
	for _, code := range []string{
		"insufficient_quota", "credit_balance_exhausted", "enforced_spend_limit_reached", "billing_hard_limit_reached",
		"Request too large",
	} {
		signs = append(signs, Refusal{Status: 429, Text: code, Unrelated: true})
	}
	return signs
}

// metaRefusals returns the codes of Meta's refusals: of the app, a user, a page, an account, and of WhatsApp's
// throughput. Those of a business (80000 to 80014) name it in X-Business-Use-Case-Usage, and hold no other.
func metaRefusals() (signs []Refusal) {
	for _, status := range []int{400, 403} {
		for _, code := range []string{"4,", "17,", "32,", "613,", "130429,"} {
			signs = append(signs, Refusal{Status: status, Text: `"code":` + code, Wait: time.Minute})
		}
	}
	return signs
}

// awsRefusals returns a sign for each code of the AWS SDKs for throttling, whatever the status: services that speak XML say it with a
// 403 or a 503.
func awsRefusals() (signs []Refusal) {
	for _, status := range []int{400, 403, 503} {
		for _, code := range []string{
			"ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded",
			"TooManyRequestsException", "LimitExceededException",
		} {
			signs = append(signs, Refusal{Status: status, Field: "X-Amzn-Errortype", Text: code}, Refusal{Status: status, Text: code})
		}
		for _, code := range []string{"Throttling", "SlowDown", "RequestThrottled", "BandwidthLimitExceeded", "PriorRequestNotComplete"} {
			signs = append(signs, Refusal{Status: status, Text: "<Code>" + code + "</Code>"})
		}
	}
	return signs
}
