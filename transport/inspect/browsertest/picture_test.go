package browsertest

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var (
	picture = flag.String("picture", "", "write a picture of the page to this file (PNG)")
	dark    = flag.Bool("dark", false, "in dark colours")
	width   = flag.Int64("width", 1000, "of the picture")
	height  = flag.Int64("height", 0, "of the picture; 0: all of the page")
	after   = flag.Duration("after", 40*time.Second, "how long the page is watched before")
)

// TestPicture makes the picture of the README:
//
//	go test -C transport/inspect/browsertest -run Picture -height 900 -picture "$PWD/transport/inspect/page.png"
func TestPicture(t *testing.T) {
	if *picture == "" {
		t.Skip("no -picture")
	}
	ctx := newBrowser(t)
	_, srv := busy(t)
	scheme := "light"
	if *dark {
		scheme = "dark"
	}
	do(t, ctx, chromedp.EmulateViewport(*width, max(*height, 900)))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate(srv.URL+mount))
	time.Sleep(*after)
	take := chromedp.CaptureScreenshot()
	if *height == 0 {
		take = chromedp.FullScreenshot(100)
	}
	shot := must[[]byte](t)(chromedp.Run(ctx, take))
	if err := os.WriteFile(*picture, shot, 0o644); err != nil {
		t.Fatal(err)
	}
}
