package quota_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the packages of the house export stays little enough to be read.
func TestExportedNames(t *testing.T) {
	const bound = 480
	total := 0
	for _, dir := range []string{"../parse", "../partition", ".", "../transport", "../transport/transporttest"} {
		n := exportedNames(t, dir)
		t.Logf("%4d %s", n, dir)
		total += n
	}
	assert.Less(t, total, bound, "exported names: merge or delete some")
}

// exportedNames counts what a package exports: functions, methods of exported types,
// constants, variables, types, and the fields and methods that these list. What comes with
// an embedded type is not counted twice.
func exportedNames(t *testing.T, dir string) (n int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
					count(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.ValueSpec:
						count(s.Names...)
					case *ast.TypeSpec:
						if !s.Name.IsExported() {
							continue
						}
						n++
						for _, field := range members(s.Type) {
							count(field.Names...)
						}
					}
				}
			}
		}
	}
	require.Positive(t, n, dir)
	return n
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr: // T[P]
			e = x.X
		default:
			return ast.NewIdent("_")
		}
	}
}

// members returns the fields of a struct, or the methods of an interface.
func members(e ast.Expr) []*ast.Field {
	switch x := e.(type) {
	case *ast.StructType:
		return x.Fields.List
	case *ast.InterfaceType:
		return x.Methods.List
	}
	return nil
}
