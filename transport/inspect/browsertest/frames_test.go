package browsertest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// longestTask watches the page for a while, and returns how long the longest task of its main
// thread took: of a processor, and by the clock. A frame cannot be drawn while a task runs. By
// the clock, a task is longer if the machine does other work meanwhile.
func longestTask(t *testing.T, ctx context.Context, d time.Duration) (processor, clock time.Duration, tasks int) {
	t.Helper()
	type event struct {
		Name     string
		Pid, Tid int
		Dur      float64 // µs
		Tdur     float64 // µs of a processor
		Args     struct{ Name string }
	}
	var events []event
	done := make(chan struct{})
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *tracing.EventDataCollected:
			for _, v := range ev.Value {
				var e event
				if json.Unmarshal(v, &e) == nil {
					events = append(events, e)
				}
			}
		case *tracing.EventTracingComplete:
			close(done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{
		IncludedCategories: []string{"toplevel", "disabled-by-default-devtools.timeline", "__metadata"},
	}}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if _, err := chromedp.Call(ctx, tracing.End, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	<-done
	type thread struct{ pid, tid int }
	renderer := make(map[thread]bool)
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			renderer[thread{e.Pid, e.Tid}] = true
		}
	}
	for _, e := range events {
		if e.Name == "RunTask" && renderer[thread{e.Pid, e.Tid}] {
			tasks++
			processor = max(processor, time.Duration(e.Tdur*1e3))
			clock = max(clock, time.Duration(e.Dur*1e3))
		}
	}
	return processor, clock, tasks
}

// watchFrames has the page note how long frames take, from now on.
func watchFrames(t *testing.T, ctx context.Context) {
	t.Helper()
	eval[bool](t, ctx, `(() => {
		const seen = window.seenFrames = {drawn: 0, gap: 0, late: 0, frames: [], tasks: []};
		for (const [type, to] of [["long-animation-frame", seen.frames], ["longtask", seen.tasks]])
			if (PerformanceObserver.supportedEntryTypes.includes(type))
				new PerformanceObserver(list => to.push(...list.getEntries().map(e => e.duration))).observe({type});
		let last = 0;
		const draw = now => {
			if (last) {
				seen.drawn++;
				seen.gap = Math.max(seen.gap, now - last);
				if (now - last > 50) seen.late++;
			}
			last = now;
			requestAnimationFrame(draw);
		};
		requestAnimationFrame(draw);
		return true;
	})()`)
}

// frames says what watchFrames has noted. A browser notes frames and tasks as long that take
// more than 50 ms by the clock. They are not judged: on a machine that does other work they are
// longer than the page makes them.
func frames(t *testing.T, ctx context.Context) string {
	t.Helper()
	return eval[string](t, ctx, `(() => {
		const s = window.seenFrames, long = ds => ds.length + (ds.length ? ", the longest " + Math.round(Math.max(...ds)) + " ms" : "");
		return s.drawn + " frames, the longest " + s.gap.toFixed(1) + " ms after the one before, " + s.late + " more than 50 ms; long animation frames: "
			+ long(s.frames) + "; long tasks: " + long(s.tasks);
	})()`)
}
