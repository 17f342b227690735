package main

// Reasons why the first strategy does not reach its numbers in a row. The column "cost"
// of the table says how much that costs.
const (
	whole    = "whole seconds do not tell when the next unit is available; the client finds it by trial, and varying latency spoils some trials"
	distant  = "a window starts with the probe, which must not be early: the margin for varying latency is lost in each window"
	silent   = "the quota is not advertised and is learned from refusals: two waves, and another one now and then to check it"
	wrong    = "the advertised values are wrong, and the client relies on them"
	unpriced = "what a request costs is not known: the first refusals show it"
	probes   = "each process must send a probe per window, and its part of the quota is hardly larger"
	looks    = "which methods are not limited is found out by looks, once; and the limited ones wait for the end of a Retry-After in whole seconds, as a retry loop does"
	blind    = "the server does not say when to come back, and back-off finds it within a factor of two, as a retry loop does"
	tokens   = "the tokens are two scopes, which do not learn from each other on purpose: see quota.Strategy"
)

// misses are the reasons by row name.
var misses = map[string]string{
	"two buckets 20/1s": whole,
	"gcra 20/1s":        whole,
	"gcra 20/1s, 200ms": whole,

	"fixed 20/1s, 200ms":       distant,
	"aligned 20/1s, 200ms":     distant + "; the client drifts against the aligned windows, and some requests are refused when it is a window behind",
	"fixed 20/1s, 200ms, wild": distant,

	"fixed 20/1s down, no policy": "w is always 0, and the length of the window is not advertised",

	"only Retry-After, 100/10s":      silent,
	"only Retry-After, 20/1s":        silent,
	"only Retry-After, bucket 10/1s": silent,
	"says nothing at all, 100/10s":   silent + "; without Retry-After, only back-off finds out when to retry",

	"a=0 always":            wrong + ", for a while",
	"replicas that lag":     wrong,
	"figures mean headroom": wrong,

	"1000 tokens, 400 each": unpriced,

	"one method, 10/1s":        looks,
	"two methods":              looks,
	"15 of 20 methods, 10/30s": looks,

	"one method, 10/30s, bare":       blind,
	"one method, 10/1s, bare":        blind,
	"two methods, bare":              blind,
	"15 of 20 methods, 10/30s, bare": blind,

	"20 methods, only Retry-After": silent,

	"two tokens, one quota":        tokens,
	"two tokens, only Retry-After": tokens,

	"8 processes, 20/1s":  probes,
	"8 processes, bucket": probes,
	"64 processes":        probes,
	"64 processes, 64/1s": probes,
}
