package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// version returns the package of a server with its version; without one if it cannot be
// found out.
func (w *workshop) version(s *server) string {
	switch s.from {
	case "Go":
		if info, ok := debug.ReadBuildInfo(); ok {
			for _, m := range info.Deps {
				if m.Path == s.pkg {
					return s.pkg + " " + m.Version
				}
			}
		}
	case "npm":
		text, err := os.ReadFile(filepath.Join(w.dir, "node_modules", s.pkg, "package.json"))
		var p struct{ Version string }
		if err == nil && json.Unmarshal(text, &p) == nil {
			return s.pkg + " " + p.Version
		}
	default:
		out, err := exec.Command("dpkg-query", "-W", s.pkg).Output()
		if err == nil {
			return strings.Join(strings.Fields(string(out)), " ") + " (Debian)"
		}
	}
	return s.pkg
}

// headers returns what a recording keeps of a response: its fields about quota, and Date.
func headers(h http.Header) []string {
	var all []string
	for name, values := range h {
		if about(name) || name == "Date" {
			for _, v := range values {
				all = append(all, name+": "+v)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return strings.Compare(before(a), before(b)) })
	return all
}

func before(line string) string {
	name, _, _ := strings.Cut(line, ":")
	return name
}
