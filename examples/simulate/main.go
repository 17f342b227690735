// Simulate is the scoreboard of strategies: how long clients take, and how often
// they are refused, against many kinds of servers. Time is simulated: hours of it
// take seconds, and a seed gives the same result to the last digit.
//
//	go run ./examples/simulate              # all rows
//	go run ./examples/simulate -run 8       # those whose names match
//	go run ./examples/simulate -list
package main

import (
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
	full := flag.Bool("full", false, "show all columns of all strategies")
	list := flag.Bool("list", false, "list the rows and play none")
	flag.Parse()

	match, err := regexp.Compile(*pattern)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulate:", err)
		os.Exit(2)
	}
	rs := slices.DeleteFunc(rows(), func(r row) bool { return !match.MatchString(r.name) })
	if *list {
		for _, r := range rs {
			fmt.Println(r.name)
		}
		return
	}
	cs := contenders()
	writeTable(os.Stdout, cs, rs, playAll(rs, cs, *seed), *full)
}

// playAll plays all rows, several at a time: none knows of another.
func playAll(rs []row, cs []contender, seed uint64) [][]score {
	scores := make([][]score, len(rs))
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range rs {
		scores[i] = make([]score, len(cs))
		for k := range cs {
			free <- struct{}{}
			wg.Go(func() {
				defer func() { <-free }()
				scores[i][k] = play(&rs[i], cs[k], seed)
			})
		}
	}
	wg.Wait()
	return scores
}
