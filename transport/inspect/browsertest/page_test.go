package browsertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/transporttest"
)

const (
	isLive = `document.getElementById("link").textContent === "live"`
	isLost = `document.getElementById("link").textContent === "reconnecting"`
)

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// complaints collects errors of the console, exceptions, and reports of the content
// security policy.
type complaints struct {
	mu  sync.Mutex
	all []string
}

func listen(t *testing.T, ctx context.Context) *complaints {
	c := new(complaints)
	add := func(format string, args ...any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.all = append(c.all, fmt.Sprintf(format, args...))
	}
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			add("exception: %s", ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			add("console: %s", ev.Type)
		case *log.EventEntryAdded:
			add("log: %s: %s", ev.Entry.Level, ev.Entry.Text)
		case *audits.EventIssueAdded:
			add("issue: %s", ev.Issue.Code)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	if err == nil {
		_, err = chromedp.Call(ctx, audits.Enable, cdp.Empty{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check fails the test if there was any complaint.
func (c *complaints) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		t.Error(s)
	}
}

// The page is live within two seconds, at any path, without a complaint of the browser;
// shows a hold within 1.5 s; and can be paused by the keyboard.
func TestLive(t *testing.T) {
	ctx := newBrowser(t)
	complaints := listen(t, ctx)
	s, srv := newScene(t)
	s.apis["api.example"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	s.get("https://api.example/", "")
	for _, at := range []string{mount, "/stripped/", "/debug/headway", "/stripped"} {
		began := time.Now()
		do(t, ctx, chromedp.Navigate(srv.URL+at))
		within(t, ctx, 2*time.Second, isLive)
		t.Logf("%s: live after %v", at, time.Since(began))
		if !eval[bool](t, ctx, `document.body.innerText.includes("https://api.example") && document.body.innerText.includes("requests go at once")`) {
			t.Error("the page does not show the origin")
		}
	}

	s.get("https://api.example/refused", "")
	took := within(t, ctx, 1500*time.Millisecond, `document.getElementById("verdict").textContent.includes("Retry-After")`)
	t.Logf("the hold is shown after %v", took)
	within(t, ctx, time.Second, `document.querySelector(".events").innerText.includes("held by Retry-After of a 429 for 1 min")`)
	within(t, ctx, 6*time.Second, `document.getElementById("news").textContent !== ""`)

	// By the keyboard alone: the link to the content, then the button.
	focus := func() string { return eval[string](t, ctx, `document.activeElement.outerHTML`) }
	do(t, ctx, chromedp.KeyEvent("\t"))
	if !strings.Contains(focus(), "Skip") {
		t.Errorf("the first stop is %s", focus())
	}
	do(t, ctx, chromedp.KeyEvent("\t"), chromedp.KeyEvent(" "))
	within(t, ctx, time.Second, `document.getElementById("link").textContent === "paused"`)
	still := eval[string](t, ctx, `document.querySelector(".asof").textContent`)
	time.Sleep(2500 * time.Millisecond)
	if now := eval[string](t, ctx, `document.querySelector(".asof").textContent`); now != still {
		t.Error("the page moves although it is paused")
	}
	do(t, ctx, chromedp.KeyEvent(" "))
	within(t, ctx, 2*time.Second, isLive)
	if !strings.Contains(focus(), "button") {
		t.Errorf("the focus went to %s", focus())
	}
	complaints.check(t)
}

// Opened details and the focus stay while the page changes.
func TestUpdatesKeepFocus(t *testing.T) {
	ctx := newBrowser(t)
	complaints := listen(t, ctx)
	_, srv := busy(t)
	do(t, ctx, chromedp.Navigate(srv.URL+mount))
	within(t, ctx, 15*time.Second, `document.querySelector("details") !== null`)
	eval[bool](t, ctx, `(() => { const d = document.querySelector("details"); d.open = true; d.firstChild.focus(); d.id = ""; window.mine = d; return true; })()`)
	was := eval[string](t, ctx, `document.querySelector(".asof").textContent`)
	within(t, ctx, 3*time.Second, `document.querySelector(".asof").textContent !== `+fmt.Sprintf("%q", was))
	if !eval[bool](t, ctx, `!window.mine.isConnected || window.mine.open && document.activeElement === window.mine.firstChild`) {
		t.Error("the details were closed, or lost the focus")
	}
	complaints.check(t)
}

// When the server goes, the page says so; when it is back, it goes on by itself.
func TestReconnects(t *testing.T) {
	ctx := newBrowser(t)
	page := &inspect.Handler{Accounts: new(quota.Accounts)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	srv := &http.Server{Handler: page}
	go func() { _ = srv.Serve(listener) }()
	do(t, ctx, chromedp.Navigate("http://"+addr+"/"))
	within(t, ctx, 2*time.Second, isLive)
	srv.Close()
	within(t, ctx, 3*time.Second, isLost)
	for range 50 { // the port may be taken for a moment
		if listener, err = net.Listen("tcp", addr); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Skip("another program has taken the port: ", err)
	}
	srv = &http.Server{Handler: page}
	go func() { _ = srv.Serve(listener) }()
	defer srv.Close()
	within(t, ctx, 15*time.Second, isLive)
}

// Without JavaScript the page shows the same, and offers to load itself again.
func TestWithoutScript(t *testing.T) {
	ctx := newBrowser(t)
	_, srv := busy(t)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	do(t, ctx, chromedp.Navigate(srv.URL+mount))
	text := eval[string](t, ctx, `document.body.innerText`)
	for _, want := range []string{"https://api.example", "100 requests per 10 s", "whose", "stands still", "Load it again every 5 s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// Nothing secret is shown: neither in the page, nor in the JSON, nor in the events.
func TestSecrets(t *testing.T) {
	ctx := newBrowser(t)
	s, srv := newScene(t)
	n := 0
	s.apis["api.example"] = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		h := w.Header()
		h.Set("RateLimit", `"canary_live_4eC39HqLyjWDarjtT1zdp7dc";a=0;w=30;pk=:Y2FuYXJ5LWtleQ==:, "user-84712365";a=3;w=9, "x";a=-1`)
		h.Set("RateLimit-Policy", `"canary_live_4eC39HqLyjWDarjtT1zdp7dc";q=5;w=30;pk=:Y2FuYXJ5LWtleQ==:`)
		h.Set("X-Canary", "canary-field")
		if n > 2 {
			h.Set("Retry-After", "20")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	s.shaper.MaxDelay = 100 * time.Millisecond
	canaries := []string{"canary", "84712365", "YWxhZGRpbjpjYW5hcnk"}
	send := func(set func(*http.Request)) {
		req, err := http.NewRequestWithContext(partition.WithUserID(s.ctx, "canary-user"), "GET", "https://api.example/canary-path?token=canary-query", nil)
		if err != nil {
			t.Fatal(err)
		}
		set(req)
		if resp, err := s.shaper.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
	for range 3 {
		send(func(r *http.Request) { r.Header.Set("Authorization", "Bearer canary-token") })
		send(func(r *http.Request) { r.SetBasicAuth("aladdin", "canary") })
		send(func(r *http.Request) { r.Header.Set("X-Api-Key", "canary-key") })
		send(func(r *http.Request) { *r = *r.WithContext(partition.WithClientID(r.Context(), "canary-client")) })
		req, _ := http.NewRequestWithContext(transport.WithBypass(s.ctx), "GET", "https://canary:canary@api.example/canary", nil)
		if resp, err := s.shaper.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
	}
	do(t, ctx, chromedp.Navigate(srv.URL+mount))
	within(t, ctx, 2*time.Second, isLive)
	shown := map[string]string{"page": eval[string](t, ctx, `document.documentElement.outerHTML`)}
	for _, name := range []string{"", "state", "view", "events"} {
		func() {
			ctx, cancel := context.WithTimeout(s.ctx, 2*time.Second)
			defer cancel()
			req, _ := http.NewRequestWithContext(ctx, "GET", srv.URL+mount+name, nil)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			b, _ := io.ReadAll(resp.Body) // of events, what comes within the time
			shown[name] = string(b)
		}()
	}
	for name, text := range shown {
		if !strings.Contains(text, "api.example") {
			t.Errorf("%s shows nothing", name)
		}
		for _, canary := range canaries {
			if i := strings.Index(strings.ToLower(text), strings.ToLower(canary)); i >= 0 {
				t.Errorf("%s shows %q: %s", name, canary, text[max(i-80, 0):min(i+80, len(text))])
			}
		}
	}
}

// contrast returns the least contrast of any text with what is behind it, and which.
const contrast = `(() => {
	const rgb = (s) => (s.match(/[\d.]+/g) || []).map(Number);
	const lum = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
	let least = 99, which = "";
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement;
		if (!n.data.trim() || !e.checkVisibility() || e.closest("noscript, .hidden, .skip")) continue;
		let back = [255, 255, 255];
		for (let p = e; p; p = p.parentElement) {
			const c = rgb(getComputedStyle(p).backgroundColor);
			if (c.length === 3 || c[3] === 1) { back = c; break; }
		}
		const a = lum(rgb(getComputedStyle(e).color)), b = lum(back);
		const r = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		if (r < least) { least = r; which = n.data; }
	}
	return {least, which};
})()`

// In both colour schemes, each text has a contrast of 4.5 at least (WCAG 1.4.3); at a
// width of 320 pixels nothing is cut off (WCAG 1.4.10); and everything has a name.
func TestAccessible(t *testing.T) {
	ctx := newBrowser(t)
	complaints := listen(t, ctx)
	_, srv := busy(t)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{320, 1200} {
			do(t, ctx, chromedp.EmulateViewport(width, 800))
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
			}); err != nil {
				t.Fatal(err)
			}
			do(t, ctx, chromedp.Navigate(srv.URL+mount))
			within(t, ctx, 4*time.Second, isLive)
			within(t, ctx, 5*time.Second, `document.querySelector("figure") !== null`)
			got := eval[struct {
				Least float64
				Which string
			}](t, ctx, contrast)
			t.Logf("%s, %d: least contrast %.2f, of %q", scheme, width, got.Least, got.Which)
			if got.Least < 4.5 {
				t.Errorf("%s: the contrast of %q is %.2f", scheme, got.Which, got.Least)
			}
			if w := eval[int](t, ctx, `document.documentElement.scrollWidth`); int64(w) > width {
				t.Errorf("%s: the page is %d wide in a window of %d", scheme, w, width)
			}
		}
	}
	tree, err := chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	roles := make(map[string]int)
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := strings.Trim(string(n.Role.Value), `"`)
		roles[role]++
		switch role {
		case "image", "img", "graphics-document", "SvgRoot", "button", "link", "region", "table", "DisclosureTriangle", "columnheader", "rowheader":
			if role == "table" { // its region has a name
				continue
			}
			if n.Name == nil || strings.Trim(string(n.Name.Value), `" `) == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	for _, role := range []string{"main", "heading", "table", "columnheader", "rowheader", "status", "button", "image"} {
		if roles[role] == 0 {
			t.Errorf("there is no %s: %v", role, roles)
		}
	}
	if h1 := eval[int](t, ctx, `document.querySelectorAll("h1").length`); h1 != 1 {
		t.Errorf("%d main headings", h1)
	}
	complaints.check(t)
}

// With a thousand partitions, an update takes less than a long frame (50 ms), and many
// updates make no larger heap.
func TestManyPartitions(t *testing.T) {
	ctx := newBrowser(t)
	complaints := listen(t, ctx)
	s, srv := newScene(t)
	s.apis["api.example"] = &transporttest.API{Policies: []transporttest.Policy{{Name: "user", Quota: 5, Window: time.Hour, PartitionBy: []string{"user_id"}}}}
	var work sync.WaitGroup
	for w := range 20 {
		work.Go(func() {
			for i := range 50 {
				s.get("https://api.example/", fmt.Sprintf("user-%d", 50*w+i))
			}
		})
	}
	work.Wait()
	do(t, ctx, chromedp.Navigate(srv.URL+mount))
	within(t, ctx, 3*time.Second, isLive)
	if !eval[bool](t, ctx, `document.body.innerText.includes("more accounts") && document.querySelectorAll("tbody tr").length >= 40`) {
		t.Error("the accounts are not shown: ", eval[string](t, ctx, `document.body.innerText`))
	}
	if _, err := chromedp.Call(ctx, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}); err != nil {
		t.Fatal(err)
	}
	busy := func() float64 { // seconds of a processor, of the page's main thread
		got, err := chromedp.Call(ctx, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range got.Metrics {
			if m.Name == "TaskDuration" {
				return m.Value
			}
		}
		t.Fatal("there is no TaskDuration")
		return 0
	}
	heap := func() float64 {
		if _, err := chromedp.Call(ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		return eval[float64](t, ctx, `performance.memory.usedJSHeapSize`)
	}
	time.Sleep(2 * time.Second)
	before, began := heap(), busy()
	time.Sleep(*watched)
	each := (busy() - began) / watched.Seconds()
	grown := heap() - before
	t.Logf("in %v the heap grew by %.0f bytes; an update a second took %.1f ms of a processor", *watched, grown, 1000*each)
	watchFrames(t, ctx)
	processor, clock, tasks := longestTask(t, ctx, *watched)
	t.Logf("of %d tasks in %v the longest took %v of a processor, %v by the clock", tasks, *watched, processor, clock)
	t.Logf("by the clock of the browser: %v", frames(t, ctx))
	if tasks == 0 || processor <= 0 {
		t.Error("no task was seen")
	}
	if processor > 50*time.Millisecond && *bars {
		t.Errorf("a task takes %v", processor)
	}
	if each > 0.050 && *bars {
		t.Errorf("each update takes %.1f ms", 1000*each)
	}
	if grown > 2<<20 {
		t.Errorf("the heap grew by %.0f bytes", grown)
	}
	complaints.check(t)
}
