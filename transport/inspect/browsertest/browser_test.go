// Package browsertest tries the page of package inspect in Chromium. It is a module of its
// own, because it needs a library to drive the browser. Its tests are skipped where there
// is no Chromium.
package browsertest

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// findBrowser returns the path of Chromium, and skips the test if there is none.
func findBrowser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	if os.Getenv("HEADWAY_BROWSER") == "required" {
		t.Fatal("there is no Chromium")
	}
	t.Skip("there is no Chromium: the page is not tried in a browser")
	return ""
}

// newBrowser starts a browser with one tab, which ends with the test.
func newBrowser(t *testing.T) context.Context {
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findBrowser(t)),
		chromedp.NoSandbox, // it shows our own page only, and root has no sandbox
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(cancelTab)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// eval returns the value of an expression in the page.
func eval[T any](t *testing.T, ctx context.Context, js string) T {
	t.Helper()
	return must[T](t)(chromedp.Run(ctx, chromedp.Evaluate[T](js)))
}

// within waits until an expression in the page is true, and returns how long that took.
func within(t *testing.T, ctx context.Context, most time.Duration, js string) time.Duration {
	t.Helper()
	if !*bars {
		most *= 10
	}
	began := time.Now()
	for !eval[bool](t, ctx, js) {
		if time.Since(began) > most {
			t.Fatalf("not within %v: %s; the page says:\n%s", most, js, eval[string](t, ctx, `document.body.innerText`))
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// A busy machine may need longer than a user would like, so times are held only with -bars.
var bars = flag.Bool("bars", false, "fail if the page is slower than it should be; without it, if it takes ten times as long")

var watched = flag.Duration("watched", 8*time.Second, "how long a page with a thousand partitions is watched for growth")
