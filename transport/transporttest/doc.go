// Package transporttest provides an API server that enforces quotas and advertises
// them. Use it to test HTTP clients, SDKs, and code that shapes traffic.
//
// An [API] is an [http.Handler]. A [Transport] calls a handler in process and
// simulates latency, so a test that runs in a testing/synctest bubble takes no real
// time:
//
//	func TestNightlyJob(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			api := &transporttest.API{Policies: []transporttest.Policy{
//				{Name: "burst", Quota: 100, Window: time.Minute, PartitionBy: []string{"user_id"}},
//			}}
//			client := &http.Client{Transport: &transport.Shaper{
//				Base: &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 50 * time.Millisecond }},
//			}}
//			began := time.Now()
//			runJob(client) // makes 250 requests for one user
//			if refused := api.Counts().Refused; refused > 0 {
//				t.Errorf("%d requests were refused", refused)
//			}
//			if took := time.Since(began); took > 121*time.Second {
//				t.Errorf("took %v", took)
//			}
//		})
//	}
//
// Times in a bubble are exact. A Shaper waits at least a millisecond longer than the
// window lasts. A bubble starts in the year 2000, but package parse recognises a
// number as a Unix time only from September 2001 on: a test of an API that sends Unix
// times must first sleep past that date.
//
// The same API also works behind an httptest.Server, but not in a bubble: fake time
// does not advance while a goroutine waits for the network. [API.Decide] makes the
// decision without HTTP: it takes the time as an argument, never waits, and starts no
// goroutine.
//
// The default fields are those of the editor's draft of April 2026 of "RateLimit
// header fields for HTTP" (draft-ietf-httpapi-ratelimit-headers); comments cite its
// sections as "Section n". [API.Dialect] selects an older form. An [Algorithm] selects
// how quota is counted, a [Policy] can penalize refused requests, and [API].Misstate
// makes the server advertise wrong values.
//
// The package is not for production. It keeps state for every partition and every
// user it has ever seen, trusts the user name in the request, and makes one decision
// at a time.
package transporttest
