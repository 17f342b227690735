package inspect

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
)

// DefaultHistory is the default of Handler.History.
const DefaultHistory = 10 * time.Minute

// A Handler is an http.Handler that serves the page. It can be mounted at any path,
// behind http.StripPrefix as well. Set the fields before first use. A Handler is safe
// for concurrent use and must not be copied.
//
// One goroutine runs while the page is open, none otherwise. What is kept of
// the past is bounded: 200 quotas with at most a sample for each second of History, and
// 200 events, and what is on its way to 1,000 origins; with the default, less than 8 MB.
type Handler struct {
	// Accounts are what the page shows: those of the Shapers, as in
	// Shaper.Accounts. Nil means that there is nothing to show.
	Accounts *quota.Accounts

	// Fleet is that of the accounts, if they are shared with other processes. Nil means
	// that they are not.
	Fleet *fleet.Fleet

	// History is how far back the page shows what was left and how many waited. Zero means
	// DefaultHistory; a negative duration means the present only. A sample is taken at
	// most once a second: while the page is open, and whenever a request is held or answered
	// by a Shaper with the Handler's Trace.
	History time.Duration

	// Allow reports whether a request may see the page. Nil means that it must come from
	// a loopback address and name a loopback host (localhost, 127.0.0.1 or [::1]), so that
	// no page of another site can read it through a browser on this machine (DNS
	// rebinding). And no proxy may say that it has passed it on, wherever from
	// (Forwarded, X-Forwarded-For, X-Forwarded-Host, X-Real-IP). A proxy on this machine that does not say so passes on
	// anybody: it needs an Allow.
	Allow func(*http.Request) bool

	history    history
	events     events
	departures departures
	viewers    viewers
}

//go:embed app.js app.css icon.svg page.tmpl
var files embed.FS

// types are the files that are served, by name.
var types = map[string]string{
	"app.js":   "text/javascript; charset=utf-8",
	"app.css":  "text/css; charset=utf-8",
	"icon.svg": "image/svg+xml",
}

// policy is the Content-Security-Policy of all responses.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// ServeHTTP implements http.Handler. It serves the page at the path at which the Handler
// is mounted, and beside it: state, what the page shows as JSON; events, what it shows
// whenever that changes (server-sent events); view, the changing part of the page; and
// files.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := w.Header()
	f.Set("Content-Security-Policy", policy)
	f.Set("X-Content-Type-Options", "nosniff")
	f.Set("Referrer-Policy", "no-referrer")
	f.Set("Cross-Origin-Opener-Policy", "same-origin")
	f.Set("Cross-Origin-Resource-Policy", "same-origin")
	f.Set("Cache-Control", "no-store")
	allow := h.Allow
	if allow == nil {
		allow = isLoopback
	}
	if !allow(r) {
		http.Error(w, "This page is only for the machine that the program runs on; inspect.Handler.Allow can allow more.", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		f.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	// Links are relative, so the page must be at a path that ends with a slash. The
	// path of r.URL may have lost its beginning to http.StripPrefix, and be empty.
	name := path.Base("/" + r.URL.Path)
	switch {
	case strings.HasSuffix(r.URL.Path, "/"):
		h.servePage(w, r)
	case name == "state":
		h.serveState(w, r)
	case name == "view":
		f.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(h.render(viewTemplate, time.Now()))
	case name == "events":
		h.serveEvents(w, r)
	case types[name] != "":
		f.Set("Content-Type", types[name])
		b, _ := files.ReadFile(name)
		_, _ = w.Write(b)
	case strings.Contains(name, "."):
		http.NotFound(w, r)
	default:
		to, _, _ := strings.Cut(r.RequestURI, "?")
		f.Set("Location", "./"+path.Base("/"+to)+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	}
}

func (h *Handler) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v := h.view(time.Now())
	if n, err := strconv.Atoi(r.URL.Query().Get("refresh")); err == nil && n > 0 && n <= 3600 {
		v.Refresh = n
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		http.Error(w, "the page cannot be made", http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(b.Bytes())
}

// serveState serves what the page shows as JSON.
func (h *Handler) serveState(w http.ResponseWriter, r *http.Request) {
	b, err := json.Marshal(h.view(time.Now()))
	if err != nil {
		http.Error(w, "the state cannot be written", http.StatusInternalServerError)
		return
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(b)
}

// isLoopback reports whether a request comes from this machine and names it, and no proxy says that it has passed it on.
// A page of another site may link to this one, but cannot hold its stream open.
func isLoopback(r *http.Request) bool {
	for _, name := range [...]string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return false
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}

const (
	maxViewers = 16
	interval   = time.Second            // between two updates
	soonest    = 250 * time.Millisecond // between two updates if something happened
	patience   = 10 * time.Second       // with a viewer that does not read
)

// viewers are the requests for events, and the goroutine that serves them all.
type viewers struct {
	mu   sync.Mutex // guards following
	all  map[chan []byte]struct{}
	stop chan struct{} // is closed when the last one leaves
}

// serveEvents sends what the page shows, now and whenever it has changed, until the
// client goes.
func (h *Handler) serveEvents(w http.ResponseWriter, r *http.Request) {
	updates, ok := h.join()
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many viewers", http.StatusServiceUnavailable)
		return
	}
	defer h.leave(updates)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of proxies
	c := http.NewResponseController(w)
	send := func(b []byte) bool {
		// A WriteTimeout of the server would end the stream without a word.
		_ = c.SetWriteDeadline(time.Now().Add(patience))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return c.Flush() == nil
	}
	if r.Method == http.MethodHead || !send(event(h.render(viewTemplate, time.Now()), h.events.last())) {
		return
	}
	for {
		select {
		case b := <-updates:
			if !send(b) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// event returns an event of a stream (HTML, Section 9.2.5).
func event(data []byte, id uint64) []byte {
	var b bytes.Buffer
	b.WriteString("id: " + strconv.FormatUint(id, 10) + "\nevent: state\n")
	for line := range bytes.Lines(data) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// join adds a viewer, and starts the goroutine for the first one.
func (h *Handler) join() (updates chan []byte, ok bool) {
	v := &h.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.all) >= maxViewers {
		return nil, false
	}
	if v.all == nil {
		v.all = make(map[chan []byte]struct{})
	}
	updates = make(chan []byte, 1)
	if v.all[updates] = struct{}{}; len(v.all) == 1 {
		v.stop = make(chan struct{})
		go h.update(v.stop)
	}
	return updates, true
}

// leave removes a viewer, and ends the goroutine with the last one.
func (h *Handler) leave(updates chan []byte) {
	v := &h.viewers
	v.mu.Lock()
	defer v.mu.Unlock()
	if delete(v.all, updates); len(v.all) == 0 {
		close(v.stop)
	}
}

// update sends all viewers what the page shows, each second and soon after an event.
func (h *Handler) update(stop chan struct{}) {
	news := h.events.watch()
	tick := time.NewTimer(interval)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-news:
			news = nil
			tick.Reset(soonest)
			continue
		case <-tick.C:
		}
		now := time.Now()
		news = h.events.watch()
		tick.Reset(interval)
		b := event(h.render(viewTemplate, now), h.events.last())
		h.viewers.mu.Lock()
		for updates := range h.viewers.all {
			select {
			case updates <- b:
			default: // it has not read the last one: it gets the next
			}
		}
		h.viewers.mu.Unlock()
	}
}
