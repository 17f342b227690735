package main

// Why the first strategy does not reach what it should in some rows. Where that is
// the best that was found, it is so by what is known there; the last column of the
// table tells what it costs.
const (
	whole     = "whole seconds do not say when the next unit comes; trials find it, and chance on the way spoils some"
	understat = "the server says that nothing is left until long after the next unit is there, and is believed"
	distant   = "a window begins with the probe, which must not be early: chance on the way is lost in each second"
	silent    = "what is not said is learned from refusals: two waves, and one more now and then to see whether it is still so"
	lies      = "the figures are wrong, and believed"
	looks     = "each process has to look once in a window, and there is hardly more for each than that"
)

// misses are the reasons by the name of the row.
var misses = map[string]string{
	"log 20/1s":                  whole,
	"counts refusals, log 20/1s": whole,
	"two buckets 20/1s":          whole,
	"gcra 20/1s":                 whole,
	"gcra 20/1s, 200ms":          whole,
	"gcra 20/10s":                "a fiftieth of each half second is left for chance on the way, or some would be refused",
	"gcra 20/10s down":           "a fiftieth of each half second is left for chance on the way, or some would be refused",

	"two buckets 100/10s": understat,
	"two buckets 300/60s": understat,
	"gcra 10/1s burst 15": understat,

	"fixed 20/1s, 200ms":       distant,
	"aligned 20/1s, 200ms":     distant + "; windows aligned to the clock are lapped, which some requests are refused for",
	"fixed 20/1s, wild":        distant,
	"fixed 20/1s, 200ms, wild": distant,
	"log 100/10s, 200ms":       "the first unit that comes back is used alone, by the probe; the others wait for its answer",

	"fixed 20/1s down, no policy": "w = 0 throughout, and nobody says how long the window is",
	"fixed 100/10s, X":            "Date and reset are whole seconds both, and may be up to two seconds off together",
	"fixed 20/1s, X":              "Date and reset are whole seconds both, and may be up to two seconds off together",
	"10/1s and 200/60s, -07":      "only one figure is said: the refused of the first wave count as used under the other policy, for one window",

	"only Retry-After, 100/10s":      silent,
	"only Retry-After, 20/1s":        silent,
	"only Retry-After, bucket 10/1s": silent,
	"says nothing at all, 100/10s":   silent + "; and only back-off tells when",

	"a=0 now and then":      lies,
	"a=0 always":            lies + ", for a while",
	"replicas that lag":     lies,
	"figures mean headroom": lies,

	"8 processes, 20/1s":  looks,
	"8 processes, bucket": looks,
	"64 processes":        looks,
	"64 processes, 64/1s": looks,
}
