package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const source = `package p

import "time"

const size = 4

type T struct{ min, max [2]int }

func f(a, b int) (int, error) {
	if a < b && b != 0 {
		a += min(a, b)
		g(T{min: [2]int{}})
	}
	return a, nil
}

func g(T) { time.Now() }
`

// Every kind of change, at its line, and nothing in types, imports and names of fields.
func TestMutantsOf(t *testing.T) {
	found, err := mutantsOf("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range found {
		got = append(got, strings.TrimPrefix(x.String(), "p.go:"))
	}
	want := []string{
		"5: 4 -> 5", "5: 4 -> 3",
		"10: condition -> never", "10: condition -> always",
		"10: && -> ||", "10: < -> <=", "10: < -> >=", "10: != -> ==", "10: 0 -> 1",
		"11: += -> -=", "11: statement deleted", "11: min -> max",
		"12: statement deleted",
		"14: result -> zero",
		"17: statement deleted",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A mutant differs from the source in one place, and its diff shows it.
func TestChanged(t *testing.T) {
	found, err := mutantsOf("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(found, func(x mutant) bool { return x.what == "result -> zero" })
	if got, want := string(found[i].changed()), strings.Replace(source, "return a,", "return *new(int),", 1); got != want {
		t.Errorf("got\n%s", got)
	}
	if got, want := found[i].diff(), "-\treturn a, nil\n+\treturn *new(int), nil\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The seed alone decides which mutants are drawn.
func TestDraw(t *testing.T) {
	found, err := mutantsOf("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	reversed := slices.Clone(found)
	slices.Reverse(reversed)
	if a, b := fmt.Sprint(draw(found, 7)), fmt.Sprint(draw(reversed, 7)); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if a, b := fmt.Sprint(draw(found, 7)), fmt.Sprint(draw(found, 8)); a == b {
		t.Error("two seeds draw the same")
	}
}
