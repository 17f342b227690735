// Interop holds a transport.Shaper against published rate limiters, configured as their
// own documentation says, and against their recorded responses.
//
//	cd transport/interop && go run .           # all servers whose tools are there, and the table
//	cd transport/interop && go test .          # those of Go in simulated time, and the recordings
//
// Go's limiters need nothing. Those of npm need node and npm, which fetches them once, into
// the user's cache folder. The others come from a distribution; for Debian:
//
//	apt-get install nginx haproxy python3-flask-limiter python3-djangorestframework \
//		ruby-rack-attack ruby-activesupport ruby-webrick
//
// Servers whose tools are missing are left out, with a word. Each server allows ten requests
// per two seconds (or five a second). A client makes 45 requests with eight workers, 20 ms
// away: once with a plain retry loop, and once with the same loop above a Shaper, each with a
// server of its own, at the same time. README.md has the table.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/headway-go/headway/transport"
)

func main() {
	only := flag.String("only", "", "a regular expression: the servers to try")
	runs := flag.Int("runs", 1, "how often; the table has the medians")
	parallel := flag.Int("parallel", 8, "the number of servers that are tried at the same time")
	record := flag.String("record", "", "a folder: record the responses of each server there, and try nothing")
	seed := flag.Uint64("seed", 1, "of the random waits")
	flag.Parse()
	if err := run(context.Background(), *only, *record, *runs, *parallel, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, only, record string, runs, parallel int, seed uint64) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "headway-interop")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	w := &workshop{dir: dir}
	all := slices.DeleteFunc(append(goServers(), w.servers()...), func(s *server) bool { return !pattern.MatchString(s.name) })
	if err := w.open(ctx, slices.ContainsFunc(all, func(s *server) bool { return s.from == "npm" })); err != nil {
		return err
	}
	if record != "" {
		return w.recordAll(ctx, all, record)
	}

	rows := make([]row, len(all))
	permits := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			permits <- struct{}{}
			defer func() { <-permits }()
			rows[i] = try(ctx, s, runs, seed)
			fmt.Fprint(os.Stderr, ".")
		})
	}
	wg.Wait()
	fmt.Fprintln(os.Stderr)
	return report(os.Stdout, rows)
}

// A row is one line of the table.
type row struct {
	server       *server
	says         string // the fields of a served response and of a refusal
	loop, shaper []result
	err          error
}

// try has both clients do the work, each with a server of its own, at the same time.
func try(ctx context.Context, s *server, runs int, seed uint64) row {
	r := row{server: s}
	for i := range runs {
		var heard fields
		loop, shaper, err := race(ctx, s, &heard, rand.New(rand.NewPCG(seed, uint64(i))))
		if err != nil {
			r.err = err
			return r
		}
		r.loop, r.shaper, r.says = append(r.loop, loop), append(r.shaper, shaper), heard.String()
	}
	return r
}

func race(ctx context.Context, s *server, heard *fields, rnd *rand.Rand) (loop, shaper result, err error) {
	urls := make([]string, 2)
	for i := range urls {
		url, end, err := s.start(ctx)
		if err != nil {
			return loop, shaper, err
		}
		defer end()
		urls[i] = url
	}
	other := rand.New(rand.NewPCG(rnd.Uint64(), 1))
	var wg sync.WaitGroup
	var failure error
	wg.Go(func() { loop, failure = work(ctx, distant{heard.above(pool())}, urls[0], other) })
	shaper, err = work(ctx, &transport.Shaper{Base: distant{pool()}}, urls[1], rnd)
	wg.Wait()
	return loop, shaper, errors.Join(err, failure)
}

func pool() *http.Transport { return &http.Transport{MaxIdleConnsPerHost: workers} }

// report writes the table, and fails if a client did not get its work done.
func report(w io.Writer, rows []row) error {
	var failed error
	from := ""
	fmt.Fprintln(w, "| server | fields | retry loop: refused | time | Shaper: refused | time |")
	fmt.Fprintln(w, "|---|---|--:|--:|--:|--:|")
	var absent []string
	for _, r := range rows {
		var missing errAbsent
		if errors.As(r.err, &missing) {
			absent = append(absent, fmt.Sprintf("%s (%s)", r.server.name, missing))
			continue
		}
		if r.server.from != from {
			from = r.server.from
			fmt.Fprintf(w, "| **%s** | | | | | |\n", from)
		}
		if r.err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", r.server.name, r.err))
			fmt.Fprintf(w, "| %s | %s | – | – | – | – |\n", r.server.name, "failed")
			continue
		}
		loop, shaper := median(r.loop), median(r.shaper)
		fmt.Fprintf(w, "| %s | %s | %v | %v |\n", r.server.name, cmp.Or(r.says, "none"), loop, shaper)
	}
	if len(absent) > 0 {
		fmt.Fprintf(w, "\nLeft out: %s.\n", strings.Join(absent, "; "))
	}
	return failed
}

// median returns the medians of all figures, each for itself.
func median(all []result) result {
	var r result
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.served, b.served) })
	r.served = all[len(all)/2].served
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.refused, b.refused) })
	r.refused = all[len(all)/2].refused
	slices.SortFunc(all, func(a, b result) int { return cmp.Compare(a.taken, b.taken) })
	r.taken = all[len(all)/2].taken
	return r
}
