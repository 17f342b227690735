package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-github/v75/github"
	"github.com/openai/openai-go"
	"github.com/openai/openai-go/option"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A recipe is work that is done with the plain client and with the recipe.
type recipe struct {
	name    string
	server  func() fake
	plain   func(context.Context, http.RoundTripper) call
	shaped  func(context.Context, http.RoundTripper) call
	jobs    int
	workers int // 0: 20

	slower float64 // than the plain client, at most; 0: 1.03
}

// A call does the i-th job once. It returns how long to wait before the next try, if the job
// was not done.
type call func(i int) (again time.Duration, done bool)

const (
	workers   = 20
	roundTrip = 40 * time.Millisecond
)

func recipes() []recipe {
	return []recipe{
		{
			name: "go-github", server: newGitHub, jobs: 150,
			plain: func(ctx context.Context, base http.RoundTripper) call {
				return searchWith(ctx, github.NewClient(&http.Client{Transport: base}).WithAuthToken("token"))
			},
			shaped: func(ctx context.Context, base http.RoundTripper) call { return searchWith(ctx, GitHub("token", base)) },
		},
		{
			name: "openai-go", server: newOpenAI, jobs: 300,
			plain: func(ctx context.Context, base http.RoundTripper) call {
				return completeWith(ctx, openai.NewClient(option.WithAPIKey("key"), option.WithHTTPClient(&http.Client{Transport: base})))
			},
			shaped: func(ctx context.Context, base http.RoundTripper) call { return completeWith(ctx, OpenAI("key", base)) },
		},
		{
			name: "anthropic-sdk-go", server: newAnthropic, jobs: 500,
			plain: func(ctx context.Context, base http.RoundTripper) call {
				return messageWith(ctx, anthropic.NewClient(anthropicoption.WithAPIKey("key"), anthropicoption.WithHTTPClient(&http.Client{Transport: base})))
			},
			shaped: func(ctx context.Context, base http.RoundTripper) call {
				return messageWith(ctx, Anthropic("key", base))
			},
		},
		{
			name: "slack-go", server: newSlack, jobs: 200,
			plain: func(ctx context.Context, base http.RoundTripper) call {
				return listWith(ctx, slack.New("token", slack.OptionHTTPClient(&http.Client{Transport: base})))
			},
			shaped: func(ctx context.Context, base http.RoundTripper) call { return listWith(ctx, Slack("token", base)) },
		},
	}
}

// outcome is what came of a recipe's work.
type outcome struct {
	served, refused, failed int // failed: calls of the client that returned an error
	took                    time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf("%4d refused, %4d failed calls, %7.1f s", o.refused, o.failed, o.took.Seconds())
}

// do does the jobs of a recipe in simulated time.
func do(t *testing.T, r recipe, client func(context.Context, http.RoundTripper) call) (o outcome) {
	synctest.Test(t, func(t *testing.T) {
		srv := r.server()
		var mu sync.Mutex
		rnd := rand.New(rand.NewPCG(1, 2))
		base := &transporttest.Transport{Handler: srv, Latency: func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return roundTrip*9/10 + time.Duration(rnd.ExpFloat64()*float64(roundTrip/10))
		}}
		try := client(t.Context(), base)
		jobs := make(chan int)
		began := time.Now()
		var wg sync.WaitGroup
		for range cmp.Or(r.workers, workers) {
			wg.Go(func() {
				for i := range jobs {
					for {
						again, done := try(i)
						if done {
							break
						}
						mu.Lock()
						o.failed++
						mu.Unlock()
						time.Sleep(again)
					}
				}
			})
		}
		for i := range r.jobs {
			jobs <- i
		}
		close(jobs)
		wg.Wait()
		o.took = time.Since(began)
		o.served, o.refused = srv.counts()
	})
	return o
}

// Each recipe is refused no more than a twentieth as often as the plain client, and is no
// slower by more than 3 %, unless its row says why, and none of its calls fails.
func TestRecipes(t *testing.T) {
	for _, r := range append(recipes(), clients()...) {
		plain, shaped := do(t, r, r.plain), do(t, r, r.shaped)
		t.Logf("%-16s plain %v; recipe %v", r.name, plain, shaped)
		assert.GreaterOrEqual(t, shaped.served, r.jobs, r.name)
		assert.Positive(t, plain.refused, r.name)
		assert.Zero(t, shaped.failed, r.name)
		assert.LessOrEqual(t, float64(shaped.refused), 0.05*float64(plain.refused), r.name)
		assert.LessOrEqual(t, shaped.took.Seconds(), cmp.Or(r.slower, 1.03)*plain.took.Seconds(), r.name)
	}
}

