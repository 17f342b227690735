package parse

import "time"

// Vendors returns the built-in table of dialects, a new copy of it. The first row
// that applies and says something valid is read. The last is X-RateLimit, as sent by
// all who need no row of their own.
//
// Vendors with the fields of a draft have no row: Cloudflare (-08 to -11), Persona,
// agent.ai (-06), Zendesk where it says nothing of an endpoint. Fields whose name
// begins with Beta or X-Beta, of Atlassian, announce quotas that are not enforced,
// and are never read. Slack, Wikimedia, Stripe and Azure Cosmos DB send no more than
// Retry-After, if that.
func Vendors() []Vendor {
	return []Vendor{
		{
			// docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
			// The secondary limit refuses while there is something left, and says
			// so with Retry-After or not at all.
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
			// clock. X-RateLimit-Scope is sent with refusals only: as part of the
			// key it would tear the account apart.
			Name:      "Discord",
			Sign:      "X-RateLimit-Bucket",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
			Reset:     []string{"X-RateLimit-Reset-After", "X-RateLimit-Reset"},
			Partition: []string{"X-RateLimit-Bucket"},
		},
		{
			// platform.openai.com/docs/guides/rate-limits. The reset is when the
			// bucket is full again. The set of accounts is open.
			Name:      "OpenAI",
			Sign:      "X-RateLimit-Limit-Tokens",
			Limit:     []string{"X-RateLimit-Limit-*"},
			Remaining: []string{"X-RateLimit-Remaining-*"},
			Reset:     []string{"X-RateLimit-Reset-*"},
			Refills:   true,
			Units:     units(),
		},
		{
			// docs.anthropic.com. A reset that has passed means full.
			Name:      "Anthropic",
			Limit:     []string{"Anthropic-RateLimit-*-Limit"},
			Remaining: []string{"Anthropic-RateLimit-*-Remaining"},
			Reset:     []string{"Anthropic-RateLimit-*-Reset"},
			Units:     units(),
		},
		{
			// learn.microsoft.com, azure-resource-manager. Not a Structured Field,
			// although it looks like one.
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
			// developer.atlassian.com/cloud/jira/platform/rate-limiting. Sent with
			// refusals. Which limit it was stands in the sign.
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
			// A token bucket: the interval is of its fill rate, not of the quota.
			Name:      "Atlassian Data Center",
			Sign:      "X-RateLimit-FillRate",
			Limit:     []string{"X-RateLimit-Limit"},
			Remaining: []string{"X-RateLimit-Remaining"},
		},
		{
			// docs.docker.com/docker-hub/usage/pulls. No reset at all.
			Name:      "Docker Hub",
			Sign:      "Docker-RateLimit-Source",
			Limit:     []string{"RateLimit-Limit"},
			Remaining: []string{"RateLimit-Remaining"},
			Partition: []string{"Docker-RateLimit-Source"},
		},
		{
			// developer.zendesk.com. One account, and one for each endpoint.
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
			// github.com/reddit/reddit/wiki/API. What is left is a decimal.
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
			// developer.lemlist.com. Retry-After stands on successes too.
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
			// What has grown on the web (draft -06, "RateLimit header fields
			// currently used on the web"), with the windows or the units in the
			// names (Kong, RapidAPI, NestJS), with a List (Envoy), without
			// "-Limit" (Composio).
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

// units are the units of accounts that are named after what they count. Whatever
// else accounts are named after, they count requests.
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
