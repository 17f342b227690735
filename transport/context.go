package transport

import "context"

// options are what a context says about its requests.
type options struct {
	noDelay  bool
	bypass   bool
	priority int
	traces   []*Trace // innermost last
}

type optionsKey struct{}

// noOptions are those of most requests. Read-only.
var noOptions options

// optionsOf returns options that must not be changed.
func optionsOf(ctx context.Context) *options {
	if o, ok := ctx.Value(optionsKey{}).(*options); ok {
		return o
	}
	return &noOptions
}

func with(ctx context.Context, set func(*options)) context.Context {
	o := *optionsOf(ctx)
	set(&o)
	return context.WithValue(ctx, optionsKey{}, &o)
}

// WithNoDelay returns a context whose requests are never held back: one that
// cannot go at once is refused. It wins over Shaper.MaxDelay.
func WithNoDelay(ctx context.Context) context.Context {
	return with(ctx, func(o *options) { o.noDelay = true })
}

// WithBypass returns a context whose requests pass unshaped: never held, never
// refused. They count as in flight, and their responses are read, as those of
// all others.
func WithBypass(ctx context.Context) context.Context {
	return with(ctx, func(o *options) { o.bypass = true })
}

// WithPriority returns a context whose requests stand before those of a lower
// priority in every line, and behind those of their own that came earlier. A
// request's priority is 0 without it.
func WithPriority(ctx context.Context, priority int) context.Context {
	return with(ctx, func(o *options) { o.priority = priority })
}

// WithTrace returns a context whose requests are reported to t, too, after
// they are to the Shaper's own Trace and to those that ctx has already. A nil
// t changes nothing.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	if t == nil {
		return ctx
	}
	return with(ctx, func(o *options) { o.traces = append(o.traces[:len(o.traces):len(o.traces)], t) })
}
