package recipes

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A fake is a server that counts what it serves and refuses.
type fake interface {
	http.Handler
	counts() (served, refused int)
}

// counter is embedded by the fakes.
type counter struct {
	mu              sync.Mutex // guards following, and the fake
	served, refused int
}

func (c *counter) counts() (served, refused int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.served, c.refused
}

// window is a fixed window that begins with the first request in it.
type window struct {
	limit int
	every time.Duration
	used  int
	ends  time.Time
}

func (w *window) take(now time.Time) bool {
	if !now.Before(w.ends) {
		w.used, w.ends = 0, now.Add(w.every)
	}
	w.used++
	return w.used <= w.limit
}

// github is api.github.com: an hour's quota for most requests and a minute's for searches,
// each with its fields (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
type githubFake struct {
	counter
	core, search window
}

func newGitHub() fake {
	return &githubFake{core: window{limit: 5000, every: time.Hour}, search: window{limit: 30, every: time.Minute}}
}

func (f *githubFake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	w, resource := &f.core, "core"
	if strings.HasPrefix(r.URL.Path, "/search/") {
		w, resource = &f.search, "search"
	}
	ok := w.take(now)
	h := rw.Header()
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	h.Set("Content-Type", "application/json")
	h.Set("X-RateLimit-Limit", strconv.Itoa(w.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(w.limit-w.used, 0)))
	h.Set("X-RateLimit-Used", strconv.Itoa(min(w.used, w.limit)))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(w.ends.Add(time.Second-1).Unix(), 10))
	h.Set("X-RateLimit-Resource", resource)
	if !ok {
		f.refused++
		rw.WriteHeader(http.StatusForbidden)
		io.WriteString(rw, `{"message":"API rate limit exceeded for user ID 1."}`)
		return
	}
	f.served++
	io.WriteString(rw, `{"total_count":0,"items":[]}`)
}

// slack is Slack's Web API: so many calls of each method in any minute, and nothing but
// Retry-After (api.slack.com/apis/rate-limits).
type slackFake struct {
	counter
	methods map[string]*window
}

func newSlack() fake {
	return &slackFake{methods: map[string]*window{
		"/api/conversations.list":    {limit: 20, every: time.Minute},
		"/api/conversations.history": {limit: 50, every: time.Minute},
	}}
}

func (f *slackFake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	rw.Header().Set("Content-Type", "application/json")
	if w := f.methods[r.URL.Path]; w != nil && !w.take(now) {
		f.refused++
		rw.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(w.ends.Sub(now).Seconds()))))
		rw.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(rw, `{"ok":false,"error":"ratelimited"}`)
		return
	}
	f.served++
	io.WriteString(rw, `{"ok":true,"channels":[],"messages":[]}`)
}

// kubernetes is an API server with API Priority and Fairness: so many requests at a time, a
// queue, and 429 with Retry-After: 1 when that is full
// (kubernetes.io/docs/concepts/cluster-administration/flow-control).
type kubernetesFake struct {
	counter
	seats chan struct{}
	queue int
}

func newKubernetes() fake { return &kubernetesFake{seats: make(chan struct{}, 10), queue: 20} }

func (f *kubernetesFake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	full := f.queue == 0
	if full {
		f.refused++
	} else {
		f.queue--
		f.served++
	}
	f.mu.Unlock()
	if full {
		rw.Header().Set("Retry-After", "1")
		http.Error(rw, "Too many requests, please try again later.", http.StatusTooManyRequests)
		return
	}
	f.seats <- struct{}{}
	f.mu.Lock()
	f.queue++
	f.mu.Unlock()
	time.Sleep(100 * time.Millisecond)
	<-f.seats
}

// bucket is a quota that comes back all the time.
type bucket struct {
	perMinute float64
	left      float64
	at        time.Time
}

func newBucket(perMinute float64) *bucket { return &bucket{perMinute: perMinute, left: perMinute} }

func (b *bucket) refill(now time.Time) {
	if !b.at.IsZero() {
		b.left = min(b.perMinute, b.left+b.perMinute*now.Sub(b.at).Minutes())
	}
	b.at = now
}

// whenFull is the time until all is there.
func (b *bucket) whenFull() time.Duration {
	return time.Duration((b.perMinute - b.left) / b.perMinute * float64(time.Minute))
}

// when is the time until n are there.
func (b *bucket) when(n float64) time.Duration {
	return time.Duration(max(n-b.left, 0) / b.perMinute * float64(time.Minute))
}

// llmRequest is the part of a request to a language model that the fakes read.
type llmRequest struct {
	Model               string `json:"model"`
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	characters          int
	answer              int // tokens
}

// readLLM reads a request. Its answer has a fifth of the tokens of its text.
func readLLM(r *http.Request) (q llmRequest) {
	body, _ := io.ReadAll(r.Body)
	json.Unmarshal(body, &q)
	q.characters = len(body)
	q.answer = min(q.characters/20, max(q.MaxTokens, q.MaxCompletionTokens))
	return q
}

