package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// A pkg is a package, as "go list" prints it.
type pkg struct {
	ImportPath, Dir           string
	GoFiles                   []string
	TestGoFiles, XTestGoFiles []string
	Imports                   []string
	TestImports, XTestImports []string
}

func (p *pkg) tested() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

func (p *pkg) imports(path string) bool {
	return slices.Contains(p.Imports, path) || slices.Contains(p.TestImports, path) || slices.Contains(p.XTestImports, path)
}

// A module is the module under test.
type module struct {
	root    string
	all     []*pkg // of the module
	targets []*pkg // to be changed
	skip    *regexp.Regexp
	without string        // tests that are not run
	timeout time.Duration // of the tests of one package
}

func load(root string, patterns []string, skip *regexp.Regexp) (*module, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	m := &module{root: root, skip: skip}
	if m.all, err = m.list("./..."); err != nil {
		return nil, err
	}
	if len(patterns) == 0 {
		return nil, errors.New("no packages are given")
	}
	named, err := m.list(patterns...)
	for _, p := range named {
		i := slices.IndexFunc(m.all, func(q *pkg) bool { return q.ImportPath == p.ImportPath })
		if i < 0 {
			return nil, fmt.Errorf("%s is in another module", p.ImportPath)
		}
		m.targets = append(m.targets, m.all[i])
	}
	return m, err
}

func (m *module) list(patterns ...string) (ps []*pkg, err error) {
	cmd := exec.Command("go", append([]string{"list", "-json"}, patterns...)...)
	cmd.Dir, cmd.Stderr = m.root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		if err := d.Decode(p); err == io.EOF {
			return ps, nil
		} else if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
}

// testsOf returns the packages whose tests may notice a change in p: p itself, then
// those that import it, the nearest first.
func (m *module) testsOf(p *pkg) []*pkg {
	found := []*pkg{p}
	for i := 0; i < len(found); i++ {
		for _, q := range m.all {
			if !slices.Contains(found, q) && q.imports(found[i].ImportPath) && !m.skip.MatchString(q.ImportPath) {
				found = append(found, q)
			}
		}
	}
	return slices.DeleteFunc(found, func(q *pkg) bool { return !q.tested() })
}

// mutants returns all mutants of the targets whose description matches.
func (m *module) mutants(at *regexp.Regexp) (all []mutant, err error) {
	for _, p := range m.targets {
		for _, name := range p.GoFiles {
			path := filepath.Join(p.Dir, name)
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			file, err := filepath.Rel(m.root, path)
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(filepath.ToSlash(file), source)
			if err != nil {
				return nil, err
			}
			for _, x := range found {
				if x.pkg, x.path = p, path; at.MatchString(x.String()) {
					all = append(all, x)
				}
			}
		}
	}
	return all, nil
}

// A result is what came of a mutant.
type result int

const (
	survived result = iota
	killed
	timedOut
	broken // it does not compile
)

// check reports an error if the tests fail without any change: they would notice every
// mutant.
func (m *module) check(dir string) error {
	overlay, err := mutant{}.overlay(dir)
	if err != nil {
		return err
	}
	checked := make(map[*pkg]bool)
	for _, target := range m.targets {
		for _, p := range m.testsOf(target) {
			if checked[p] {
				continue
			}
			checked[p] = true
			if m.test(p, overlay, dir) != survived {
				return fmt.Errorf("the tests of %s fail without a change", p.ImportPath)
			}
		}
	}
	return nil
}

// try runs the tests that may notice the mutant. It keeps its files in dir, and deletes
// them.
func (m *module) try(x mutant, dir string) result {
	defer os.RemoveAll(dir)
	overlay, err := x.overlay(dir)
	if err != nil {
		panic(err) // the temporary directory cannot be written
	}
	for _, p := range m.testsOf(x.pkg) {
		if r := m.test(p, overlay, dir); r != survived {
			return r
		}
	}
	return survived
}

// test runs the tests of a package with an overlay. Its program is kept in dir.
func (m *module) test(p *pkg, overlay, dir string) result {
	program := filepath.Join(dir, "tests")
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, p.ImportPath)
	build.Dir = m.root
	if build.Run() != nil {
		return broken
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.timeout+10*time.Second)
	defer cancel()
	var out bytes.Buffer
	args := []string{"-test.short", "-test.failfast", "-test.timeout", m.timeout.String()}
	if m.without != "" {
		args = append(args, "-test.skip", m.without)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, &out, &out
	switch {
	case cmd.Run() == nil:
		return survived
	case ctx.Err() != nil, bytes.Contains(out.Bytes(), []byte("panic: test timed out")):
		return timedOut
	}
	return killed
}
