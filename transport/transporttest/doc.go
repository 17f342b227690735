// Package transporttest provides an API server that enforces quotas and
// advertises them, for tests of HTTP clients, of SDKs and of what shapes their
// traffic.
//
// An [API] is an [http.Handler]. A [Transport] calls it in process, with a
// latency, so that a test runs in a testing/synctest bubble and takes no time:
//
//	func TestNightlyJob(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			api := &transporttest.API{Policies: []transporttest.Policy{
//				{Name: "burst", Quota: 100, Window: time.Minute, PartitionBy: []string{"user_id"}},
//			}}
//			client := &http.Client{Transport: &transport.Shaper{
//				Base: &transporttest.Transport{Handler: api},
//			}}
//			began := time.Now()
//			runJob(client) // makes 250 requests for one user
//			assert.Zero(t, api.Counts().Refused)
//			assert.InDelta(t, 2*time.Minute, time.Since(began), float64(time.Second))
//		})
//	}
//
// Times in a bubble are exact; a Shaper waits a little longer than a window lasts, a
// millisecond at least. A bubble begins in the year 2000, when a Unix time looked
// like a number of seconds (see parse.ResetKind): before a test of an API that sends
// Unix times, sleep for a quarter of a century.
//
// Behind an httptest.Server the same API is reached over a network, but not in a
// bubble: whoever waits for a network keeps its time from passing. [API.Decide] is
// its arithmetic without HTTP's machinery: it takes the time as an argument, never
// waits, and starts no goroutine.
//
// It follows the editor's draft of April 2026 of "RateLimit header fields for
// HTTP" (draft-ietf-httpapi-ratelimit-headers), whose sections the comments cite
// as "Section n", and speaks older drafts as well. See [Dialect]. It meters as real
// servers do ([Algorithm]), holds refusals against those who are refused
// ([Penalty]), and says what is not so ([API].Misstate) where a test wants that.
//
// It is not for production. It keeps a state for every partition and a count for
// every user that it has ever seen, believes whoever names a user, and serves
// all requests one after another while it decides.
package transporttest
