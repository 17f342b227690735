package redisstore

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// around is a program around README's code. It sends requests until its input ends, and
// prints what README says to print as soon as it knows the other process.
const around = `package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/quota/fleet/redisstore"
	"github.com/headway-go/headway/transport"
)

func main() {
%s
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	told := false
	for began := time.Now(); ; {
		resp, err := client.Get(os.Args[1])
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		if s := peers.Status(); !told && (s.Peers > 1 || time.Since(began) > time.Minute) {
			fmt.Println(s.Linked, s.Peers)
			told = true
		}
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}
`

// README's code, as it is there but for the address of Redis, is run by two processes:
// they find each other, as README says.
func TestReadmeCode(t *testing.T) {
	s := start(t)
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command")
	}
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	var code string
	for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		if strings.Contains(block[1], "redisstore.New") {
			code = block[1]
		}
	}
	require.Equal(t, 1, strings.Count(code, `"localhost:6379"`), code)
	code = strings.Replace(code, `"localhost:6379"`, fmt.Sprintf("%q", s.socket), 1)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(source, fmt.Appendf(nil, around, code), 0o600))
	out, err := exec.Command(goTool, "build", "-o", program, source).CombinedOutput()
	require.NoError(t, err, string(out))

	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Policy", `"api";q=1000000;w=3600`)
		w.Header().Set("RateLimit", `"api";a=999999;w=3600`)
	}))
	t.Cleanup(served.Close) // after the programs have ended
	var outputs []*bufio.Reader
	for range 2 {
		cmd := exec.Command(program, served.URL)
		cmd.Env = append(os.Environ(), "FLEET_SECRET="+strings.Repeat("5e", 32))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		outputs = append(outputs, bufio.NewReader(out))
		t.Cleanup(func() {
			in.Close()
			assert.NoError(t, cmd.Wait())
		})
	}
	for _, out := range outputs {
		line, err := out.ReadString('\n')
		assert.NoError(t, err)
		assert.Equal(t, "true 2\n", line)
	}
}
