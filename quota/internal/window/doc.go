// Package window is the arithmetic of one advertised quota: how many units may depart
// now, and when more of them may. It is pure: the instant is an argument, and there is
// no lock, no clock and no waiting. It imports nothing but the standard library's time,
// math and math/bits. The caller holds the mutex of the origin.
//
// The rules are those of quota.Strategy, which has them in a page, with what each of them
// wins. They are told in full below, in its letters: a request departs at s, its
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
// (habits.go), rounding, resets, untold, answers, refill, lag, untilfull, steps, lumps, spent, late, floor, contention, inferred,
// ceiling, contradicted, absent, soft. [Plain] is the window without them.
//
// # Plain
//
// A window may begin before the last one ends by these rules, because whole seconds tell its
// end too late. So if a figure has risen by more units than come back one by one since then,
// at the quota of the policy in its window, a new window has begun, and its end counts.
//
// Nothing departs before a Retry-After has passed. If nothing is left for much longer
// than that (more than the second that rounding explains), the window ends with the
// Retry-After, unless a request that departed then was refused in the same window
// before. Where others are seen, they may have used what had come back: then it does so until four
// requests in a row are refused, and always where units come back before the end (habit 3).
//
// A server that counts refusals, too, or blocks for longer than it says, may refuse each
// request that comes back when it said. After 24 such refusals in a row there is a back-off
// as well, of 1 s to 48 s, until a request is served.
//
// A bucket, of which the server says when it will be full ([Figure].Full), has no window: n
// units may depart when they are there. Most quotas of language models are such buckets, of
// requests and of tokens: work for n units more than are there takes n·W/q, with the quota q of
// the policy in its window W. What a figure says is there grows by a unit in the longest time
// that the figures allow, and all that has departed since is subtracted. A figure may be of any
// time until it arrives, so it does not raise what is there above itself.
//
// # Adaptive
//
// The same, and seven habits of servers are learned. Each is read from answers that
// come anyway, except for the trials of habit 3 and the looks of habits 5 and 7. Each except
// habit 2 is given up when an answer contradicts it.
//
//  1. Guard. g = r - r₀ + r/32: the request that opened the window can have arrived
//     no later than r - r₀ after the quickest one would have.
//
//  2. Rounding. A server that rounds seconds down says w = 0 in the last second (where W is not told: with nothing left, or
//     after it has told more with something left; else w may be the time until the next unit). One
//     that rounds up never does. Once a policy's server has said so, its windows end
//     at s + w + 1 s, or at s + W if W, the window of the policy, is less. A bucket may
//     say when it will be full, so a window also ends at s + W if w is more than W
//     and a window before has shown no other client. If W is not told, w = 0 always counts
//     as 1 s. But a window that a request began lasts for w, if that is whole seconds: it did if
//     it was told the longest w and found the most units that were, until one is refused that relied on it.
//     The longest w that was told, here and below, is the longest that two answers have told. A longer one that a single
//     answer has told counts until eight later ones have told less. If W is not told, and that w is 2 s, seconds may
//     have been rounded twice, the end up and the present down. So one request, once for each server, departs a second
//     after one that used up a window. If it is served within the next second, windows last a second, until more than
//     one of three requests that relied on it, or the first, is refused.
//
//     A server may also name the end as an instant R in whole seconds, such as a Unix
//     time, in an answer whose Date is D. The longest that this can mean is w = R - D
//     + 1 s, as package parse reads it. The shortest is tried first: with s of the
//     first departure that was told this R, the window ends at s + R - D - 1 s. That
//     is exact where R is rounded up and in windows of whole seconds that begin with a
//     request, and too early by up to a second elsewhere. If a request that departs
//     then is refused with the same R, the windows of this policy end 1 s later: until a
//     request is served with another R that departed more than half a second before such an end, once.
//     Of windows that end later, those that a request began may be told with two different R - D: where
//     R is rounded to the nearest second. The shorter one counts for both, unless a request that relied
//     on it is refused. Where other processes share the quota, the latest end that agrees with R, with all
//     Dates so far and with the length of the windows counts instead: see named.go.
//
//     A server may say a and never w, or w only where it refuses. Then s is the departure of the first request of
//     the window: the first one that found all, q. Where nothing else is known, one request departs 1 s after the
//     answer with a = 0, then 2 s, 4 s, … later. If it finds q, w was over, and if it is refused, it
//     was not: the roundest time between these is taken for w, and then W is w. If less than q/2 is found after w, or
//     a request is refused, twice or before w was kept twice, w is not known any more. Then 4 windows have to agree before it is
//     learned again, then 16, then 64. After the fourth time it is not, unless 8 windows had kept it. After 3 windows that
//     kept w, and then after 24, and each 128, one request departs halfway between the longest time known to be too short
//     and w, if a third of w or more is between them. Else one departs halfway between the time when the window was used up
//     and w: windows may have become shorter. One does in five minutes or 200 requests, whichever takes longer, if that
//     is sooner. If it finds q, and one in the next window does, w is that long; if eight windows had kept the old w, the next
//     one is looked into, too. If another q is told, w is learned anew.
//     A request that departs after a = 0 and finds some units, but fewer than q, shows that they come back one by one. Where that
//     takes u for each of them, u·q > 1.25 s, and no other client was seen, the next one departs 1.25 u after an answer with a = 0.
//     If it is refused, u is doubled, up to 1 s, which ends this. If it finds q, that ends it, too. u falls by no more than a
//     quarter with each answer. If the last Retry-After was longer than 4 s and 4 u, u may be more than 1 s, if two units or more have
//     shown it, up to 10 s; but not more than four times what they have shown. Where w is not known yet, 4
//     windows in a row have to agree after it before w is learned.
//     w is no longer than 10 min. Quotas shared through Peers have no such w.
//
//     A server may say w when it answers, at t, and not when the request arrives; and D is nearly always
//     of that instant. If answers of a window have taken more than 1.65 s longer than others, and the
//     ends t + w agree, but the ends s + w do not, twice more often than the reverse, windows
//     end at the earliest t + w, or t + R - D - 1 s, without a guard. That is not done in windows
//     of less than 8 s, nor where units come back before the end, or ends move by less than 3/4 w.
//
//  3. Refill. A quota that is refilled unit by unit, more often than whole seconds
//     can say, says a = 0, w = 1 when the next unit comes after W/q (q is the policy's
//     quota). A server that weighs two windows says a = 0 until the present one is
//     over, although units of the one before come back all the time. If less than half
//     of q was there in a window, one request tries again after W/q/p, with the p of
//     habit 4; where our own log was contradicted and no other client was seen, if a sixteenth
//     of q was missing. One also does if w turns out to be the time until a bucket is full: the
//     more units were missing, the longer it was, in proportion. If w is more than 1 s,
//     there is no trial in the first window, unless w is that time, and none if p < 0.1.
//     If the first request after a window is refused, is told another window and no Retry-After, not all has come back
//     at once. Then one tries after W/q, too, where W is told, no other client was seen and no trial was refused last.
//     With a Retry-After, such a refusal costs a window. So the first request after a window departs W/q later from then on,
//     2·W/q after another one, up to 16·W/q or W/2, until it finds q/2. See lag.go.
//     If it is served, the next ones do the same, W/q + 2j after each other (j is the
//     mean of r - r₀), or W/q + j/4 once 16 of them were served, no other client was
//     seen, and r₀ is no longer than W/q. Where it is longer, requests no longer wait
//     for each other's answers after the first. Each refusal after that adds j/2.
//     Where the server says only when the window ends, one request tries again when that
//     has passed since the last request of the window before: in a sliding log, all units
//     that departed then are back. If others use the quota, but p is more than 0.4, it does so also where W/q is known,
//     if that is sooner.
//     If an earlier trial is refused, another client has used the quota, and the next
//     2, 4, 8, … up to 64 trials are left out. If the one before was served, more than one unit was ever there, and no
//     other client was seen, a unit takes √2 as long from then on: those of two weighed windows come back more slowly if
//     the one before was used less. But where units take less than a second and no other client was seen, one still departs as in a sliding log, above, unless the last one of these was refused.
//     Once three trials in a row were served, units that take less than a second do come back before the
//     end of a window. In windows of more than 2 s a figure shows it, too: where others were seen, and spend no more than
//     nine tenths, one that is higher than the one before of the same window, or as high although a unit was spent; or one of a request that was served after a Retry-After
//     in a window of which nothing was left. So do two requests in a row that departed after a window, were served, and had the last
//     of five units or more, with a whole window ahead that is no instant: one that has just begun has more. Then no trial is left out, however much was there, but the
//     time for a unit counts as longer: by √2 after a refusal, and twice as long if no three were served since the last one. So
//     more than one unit is back when one is tried for. It becomes shorter, by a sixth, after each figure that
//     shows that three times as many came. The last unit of a figure, which is left to others
//     (habit 4), departs after twice that time. Where others were seen, a request tries
//     after a second at most, because a loop does. All this ends when the time for
//     a unit is half of W, and a trial is refused, or finds half of q, as in a sliding log. Then up to 64 trials are left out.
//     If W is not told, it is the longest w that was.
//     If units come back before an instant that the server names, it keeps a sliding log.
//     Then ours is kept, too, and says when units are back: no more than q depart in any
//     time as long as the longest window that was told. If a request is refused that this had room for, and R was no later
//     than D once, R is rounded down: so it is a second longer, until R is farther ahead of D than before.
//     If three requests of a client that is alone are refused after such an R while fewer than four are served for
//     each, it is a second later, until 64 in a row are served.
//     With W, it is also kept of other
//     quotas once they are used up, if W/q is less than a second, q units and no more were
//     seen to be there, no other client was seen, and the last trial after W/q was not served. It helps in a sliding log, and where a server now and then says a = 0 although much is
//     left. One of the requests for which the figure has no room is out at a time, then
//     two, four, … as long as they are served. If one is refused, the log is not believed
//     for some windows; where w was found out, also if another one is that departed after a window. Once two were refused that
//     departed after a window although the log had no room, none does so for 2 s (or longer, as long as no answer comes),
//     until q/4 more is found than the log has.
//     Where only refusals tell a quota, or answers only a policy, and a refusal shows that units come back as they were
//     spent, no more departs than the log says.
//     Where W/q is a second or more, this is done if w is longer than that by more than
//     1 s; and after twice that time once a trial was refused for more than 4·W/q and 2 s. Where
//     W or q is not told, they are taken to be the longest w and the highest
//     a that were; beside other clients, only if W/q is a second or more. In both cases less
//     than three quarters of q have to be there in a window, and a trial that is refused
//     doubles the time: a server that counts otherwise costs a few refusals. Where others
//     were seen and w is more than 4·W/q, no trials are left out beside that: else a client
//     would see nothing of what comes back for minutes. The time becomes shorter again, by
//     a sixth each, after about 250 that were served. It also does where no other client is seen, once 2q units more were
//     served, in any time since it last changed, than come back in that shorter time each.
//
//     Where requests cost more than a unit, one that is the first after a window may be refused because
//     units come back one by one. A unit takes as long as what came since the figure before, and the
//     Retry-After, say. If these agree with each other within a half, or with W/q four times, the quota is
//     a bucket of all windows of the policy, whose units take W/q, or as long as each Retry-After says: n units
//     may depart when they would be there if no other client took them, and habit 4 does not concern it.
//     If W is not told, the Retry-After must be longer than w: else it may be a window that other clients have
//     used. A window that is told to last longer than a unit, or three refusals in a row of requests for which
//     there should be enough, end that; but not those whose Retry-After agrees with W/q.
//
//     The units of a bucket may come in lumps: many at once, and none until a time T has passed. A refusal
//     shows it if a request that departs after its answer finds n units, and n - 1 take longer by W/q than one and
//     a half times what has passed between both departures, and between both answers. Then T is n·W/q; or a number of
//     whole seconds, if what departed in between may have found the rest of the lump. Once this is the same twice in
//     a row, units are expected with each lump only: g after the departure of that request, and each T after that. Two figures
//     between which two units or more came, but less than half of a lump, end that.
//
//     If answers take half of a window or longer, its figures are old when they come. A window that is always
//     told to be over in less than a second counts as a second long. Then
//     our own log is kept from the first figure on, and no more departs than it says: in any W
//     no more than q, or the most that was told. If that is less than q, it is a bucket that holds less, and W
//     counts as the time in which as much comes back, if no figure tells of a longer one. Where a figure has no room, a quarter of that is
//     out at first, and twice as much after each round trip. After a refusal that it did not
//     expect, a quarter less departs, and a thirty-second more after each round trip.
//
//     Some servers never say a = 0, but 1. A request that is refused alone, with a = 1 as the only figure,
//     shows that. After two such refusals in a row the last unit of a figure departs when it is back by our
//     own log or its window is over, until one is served with a = 0.
//
//     Answers that say nothing of a quota that others tell, such as redirects or 304, may count against it or
//     not. They do until figures of a window follow each other by no more than the units of the requests that were told
//     them, twice in a row, with four such answers or more in between. Figures that leave out half of them or more, or a
//     refusal, end that.
//
//  4. Contention. A quota that falls by more than was served to us has other users.
//     With p, our part of what it has fallen by, no more than 0.4·p·a + 0.5 units are
//     in flight at a time: the others send theirs while ours are on their way, and no
//     figure is true for long. A request that costs more goes alone, if it costs no
//     more than p·a. So does a request of one unit if p is more than 0.4: else two processes
//     would leave the last two units of each window to each other. So does the last unit if (1-p)·q is less than 1, and W
//     is 2 s or less, or not told. Each answer brings a new figure, so an unused quota is still used up within some round trips. This keeps eight processes that cannot talk from
//     refusing each other. With enough left and nothing in flight a request departs in
//     any case after 1 s, and after four times as long, up to 48 s, for each time that
//     a figure has shown other users; but if W/q is a second or more, after 2·W/q. If it is less, p is
//     more than 0.4, and r₀ no more than 6.25 ms, as within a data centre, it departs after 20·r₀. The
//     others' part is forgotten, by 1/128 in each window that shows nothing of them. Where no figure says that anything is left,
//     no window shows whether there are others. Then it is forgotten once 17 trials of habit 3 in a row were served. p is that of the
//     last 400 units, or of as many more, up to 1,024, as have 16 of ours.
//     In a window of 2 s or less, if p is more than 0.4 and less than 0.9 (or less than 1, once units were seen to come
//     back) and nothing is left, one request departs when a unit that we have spent should be back: W after it departed, or w if W is not told. If it is refused, the next one departs 64 W later, then 128 W, …
//     Once figures have risen twice in W, as those of a window never do, one departs for each of our units that is back, also before one that
//     is left to others. Four refusals of these in a row end that. See returned.go.
//
//  5. Inference. A server that says nothing of its quotas but refuses now and then is
//     taken to allow what it served between two of the instants at which it began to
//     serve again, in the time between them. If most of that time passed before the
//     first refusal, the quota was not used up, and nothing is inferred; nor if a
//     Retry-After has shown that windows are more than twice as long. The inferred
//     quota is counted as a policy without a service limit is.
//     An earlier run of the program may have used a part of the server's window, so that what was served before the first
//     refusal was the rest. The Retry-After says when the next window begins. In that one, a request looks whether there is
//     more, once as many have departed, and 1/32 of the window or a minute is over; but not if the first window was shorter
//     than 4 s. If the look is served, others follow as in a slow start, until a refusal shows what a whole window allows.
//     If it is refused, the first window was a whole one.
//     A sliding log refuses for a second, and again, and then for a minute. If a Retry-After is at least
//     as long as the time since the last such one, and two shorter ones came in it, all that was served in that time
//     is one window. If it is not, but is more than twice as long as the inferred window, another
//     quota was used up, and the inferred one stays. Where windows are shorter than 4 s, our own log of
//     what departed explains a refusal that it had no room for. Then requests wait for the log, too, and the
//     inferred quota stays, until a request is refused when clearly less than fifteen sixteenths of it are spent. With a
//     Retry-After that is so for ten units or more only: fewer may be those of a small bucket. A Retry-After is in whole
//     seconds, so in a window of less than 4 s, one request looks when the whole seconds are over. After ten windows in a
//     row that were used up without a refusal one unit more is tried, then 4, 16,
//     … until one is refused. After each such refusal it takes twice as many windows until the next try, up to five
//     minutes. When half of a window of 4 s or more is over and the
//     quota is used up, one request looks. If it is served, windows are that long from
//     then on, unless a refusal soon after shows that it was left over; if it is refused,
//     the next 2, 4, 8, … up to 64 windows have no look, but one in five minutes or 200 requests has,
//     whichever takes longer. Where back-off has found the end, which may
//     be twice as far away as it is, looks go on half-way between what was too soon and what windows seem to be, until
//     that is a sixteenth of them; later once in five minutes, or a minute after a window of more than two has begun.
//     So an outage whose refusals say nothing is taken for a long window for a few minutes only. A request that
//     does not wait for the end of an inferred window comes back for the next look, unless a Retry-After told that it is longer
//     than 10 min; where back-off has found the end, 10 min after the last request, if that is sooner.
//     Refusals without a Retry-After may also be of a second quota of longer windows, such as 500 a minute beside 10 a second. That
//     is so if a pause of more than 4 s, and twice the inferred windows, follows after more was served than the inferred quota
//     allows in windows as long as the pause, since the last one like it. Then the inferred quota stays. The windows of the longer quota
//     begin with the first request that is served after such a pause. So in the next pause, one request departs when that window should be
//     over: at the roundest time between the latest at which a request was refused and the earliest at which one was served.
//     Back-off goes on before and after that.
//     A shorter window has a look once three were used up without a refusal, or six if no
//     Retry-After was ever told; but not the next 64 after one that was refused. A Retry-After of that refusal says how
//     long windows are at most. If such a look is
//     served, units come back one by one. So they do if fewer than four requests were served
//     between one hold and the next, three times in a row, or six if the holds are back-offs.
//     A window does not count if its Retry-After was not true: the request that departed after it was
//     refused, too, and has to wait for longer than whole seconds explain. A server that refuses at random does so.
//     Then there is a pace: units depart one after another, twice as quickly as they came, then four times, …
//     until one is refused. From then on the next pace is between the quickest that was kept and the slowest
//     that was refused. A pace was kept if six units were served at it. After a try that
//     is refused the next one waits for as many units as depart in a hold, or 4, 16, 64 times as many,
//     or for 4 min; after one that is served it does not wait. A pace of less than 4 ms is none.
//     If a try is refused before more were served than in one of those windows, and these took no longer than their
//     holds and round trips, the kept pace is so many units in a hold: two a second, where two took 1.15 s.
//     A kept pace that is refused becomes slower by an eighth, or by half if the refusal before was just before.
//     It is given up after a Retry-After that was not true; or after three such refusals if units come more slowly
//     than before there was one. After a rest there are as many units at once as were served in any window; half as
//     many if some of these are refused.
//     A Retry-After may say when a window is over, although units come back one by one, such as where two windows are
//     weighed. That is seen by a window of 4 s or more, whose end is as long after the end before as the longest Retry-After, and which
//     was used up within a fifth of it and served less than 7/8 of what the one before did, or of what was served in as long a time
//     before the first refusal; or by one that began with a refusal, after one that was used up in no more time than a window takes. But not if that Retry-After is
//     more than twice as long as any before it, as an inferred window, and as the time before the first refusal; nor if most requests were
//     served that were out at the first refusal. Then there is a pace of what both windows served in one, less one unit, or of what was served before
//     the first refusal, if that is more. Tries are quicker by 1/8, three times, then 1/4, then 1/2, and have to be served for two windows. After
//     one that was refused, and after two windows that have shown all, the next one departs 16 windows later.
//     A refusal at a pace shows neither a bound on requests in flight nor that it was of one request alone.
//     Where refusals with a Retry-After concern some kinds, and not all that are known, these look: see below.
//     What a server refuses while it is down is not served, and begins no window: the next request begins it anew.
//     Before the first refusal nothing is counted, but what has departed since the first request
//     is known. That is the first window, if it was used up in less than a fifth of it, several
//     requests were refused, nothing was in flight after those, and a Retry-After or a
//     single back-off ended it. So the second window has no wave of refusals as the first one has.
//     A window that a single back-off of a second ended lasts a second: the rest is jitter.
//     Once two windows in a row end with a refusal and less than half of the inferred quota served, it
//     goes: a bucket serves its burst once.
//     Nothing is inferred from the refusal of a single request, which may be by chance, unless
//     as many were served before it as in the window before, to 1/16, or as are inferred; or it
//     is the third in a row, or ends the last part of a log's window. An inferred quota that such a refusal contradicts
//     goes, but for one with a Retry-After of less than half the window, which ends a part of it.
//     Where the server names policies, the same is learned from refusals that none of them
//     explains: each figure says that more is left than is on its way, by more than one; or the refusal has no
//     field at all, and so say the figures in force. The
//     first holds what it names, or its scope, as any other does. If one that departed after that hold is
//     refused, too, it holds work that claims the policy named first, but for kinds that turn
//     out to be free: see below. If, besides, of its kind more of what was out with the one
//     before was refused than served, there is a slow start, and a quota or a bound on
//     requests in flight is inferred. Package quota keeps it: see beside.go.
//
//  6. Count. Of a policy without a service limit we keep our own count: q units from
//     the first request of a window on. A refusal within that window contradicts it, also with a figure of a = 0 and a
//     window.
//     Then the next window begins with the Retry-After, by two
//     requests, then four, … as the answers come. If the Retry-After is no longer
//     than W/q + 1 s and the next window is contradicted, too, or two windows within 3·W had
//     nothing at their beginning, units come back
//     otherwise: they are counted as a bucket that is empty then and gains a unit
//     in each (W + g)/q. It holds one unit, and one more for each window since the
//     last refusal. A Retry-After of 0 within a second after another one was over does not contradict: that one was rounded
//     down. One of more than W/4, and W/q + 1 s, ends the bucket. A unit takes g/q longer after each refusal at that pace, and half
//     of W/q² if W/q is no more than a second, because each refusal costs a second; but not after others in a row. In no
//     time as long as a window much more than q depart then, so this is right in a bucket, in a sliding log, and
//     wherever windows begin.
//     If two such refusals within 3·W hold for more than W/2, and W/q + 1 s, units are counted as a bucket that
//     gains q units in W + g + W/q, and is empty when the hold is over. It is slower by W/q after each further one. If
//     one comes within W/2, there is no such bucket for 2·W, 4·W, … up to 64·W. A window of our count that begins
//     within 3·W after such a refusal begins with two requests.
//     If W/q is no more than a second, the first refusal begins our own log. If that had no room for what is refused
//     later, twice within 2·W if W/q is a second, that contradicts nothing: the count goes on, and no more departs than
//     the log says. But it does contradict if half of q is back 100 ms later, or W/16 later where nothing was served in the
//     window, and the Retry-After is over more than 2 s after the first unit is back. As long as the log does not know of a
//     whole window, no bucket begins.
//     Answers may leave out fields, so our own count also goes on where they have none. But
//     if it is used up, and no answer has named the quota for 3·W, 10 s to 10 min, one request departs
//     that it does not allow. If it is served, others do, with one more out for each 16 that are. Once more
//     were served than would come back in 2¼·W, the quota is forgotten: a server that enforces it
//     serves up to 2·q at a time, at the end of one window and the beginning of the next. If one is refused,
//     all has to be back before the next window, and none tries for 10 min, 40 min, … up to a
//     day; so after four answers in a row that are Unsure, up to 16 once some were served.
//
//  7. Soft quotas. Some servers say a = 0 and serve on: they bill what is beyond the quota, or
//     only warn. A request that departed after that was heard shows it, if it was served and
//     was told a = 0 of the same window: one, if a was 0 for a minute; three, if it was not, or
//     if a request was refused with a = 0 in the last day. It must have departed within
//     W/q/4 of the one before, or after 3·W/q with no other client seen: between these it may
//     have had a unit that came back. Then quotas of this policy hold nothing any more: two
//     requests of each may be out with a = 0, and one more with each four that are served. A refusal
//     with a = 0 ends that; but for each 64 that were served before, only until its
//     back-off is over, because it may have another reason. An answer that is Unsure, as one with
//     another status than 2xx is, shows nothing; 16 in a row with a = 0 end it, too.
//     What departs anyway shows it, such as a look into a window of more than 10 min. Beside
//     that, one request looks when 1/16 of a window has passed, if 400 have departed for
//     the account, or 3,000 if less than 90 s are left; but not in the day after a refusal with
//     a = 0. Where no answer says when the window ends, one departs each second, or W, anyway: those
//     show it, too, but not in that day. If W is more than 10 min, one looks after a second instead, but not
//     in that day; after one that is served the next looks at once, and three show it even in that day. Six
//     refusals in a row are forgiven then, for as long as their back-offs last. Windows of less than 3 s,
//     quotas of other units than requests,
//     buckets, and quotas shared through Peers hold as they are told.
//     If a figure falls to 0 by 8 units more than departed, in an account of which 8 requests have departed and where no
//     other client was seen, one request looks after 1 s, another one after 2, 4, … If one is told of more, the figure was untrue, as those of
//     a gateway's errors or of a cache may be. After three such figures the next are ignored; if a look is refused, or a request after one that was
//     ignored, none is taken for untrue for a day. Where only the figure says that a request was refused, as with a 403, that is no
//     refusal, unless the second look is refused, too.
//
// # Which work a refusal concerns
//
// A refusal that names no policy may concern all work of its scope, or some kinds of it:
// see quota.Ask.Kind. At first it holds all kinds. A kind that it did not refuse may look:
// while the others are held, one request departs after 1 s, or after a quarter of a
// shorter hold. If it is refused, the kind is held, too, and the next look waits,
// 1/4 s, 1/2 s, 1 s, … up to 10 min; but not that of a kind whose own Retry-After ended 4 s
// or more before that of the others. If it is served although the Retry-After has more than 1 s to
// go, the kind is free, and the other kinds may look at once. In the last second of a
// Retry-After, and in a back-off, this has to happen four times; or, in a back-off, a
// kind that was refused is sent next: if it is refused again, the one that was served is
// free.
//
// A free kind that is refused has a hold, a back-off and an inferred quota of its own;
// but if its Retry-After ends with that of other kinds, and it was not served while they
// were held, it shares theirs. So does a kind whose Retry-After ends earlier than the
// hold that it is in. Up to 64 kinds and 16 such limits are kept for each scope. They are
// forgotten after 10 min without a refusal. Two scopes are never taken for one, even if
// they seem to share a quota, as two tokens behind one address do: to find that out,
// one scope would have to be held for the refusals of another, and a user that can
// provoke refusals in one could then stop the other. If scopes share, set the same quota.Ask.Scope.
//
// If a refusal says nothing of any quota, and the figure of an account had room for the request, another
// limit has refused it, and the account is charged nothing. Once this was done, a figure has to come before
// it is done again: a server may leave out its fields where it refuses.
//
// Of the kinds, resources may have limits of their own, such as channels or documents: see quota.Ask.Kind. One
// that is refused with a Retry-After is a kind of its own then, and the rest of its kind one that was never refused, so it
// may look. If a look is refused before one was served, or none was in 8 holds, or 8 resources were refused, or nothing but
// several that were refused is served between one hold and the next, one limit
// concerns all: they are one kind again for 4 holds, then 16, 64, … up to 1,024. Nothing is set apart
// while most of the evidence says that refusals are of one request alone.
//
// # A refusal of one request alone
//
// If a quota is used up, what departs after a request that it refused is refused, too. Some
// servers refuse at random: they shed load, or one of their replicas is bad. There what departs
// after is served. Of the requests that were in flight, each of the same kind that departed
// after the refused one and is served counts two. If it is refused it counts minus two, or minus three where less than a
// quarter of the last answers are refusals: by chance few of these are refused then. A refusal of which nothing
// could show that it is alone, because no other was there when it departed, counts nothing. If the sum,
// which stays from -64 to 24, is 6 or more, the refused ones were alone, and from then on each refusal counts: what they hold is let
// go, nothing is inferred from them, and one request less is in flight for 1 s after each. What they refuse
// counts as used up where a quota is inferred, so that more of it is tried.
//
// After a back-off few requests are under way, so hardly any of them departs after a refused one before that is known. So
// once 1 to 11 requests were served before most refusals, by four refusals more, one that is refused while no other is in
// flight is followed by another one at once. If that is refused, too, the back-off begins, and that is not done again for
// 8 s, then 16 s, 32 s, … up to 10 min. If two in a row are served, and departed within a sixteenth of a second, as many may
// depart as before, and one at once after each refusal from then on, until the sum is less than -8. It is not done where there are
// several kinds: others may use up what they share.
//
// For a Retry-After that sum stays from -16 to 40, and only those count that departed when half of the round trip of the
// refused one was over, and also those of another kind that the same limit has refused. It is let go if the sum of its kind
// or of its limit, which is 12 at most, is 8 or more, and that of all kinds and scopes 22 or more, or if neither of
// the former is below 0, and the latter is 27 or more. The latter is 0 again ten minutes after the last refusal. One of the whole
// origin has a sum of its own, up to 24, of which each refusal takes one, but for those of a kind that was served again and again
// between its pauses, and is let go if that is 20 or more. The eighth refusal of a kind in a row is not let go.
//
// If the server seems to bound how many requests are in flight, a Retry-After of one too many holds no other one: see
// ceiling.go. It is one too many if as much as half of the bound is in flight, and a request that departed after the refusals
// before was served. So the first refusals hold all, and so do two waves in a row. Each takes back one. A bound that has come
// down to half of what it was is none, because the server refuses as often however few are in flight. Where answers take
// longer than a refusal by as many times as it lets requests in flight, it is none either once two refusals in a row come although
// no more than that are in flight, and not soon after one more was tried. So it is also
// beside policies that have names, if the refusal has no field but Retry-After.
//
// A server may bound how many answers it streams at a time: it counts a request until the body of its answer has ended.
// So two waves of refusals in a row that leave as many requests in flight or with an open body show such a bound, if those in flight
// alone are not as many. Then one departs whenever a body ends: see streams.go of package quota.
//
// A refusal whose fields say that a quota is used up is never let go. At a pace a refusal is no evidence,
// because what departs next is served anyway.
//
// # After a refusal
//
// After a refusal about which nothing more is known, requests follow the first one
// that is served as in TCP's slow start: twice as many with each round trip, and one
// more after 1 s, 2 s, 4 s, … up to 1 min if no answer comes. After another refusal that shows no quota they begin
// with half of what was in flight then, or of what was served in between, if that is less. If the server seems to bound
// how many requests are in flight, they follow up to that bound: see ceiling.go.
//
// A refusal by a policy in concurrent requests whose figure has no room, without a Retry-After, holds nothing
// while others of ours are in progress: no more than these are then. Others use the quota, too, so from then on an answer raises
// their number by one, or by an eighth of what is free; and to the last unit only once 16 round trips in
// a row have found it free. If nothing departs and nothing is answered for 1 s, 2 s, 4 s, … up to 48 s, one more
// asks. If none of ours is in progress, there is a back-off.
//
// # Long answers
//
// After a window one request departs, and others with its answer; or one after 1 s, then 2 s, 4 s, … later. If the last answer took
// 10 s or longer, as that of a long poll, no other client was seen and none was refused, they do not wait so long: a server that has to refuse
// answers at once. Then the second departs after a second, and with n that have departed the next one 1/2n of a second later,
// up to the quota.
//
// # First contact
//
// Before the first answer of an origin no more than quota.Ask.FirstFlight requests are out to
// it. A new user of a known origin has accounts of policies that others were told of.
// Before the first answer for such an account no more units are out than the quota of the
// policy. If the server does not say that, it is the most that an account of the policy
// was told is left, and at least quota.Ask.FirstFlight requests. The first answer ends this,
// whatever it says, and so does a second without any. If each user has 10 requests in 2 s
// and a new one sends 60 at once, 50 would be refused without it, and none is with it.
package window
