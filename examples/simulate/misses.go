package main

// Reasons why the first strategy does not reach its numbers in a row. The column "cost"
// of the table says how much that costs.
//
// A bound in a reason is that of a client that knows the rule of the server, but not when its
// requests arrive, and sends only what is sure to be served: see TestKnowing. "No bound is
// known" says that nothing shows that it could not be better.
const (
	unproved = "no bound is known"
	bound    = "one in a hundred or two finds more at the server than usual, by chance, as in a retry loop; fewer in flight cost more; " + unproved
	others   = unproved + " for who does not"
	whole    = "whole seconds do not tell when the next unit is available; the client finds it by trial, and varying latency spoils some trials; "
	distant  = "a window starts with the probe, which must not be early: the margin for varying latency is lost in each window, and a round trip at the end; "
	silent   = "the quota is not advertised and is learned from refusals: two waves, and another one now and then to check it; all workers may be out when the quota is first used up, and are then refused: "
	wrong    = "the advertised values are wrong, and the client relies on them"
	sheds    = "a refused request waits as the server asks, or a second, as in a retry loop; no quota makes it wait, so the bound does without"
	taken    = "others take some of what is left while a request is on its way; what is left to them for that costs goodput; " + unproved
	beside   = "a loop takes each unit when it comes back, and the last units of a figure are left to it for some time, because one loop is not told from several polite clients: if one request departed in the time for each unit, 8 processes of a bucket would be refused 41 %, and not 25 %, and two buckets beside others 1.8 %, and not .6 %; " + unproved
	probes   = "each process must send a probe per window, and its part of the quota is hardly larger; " + unproved
	looks    = "which methods are not limited is found out by looks, once; and the limited ones wait for the end of a Retry-After in whole seconds, as a retry loop does; " + unproved
	blind    = "the server does not say when to come back, and back-off finds it within a factor of two, as a retry loop does; " + unproved
	tokens   = "the tokens are two scopes, which do not learn from each other on purpose: see quota.Strategy; the work is ten windows to the unit, so one unit left costs a window: 0.9"
)

