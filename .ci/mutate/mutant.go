package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A mutant is one change of one file.
type mutant struct {
	pkg        *pkg
	file, path string // relative to the root, and absolute
	line       int
	what       string // in words
	source     []byte
	from, to   int // the bytes that are replaced
	text       string
}

func (x mutant) String() string { return fmt.Sprintf("%s:%d: %s", x.file, x.line, x.what) }

func (x mutant) changed() []byte {
	return bytes.Join([][]byte{x.source[:x.from], []byte(x.text), x.source[x.to:]}, nil)
}

// overlay writes the changed file, and the file for the flag -overlay, whose name it
// returns. The zero mutant changes nothing.
func (x mutant) overlay(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	if x.path == "" {
		return overlay, os.WriteFile(overlay, []byte("{}"), 0o600)
	}
	if err := os.WriteFile(changed, x.changed(), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {x.path: changed}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

// diff returns the lines that differ.
func (x mutant) diff() string {
	first := bytes.LastIndexByte(x.source[:x.from], '\n') + 1
	last := len(x.source)
	if i := bytes.IndexByte(x.source[x.to:], '\n'); i >= 0 {
		last = x.to + i
	}
	old := string(x.source[first:last])
	changed := string(x.source[first:x.from]) + x.text + string(x.source[x.to:last])
	return prefixed("-", old) + prefixed("+", changed)
}

func prefixed(by, lines string) string {
	return by + strings.ReplaceAll(lines, "\n", "\n"+by) + "\n"
}

// mutantsOf returns all mutants of a file.
func mutantsOf(file string, source []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{fset: fset, file: file, source: source}
	for _, d := range parsed.Decls {
		ast.Walk(visitor{f, nil}, d)
	}
	return f.found, nil
}

// A finder collects the mutants of a file.
type finder struct {
	fset   *token.FileSet
	file   string
	source []byte
	found  []mutant
}

func (f *finder) text(n ast.Node) string {
	return string(f.source[f.offset(n.Pos()):f.offset(n.End())])
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

// replace adds a mutant that has text in the place of the source from from to to.
func (f *finder) replace(from, to token.Pos, what, text string) {
	f.found = append(f.found, mutant{
		file: f.file, line: f.fset.Position(from).Line, what: what,
		source: f.source, from: f.offset(from), to: f.offset(to), text: text,
	})
}

// swap adds a mutant with another operator.
func (f *finder) swap(at token.Pos, old token.Token, with ...token.Token) {
	for _, op := range with {
		f.replace(at, at+token.Pos(len(old.String())), old.String()+" -> "+op.String(), op.String())
	}
}

var operators = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.INC: {token.DEC}, token.DEC: {token.INC},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.BREAK: {token.CONTINUE}, token.CONTINUE: {token.BREAK},
}

var names = map[string]string{"min": "max", "max": "min", "true": "false", "false": "true"}

// A visitor visits what is in a function with the given results.
type visitor struct {
	*finder
	results *ast.FieldList
}

func (v visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.GenDecl:
		if n.Tok == token.IMPORT || n.Tok == token.TYPE {
			return nil
		}
	case *ast.FuncDecl:
		if n.Body == nil {
			return nil
		}
		ast.Walk(visitor{v.finder, n.Type.Results}, n.Body)
		return nil
	case *ast.FuncLit:
		ast.Walk(visitor{v.finder, n.Type.Results}, n.Body)
		return nil
	case *ast.ArrayType, *ast.StructType, *ast.FuncType, *ast.MapType:
		return nil
	case *ast.BinaryExpr:
		v.swap(n.OpPos, n.Op, operators[n.Op]...)
	case *ast.IfStmt:
		v.condition(n.Cond)
	case *ast.CaseClause:
		v.cases(n)
	case *ast.IncDecStmt:
		v.swap(n.TokPos, n.Tok, operators[n.Tok]...)
		v.delete(n)
	case *ast.AssignStmt:
		v.swap(n.TokPos, n.Tok, operators[n.Tok]...)
		if n.Tok != token.DEFINE {
			v.delete(n)
		}
	case *ast.ExprStmt:
		v.delete(n)
	case *ast.DeferStmt:
		v.delete(n)
	case *ast.BranchStmt:
		if n.Label == nil {
			v.swap(n.TokPos, n.Tok, operators[n.Tok]...)
		}
	case *ast.ReturnStmt:
		v.zero(n)
	case *ast.BasicLit:
		v.literal(n)
	case *ast.Ident:
		if other := names[n.Name]; other != "" {
			v.replace(n.Pos(), n.End(), n.Name+" -> "+other, other)
		}
	case *ast.KeyValueExpr:
		ast.Walk(v, n.Value) // the key may be the name of a field
		return nil
	case *ast.SelectorExpr:
		ast.Walk(v, n.X)
		return nil
	}
	return v
}

func (v visitor) condition(cond ast.Expr) {
	v.replace(cond.Pos(), cond.End(), "condition -> never", "("+v.text(cond)+") && false")
	v.replace(cond.Pos(), cond.End(), "condition -> always", "("+v.text(cond)+") || true")
}

// cases makes the conditions of a case false. Where a case is not a condition, the
// mutant does not compile.
func (v visitor) cases(n *ast.CaseClause) {
	for _, c := range n.List {
		if _, ok := c.(*ast.BasicLit); !ok {
			v.replace(c.Pos(), c.End(), "case -> never", "("+v.text(c)+") && false")
		}
	}
}

func (v visitor) delete(n ast.Stmt) {
	v.replace(n.Pos(), n.End(), "statement deleted", "{ }")
}

// zero returns the zero value in the place of each result.
func (v visitor) zero(n *ast.ReturnStmt) {
	if v.results == nil {
		return
	}
	var types []ast.Expr
	for _, field := range v.results.List {
		for range max(len(field.Names), 1) {
			types = append(types, field.Type)
		}
	}
	if len(types) != len(n.Results) {
		return
	}
	for i, r := range n.Results {
		switch v.text(r) {
		case "0", "nil", "false", `""`:
			continue
		}
		v.replace(r.Pos(), r.End(), "result -> zero", "*new("+v.text(types[i])+")")
	}
}

// literal makes a number one larger, and one smaller where it is small.
func (v visitor) literal(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	i, err := strconv.ParseInt(n.Value, 0, 64)
	if err != nil {
		return
	}
	v.replace(n.Pos(), n.End(), n.Value+" -> "+strconv.FormatInt(i+1, 10), strconv.FormatInt(i+1, 10))
	if i > 0 && i < 10 {
		v.replace(n.Pos(), n.End(), n.Value+" -> "+strconv.FormatInt(i-1, 10), strconv.FormatInt(i-1, 10))
	}
}
