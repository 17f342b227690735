// Release checks what users get of a release.
//
//	go run -C .ci/release . api          # compare the exported names with api/
//	go run -C .ci/release . api -update  # rewrite api/
//	go run -C .ci/release . examples     # list the exported types without an example
//	go run -C .ci/release . licences     # list the licences of what the modules need
//	go run -C .ci/release . outside      # go get the modules from a module outside the tree
//	go run -C .ci/release . outside -all # the examples' and the comparisons' modules, too
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	update := flags.Bool("update", false, "rewrite the files")
	every := flags.Bool("all", false, "get all modules")
	command := "api"
	if len(os.Args) > 1 {
		command = os.Args[1]
		_ = flags.Parse(os.Args[2:]) // exits on an error
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err == nil {
		switch command {
		case "api":
			err = api(root, *update)
		case "examples":
			err = examples(root)
		case "licences":
			err = licences(root)
		case "outside":
			err = outside(root, *every)
		default:
			err = fmt.Errorf("no command %q", command)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// output runs a command in a folder and returns what it printed.
func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out), err
}

// A module is one of the repository's, except those of .ci.
type module struct {
	dir  string // from the root, with slashes
	path string
}

func modules(root string) ([]module, error) {
	out, err := output(root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*go.mod")
	if err != nil {
		return nil, err
	}
	var all []module
	for _, name := range strings.Fields(out) {
		if strings.HasPrefix(name, ".ci/") {
			continue
		}
		dir := path.Dir(name)
		all = append(all, module{dir, path.Join("github.com/headway-go/headway", dir)})
	}
	return all, nil
}

// library reports whether programs import packages of the module: it is neither an example
// nor a comparison.
func (m module) library() bool {
	for _, part := range []string{"examples/", "interop", "peers", "bench", "compare", "browsertest"} {
		if strings.HasPrefix(m.dir, part) || strings.HasSuffix(m.dir, part) {
			return false
		}
	}
	return true
}
