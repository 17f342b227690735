// Simulate is the scoreboard of strategies: how long clients take, and how often they
// are refused, against many kinds of servers. Time is simulated: hours of it take
// seconds, and a seed gives the same result to the last digit.
//
//	go run ./examples/simulate                 # all rows
//	go run ./examples/simulate -run '^gcra'    # those whose names match
//	go run ./examples/simulate -full           # all columns of all strategies
//	go run ./examples/simulate -rows           # what there is
//	go run ./examples/simulate -draw '^fixed 20/1s$'
//	go run ./examples/simulate -draw '^fixed 20/1s$' -svg > fixed.svg
//
// The columns are:
//
//   - goodput: the time that a clairvoyant client takes, which knows everything and
//     never stalls, over the time taken. See row.bound. "late" was given up after 20
//     times the clairvoyant time and an hour, or 20 times the requests; "stuck" came
//     to a halt.
//   - refused: requests that were refused, in percent of those served.
//   - wave: requests that were refused too, but left before their process had heard
//     anything: what it costs to be told nothing.
//   - median, p99: how long requests were held: from when a worker wanted one to when
//     it left for good. Where some users want little, only theirs count.
//   - burst: the most requests that arrived at the server within 100 ms.
//   - fair: Jain's index of what users, or processes, or other clients got of what
//     was theirs.
//   - cost: the time lost against the clairvoyant client, and a second for each
//     refused request: that is the price of one.
//
// Strategies of package quota stand in lines of their own; to the right are the
// goodput and the refusals of what else people do: send at once and retry what was
// refused, after Retry-After; a token bucket that was told the right rate; and
// praying, which is sending at once, and again after a second. Below the table stands
// in how many rows each reaches a goodput of 0.97 with no more than 0.5 % refused, or
// 0.95 and 3 % where several processes share a quota; in which rows the first strategy
// of quota costs more than another of them; and in which rows it misses one of the two
// numbers, and why.
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
	pattern := flag.String("run", "", "play only rows whose names match the regular expression")
	seed := flag.Uint64("seed", 1, "of everything random")
	seeds := flag.Uint64("seeds", 1, "play with so many seeds, and show the score whose cost is the median")
	list := flag.Bool("rows", false, "list the names of the rows, and play none")
	full := flag.Bool("full", false, "show all columns of all strategies")
	draw := flag.String("draw", "", "draw the requests in two windows of rows whose names match")
	svg := flag.Bool("svg", false, "draw the first of them as SVG")
	flag.Parse()

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

// playAll plays all rows, several at a time: none knows of another.
func playAll(rs []row, cs []contender, seed, seeds uint64) [][]score {
	scores := make([][]score, len(rs))
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range rs {
		scores[i] = make([]score, len(cs))
		for k := range cs {
			free <- struct{}{}
			wg.Go(func() {
				defer func() { <-free }()
				scores[i][k] = playMedian(&rs[i], cs[k], seed, seeds)
			})
		}
	}
	wg.Wait()
	return scores
}

// playMedian plays a row with several seeds, and returns the score of median cost.
func playMedian(r *row, c contender, seed, seeds uint64) score {
	var all []score
	for i := range max(seeds, 1) {
		all = append(all, play(r, c, seed+i))
	}
	slices.SortStableFunc(all, func(x, y score) int { return cmp.Compare(x.cost(), y.cost()) })
	return all[len(all)/2]
}
