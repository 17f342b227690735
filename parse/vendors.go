package parse

import "time"

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
			// docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
			// The secondary limit refuses requests while units are left, with or
			// without a Retry-After.
			Name:      "GitHub",
			Sign:      "X-RateLimit-Resource",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Used:      []string{"X-RateLimit-Used"},
			Reset:     []string{"X-RateLimit-Reset"},
			Partition: []string{"X-RateLimit-Resource"},
		},
		{
			// docs.discord.com/developers/topics/rate-limits. Reset-After needs no
			// clock. X-RateLimit-Scope stands on refusals only: as part of the key
			// it would split the account.
			Name:      "Discord",
			Sign:      "X-RateLimit-Bucket",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset-After", "X-RateLimit-Reset"},
			Partition: []string{"X-RateLimit-Bucket"},
		},
		{
			// platform.openai.com/docs/guides/rate-limits. At the reset the bucket
			// is full. Accounts may be added at any time.
			Name:      "OpenAI",
			Sign:      "X-RateLimit-Limit-Tokens",
			Limit:     []string{"X-RateLimit-Limit-*"},
			Remaining: []string{"X-RateLimit-Remaining-*"},
			Reset:     []string{"X-RateLimit-Reset-*"},
			Refills:   true,
			Units:     units(),
		},
		{
			// docs.anthropic.com. A reset in the past means that the bucket is full.
			Name:      "Anthropic",
			Limit:     []string{"Anthropic-RateLimit-*-Limit"},
			Remaining: []string{"Anthropic-RateLimit-*-Remaining"},
			Reset:     []string{"Anthropic-RateLimit-*-Reset"},
			Units:     units(),
		},
		{
			// learn.microsoft.com, azure-resource-manager. The counts look like a
			// Structured Field and are not one.
			Name:      "Azure Resource Manager",
			Remaining: []string{"X-Ms-RateLimit-Remaining-*"},
			Counts:    []string{"X-Ms-RateLimit-Remaining-Resource"},
		},
		{
			// shopify.dev/docs/api/admin-rest/usage/rate-limits. A leaky bucket.
			Name:    "Shopify",
			Summary: []string{"X-Shopify-Shop-Api-Call-Limit"},
		},
		{
			// developer.atlassian.com/cloud/jira/platform/rate-limiting. Refusals
			// only; the sign names the exceeded limit.
			Name:      "Atlassian",
			Sign:      "RateLimit-Reason",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset"},
			Unit:      "points",
			Partition: []string{"RateLimit-Reason"},
		},
		{
			// confluence.atlassian.com/doc/_ratelimiting_httpheaders-992678779.html.
			// A token bucket. The interval belongs to the fill rate, not to the quota.
			Name:      "Atlassian Data Center",
			Sign:      "X-RateLimit-FillRate",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
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
			Reset:     []string{"RequestLimit-*-RetryAfter"},
			ResetIn:   DeltaMillis,
		},
		{
			// github.com/reddit/reddit/wiki/API. Remaining is a decimal.
			Name:      "Reddit",
			Hosts:     []string{"reddit.com"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Used:      []string{"X-RateLimit-Used"},
			Reset:     []string{"X-RateLimit-Reset"},
			ResetIn:   DeltaSeconds,
			Every:     10 * time.Minute,
		},
		{
			// linear.app/developers/rate-limiting.
			Name:      "Linear",
			Hosts:     []string{"api.linear.app"},
			Limit:     []string{"X-RateLimit-*-Limit"},
			Remaining: []string{"X-RateLimit-*-Remaining"},
			Reset:     []string{"X-RateLimit-*-Reset"},
			ResetIn:   UnixMillis,
			Units:     units(),
		},
		{
			// docs.x.com/fundamentals/rate-limits.
			Name:      "X",
			Hosts:     []string{"api.x.com", "api.twitter.com"},
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset"},
			ResetIn:   UnixSeconds,
		},
		{
			// developer.okta.com/docs/reference/rl-best-practices.
			Name:      "Okta",
			Hosts:     []string{"okta.com"},
			Limit:     []string{"X-Rate-Limit-Limit"},
			Remaining: []string{"X-Rate-Limit-Remaining"},
			Reset:     []string{"X-Rate-Limit-Reset"},
			ResetIn:   UnixSeconds,
			Every:     time.Minute,
		},
		{
			// developer.lemlist.com. Retry-After stands on successes, too.
			Name:       "lemlist",
			Hosts:      []string{"api.lemlist.com"},
			Limit:      []string{"X-RateLimit-Limit"},
			Remaining:  []string{"X-RateLimit-Remaining"},
			Reset:      []string{"X-RateLimit-Reset"},
			Every:      2 * time.Second,
			RetryAfter: AdviceOnRefusals,
		},
		{
			// docs.agent.ai/ratelimits: draft -06 with Retry-After on successes.
			Name:       "agent.ai",
			Hosts:      []string{"agent.ai"},
			RetryAfter: AdviceOnRefusals,
		},
		{
			// The fields in common use (draft -06, "RateLimit header fields
			// currently used on the web"), with windows or units in the names
			// (Kong, RapidAPI, NestJS), with a List (Envoy), without "-Limit"
			// (Composio).
			Name: "X-RateLimit",
			Limit: []string{
				"X-RateLimit-Limit", "X-Rate-Limit-Limit", "X-RateLimit", "X-Rate-Limit",
				"X-RateLimit-Limit-*", "X-Rate-Limit-Limit-*", "X-RateLimit-*-Limit", "X-Rate-Limit-*-Limit",
			},
			Remaining: []string{
				"X-RateLimit-Remaining", "X-Rate-Limit-Remaining",
				"X-RateLimit-Remaining-*", "X-Rate-Limit-Remaining-*",
				"X-RateLimit-*-Remaining", "X-Rate-Limit-*-Remaining",
			},
			Used: []string{
				"X-RateLimit-Used", "X-Rate-Limit-Used",
				"X-RateLimit-Used-*", "X-Rate-Limit-Used-*", "X-RateLimit-*-Used", "X-Rate-Limit-*-Used",
			},
			Reset: []string{
				"X-RateLimit-Reset-After", "X-Rate-Limit-Reset-After", "X-RateLimit-Reset", "X-Rate-Limit-Reset",
				"X-RateLimit-Reset-*", "X-Rate-Limit-Reset-*", "X-RateLimit-*-Reset", "X-Rate-Limit-*-Reset",
			},
			Window: []string{
				"X-RateLimit-Window-Size", "X-RateLimit-Window", "X-Rate-Limit-Window",
			},
			Units: units(),
		},
	}
}

// units returns the units of accounts that are named after what they count. Other
// accounts count requests.
func units() map[string]string {
	return map[string]string{
		"tokens":             "tokens",
		"tokens_usage_based": "tokens",
		"input-tokens":       "tokens",
		"output-tokens":      "tokens",
		"project-tokens":     "tokens",
		"complexity":         "complexity",
		"api-units":          "api-units",
	}
}
