// Package window is the arithmetic of one advertised quota: how many units may depart
// now, and when more of them may. It is pure: the instant is an argument, and there is
// no lock, no clock and no waiting. It imports nothing but the standard library's time,
// math and math/bits. The caller holds the mutex of the origin.
//
// The rules are those of quota.Strategy, in its letters: a request departs at s, its
// answer takes r, r₀ is the shortest recent r, and a window that the answer says is w
// long ends at s + w + g with the guard g.
//
// A [Window] is in one of four states:
//
//	            Report                 Roll, at the end
//	unknown ───────────► reported ─────────────────────► expired
//	   │  ▲                  ▲                            │   │
//	   │  └──── Silent ──────┼────────────────────────────┘   │
//	   │ Count               │ Report                         │ Silent, of a policy
//	   ▼                     │                                ▼ that can be counted
//	counting ────────────────┴──────────────────────────── counting
//
// A pause of an unknown window, and a refusal that says nothing, lead to expired as
// well: one request asks before others follow.
//
// A request is charged with [Window.Take]. Its answer settles the charge ([Window.Answered],
// [Window.Silent], [Window.Lost] or [Window.Refund]) and is then taken over: the policy
// ([Window.SetPolicy], [Window.Count]), the figure ([Window.Report], [Window.Renew]), a
// refusal ([Window.StartBackOff]), a Retry-After ([Window.Pause]). [Window.Ready] says when
// units may depart.
//
// A bucket, of which the server says when it will be full, stays reported: what is there
// grows (bucket.go).
//
// What [Adaptive] learns of a server are habits, one file each: guard and slow start
// (habits.go), rounding, resets, refill, untilfull, spent, contention, inferred,
// contradicted. [Plain] is the window without them.
package window
