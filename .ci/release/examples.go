package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

// examples compares the types that no example shows with examples.txt, which says why.
//
// An example of the package shows a type if it is named for the type, for a method of it or
// for a function that returns it; or if its code names the type. So the types of hooks and of
// parts of structs are shown where they are used.
func examples(root string) error {
	packages, err := packages(root)
	if err != nil {
		return err
	}
	why, err := reasons("examples.txt")
	if err != nil {
		return err
	}
	var failure error
	own, total := 0, 0
	for _, p := range packages {
		for _, t := range p.doc.Types {
			if !ast.IsExported(t.Name) {
				continue
			}
			total++
			name := p.path + "." + t.Name
			reason, listed := why[name]
			delete(why, name)
			switch {
			case p.hasExample(t):
				own++
				fallthrough
			case p.named(t):
				if listed {
					failure = errors.Join(failure, fmt.Errorf("%s: an example shows it: take it out of examples.txt", name))
				}
			case listed:
				fmt.Printf("%s: %s\n", name, reason)
			default:
				failure = errors.Join(failure, fmt.Errorf("%s: no example shows it", name))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(why)) {
		failure = errors.Join(failure, fmt.Errorf("%s: there is no such type: take it out of examples.txt", name))
	}
	fmt.Printf("%d of %d types have an example of their own\n", own, total)
	return failure
}

// hasExample reports whether an example is named for the type, a method of it, or a function
// that returns it.
func (p *pkg) hasExample(t *doc.Type) bool {
	for name := range p.examples {
		first, _, _ := strings.Cut(name, "_")
		if first == t.Name || slices.ContainsFunc(t.Funcs, func(f *doc.Func) bool { return f.Name == first }) {
			return true
		}
	}
	return false
}

// named reports whether the code of an example names the type.
func (p *pkg) named(t *doc.Type) bool {
	name := regexp.MustCompile(`\b` + path.Base(p.path) + `\.` + t.Name + `\b`)
	for _, code := range p.examples {
		if name.MatchString(code) {
			return true
		}
	}
	return false
}

// reasons reads a file of names with reasons: "name: reason".
func reasons(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, reason, found := strings.Cut(strings.TrimSpace(line), ": ")
		if !found {
			return nil, fmt.Errorf("%s: %q", file, line)
		}
		all[name] = reason
	}
	return all, nil
}