// think is the time that the model takes.
func (q llmRequest) think() {
	time.Sleep(500*time.Millisecond + time.Duration(q.answer)*time.Second/80)
}

// openai is api.openai.com: 500 requests and 60,000 tokens a minute for each model, as
// buckets. A request is charged the larger of its max_tokens and a quarter of its
// characters when it arrives, refused requests count as requests
// (platform.openai.com/docs/guides/rate-limits).
type openAIFake struct {
	counter
	models map[string]*openAIModel
}

type openAIModel struct{ requests, tokens *bucket }

func newOpenAI() fake { return &openAIFake{models: make(map[string]*openAIModel)} }

func (f *openAIFake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := readLLM(r)
	if !f.admit(rw, q) {
		return
	}
	q.think()
	fmt.Fprintf(rw, `{"id":"x","object":"chat.completion","model":%q,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"ok"}}],`+
		`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`, q.Model, q.characters/4, q.answer, q.characters/4+q.answer)
}

func (f *openAIFake) admit(rw http.ResponseWriter, q llmRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.models[q.Model]
	if m == nil {
		m = &openAIModel{newBucket(500), newBucket(60_000)}
		f.models[q.Model] = m
	}
	now := time.Now()
	m.requests.refill(now)
	m.tokens.refill(now)
	cost := float64(max(q.MaxTokens, q.MaxCompletionTokens, q.characters/4))
	ok := m.requests.left >= 1 && m.tokens.left >= cost
	wait := max(m.requests.when(1), m.tokens.when(cost))
	m.requests.left = max(m.requests.left-1, 0)
	if ok {
		m.tokens.left -= cost
	}
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	for name, b := range map[string]*bucket{"Requests": m.requests, "Tokens": m.tokens} {
		h.Set("X-RateLimit-Limit-"+name, strconv.Itoa(int(b.perMinute)))
		h.Set("X-RateLimit-Remaining-"+name, strconv.Itoa(int(b.left)))
		h.Set("X-RateLimit-Reset-"+name, b.whenFull().Round(time.Millisecond).String())
	}
	if ok {
		f.served++
		return true
	}
	f.refused++
	h.Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	h.Set("Retry-After-Ms", strconv.Itoa(int(wait.Milliseconds())+1))
	rw.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprintf(rw, `{"error":{"message":"Rate limit reached for %s on tokens per min (TPM): Limit 60000, Used %d, Requested %d. Please try again in %s.","type":"tokens","code":"rate_limit_exceeded"}}`,
		q.Model, int(60_000-m.tokens.left), int(cost), wait)
	return false
}

// anthropic is api.anthropic.com: requests, input tokens and output tokens a minute, as
// buckets. Input is charged when a request arrives, output when it is made. The figures are
// rounded to thousands (docs.anthropic.com/en/api/rate-limits).
type anthropicFake struct {
	counter
	requests, input, output *bucket
}

func newAnthropic() fake {
	return &anthropicFake{requests: newBucket(50), input: newBucket(30_000), output: newBucket(8000)}
}

func (f *anthropicFake) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q := readLLM(r)
	if !f.admit(rw, q) {
		return
	}
	q.think()
	f.mu.Lock()
	f.refill()
	f.output.left -= float64(q.answer)
	f.fields(rw)
	f.mu.Unlock()
	fmt.Fprintf(rw, `{"id":"x","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":%d}}`,
		q.Model, q.characters/4, q.answer)
}

func (f *anthropicFake) refill() {
	now := time.Now()
	f.requests.refill(now)
	f.input.refill(now)
	f.output.refill(now)
}

func (f *anthropicFake) admit(rw http.ResponseWriter, q llmRequest) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refill()
	input := float64(q.characters / 4)
	if f.requests.left >= 1 && f.input.left >= input && f.output.left >= 1 {
		f.served++
		f.requests.left--
		f.input.left -= input
		return true
	}
	f.refused++
	wait := max(f.requests.when(1), f.input.when(input), f.output.when(1))
	f.fields(rw)
	rw.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	rw.WriteHeader(http.StatusTooManyRequests)
	io.WriteString(rw, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit"}}`)
	return false
}

func (f *anthropicFake) fields(rw http.ResponseWriter) {
	now := time.Now()
	h := rw.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	for name, b := range map[string]*bucket{"Requests": f.requests, "Input-Tokens": f.input, "Output-Tokens": f.output} {
		left := max(b.left, 0)
		if name != "Requests" {
			left = math.Round(left/1000) * 1000
		}
		h.Set("Anthropic-RateLimit-"+name+"-Limit", strconv.Itoa(int(b.perMinute)))
		h.Set("Anthropic-RateLimit-"+name+"-Remaining", strconv.Itoa(int(left)))
		h.Set("Anthropic-RateLimit-"+name+"-Reset", now.Add(b.whenFull()).UTC().Format(time.RFC3339))
	}
}
