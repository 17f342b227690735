package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// api compares the exported names of each package with its file in api/, or writes it.
func api(root string, update bool) error {
	packages, err := packages(root)
	if err != nil {
		return err
	}
	folder := filepath.Join(root, "api")
	if update {
		if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)); err != nil {
			return err
		}
	}
	var failure error
	total := 0
	known := make(map[string]bool)
	for _, p := range packages {
		names := p.names()
		total += len(names)
		file := filepath.Join(folder, strings.ReplaceAll(p.path, "/", "-")+".txt")
		known[file] = true
		text := fmt.Sprintf("package %s\n%d exported names\n\n%s\n", p.path, len(names), strings.Join(names, "\n"))
		if update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
			continue
		}
		was, err := os.ReadFile(file)
		if err != nil {
			failure = errors.Join(failure, err)
			continue
		}
		had := strings.Split(string(was), "\n")
		for _, name := range names {
			if !slices.Contains(had, name) {
				failure = errors.Join(failure, fmt.Errorf("%s: not in api/: %s", p.path, name))
			}
		}
		if failure == nil && text != string(was) {
			failure = fmt.Errorf("%s: names are gone", p.path)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if !known[file] {
			failure = errors.Join(failure, fmt.Errorf("%s: the package is gone", file))
		}
	}
	fmt.Printf("%d exported names in %d packages\n", total, len(packages))
	if failure != nil {
		return fmt.Errorf("%w\nif that is meant: go run -C .ci/release . api -update, and a line in CHANGELOG.md", failure)
	}
	return nil
}

// A pkg is a package that programs can import.
type pkg struct {
	path     string // from the root
	fset     *token.FileSet
	doc      *doc.Package
	examples map[string]string // their code, by name: T, or T_M
}

func packages(root string) ([]*pkg, error) {
	all, err := modules(root)
	if err != nil {
		return nil, err
	}
	var found []*pkg
	for _, m := range all {
		if !m.library() {
			continue
		}
		out, err := output(filepath.Join(root, m.dir), nil, "go", "list", "-f", "{{.Name}} {{.Dir}}", "./...")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(out) {
			name, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				return nil, err
			}
			rel = filepath.ToSlash(rel)
			if name == "main" || strings.HasPrefix(rel, "examples/") || slices.Contains(strings.Split(rel, "/"), "internal") {
				continue
			}
			p, err := load(dir, rel)
			if err != nil {
				return nil, err
			}
			if len(p.names()) > 0 {
				found = append(found, p)
			}
		}
	}
	return found, nil
}

func load(dir, rel string) (*pkg, error) {
	p := &pkg{path: rel, fset: token.NewFileSet(), examples: make(map[string]string)}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, f)
			continue
		}
		for _, e := range doc.Examples(f) {
			p.examples[e.Name] = p.print(e.Code)
		}
	}
	p.doc, err = doc.NewFromFiles(p.fset, files, rel)
	return p, err
}

// names lists what the package exports, one a line: functions, types with their methods and
// fields, constants and variables.
func (p *pkg) names() []string {
	var all []string
	values := func(kind string, groups []*doc.Value) {
		for _, g := range groups {
			for _, name := range g.Names {
				if ast.IsExported(name) {
					all = append(all, kind+" "+name)
				}
			}
		}
	}
	functions := func(fs []*doc.Func) {
		for _, f := range fs {
			f.Decl.Doc, f.Decl.Body = nil, nil
			all = append(all, p.print(f.Decl))
		}
	}
	values("const", p.doc.Consts)
	values("var", p.doc.Vars)
	functions(p.doc.Funcs)
	for _, t := range p.doc.Types {
		spec := t.Decl.Specs[0].(*ast.TypeSpec)
		prefix := "type " + spec.Name.Name
		switch s := spec.Type.(type) {
		case *ast.StructType:
			all = append(all, prefix+" struct")
			all = append(all, p.fields(prefix+"."+"", s.Fields)...)
		case *ast.InterfaceType:
			all = append(all, prefix+" interface")
			all = append(all, p.fields(prefix+"."+"", s.Methods)...)
		default:
			all = append(all, prefix+" "+p.print(spec.Type))
		}
		values("const", t.Consts)
		values("var", t.Vars)
		functions(t.Funcs)
		functions(t.Methods)
	}
	return slices.Sorted(maps.Keys(set(all)))
}

func set(all []string) map[string]bool {
	s := make(map[string]bool)
	for _, name := range all {
		s[name] = true
	}
	return s
}

func (p *pkg) fields(prefix string, list *ast.FieldList) (all []string) {
	for _, f := range list.List {
		names := f.Names
		if len(names) == 0 {
			all = append(all, strings.TrimSuffix(prefix, ".")+" embeds "+p.print(f.Type))
		}
		for _, name := range names {
			if name.IsExported() {
				all = append(all, prefix+name.Name+" "+p.print(f.Type))
			}
		}
	}
	return all
}

// print returns code on one line.
func (p *pkg) print(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, p.fset, node); err != nil {
		panic(err) // a Buffer does not fail, and the node was parsed
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
