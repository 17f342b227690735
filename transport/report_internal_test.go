package transport

import (
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// Where a response repeats the one before, in the same memory, the report is the one that would be
// made anew, and nothing would be learned.
func TestReportOfTheResponseBefore(t *testing.T) {
	says := []string{
		" ",
		"Retry-After: 1",
		"Age: 1",
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1|Retry-After: M`,
		`RateLimit-Policy: "a";q=9;w=1, "b";q=9;w=1|RateLimit: "a";a=N;w=1`,
		`RateLimit-Policy: "a";q=9;w=1, "b";q=9;w=1|RateLimit: "b";a=N;w=M`,
		`RateLimit-Policy: "a";q=9;w=1, "b";q=9;w=1|RateLimit: "b";a=N;w=M, "a";a=N;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1, "x";a=x`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";r=N;t=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1, "x";a=M;w=1`,
		`RateLimit-Policy: "a";q=9;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1;c=M`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1;pk=::`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1;pk=:R0VM:`,
		"X-RateLimit-Bucket: x|X-RateLimit-Limit: 5|X-RateLimit-Remaining: N|X-RateLimit-Reset-After: 1",
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1;pk=:R0VU:`,
		`RateLimit-Policy: "a";q=9;w=1|RateLimit: "a";a=N;w=1, "a";a=N;w=1;pk=:R0VU:`,
		`RateLimit-Policy: "a";q=9;w=1;pk=:R0VU:|RateLimit: "a";a=N;w=1`,
		`RateLimit-Policy: "b";q=9;w=1|RateLimit: "b";a=N;w=1`,
		`RateLimit-Policy: "b";q=9;w=1, "d";q=9;w=1|RateLimit: "b";a=N;w=1|RateLimit-Partition: "d";method=GET`,
		`RateLimit-Policy: "d";q=9;w=1|RateLimit: "d";a=N;w=1`,
		`RateLimit-Policy: "d";q=9;w=1|RateLimit: "d";a=N;w=1|RateLimit-Partition: "d";method=GET`,
		`RateLimit-Policy: "tokens";q=99;w=1;qu="tokens"|RateLimit: "tokens";a=N;w=1`,
		`RateLimit-Policy: "tokens";q=9;w=1, "input-tokens";q=9;w=1|RateLimit: "tokens";a=N;w=1, "input-tokens";a=N;w=1`,
		`RateLimit-Policy: 9;w=1|RateLimit: limit=9, remaining=N, reset=1`,
		`RateLimit-Policy: 8;w=2|RateLimit: limit=8, remaining=N, reset=1`,
		`RateLimit-Policy: "";q=9;w=1|RateLimit: limit=9, remaining=N, reset=1`,
		`RateLimit-Policy: "";q=9;w=1|RateLimit: "";a=N;w=1`,
		"X-RateLimit-Limit: 8|X-RateLimit-Remaining: N|X-RateLimit-Reset: M",
		"X-RateLimit-Limit: 9|X-RateLimit-Remaining: N|X-RateLimit-Reset: M",
		"X-RateLimit-Limit: 9|X-RateLimit-Remaining: N|X-RateLimit-Reset: 94668480M|Date: Sat, 01 Jan 2000 00:00:00 GMT",
	}
	plain := func(r quota.Report) quota.Report { // nil is as good as empty
		r.Terms, r.Figures = append([]quota.Policy{}, r.Terms...), append([]quota.Figure{}, r.Figures...)
		return r
	}
	repeated := make(map[string]int)
	for seed := range uint64(800) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		synctest.Test(t, func(t *testing.T) {
			from := rnd.IntN(len(says))
			few := says[from:min(from+1+rnd.IntN(4), len(says))] // what the server says
			said := ""
			s := &Shaper{MaxDelay: NoDelay, Base: baseFunc(func(req *http.Request) (*http.Response, error) {
				if rnd.IntN(4) == 0 {
					said = few[rnd.IntN(len(few))]
				}
				h, status := http.Header{}, 200
				for _, field := range strings.Split(said, "|") {
					if name, value, ok := strings.Cut(field, ": "); ok {
						value = strings.ReplaceAll(value, "M", string('1'+rune(rnd.IntN(2))))
						h.Add(name, strings.ReplaceAll(value, "N", string('1'+rune(rnd.IntN(8)))))
					}
				}
				if rnd.IntN(8) == 0 {
					status = []int{429, 304, 403, 500}[rnd.IntN(4)]
				}
				if rnd.IntN(30) == 0 {
					return nil, io.EOF
				}
				return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: req}, nil
			})}
			if seed%4 == 0 {
				s.Like = func(*http.Request) string { return "" }
			}
			if seed%5 == 0 {
				s.Trace = &Trace{Changed: func(ChangedInfo) {}}
			}
			var req *http.Request
			for range 100 {
				if req == nil || rnd.IntN(5) == 0 {
					path, user := []string{"/channels/1", "/channels/2", "/b", "/graphql"}[rnd.IntN(4)], ""
					method := []string{"GET", "POST"}[rnd.IntN(2)]
					if rnd.IntN(8) == 0 {
						user = "alice"
					}
					var err error
					req, err = http.NewRequestWithContext(t.Context(), method, "https://api.example"+path, strings.NewReader(`{"model":"m","max_tokens":5}`))
					require.NoError(t, err)
					req.SetBasicAuth(user, "")
					req.Header.Set("Content-Type", "application/json")
				}
				x := s.begin(req)
				x.route()
				if x.admit() != nil {
					x.end()
					time.Sleep(time.Second)
					continue
				}
				if rnd.IntN(3) == 0 { // something else is learned meanwhile
					_, _ = s.RoundTrip(req)
				}
				resp, err := x.send()
				if err != nil {
					x.end()
					continue
				}
				x.resp = resp
				x.read(&x.reading, time.Time{})
				got, changes := x.reading, x.directory.changes.Load()
				got.Limits = slices.Clone(got.Limits)
				if x.repeats(&x.reading) {
					repeated[said]++
					anew := &exchange{
						s: s, req: req, options: x.options, directory: x.directory, origin: x.origin, ask: x.ask, resp: resp,
						known: x.known, knownOf: x.knownOf, ofModel: x.ofModel, pathKey: x.pathKey,
					}
					anew.fillReport(&got)
					require.Equal(t, plain(anew.report), plain(x.report), "seed %d: %s", seed, said)
					require.Equal(t, got, x.reading, "seed %d: %s", seed, said)
					require.Equal(t, changes, x.directory.changes.Load(), "seed %d: %s", seed, said)
				}
				x.learn(resp)
				x.end()
				time.Sleep(time.Duration(rnd.IntN(900)) * time.Millisecond)
			}
		})
	}
	t.Log(repeated)
	for _, i := range []int{3, 5, 7, 10, 11, 12, 13, 18, 21, 25, 32, 33} {
		assert.NotZero(t, repeated[says[i]], says[i])
	}
}

// A report that is cleared says nothing, and keeps Terms and Figures.
func TestClearReport(t *testing.T) {
	full := quota.Report{
		Refused: true, Terms: []quota.Policy{{Name: "api"}}, Figures: []quota.Figure{{Policy: "api"}}, Pause: 1, Wait: 1, Failed: true,
		Unsure: true, Date: time.Unix(1, 0), Lost: true, Unsent: true, WholeOrigin: true, LeftOut: []string{""}, Scope: "a",
		Moved: []string{""}, Changes: new([]quota.Change),
	}
	for i := range reflect.TypeFor[quota.Report]().NumField() {
		assert.False(t, reflect.ValueOf(full).Field(i).IsZero(), reflect.TypeFor[quota.Report]().Field(i).Name)
	}
	r := full
	clearReport(&r)
	assert.Equal(t, quota.Report{Terms: full.Terms, Figures: full.Figures}, r)
}

// The last segment of a path counts, in any case.
func TestIsGraphQL(t *testing.T) {
	for _, path := range []string{"/graphql", "/api/GraphQL", "graphql", "GRAPHQL", "//graphql"} {
		assert.True(t, isGraphQL(path), path)
	}
	for _, path := range []string{"", "/", "/graphql/", "/mygraphql", "mygraphql", "/graphql2", "/graphq", "raphql", "/grápql", "/graphql/1", "/items/1"} {
		assert.False(t, isGraphQL(path), path)
	}
}