// misses are the reasons by row name.
var misses = map[string]string{
	"two buckets 20/1s": whole + "1.00 for who knows the rule; " + others,
	"gcra 20/1s":        whole + "at most 0.91 without a refusal",
	"gcra 20/1s, 200ms": whole + "at most 0.25 without a refusal; those that wait for no answer pay each gain with refusals",

	"fixed 20/1s, 200ms":       distant + "0.99 for who knows the rule",
	"aligned 20/1s, 200ms":     distant + "at most 0.96 for who does not know where windows begin",
	"fixed 20/1s, 200ms, wild": distant + "0.98 for who knows the rule",

	"burst 10 of 6000/60s, 1.5s to serve": "all is back in 0.1 s, and each such time has a margin of 8 ms; 0.98 for retry, for 2 % refusals",

	"only Retry-After, 100/10s":               silent + "2.5 %",
	"only Retry-After, 20/1s":                 silent + "4 %",
	"only Retry-After, bucket 10/1s":          silent + "8 %",
	"only Retry-After, bucket 20/1s, holds 5": silent + "4 %; each try that finds out how soon units come back costs a hold of a second, or 20 units",
	"only Retry-After, holds 5, 300ms":        silent + "4 %; each try that finds out how soon units come back costs a hold of a second, or 20 units: 13 s of 60, after which 19.5 of 20 are used; " + unproved,
	"only Retry-After, gcra 20/1s":            silent + "4 %; as is how soon units come back, and each try costs a hold of a second, or 20 units; at most 0.91 without a refusal for who knows the rule",
	"only Retry-After, 2/1s":                  "three holds for two requests each show the pace, and two tries that no quicker one is kept; a hold refuses two: 4 %",
	"only Retry-After, gcra 1/1s":             "three holds, two of which are for three requests, show that there is one unit a second: 6 %",
	"only Retry-After, two buckets 20/1s":     silent + "4 %; as is how soon units come back, and each try costs a hold of a second, or 20 units",
	"says nothing at all, 100/10s":            silent + "5 %; without Retry-After, only back-off finds out when to retry, and looks then find the end of the windows within a sixteenth",

	"20,000 a day, untold 100/10s": silent + "5 %; without Retry-After, only back-off finds out when to retry, and looks then find the end of the windows within a sixteenth",

	"a=0 always":        wrong + ", until one request has asked: at most 0.94 for who asks once whether nothing is left (TestAskingOnce)",
	"replicas that lag": wrong + ", until two waves of refusals have shown that the figures do not hold: 9 %; 1.00 for who knows the rule; " + others,

	"bucket 60/60s, all cost 10":    "one refusal shows how units come back, and that is .6 %",
	"1 worker, bucket, all cost 10": "one refusal shows how units come back, and that is .6 %",
	"bucket 60/60s, all cost 10, X": "three refusals show how units come back; " + unproved,
	"bucket 100/60s, costs to 10":   "four refusals show how units come back, and ten are of requests that are on their way when the policy is told, and what they cost is not known; " + unproved,
	"gcra 60/60s, costs to 10":      "what the requests cost that are on their way when the policy is told is not known, and four of these are refused; " + unproved,
	"gcra 60/60s, all cost 60":      "the first trial of a unit is refused; " + unproved,
	"log 60/60s, costs to 10":       "at most 0.94 for who knows the rule and keeps the order of the requests, because the next one may cost more than is left; 1.00 for retry, whose cheap requests overtake, for two refusals a request",

	"1000 tokens, 400 each": "what a request costs is not known: of the first three one is refused, and that is 1.7 %",

	"Spring, whole seconds": "two lumps that agree show that units come back in lumps, and until then each unit that is expected is refused: 1 %",

	"one method, 10/1s": looks,

	"one method, 10/30s, bare":       blind,
	"one method, 10/1s, bare":        blind,
	"two methods, bare":              blind,
	"15 of 20 methods, 10/30s, bare": blind,

	"20 methods, only Retry-After": silent + "3 %",

	"nine tenths of a log, only Retry-After": "the log is full now and then, and only a refusal says so; 10 % for retry; " + unproved,

	"two tokens, one quota":        tokens,
	"two tokens, only Retry-After": tokens,

	"log, others take 30 %":    taken,
	"bucket, others take 30 %": taken,

	"two buckets, others take 30 %": "what others take of the units that come back is seen when it is gone; " + unproved,

	"20 in flight":                 bound,
	"1000/10s, untold 5 in flight": "the first wave shows the bound, and is three refusals of 2,000; eight tries, ever more rare, find that it is no higher: .55 %; 20 % for retry",

	"two buckets, beside a loop":    beside,
	"two buckets, beside a loop, X": beside,

	"sheds 1 %, bare":               sheds,
	"sheds 1 %":                     sheds,
	"sheds .1 %, 30s":               sheds,
	"sheds 1 %, 4 methods, 10s":     sheds,
	"sheds 1 %, 10,000 in the hour": sheds,

	"2 processes, 5/1s, 2ms":      "each process sends a probe per window, which is a fifth of the quota; " + unproved,
	"2 processes, log 20/1s, 2ms": "whole seconds do not tell when the next unit is available; each refusal costs a second, or what a process had to itself; " + unproved,

	"8 processes, 20/1s":  probes,
	"8 processes, bucket": probes,
	"64 processes, 64/1s": probes,

	"fleet of 8, two buckets 20/1s":        "whole seconds tell the end of a window within a round trip, which is one unit of 20 in each window; 0.93 for one process alone; " + others,
	"fleet of 8, two buckets 100/10s, -07": "in one run of a hundred all wait once for a whole window, and not for the units that come back one by one: this is one, the median of nine is 0.99; " + unproved,
	"fleet of 8, gcra 20/1s":               whole + "the next request departs 9 to 10 ms after the unit is back: as much later may the last one have been taken, and another process is told; at most 0.91 without a refusal; 0.82 for one process alone; a first request of each process costs a second more",
	"fleet of 8, gcra 20/1s, X":            "as without X: at most 0.91 without a refusal; a first request of each process costs a second more",
	"fleet of 32, concurrency 8":           "each process has to send a first request to learn of the limit, and the Retry-After of those that are refused holds all for one second of fifteen; 0.92 for one process alone",
	"fleet of 4, bucket, all cost 10":      "the second refusal shows that it is a bucket, and one comes before the first figure; of 160 requests, 1 % is one: 0.6 % for one process alone; " + unproved,
	"fleet of 8, bucket, others 30 %":      "what others take of a bucket is seen when it is gone; 0.6 % for one process alone; " + unproved,
}