// afterRefusal returns how long to wait if a Shaper has refused a request.
func afterRefusal(err error) (again time.Duration, ok bool) {
	var rejected *transport.RejectedError
	if !errors.As(err, &rejected) {
		return time.Second, false
	}
	return max(rejected.RetryAfter, time.Second), true
}

func searchWith(ctx context.Context, client *github.Client) call {
	return func(i int) (time.Duration, bool) {
		var err error
		if i%3 == 0 {
			_, _, err = client.Repositories.ListByOrg(ctx, "org", nil)
			var wrong *time.ParseError
			if err != nil && !errors.As(err, &wrong) && strings.Contains(err.Error(), "cannot unmarshal") {
				err = nil // the fake answers every path alike
			}
		} else {
			_, _, err = client.Search.Repositories(ctx, fmt.Sprint("q", i), nil)
		}
		var primary *github.RateLimitError
		switch {
		case err == nil:
			return 0, true
		case errors.As(err, &primary):
			return time.Until(primary.Rate.Reset.Time) + time.Second, false
		}
		again, _ := afterRefusal(err)
		return again, false
	}
}

// sizes returns the lengths of texts in characters, and a bound on the answer in tokens.
func sizes(i int) (text string, maxTokens int64) {
	rnd := rand.New(rand.NewPCG(3, uint64(i)))
	n := int(900 * 4 * min(max(rnd.ExpFloat64(), 0.2), 4))
	return strings.Repeat("word ", n/5), 2048
}

func completeWith(ctx context.Context, client openai.Client) call {
	return func(i int) (time.Duration, bool) {
		text, most := sizes(i)
		_, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model:     []openai.ChatModel{"gpt-4o", "gpt-4o-mini"}[i%2],
			MaxTokens: openai.Int(most),
			Messages:  []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
		})
		again, _ := afterRefusal(err)
		return again, err == nil
	}
}

func messageWith(ctx context.Context, client anthropic.Client) call {
	return func(i int) (time.Duration, bool) {
		text, most := sizes(i)
		_, err := client.Messages.New(ctx, anthropic.MessageNewParams{
			Model:     "claude-x",
			MaxTokens: most,
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
		})
		again, _ := afterRefusal(err)
		return again, err == nil
	}
}

func listWith(ctx context.Context, client *slack.Client) call {
	return func(i int) (time.Duration, bool) {
		var err error
		if i%2 == 0 {
			_, _, err = client.GetConversationsContext(ctx, &slack.GetConversationsParameters{})
		} else {
			_, err = client.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: "C1"})
		}
		var limited *slack.RateLimitedError
		switch {
		case err == nil:
			return 0, true
		case errors.As(err, &limited):
			return limited.RetryAfter, false
		}
		again, _ := afterRefusal(err)
		return again, false
	}
}

func get(ctx context.Context, client *http.Client, url string) (time.Duration, bool) {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	resp, err := client.Do(req)
	if err != nil {
		again, _ := afterRefusal(err)
		return again, false
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests {
		return 0, true
	}
	again, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
	if err != nil {
		again = time.Second
	}
	return again, false
}

// sites are four sites that allow 10 requests in 5 seconds each.
type sites struct{ apis [4]*transporttest.API }

func newSites() fake {
	s := new(sites)
	for i := range s.apis {
		s.apis[i] = &transporttest.API{Policies: []transporttest.Policy{{Name: "site", Quota: 10, Window: 5 * time.Second}}}
	}
	return s
}

func (s *sites) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	var i int
	fmt.Sscanf(r.Host, "site-%d", &i)
	s.apis[i].ServeHTTP(rw, r)
}

func (s *sites) counts() (served, refused int) {
	for _, api := range s.apis {
		c := api.Counts()
		served, refused = served+int(c.Served), refused+int(c.Refused)
	}
	return served, refused
}
