package tokens_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/tokens"
)

func TestScan(t *testing.T) {
	words := strings.Repeat("some text ", 400) // 4,000 bytes
	blob := base64.StdEncoding.EncodeToString(make([]byte, 30_000))
	for name, tt := range map[string]struct {
		body string
		want tokens.Request
	}{
		"nothing":                {`{}`, tokens.Request{Output: tokens.None}},
		"a model":                {`{"model":"gpt-5"}`, tokens.Request{Model: "gpt-5", Output: tokens.None}},
		"text":                   {`{"prompt":"` + words + `"}`, tokens.Request{Input: 1000, Output: tokens.None}},
		"rounded up":             {`{"prompt":"12345"}`, tokens.Request{Input: 2, Output: tokens.None}},
		"messages":               {`{"messages":[{"role":"user","content":"` + words + `"}]}`, tokens.Request{Input: 1004, Output: tokens.None}},
		"parts of a message":     {`{"input":[{"content":[{"text":"` + words + `"},{"text":"` + words + `"}]}]}`, tokens.Request{Input: 2004, Output: tokens.None}},
		"OpenAI":                 {`{"model":"m","max_completion_tokens":300,"n":2,"messages":[]}`, tokens.Request{Model: "m", Output: 600}},
		"the most of two bounds": {`{"max_tokens": 100, "max_completion_tokens": 300}`, tokens.Request{Output: 300}},
		"best_of":                {`{"best_of":3,"max_tokens":5,"n":2}`, tokens.Request{Output: 15}},
		"Responses":              {`{"max_output_tokens":300}`, tokens.Request{Output: 300}},
		"Gemini":                 {`{"generationConfig":{"maxOutputTokens":70,"candidateCount":2}}`, tokens.Request{Input: 8, Output: 140}},
		"Bedrock":                {`{"inferenceConfig":{"maxTokens":70}}`, tokens.Request{Input: 3, Output: 70}},
		"of a message":           {`{"messages":[{"max_tokens":70,"model":"x"}]}`, tokens.Request{Input: 4, Output: tokens.None}},
		"too deep for an option": {`{"a":{"b":{"max_tokens":70}}}`, tokens.Request{Input: 3, Output: tokens.None}},
		"not a number":           {`{"max_tokens":"70"}`, tokens.Request{Input: 1, Output: tokens.None}},
		"null":                   {`{"max_tokens":null,"n":null}`, tokens.Request{Output: tokens.None}},
		"no bound":               {`{"max_tokens":-1}`, tokens.Request{Output: tokens.None}},
		"zero":                   {`{"max_tokens":0}`, tokens.Request{Output: tokens.None}},
		"not whole":              {`{"max_tokens":1e3}`, tokens.Request{Output: tokens.None}},
		"too many":               {`{"max_tokens":99999999999999}`, tokens.Request{Output: tokens.None}},
		"more digits than any":   {`{"max_tokens":` + strings.Repeat("9", 400) + `}`, tokens.Request{Output: tokens.None}},
		"the last of two models": {`{"model":"x","model":"y"}`, tokens.Request{Model: "y", Output: tokens.None}},
		"an escape in a model":   {`{"model":"a\/b"}`, tokens.Request{Output: tokens.None}},
		"a long model":           {`{"model":"` + strings.Repeat("m", 65) + `"}`, tokens.Request{Output: tokens.None}},
		"an escape in a name":    {`{"max\u005ftokens":70}`, tokens.Request{Output: tokens.None}},
		"a name inside a string": {`{"prompt":"\"max_tokens\":70"}`, tokens.Request{Input: 4, Output: tokens.None}},
		"escapes":                {`{"prompt":"` + strings.Repeat(`\n\"\\a`, 100) + `"}`, tokens.Request{Input: 100, Output: tokens.None}},
		"escaped characters":     {`{"prompt":"` + strings.Repeat(`\u65e5\u672c`, 100) + `"}`, tokens.Request{Input: 150, Output: tokens.None}},
		"not escaped":            {`{"prompt":"` + strings.Repeat(`日本`, 100) + `"}`, tokens.Request{Input: 150, Output: tokens.None}},
		"a data URL":             {`{"messages":[{"image_url":{"url":"data:image/png;base64,` + blob + `"}}]}`, tokens.Request{Input: 1003, Output: tokens.None}},
		"Base64":                 {`{"prompt":"` + blob + `"}`, tokens.Request{Input: 1000, Output: tokens.None}},
		"Base64 with escapes":    {`{"prompt":"` + strings.ReplaceAll(blob, "A", `\/`) + `"}`, tokens.Request{Input: 1000, Output: tokens.None}},
		"Base64 in lines":        {`{"prompt":"` + strings.Repeat(blob[:76]+`\n`, 100) + `"}`, tokens.Request{Input: 1000, Output: tokens.None}},
		"a table":                {`{"prompt":"` + strings.Repeat(`12	`, 400) + `"}`, tokens.Request{Input: 300, Output: tokens.None}},
		"a short word":           {`{"prompt":"` + blob[:400] + `"}`, tokens.Request{Input: 100, Output: tokens.None}},
		"tokens":                 {`{"input":[[1,2,3],[44444,5]]}`, tokens.Request{Input: 5, Output: tokens.None}},
		"a definition of a tool": {`{"tools":[{"name":"f","strict":true,"parameters":{"type":"object","properties":{}}}]}`, tokens.Request{Input: 11, Output: tokens.None}},
		"space":                  {" \r\n\t{ \"model\" : \"m\" , \"n\" : 2 , \"max_tokens\" : 4 } \n", tokens.Request{Model: "m", Output: 8}},
		"and more":               {`{"model":"m"} {"model":"x"`, tokens.Request{Model: "m", Output: tokens.None}},
	} {
		t.Run(name, func(t *testing.T) {
			readers := map[string]io.Reader{"at once": strings.NewReader(tt.body), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.body))}
			for how, r := range readers {
				got, ok := tokens.Scan(r)
				assert.True(t, ok, how)
				assert.Equal(t, tt.want, got, how)
			}
		})
	}
}

func TestScanRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":         "",
		"an array":        `[{"model":"m"}]`,
		"a string":        `"model"`,
		"a number":        `7`,
		"a form":          `model=m`,
		"an end":          `}`,
		"cut off":         `{"model":"m"`,
		"cut off string":  `{"model":"m`,
		"cut off escape":  `{"model":"m\`,
		"cut off \\u":     `{"model":"m\u00`,
		"nested":          strings.Repeat(`{"a":`, 65),
		"larger than all": `{"prompt":"` + strings.Repeat("x", tokens.MaxBody) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := tokens.Scan(strings.NewReader(body))
			assert.False(t, ok)
			assert.Zero(t, got)
		})
	}
	_, ok := tokens.Scan(iotest.ErrReader(io.ErrUnexpectedEOF))
	assert.False(t, ok)
	_, ok = tokens.Scan(stalled{})
	assert.False(t, ok)
}

// A body of MaxBody bytes is read. Of a larger one no more than a byte beyond that is.
func TestScanBound(t *testing.T) {
	body := func(n int) string {
		const frame = `{"prompt":""}`
		return `{"prompt":"` + strings.Repeat(" ", n-len(frame)) + `"}`
	}
	_, ok := tokens.Scan(strings.NewReader(body(tokens.MaxBody)))
	assert.True(t, ok)
	r := strings.NewReader(body(tokens.MaxBody + 1000))
	_, ok = tokens.Scan(r)
	assert.False(t, ok)
	assert.Equal(t, 999, r.Len())
	_, ok = tokens.Scan(strings.NewReader(body(tokens.MaxBody + 1)))
	assert.False(t, ok)
}

// stalled is a broken reader that neither reads nor fails.
type stalled struct{}

func (stalled) Read([]byte) (int, error) { return 0, nil }

// Scan finds what encoding/json finds, however the body is cut into reads.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{}`, `{"model":"m","max_tokens":5,"n":2}`, `{"a":{"max_tokens":5}}`, `{"input":[1,2,"x\u00e4\n"]}`, `{"model":"\"}`, `{"model":"m"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, ok := tokens.Scan(strings.NewReader(string(body)))
		pieces, okPieces := tokens.Scan(iotest.HalfReader(iotest.OneByteReader(strings.NewReader(string(body)))))
		assert.Equal(t, whole, pieces)
		assert.Equal(t, ok, okPieces)
		assert.LessOrEqual(t, whole.Input, int64(len(body))) // a number in an array may be of one byte
		if len(body) > tokens.MaxBody || !json.Valid(body) || strings.Contains(string(body), `\`) {
			return
		}
		var want map[string]json.RawMessage
		object := json.Unmarshal(body, &want) == nil && want != nil
		if ok != object {
			assert.Greater(t, strings.Count(string(body), "{")+strings.Count(string(body), "["), 64)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	escaped, _ := json.Marshal(strings.Repeat("Some text\n with \"quotes\" now and then. ", 25_000))
	for name, text := range map[string]string{
		"4 kB":              `"` + strings.Repeat("some text ", 400) + `"`,
		"1 MB":              `"` + strings.Repeat("some text ", 100_000) + `"`,
		"1 MB with escapes": string(escaped),
		"1 MB Base64":       `"` + strings.Repeat("abcdefghij", 100_000) + `"`,
	} {
		b.Run(name, func(b *testing.B) {
			body := `{"model":"m","messages":[{"role":"user","content":` + text + `}],"max_tokens":500}`
			r := strings.NewReader(body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				r.Reset(body)
				tokens.Scan(r)
			}
		})
	}
}
