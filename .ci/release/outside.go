package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const version = "v0.1.0"

// sibling is a requirement of a module of the repository for another. Beside it there is a
// replacement, which holds in the tree only. A release gets the real version.
var sibling = regexp.MustCompile(`(github\.com/headway-go/headway\S*) v0\.0\.0\S*`)

// outside puts every module into a proxy of files, as if it were released, and has a module
// outside the tree get and build each that is a library; with every also the others, which it
// only gets.
func outside(root string, every bool) error {
	tmp, err := os.MkdirTemp("", "outside")
	if err != nil {
		return err
	}
	defer func() {
		_, _ = output(tmp, []string{"GOMODCACHE=" + filepath.Join(tmp, "cache")}, "go", "clean", "-modcache")
		_ = os.RemoveAll(tmp)
	}()
	all, err := modules(root)
	if err != nil {
		return err
	}
	for _, m := range all {
		if err := publish(root, filepath.Join(tmp, "proxy"), m); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}

	proxies, err := output(root, nil, "go", "env", "GOPROXY")
	if err != nil {
		return err
	}
	cache, err := output(root, nil, "go", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	env := []string{
		"GOPROXY=" + strings.Join([]string{
			"file://" + filepath.ToSlash(filepath.Join(tmp, "proxy")),
			"file://" + filepath.ToSlash(filepath.Join(strings.TrimSpace(cache), "cache", "download")),
			strings.TrimSpace(proxies),
		}, ","),
		"GOSUMDB=off", "GOMODCACHE=" + filepath.Join(tmp, "cache"), "GOFLAGS=-mod=mod", "GOWORK=off",
	}
	var failure error
	for i, m := range all {
		if !m.library() && !every {
			continue
		}
		scratch := filepath.Join(tmp, fmt.Sprint("scratch", i))
		if err := errors.Join(
			os.Mkdir(scratch, 0o755),
			os.WriteFile(filepath.Join(scratch, "go.mod"), []byte("module example.com/scratch\n\ngo 1.25.0\n"), 0o644),
		); err != nil {
			return err
		}
		_, err := output(scratch, env, "go", "get", m.path+"@"+version)
		if err == nil && m.library() {
			_, err = output(scratch, env, "go", "build", "-trimpath", m.path+"/...")
		}
		if err != nil {
			fmt.Printf("failed  %s\n", m.path)
			failure = errors.Join(failure, err)
			continue
		}
		fmt.Printf("ok      %s\n", m.path)
	}
	return failure
}

// publish writes a module to the proxy: see "go help goproxy". Its files are those that git
// knows, without those of other modules.
func publish(root, proxy string, m module) error {
	dir := filepath.Join(proxy, filepath.FromSlash(m.path), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, m.dir, "go.mod"))
	if err != nil {
		return err
	}
	mod = sibling.ReplaceAll(mod, []byte("$1 "+version))
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "list"), []byte(version+"\n"), 0o644),
		os.WriteFile(filepath.Join(dir, version+".info"), info, 0o644),
		os.WriteFile(filepath.Join(dir, version+".mod"), mod, 0o644),
	); err != nil {
		return err
	}
	out, err := output(filepath.Join(root, m.dir), nil, "git", "ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	files := strings.Split(strings.TrimSpace(out), "\n")
	archive, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		return err
	}
	z := zip.NewWriter(archive)
	for _, name := range files {
		if inAnother(files, name) {
			continue
		}
		text := mod
		if name != "go.mod" {
			if text, err = os.ReadFile(filepath.Join(root, m.dir, name)); err != nil {
				break
			}
		}
		var w io.Writer
		if w, err = z.Create(m.path + "@" + version + "/" + name); err != nil {
			break
		}
		if _, err = w.Write(text); err != nil {
			break
		}
	}
	return errors.Join(err, z.Close(), archive.Close())
}

// inAnother reports whether a file belongs to a module inside the module.
func inAnother(files []string, name string) bool {
	for _, f := range files {
		if dir := path.Dir(f); path.Base(f) == "go.mod" && dir != "." && strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}
