package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// The Go code of README is code of this file, of another test of this package, or of one
// of a module beside it, so it compiles; and each of these tests runs it.
func TestReadmeCode(t *testing.T) {
	var compiled string
	for _, name := range []string{"readme_test.go", "example_limits_test.go", "promheadway/example_test.go", "../quota/fleet/redisstore/example_test.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		compiled += flat(string(text))
	}
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		code := b[1]
		if _, body, ok := strings.Cut(code, "func main() {\n"); ok {
			code = strings.TrimSuffix(strings.TrimSpace(body), "}")
		}
		assert.True(t, strings.Contains(compiled, "\n"+flat(code)), "not compiled:\n%s", b[1])
	}
}

// flat returns the lines of a text without indentation.
func flat(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// The program at the top of README prints what README says.
func TestReadmeProgram(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	printed := regexp.MustCompile("(?s)```go\npackage main.*?```\n+```\n(.*?)```").FindStringSubmatch(string(readme))
	require.NotNil(t, printed)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()
	synctest.Test(t, func(*testing.T) { program() })
	os.Stdout = stdout
	got, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	assert.Equal(t, printed[1], string(got))
}

func program() {
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: time.Second}}}
	client := &http.Client{Transport: &transport.Shaper{Base: &transporttest.Transport{Handler: api}}}
	began := time.Now()
	for range 12 {
		resp, err := client.Get("https://api.example/items")
		if err != nil {
			panic(err)
		}
		resp.Body.Close()
	}
	fmt.Printf("%+v in %v\n", api.Counts(), time.Since(began).Round(time.Second))
}

// README's code for refusals and for traces logs what it should.
func TestReadmeRefusalsAndTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		log := log.New(&logged, "", 0)
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1, Window: time.Minute}}}
		shaper := &transport.Shaper{Base: &transporttest.Transport{Handler: api}}
		client := &http.Client{Transport: shaper}
		shaper.Trace = &transport.Trace{
			Held: func(i transport.HeldInfo) {
				log.Printf("%s waits %v: %v of %q", i.Request.URL, i.Wait, i.Reason, i.Policy)
			},
		}
		for _, delay := range []time.Duration{0, 0, transport.NoDelay} {
			shaper.MaxDelay = delay
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example/items", nil)
			require.NoError(t, err)
			func() {
				resp, err := client.Do(req)
				var rejected *transport.RejectedError
				if errors.As(err, &rejected) {
					log.Printf("%s: try again in %s", rejected.Reason, rejected.RetryAfter)
				}
				if err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
		}
		assert.Equal(t, "https://api.example/items waits 1m0.001s: quota exhausted of \"api\"\nquota exhausted: try again in 1m0.001s\n", logged.String())
	})
}

func importItems(client *http.Client, n int) {
	for range n {
		resp, err := client.Get("https://api.example/items")
		if err != nil {
			panic(err)
		}
		_ = resp.Body.Close()
	}
}

func TestImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{
			{Name: "burst", Quota: 10, Window: time.Minute, PartitionBy: []string{"user_id"}},
		}}
		client := &http.Client{Transport: &transport.Shaper{Base: &transporttest.Transport{Handler: api}}}
		began := time.Now()
		importItems(client, 25) // your code
		if took := time.Since(began); took < 2*time.Minute || took > 2*time.Minute+time.Second {
			t.Errorf("25 items took %v", took)
		}
		if n := api.Counts().Refused; n > 0 {
			t.Errorf("%d refused", n)
		}
	})
}

// Each test that GUARANTEES.md names exists. (go run -C .ci/guarantees . shows that each fails
// without what it holds.)
func TestGuaranteesAreTested(t *testing.T) {
	page, err := os.ReadFile("../GUARANTEES.md")
	require.NoError(t, err)
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "inspect/*_test.go", "../quota/*_test.go", "../parse/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, named)
	for _, n := range named {
		assert.True(t, strings.Contains(tests.String(), "\nfunc "+n[1]+"(t *testing.T)"), n[1])
	}
}
