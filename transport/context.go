package transport

import "context"

// options are the options of a request, set through its context.
type options struct {
	noDelay  bool
	bypass   bool
	priority int
	traces   []*Trace // that of the outermost WithTrace last
}

type optionsKey struct{}

// noOptions are the options of a context without any. Read-only.
var noOptions options

// optionsOf returns the options of a context. They must not be changed.
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

// WithNoDelay returns a context whose requests are never held: a request that
// cannot go at once is refused. It overrides Shaper.MaxDelay. (For a shorter wait of one
// request, give its context a deadline; there is no option for a longer one.)
func WithNoDelay(ctx context.Context) context.Context {
	return with(ctx, func(o *options) { o.noDelay = true })
}

// WithBypass returns a context whose requests are not shaped: never held, never
// refused. Like all others, they count as in flight, and their responses are
// read.
func WithBypass(ctx context.Context) context.Context {
	return with(ctx, func(o *options) { o.bypass = true })
}

// WithPriority returns a context whose requests have a priority. In every line, a
// request waits before those of a lower priority, and behind those of the same
// priority that came earlier. Without WithPriority the priority is 0; it may be
// negative. A request that others go before for all of its MaxDelay is refused.
func WithPriority(ctx context.Context, priority int) context.Context {
	return with(ctx, func(o *options) { o.priority = priority })
}

// WithTrace returns a context whose requests call the hooks of t, after those of
// Shaper.Trace and those that ctx already has. If t is nil, WithTrace returns ctx.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	if t == nil {
		return ctx
	}
	return with(ctx, func(o *options) { o.traces = append(o.traces[:len(o.traces):len(o.traces)], t) })
}
