// Guarantees takes each guarantee of GUARANTEES.md out of the code, one at a time, and runs
// the test that holds it, which must fail.
//
//	go run -C .ci/guarantees .               # all: a few minutes
//	go run -C .ci/guarantees . -run Secrets  # those whose test matches
//	go run -C .ci/guarantees . -dry          # only that each can be taken out: the code has its text
//
// The breaks are in breaks.txt: a line with a test and its package, one with the file, and
// the text to replace (<) and its replacement (>). Nothing is written to the tree: see
// "go help build" for -overlay.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A change replaces some text of a file, which makes a test fail.
type change struct {
	test, pkg, file string
	from, to        []string
}

func main() {
	pattern := flag.String("run", "", "a regular expression: the tests to try")
	dry := flag.Bool("dry", false, "run no test")
	flag.Parse()
	if err := run(filepath.Join("..", ".."), *pattern, *dry); err != nil {
		fmt.Fprintln(os.Stderr, "guarantees:", err)
		os.Exit(1)
	}
}

func run(root, pattern string, dry bool) error {
	want, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	changes, err := read("breaks.txt")
	if err != nil {
		return err
	}
	failure := compare(changes, filepath.Join(root, "GUARANTEES.md"))
	for _, c := range changes {
		if !want.MatchString(c.test) {
			continue
		}
		if err := try(root, c, dry); err != nil {
			fmt.Printf("NOT HELD  %s: %v\n", c.test, err)
			failure = errors.Join(failure, fmt.Errorf("%s: %w", c.test, err))
			continue
		}
		if !dry {
			fmt.Printf("held      %s\n", c.test)
		}
	}
	return failure
}

// read reads the changes.
func read(name string) ([]change, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []change
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		if len(lines) < 4 {
			return nil, fmt.Errorf("%s: not a change: %q", name, block)
		}
		c := change{file: lines[1]}
		if _, err := fmt.Sscan(lines[0], &c.test, &c.pkg); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, lines[0], err)
		}
		for _, line := range lines[2:] {
			switch mark, rest := line[:1], strings.TrimPrefix(line[1:], " "); mark {
			case "<":
				c.from = append(c.from, rest)
			case ">":
				c.to = append(c.to, rest)
			default:
				return nil, fmt.Errorf("%s: %q", name, line)
			}
		}
		all = append(all, c)
	}
	return all, nil
}

// compare returns an error if a test that the page names has no change, or the other way
// round.
func compare(changes []change, page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	named := make(map[string]bool)
	for _, test := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1) {
		named[test[1]] = true
	}
	var failure error
	for _, c := range changes {
		if !named[c.test] {
			failure = errors.Join(failure, fmt.Errorf("%s is not on the page", c.test))
		}
	}
	for _, test := range slices.Sorted(maps.Keys(named)) {
		if !slices.ContainsFunc(changes, func(c change) bool { return c.test == test }) {
			failure = errors.Join(failure, fmt.Errorf("%s has no change", test))
		}
	}
	return failure
}

// try returns an error unless the test fails with the change, or, if dry, unless the change
// can be made.
func try(root string, c change, dry bool) error {
	path, err := filepath.Abs(filepath.Join(root, c.file))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	from, to := strings.Join(c.from, "\n"), strings.Join(c.to, "\n")
	if n := strings.Count(string(text), from); n != 1 {
		return fmt.Errorf("%s has %q %d times", c.file, from, n)
	}
	if dry {
		return nil
	}
	dir, err := os.MkdirTemp("", "guarantees")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile(changed, []byte(strings.Replace(string(text), from, to, 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600),
	); err != nil {
		return err
	}
	cmd := exec.Command("go", "test", "-vet=off", "-timeout", "60s", "-overlay", overlay, "-run", "^"+c.test+"$", c.pkg)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil && strings.Contains(string(out), "no tests to run"):
		return errors.New("there is no such test")
	case err == nil:
		return errors.New("it passes without the guarantee")
	case strings.Contains(string(out), "[build failed]"):
		return fmt.Errorf("does not compile:\n%s", out)
	}
	return nil
}
