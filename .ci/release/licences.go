package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kinds are words of licences that permit what the MIT licence of this repository does.
var kinds = []struct{ words, name string }{
	{"Apache License", "Apache-2.0"},
	{"Permission is hereby granted, free of charge", "MIT"},
	{"Redistribution and use in source and binary forms", "BSD"},
	{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
	{"Mozilla Public License", "MPL-2.0"},
}

// licences lists the licences of the modules whose packages the modules need, and returns
// an error if a module for programs to import needs one that is not known to be permissive.
func licences(root string) error {
	all, err := modules(root)
	if err != nil {
		return err
	}
	var failure error
	for _, m := range all {
		if !m.library() {
			continue
		}
		fmt.Printf("%s\n", m.path)
		out, err := output(filepath.Join(root, m.dir), nil, "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Version}} {{.Dir}}{{end}}", "./...")
		if err != nil {
			return err
		}
		seen := make(map[string]bool)
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if len(f) != 3 || seen[f[0]] || strings.HasPrefix(f[0], "github.com/headway-go/") {
				continue
			}
			seen[f[0]] = true
			kind := licence(f[2])
			fmt.Printf("\t%-12s %s %s\n", kind, f[0], f[1])
			if kind == "unknown" || kind == "MPL-2.0" {
				failure = errors.Join(failure, fmt.Errorf("%s needs %s: %s", m.path, f[0], kind))
			}
		}
	}
	return failure
}

func licence(dir string) string {
	names, err := filepath.Glob(filepath.Join(dir, "LICEN*"))
	if err != nil || len(names) == 0 {
		return "unknown"
	}
	text, err := os.ReadFile(names[0])
	if err != nil {
		return "unknown"
	}
	words := strings.Join(strings.Fields(string(text)), " ")
	for _, k := range kinds {
		if strings.Contains(words, k.words) {
			return k.name
		}
	}
	return "unknown"
}
