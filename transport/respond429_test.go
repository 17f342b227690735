package transport_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A refused request is answered as a server would: until when it would have waited, in whole seconds, rounded up.
func TestRespond429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1, Window: time.Minute}}}
		var errs []error
		shaper := &transport.Shaper{
			Base: &transporttest.Transport{Handler: api}, MaxDelay: transport.NoDelay, Respond429: true,
			Trace: &transport.Trace{Rejected: func(i transport.RejectedInfo) { errs = append(errs, i.Err) }},
		}
		client := &http.Client{Transport: shaper}
		resp, err := client.Get("https://api.example/")
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
		resp.Body.Close()
		time.Sleep(19500 * time.Millisecond)

		resp, err = client.Post("https://api.example/", "text/plain", strings.NewReader("document"))
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		assert.Equal(t, "429 Too Many Requests", resp.Status)
		assert.Equal(t, 429, resp.StatusCode)
		assert.Equal(t, http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Retry-After": {"41"}}, resp.Header)
		assert.EqualValues(t, len(body), resp.ContentLength)
		assert.Equal(t, http.MethodPost, resp.Request.Method)
		require.Len(t, errs, 1)
		var rejected *transport.RejectedError
		require.ErrorAs(t, errs[0], &rejected)
		assert.Equal(t, quota.ReasonExhausted, rejected.Reason)
		assert.Equal(t, rejected.Error()+"\n", string(body))

		resp, err = client.Head("https://api.example/")
		require.NoError(t, err)
		assert.Equal(t, 429, resp.StatusCode)
		assert.Equal(t, http.NoBody, resp.Body)
		assert.EqualValues(t, len(body), resp.ContentLength, "as for a GET: RFC 9110, Section 9.3.2")
		assert.Equal(t, transporttest.Counts{Served: 1}, api.Counts())
	})
}

// Nothing says when a permit is free, and so no Retry-After does. A cancelled request gets an error.
func TestRespond429WithoutRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := quota.Concurrency(1, quota.Options{})
		shaper := &transport.Shaper{
			Base: &transporttest.Transport{Handler: http.NotFoundHandler()}, MaxDelay: transport.NoDelay, Respond429: true,
			Limits: quota.Always[*http.Request](limit),
		}
		client := &http.Client{Transport: shaper}
		first, err := client.Get("https://api.example/")
		require.NoError(t, err)
		resp, err := client.Get("https://api.example/")
		require.NoError(t, err)
		assert.Equal(t, 429, resp.StatusCode)
		assert.NotContains(t, resp.Header, "Retry-After")
		resp.Body.Close()
		first.Body.Close()
	})
}

// Libraries that wait for the Retry-After of a 429, and give up soon after errors, lose nothing by a Shaper: 300 requests
// of 20 workers, 60 a minute, 15 seconds for an attempt, and four retries, after 1, 2, 4 and 8 seconds if nothing
// says when.
func TestRespond429KeepsRetries(t *testing.T) {
	for _, respond := range []bool{true, false} {
		t.Run(strconv.FormatBool(respond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 60, Window: time.Minute}}}
				client := &http.Client{Timeout: 15 * time.Second, Transport: &transport.Shaper{
					Base:       &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }},
					Respond429: respond,
				}}
				work := make(chan struct{})
				var workers sync.WaitGroup
				for range 20 {
					workers.Go(func() {
						for range work {
							getRetrying(client)
						}
					})
				}
				for range 300 {
					work <- struct{}{}
				}
				close(work)
				workers.Wait()
				counts := api.Counts()
				assert.Zero(t, counts.Refused)
				t.Logf("%d of 300 served", counts.Served)
				if respond {
					assert.EqualValues(t, 300, counts.Served)
				} else {
					assert.EqualValues(t, 240, counts.Served)
				}
			})
		})
	}
}

func getRetrying(client *http.Client) {
	for retry := range 5 {
		resp, err := client.Get("https://api.example/")
		pause := time.Second << retry
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
			if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
				pause = time.Duration(seconds) * time.Second
			}
		} else if !errors.Is(err, transport.ErrRejected) && !strings.Contains(err.Error(), "Client.Timeout") {
			panic(err)
		}
		time.Sleep(pause)
	}
}
