// Fleet shows eight processes that share one quota through Redis. It starts an API that
// serves 40 requests in 2 seconds, a redis-server, and eight processes that want more than
// that. One process is killed, then Redis is, and starts again with nothing in it. The
// program draws what the API saw: first of eight processes that know nothing of each
// other, then of a fleet. It takes 40 seconds, and needs redis-server to be installed.
//
//	go run -C examples/fleet .
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

const (
	processes = 8
	allowed   = 40
	window    = 2 * time.Second
	takes     = 20 * time.Second // each of the two runs
)

// What happens, and when.
const (
	killProcess  = 6 * time.Second
	killRedis    = 10 * time.Second
	restartRedis = 14 * time.Second
)

func main() {
	if api := os.Getenv(apiVariable); api != "" {
		if err := work(api, os.Getenv(redisVariable), os.Stdin); err != nil {
			log.Fatal(err)
		}
		return
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		fmt.Println("This needs redis-server, which is not installed.")
		return
	}
	for _, together := range []bool{false, true} {
		seen, err := run(path, together)
		if err != nil {
			log.Fatal(err)
		}
		title := "Eight processes that know nothing of each other"
		if together {
			title = "A fleet of eight processes"
		}
		draw(os.Stdout, title, seen, together)
	}
}

// A sighting is what the API has seen of one request.
type sighting struct {
	at      time.Duration
	process int
	served  bool
}

// run runs eight processes against an API of their own, and returns what it saw.
func run(redisServer string, together bool) (seen []sighting, err error) {
	var mu sync.Mutex
	began := time.Now()
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: allowed, Window: window}}}
	address, err := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond) // it is somewhere else
		d := api.Decide(time.Now(), r)
		defer d.Done()
		mu.Lock()
		process, _ := strconv.Atoi(r.Header.Get("X-Process"))
		seen = append(seen, sighting{time.Since(began), process, d.Served})
		mu.Unlock()
		for name, values := range d.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(d.Status)
		time.Sleep(20 * time.Millisecond)
	}))
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	socket := ""
	var redis *exec.Cmd
	startRedis := func() error {
		redis = exec.Command(redisServer, "--port", "0", "--unixsocket", socket, "--save", "", "--loglevel", "warning", "--dir", dir)
		if err := redis.Start(); err != nil {
			return err
		}
		for range 500 { // until it answers
			if c, err := net.Dial("unix", socket); err == nil {
				return c.Close()
			}
			time.Sleep(10 * time.Millisecond)
		}
		return errors.New("redis-server does not answer")
	}
	stop := func(c *exec.Cmd) {
		if c != nil && c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	if together {
		socket = filepath.Join(dir, "redis")
		if err := startRedis(); err != nil {
			return nil, err
		}
		defer func() { stop(redis) }()
	}

	var workers []*exec.Cmd
	for i := range processes {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), apiVariable+"="+address, redisVariable+"="+socket, "FLEET_PROCESS="+strconv.Itoa(i))
		c.Stderr = os.Stderr
		stdin, err := c.StdinPipe() // its end tells the process to end
		if err != nil {
			return nil, err
		}
		if err := c.Start(); err != nil {
			return nil, err
		}
		workers = append(workers, c)
		defer func() {
			stdin.Close()
			if c.ProcessState == nil {
				_ = c.Wait()
			}
		}()
	}

	time.Sleep(time.Until(began.Add(killProcess)))
	stop(workers[3])
	if together {
		time.Sleep(time.Until(began.Add(killRedis)))
		stop(redis)
		time.Sleep(time.Until(began.Add(restartRedis)))
		if err := startRedis(); err != nil {
			return nil, err
		}
	}
	time.Sleep(time.Until(began.Add(takes)))
	mu.Lock()
	defer mu.Unlock()
	return append([]sighting(nil), seen...), nil
}

// serve serves a handler on a port of its own, until the program ends.
func serve(h http.Handler) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		if err := http.Serve(l, h); !errors.Is(err, http.ErrServerClosed) {
			log.Print(err)
		}
	}()
	return "http://" + l.Addr().String(), nil
}

// draw draws what the API saw in each second: a # for each request that it served, and an
// x for each that it refused.
func draw(w io.Writer, title string, seen []sighting, together bool) {
	fmt.Fprintf(w, "\n%s. %d requests are allowed in %v.\n\n", title, allowed, window)
	served, refused := 0, 0
	for from := time.Duration(0); from < takes; from += time.Second {
		line := ""
		for _, s := range seen {
			switch {
			case s.at < from || s.at >= from+time.Second:
			case s.served:
				line += "#"
				served++
			default:
				line += "x"
				refused++
			}
		}
		fmt.Fprintf(w, "%4s  %-24s %s\n", from, happening(from, together), line)
	}
	var each [processes]int
	for _, s := range seen {
		if s.served {
			each[s.process]++
		}
	}
	fmt.Fprintf(w, "\nserved %d of %d, refused %d; served to each process: %v\n",
		served, int(takes/window)*allowed, refused, each)
}

// happening says what happens in the second that begins then.
func happening(at time.Duration, together bool) string {
	switch {
	case at == killProcess:
		return "a process is killed"
	case at == killRedis && together:
		return "Redis is killed"
	case at == restartRedis && together:
		return "Redis starts, and is empty"
	}
	return ""
}
