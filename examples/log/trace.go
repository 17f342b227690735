package main

import (
	"cmp"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
)

// traceTo returns a Trace whose hooks write to a logger.
//
// Level Info has the held requests, and the holds of servers. Level Warn has the requests that were not sent, not
// answered or refused by the server, and what was wrong with a server's fields, once for
// each field, because a server repeats it with every response. Level Debug also has a
// record of each request that leaves, of each response, and of what has changed.
//
// The log contains neither values of fields nor queries of URLs. Partition keys, which
// can identify people, print as their length.
func traceTo(log *slog.Logger) *transport.Trace {
	var warned onces
	return &transport.Trace{
		Held: func(i transport.HeldInfo) {
			msg := "held"
			switch {
			case i.Observed: // Mode Observe, or WithBypass
				msg = "would be held"
			case i.Held != 0: // it was in line already, for another reason
				msg = "still held"
			}
			log.InfoContext(i.Request.Context(), msg, to(i.Request),
				"policy", i.Policy, "partition", i.Partition, "reason", i.Reason, "wait", i.Wait)
		},
		Admitted: func(i transport.AdmittedInfo) {
			log.DebugContext(i.Request.Context(), "leaves", to(i.Request), "waited", i.Waited, "probe", i.Probe)
		},
		Rejected: func(i transport.RejectedInfo) {
			log.WarnContext(i.Request.Context(), "not sent", to(i.Request), "err", i.Err, "waited", i.Waited)
		},
		Answered: func(i transport.AnsweredInfo) {
			log.DebugContext(i.Request.Context(), "answered", to(i.Request), "status", i.Status, "took", i.Took)
		},
		Changed: func(i transport.ChangedInfo) {
			level := slog.LevelDebug
			if i.What == "hold" || i.What == "back-off" || i.What == "inferred" {
				level = slog.LevelInfo
			}
			if log.Enabled(i.Request.Context(), level) {
				log.LogAttrs(i.Request.Context(), level, "changed", changed(i)...)
			}
		},
		Learned: func(i transport.LearnedInfo) {
			level, msg := slog.LevelDebug, "learned"
			if i.Refused {
				level, msg = slog.LevelWarn, "refused by the server"
			}
			if !log.Enabled(i.Request.Context(), level) {
				return
			}
			log.LogAttrs(i.Request.Context(), level, msg, learned(i)...)
		},
		Failed: func(i transport.FailedInfo) {
			log.WarnContext(i.Request.Context(), "not answered", to(i.Request), "err", i.Err, "unsent", i.Unsent)
		},
		Ignored: func(i transport.IgnoredInfo) {
			if warned.first(i.Request.URL.Host, i.Field, i.Param, i.Err.Error()) {
				log.WarnContext(i.Request.Context(), "ignored", to(i.Request), "what", i.Ignored)
			}
		},
		Mispredicted: func(i transport.MispredictedInfo) {
			log.WarnContext(i.Request.Context(), "prediction failed", to(i.Request),
				"policy", i.Policy, "predicted", i.Predicted, "actual", i.Actual)
		},
	}
}

// to returns the attribute that identifies a request.
func to(r *http.Request) slog.Attr {
	return slog.String("to", r.Method+" "+r.URL.Host+r.URL.Path)
}

// learned returns the attributes for what the Shaper learned from a response.
func learned(i transport.LearnedInfo) []slog.Attr {
	attrs := []slog.Attr{to(i.Request), slog.Int("status", i.Status)}
	if i.Cached {
		return append(attrs, slog.Bool("cached", true)) // nothing is learned from a stored response
	}
	attrs = append(attrs, slog.Any("dialect", i.Dialect))
	if i.Vendor != "" {
		attrs = append(attrs, slog.String("vendor", i.Vendor))
	}
	if i.Advised {
		attrs = append(attrs, slog.Duration("retry_after", i.RetryAfter))
	}
	for _, p := range i.Policies {
		attrs = append(attrs, slog.Group(p.Name, policy(p)...))
	}
	for _, l := range i.Limits {
		attrs = append(attrs, slog.Group(l.Policy, limit(l)...))
	}
	return attrs
}

// changed returns the attributes for a change, without those that it does not have.
func changed(i transport.ChangedInfo) []slog.Attr {
	attrs := []slog.Attr{slog.String("origin", i.Origin), slog.String("what", i.What), slog.String("policy", i.Name)}
	if i.Keyed {
		attrs = append(attrs, slog.Any("partition", partition.Key(i.Key)))
	}
	if i.Units > 0 {
		attrs = append(attrs, slog.Int64("units", i.Units))
	}
	if i.What == "policy" || i.What == "inferred" {
		attrs = append(attrs, slog.Int64("quota", i.Quota), slog.String("unit", cmp.Or(i.Unit, "requests")), slog.Duration("per", i.Window))
	}
	if !i.Until.IsZero() {
		attrs = append(attrs, slog.Duration("for", time.Until(i.Until)))
	}
	if i.Detail != "" {
		attrs = append(attrs, slog.String("detail", i.Detail))
	}
	return attrs
}

func policy(p parse.Policy) []any {
	attrs := []any{"quota", p.Quota}
	if p.Window > 0 {
		attrs = append(attrs, "per", p.Window)
	}
	return attrs
}

// limit returns the attributes of a limit, without those that the server did not send.
func limit(l parse.Limit) (attrs []any) {
	if l.Available >= 0 {
		attrs = append(attrs, "left", l.Available)
	}
	if l.Window >= 0 {
		attrs = append(attrs, "for", l.Window)
	}
	if l.Cost >= 0 {
		attrs = append(attrs, "cost", l.Cost)
	}
	return attrs
}

// onces remembers what has been logged. It needs no bound: the parts are the hosts that
// the program calls, names of fields, and texts of package parse.
type onces struct{ seen sync.Map }

// first reports whether this is the first call with these parts, at most four.
func (o *onces) first(parts ...string) bool {
	var key [4]string
	copy(key[:], parts)
	_, again := o.seen.LoadOrStore(key, true)
	return !again
}
