// Simulate compares strategies of clients against many kinds of servers, and prints a
// scoreboard: how long a client takes and how often it is refused. Time is simulated:
// hours take seconds, and the same seed always gives the same numbers.
//
//	go run ./examples/simulate                 # all rows
//	go run ./examples/simulate -run '^gcra'    # the rows whose names match
//	go run ./examples/simulate -full           # all columns of all strategies
//	go run ./examples/simulate -rows           # the names of the rows
//	go run ./examples/simulate -random 1000    # servers that a seed draws: where a client is worse off than with retry
//	go run ./examples/simulate -draw '^fixed 20/1s$'
//	go run ./examples/simulate -draw '^fixed 20/1s$' -svg > fixed.svg
//
// The columns are:
//
//   - goodput: the time of a clairvoyant client divided by the time taken. A
//     clairvoyant client knows the server's state and is never idle for lack of
//     knowledge; see row.bound. "late" means that the run was given up after 20 times
//     the clairvoyant time plus an hour, or after 20 times the necessary requests.
//     "stuck" means that the run halted with jobs left.
//   - refused: refused requests, in percent of the served ones, without the wave.
//   - wave: refused requests that left before their process had received a first
//     response.
//   - median, p99: how long requests were held: from the time a worker asked to the
//     time the request that was served left. If some users arrive over time, only
//     their requests count.
//   - burst: the largest number of requests that arrived at the server within 100 ms.
//   - fair: Jain's fairness index over the users, and the other clients if there are
//     any.
//   - cost: the time lost against the clairvoyant client, plus a second for each
//     request counted as refused.
//
// Each strategy of package quota has its own line. The columns on the right are the
// goodput and the refusals of other strategies. "retry" sends at once and retries
// refused requests after Retry-After. "bucket" is a token bucket configured with the
// right rate. "pray" sends at once and retries after a second.
//
// The processes of a "fleet" share their accounts through a Hub of package fleet, a
// millisecond away.
//
// Below the table are: the number of rows in which each strategy reaches a goodput of
// 0.97 with at most 0.5 % refused (0.95 and 3 % if several processes share the quota and
// cannot talk, 0.97 and 1 % if they are a fleet); the rows in which the first strategy of
// quota costs more than another one of quota; those in which a client is worse off with it
// than with retry, because it is slower by more than 3 % or refused more often; how often the
// processes of a fleet exchange what they know, and Jain's index of the units that each was
// served when half of the work was done; and the rows in which the first strategy does not
// reach both numbers, with the reason.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"sync"
)

func main() {
	pattern := flag.String("run", "", "run only the rows whose names match the regular expression")
	seed := flag.Uint64("seed", 1, "the seed of all random numbers")
	seeds := flag.Uint64("seeds", 1, "run each row with this number of seeds, and print the score with the median cost")
	list := flag.Bool("rows", false, "print the names of the rows and exit")
	full := flag.Bool("full", false, "show all columns of all strategies")
	draw := flag.String("draw", "", "draw the requests in two windows of the rows whose names match the regular expression")
	svg := flag.Bool("svg", false, "with -draw, draw the first row as SVG")
	random := flag.Int("random", 0, "play this number of servers that are drawn by the seed, and print those with which a client is worse off than with retry")
	flag.Parse()

	if *random > 0 {
		writeHarm(os.Stdout, *seed, *random)
		return
	}
	if *draw != "" {
		*pattern = *draw
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
	rs := slices.DeleteFunc(rows(), func(r row) bool { return !match.MatchString(r.name) })
	if len(rs) == 0 {
		fmt.Fprintln(os.Stderr, "simulate: no row matches")
		os.Exit(2)
	}
	ours := slices.DeleteFunc(contenders(), func(c contender) bool { return !c.ours })
	switch {
	case *list:
		for _, r := range rs {
			fmt.Println(r.name)
		}
	case *draw != "" && *svg:
		writeSVG(os.Stdout, rs[0].name, depict(&rs[0], ours, *seed))
	case *draw != "":
		for _, r := range rs {
			writeText(os.Stdout, r.name, depict(&r, ours, *seed))
		}
	default:
		writeTable(os.Stdout, contenders(), rs, playAll(rs, contenders(), *seed, *seeds), *full)
	}
}

// playAll plays all rows with all contenders, several at a time; the runs are
// independent. It returns the score with the median cost of each.
func playAll(rs []row, cs []contender, seed, seeds uint64) [][]score {
	all := make([][][]score, len(rs)) // by contender and seed
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range rs {
		all[i] = make([][]score, len(cs))
		for k := range cs {
			free <- struct{}{}
			wg.Go(func() {
				defer func() { <-free }()
				all[i][k] = playSeeds(&rs[i], cs[k], seed, seeds)
			})
		}
	}
	wg.Wait()
	scores := make([][]score, len(rs))
	for i := range rs {
		scores[i] = medians(cs, all[i])
	}
	return scores
}

// medians returns the score with the median cost of each contender. It compares each with retry
// in each seed: the medians may be of different ones.
func medians(cs []contender, all [][]score) (scores []score) {
	retry := slices.IndexFunc(cs, func(c contender) bool { return c.name == "retry" })
	for k := range cs {
		s := median(all[k])
		if retry >= 0 {
			worse := 0
			for i := range all[k] {
				if all[k][i].harms(&all[retry][i]) {
					worse++
				}
			}
			s.worse = 2*worse > len(all[k])
		}
		scores = append(scores, s)
	}
	return scores
}

// playSeeds plays a row with several seeds.
func playSeeds(r *row, c contender, seed, seeds uint64) (all []score) {
	for i := range max(seeds, 1) {
		all = append(all, play(r, c, seed+i))
	}
	return all
}

// median returns the score with the median cost.
func median(all []score) score {
	all = slices.SortedStableFunc(slices.Values(all), func(x, y score) int { return cmp.Compare(x.cost(), y.cost()) })
	return all[len(all)/2]
}
