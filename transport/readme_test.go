package transport_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// The Go code of README is code of this file, of another test of this package, or of one
// of a module beside it, so it compiles; and each of these tests runs it.
func TestReadmeCode(t *testing.T) {
	var compiled string
	for _, name := range []string{"readme_test.go", "example_limits_test.go", "inspect/example_test.go", "promheadway/example_test.go", "../quota/fleet/redisstore/example_test.go"} {
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

// README's code for many workers sends requests.
func TestReadmeConnections(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 50 // as many as there are workers
	client := &http.Client{Transport: &transport.Shaper{Base: base}}
	defer client.CloseIdleConnections()
	resp, err := client.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusNotFound, resp.StatusCode)
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
					switch rejected.Reason {
					case quota.ReasonQueueFull:
						log.Print("too many requests wait")
					default: // quota.ReasonMaxDelay, quota.ReasonDeadline, …: go doc ./quota Reason
						log.Printf("%s: try again in %s", rejected.Reason, max(rejected.RetryAfter, time.Second))
					}
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

func run(file string, work func(*http.Client)) error {
	accounts := new(quota.Accounts)
	if saved, err := os.ReadFile(file); err == nil {
		if err := accounts.Restore(bytes.NewReader(saved), time.Now()); err != nil {
			log.Printf("nothing is known of quotas: %v", err)
		}
	}
	work(&http.Client{Transport: &transport.Shaper{Accounts: accounts}})
	var saved bytes.Buffer
	if err := accounts.Save(&saved, time.Now(), false); err != nil {
		return err
	}
	return os.WriteFile(file, saved.Bytes(), 0o600)
}

// The second run of README's program knows what the first one has used up: it is not
// refused by the server, and waits.
func TestReadmeRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 5, Window: time.Minute}}}
		file := filepath.Join(t.TempDir(), "quotas")
		began := time.Now()
		for range 2 {
			require.NoError(t, run(file, func(client *http.Client) {
				client.Transport.(*transport.Shaper).Base = &transporttest.Transport{Handler: api}
				importItems(client, 5)
			}))
		}
		assert.Equal(t, transporttest.Counts{Served: 10}, api.Counts())
		assert.Equal(t, time.Minute, time.Since(began).Truncate(time.Second))
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

// constants are numbers in README that look measured, and are not.
var constants = map[string]string{
	"100 ms":  "sharedTimeout in quota/shared.go, which TestBrokenStore of quota/fleet holds",
	"Go 1.25": "the version in go.mod",
	"v0.2.0":  "a version",
	"v0.1.1":  "a version",
}

// Where README tells a measurement, the same paragraph has the command that measures it; a
// table or an output may have it in the paragraph before. The Go code of README is its own
// command: see TestReadmeProgram.
func TestReadmeNumbers(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	text := string(readme)
	for constant := range constants {
		assert.True(t, strings.Contains(text, constant), "%s is not in README any more", constant)
		text = strings.ReplaceAll(text, constant, "")
	}
	measured, commands := 0, 0
	before := ""
	for _, p := range paragraphs(text) {
		commands += len(commandOf.FindAllString(p, -1))
		what := measurement.FindString(numbersOf(p))
		if what != "" {
			measured++
			ok := commandOf.MatchString(p) || (p[0] == '|' || p[0] == '`') && (commandOf.MatchString(before) || strings.HasPrefix(before, "```go"))
			assert.True(t, ok, "%q has no command beside it:\n%s", what, p)
		}
		before = p
	}
	assert.GreaterOrEqual(t, measured, 5)
	assert.Greater(t, commands, 10)
}

var (
	commandOf   = regexp.MustCompile("(go run|go test) [^`\n]+")
	measurement = regexp.MustCompile(`\d[\d,.]* ?(%|s|ms|µs|ns|min|bytes|KB|MB|KiB|MiB)\b|\d %|\b\d+\.\d+\b`)
)

// paragraphs returns the paragraphs of a Markdown text: blocks of code and items of lists are
// some of their own.
func paragraphs(text string) (all []string) {
	var p strings.Builder
	end := func() {
		if s := strings.TrimSpace(p.String()); s != "" {
			all = append(all, s)
		}
		p.Reset()
	}
	code := false
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(line, "```")
		if !code && (fence || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "- ")) {
			end()
		}
		p.WriteString(line)
		if fence {
			if code {
				end()
			}
			code = !code
		}
	}
	end()
	return all
}

// numbersOf returns what a paragraph says beside its code: Go code says no measurements, nor
// do words in backquotes. An output does.
func numbersOf(p string) string {
	if strings.HasPrefix(p, "```") {
		if language, _, _ := strings.Cut(p, "\n"); language != "```" {
			return ""
		}
		return p
	}
	return regexp.MustCompile("`[^`]*`").ReplaceAllString(p, "")
}

// The commands of README exist: the folders and the tests that they name.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	n := 0
	for _, command := range regexp.MustCompile("(?m)(?:`|^)((?:cd [^`\n]* && )?go (?:run|test) [^`\n#]+)").FindAllStringSubmatch(string(readme), -1) {
		n++
		dir := ".."
		for _, at := range regexp.MustCompile(`(?:cd |-C )([\w./]+)`).FindAllStringSubmatch(command[1], -1) {
			dir = filepath.Join(dir, at[1])
		}
		for _, at := range regexp.MustCompile(` (\./[\w/]+)`).FindAllStringSubmatch(command[1], -1) {
			dir = filepath.Join(dir, at[1])
		}
		_, err := os.Stat(dir)
		assert.NoError(t, err, command[1])
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		require.NoError(t, err)
		var tests strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			tests.Write(text)
		}
		for _, name := range regexp.MustCompile(`-(run|bench) '?([A-Z]\w+)`).FindAllStringSubmatch(command[1], -1) {
			kind := map[string]string{"run": "Test", "bench": "Benchmark"}[name[1]]
			assert.Regexp(t, `func `+kind+`\w*`+strings.TrimPrefix(name[2], kind), tests.String(), command[1])
		}
	}
	assert.Greater(t, n, 10)
}
