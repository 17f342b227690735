package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed servers
var files embed.FS

// workshop is a folder with the files of servers/ and what npm installs beside them.
type workshop struct {
	dir string
	npm error // why npm's packages are absent; nil if they are there
}

// errAbsent says which tool is missing.
type errAbsent string

func (e errAbsent) Error() string { return string(e) }

// open copies the files to the folder and, if npm is set, installs npm's packages there
// unless they are installed already.
func (w *workshop) open(ctx context.Context, npm bool) error {
	err := fs.WalkDir(files, "servers", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(w.dir, filepath.Base(path)), text, 0o644)
	})
	if err == nil && npm {
		w.npm = w.install(ctx)
	}
	return err
}

func (w *workshop) install(ctx context.Context) error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return errAbsent("no " + tool)
		}
	}
	done := filepath.Join(w.dir, "node_modules", ".package-lock.json")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
	c.Dir = w.dir
	if out, err := c.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return errAbsent("npm install: " + lines[0])
	}
	return nil
}

// process is a server that is a program of servers/, which prints its port.
func (w *workshop) process(name, from, pkg string, command ...string) *server {
	return &server{
		name: name, from: from, pkg: pkg,
		start: func(ctx context.Context) (string, func(), error) {
			if from == "npm" && w.npm != nil {
				return "", nil, w.npm
			}
			return w.run(ctx, "", command...)
		},
	}
}

// run starts a program and waits until it listens: at url, or if that is "" at the port
// that it prints.
func (w *workshop) run(ctx context.Context, url string, command ...string) (string, func(), error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return "", nil, errAbsent("no " + command[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	c := exec.CommandContext(ctx, path, command[1:]...)
	c.Dir = w.dir
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // nginx has children to end
	c.WaitDelay = 2 * time.Second
	r, out, err := os.Pipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		cancel()
		return "", nil, err
	}
	_ = out.Close()

	said := make(chan string, 1)
	var rest strings.Builder
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer r.Close()
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if port, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				said <- "http://127.0.0.1:" + port
			} else if rest.Len() < 4096 {
				fmt.Fprintln(&rest, lines.Text())
			}
		}
	}()
	var once sync.Once
	end := func() {
		once.Do(func() {
			cancel()
			_ = c.Wait()
			<-over
		})
	}
	fail := func(why string) (string, func(), error) {
		end()
		return "", nil, fmt.Errorf("%s: %s: %s", command[0], why, strings.TrimSpace(rest.String()))
	}
	timeout := time.After(40 * time.Second)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case url := <-said:
			return url, end, nil
		case <-over:
			return fail("ended")
		case <-timeout:
			return fail("does not listen")
		case <-look.C:
			if url == "" {
				continue
			}
			if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
				_ = conn.Close()
				return url, end, nil
			}
		}
	}
}

// configured is a server with a configuration file, in which DIR and PORT are replaced.
func (w *workshop) configured(name, pkg string, command []string, text string) *server {
	return &server{
		name: name, from: "Debian", pkg: pkg,
		start: func(ctx context.Context) (url string, end func(), err error) {
			for range 3 { // somebody else may take the port before the server does
				var missing errAbsent
				if url, end, err = w.serve(ctx, command, text); err == nil || errors.As(err, &missing) {
					break
				}
			}
			return url, end, err
		},
	}
}

func (w *workshop) serve(ctx context.Context, command []string, text string) (string, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir, err := os.MkdirTemp(w.dir, "run")
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) }
	file := filepath.Join(dir, "conf")
	text = strings.NewReplacer("DIR", dir, "PORT", strconv.Itoa(port)).Replace(text)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		remove()
		return "", nil, err
	}
	url, end, err := w.run(ctx, fmt.Sprintf("http://127.0.0.1:%d", port), append(slices.Clone(command), file)...)
	if err != nil {
		remove()
		return "", nil, err
	}
	return url, func() { end(); remove() }, nil
}

// servers returns all servers that are programs of their own.
func (w *workshop) servers() []*server {
	var all []*server
	ms := strconv.Itoa(int(window / time.Millisecond))
	seconds := strconv.Itoa(int(window / time.Second))
	for _, name := range []string{
		"express-rate-limit, defaults", "express-rate-limit, legacy fields", "express-rate-limit, draft-6",
		"express-rate-limit, draft-7", "express-rate-limit, draft-8", "express-rate-limit, no fields",
		"express-rate-limit, two policies", "@fastify/rate-limit, defaults", "@fastify/rate-limit, draft names",
		"@fastify/rate-limit, sliding", "hono-rate-limiter, draft-6", "hono-rate-limiter, draft-7", "koa-ratelimit",
		"rate-limiter-flexible, README", "rate-limiter-flexible, no fields", "rate-limiter-flexible, with a block",
		"@nestjs/throttler",
	} {
		pkg, _, _ := strings.Cut(name, ",")
		all = append(all, w.process(name, "npm", pkg, "node", "node.mjs", name, strconv.Itoa(limit), ms))
	}
	python := "python3"
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		python = "/usr/bin/python3" // the one that Debian's packages are for
	}
	for _, name := range []string{"fixed window", "moving window", "HTTP-date", "no fields"} {
		all = append(all, w.process("Flask-Limiter, "+name, "Python", "python3-flask-limiter",
			python, "flask_limiter_server.py", name, strconv.Itoa(limit), seconds))
	}
	all = append(all, w.process("Django REST framework", "Python", "python3-djangorestframework",
		python, "django_server.py", "throttle", strconv.Itoa(limit), seconds))
	for _, name := range []string{"defaults", "README fields"} {
		all = append(all, w.process("Rack::Attack, "+name, "Ruby", "ruby-rack-attack",
			"ruby", "rack_attack.rb", name, strconv.Itoa(limit), seconds))
	}
	for _, v := range []struct{ name, more string }{
		{"nginx, defaults", ""},
		{"nginx, 429", "limit_req_status 429;"},
		{"nginx, 429 and Retry-After", "limit_req_status 429; add_header Retry-After $retry always;"},
	} {
		text, err := files.ReadFile("servers/nginx.conf")
		check(err)
		conf := strings.NewReplacer("RATE", strconv.Itoa(perSecond), "BURST", strconv.Itoa(limit-1), "MORE", v.more).Replace(string(text))
		all = append(all, w.configured(v.name, "nginx", []string{"nginx", "-c"}, conf))
	}
	for _, v := range []struct{ name, file string }{
		{"HAProxy, rate of requests", "servers/haproxy.cfg"},
		{"HAProxy, with fields", "servers/haproxy-fields.cfg"},
	} {
		text, err := files.ReadFile(v.file)
		check(err)
		conf := strings.NewReplacer("LIMIT", strconv.Itoa(limit), "WINDOW", seconds+"s").Replace(string(text))
		all = append(all, w.configured(v.name, "haproxy", []string{"haproxy", "-db", "-f"}, conf))
	}
	return all
}
