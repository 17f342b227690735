// Mutate changes one thing in the code of some packages, runs their tests, and prints
// the changes that no test noticed. It draws the changes by a seed.
//
//	go run -C .ci/mutate . -n 200 -seed 1 ./quota ./quota/internal/...
//
// Packages are given as for "go list", relative to the root of the repository. The tree is
// not written to: a change is made with "go build -overlay". A change that the package's
// own tests do not notice is tried with the tests of the packages that import it, the
// nearest first. A change that does not compile is not counted, and one that makes the
// tests run out of time counts as noticed.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"
)

// counts are how many mutants came to which end.
type counts struct{ killed, timeouts, survived, broken int }

func (c counts) tried() int { return c.killed + c.timeouts + c.survived }

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutate: ")
	var (
		root     = flag.String("root", "../..", "the root of the repository")
		n        = flag.Int("n", 100, "how many mutants that compile are tried")
		seed     = flag.Uint64("seed", 1, "the seed that they are drawn by")
		timeout  = flag.Duration("timeout", time.Minute, "the time that the tests of one package have")
		parallel = flag.Int("parallel", 1, "how many mutants are tried at once")
		at       = flag.String("at", "", "only places that match this regular expression, as file:line: what")
		skip     = flag.String("skip", `/(examples|fuzz|bench|inspect)(/|$)`, "importing packages whose tests are not run, as a regular expression")
		without  = flag.String("without", "", "tests that are not run because they take long, as a regular expression")
		list     = flag.Bool("list", false, "print the mutants that would be tried, and do not try them")
	)
	flag.Parse()
	limitMemory()
	m, err := load(*root, flag.Args(), regexp.MustCompile(*skip))
	if err != nil {
		log.Fatal(err)
	}
	all, err := m.mutants(regexp.MustCompile(*at))
	if err != nil {
		log.Fatal(err)
	}
	drawn := draw(all, *seed)
	if *list {
		for _, mu := range drawn[:min(*n, len(drawn))] {
			fmt.Println(mu)
		}
		return
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m.without, m.timeout = *without, *timeout
	if err := m.check(dir); err != nil {
		os.RemoveAll(dir)
		log.Fatal(err)
	}
	fmt.Printf("%d of %d mutants, seed %d\n", min(*n, len(all)), len(all), *seed)

	var (
		mu    sync.Mutex // guards following
		next  int
		busy  int
		total counts
		tried sync.WaitGroup
	)
	// take returns the next mutant, as long as those that compile are fewer than n.
	take := func() (mutant, int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(drawn) || total.tried()+busy >= *n {
			return mutant{}, 0, false
		}
		next++
		busy++
		return drawn[next-1], next, true
	}
	for range *parallel {
		tried.Go(func() {
			for {
				x, i, ok := take()
				if !ok {
					return
				}
				r := m.try(x, fmt.Sprintf("%s/%d", dir, i))
				mu.Lock()
				busy--
				switch r {
				case killed:
					total.killed++
				case timedOut:
					total.timeouts++
				case broken:
					total.broken++
				case survived:
					total.survived++
					fmt.Printf("\n%s\n%s", x, x.diff())
				}
				if total.tried()%10 == 0 {
					log.Printf("%+v", total)
				}
				mu.Unlock()
			}
		})
	}
	tried.Wait()
	fmt.Printf("\n%d mutants: %d killed, %d out of time, %d survived (%d more did not compile)\n",
		total.tried(), total.killed, total.timeouts, total.survived, total.broken)
}

// draw returns the mutants in an order that depends on the seed alone.
func draw(all []mutant, seed uint64) []mutant {
	drawn := slices.Clone(all)
	slices.SortStableFunc(drawn, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.from, b.from), cmp.Compare(a.what, b.what))
	})
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}
