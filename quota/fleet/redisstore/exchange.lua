-- One turn of a process, as fleet.Hub carries it out: the functions have the same names
-- and do the same. All numbers are integers below 2^53, all times microseconds.
--
-- KEYS[1]: the flights of the origin; then for each account its record.
-- ARGV[1]: what store.go packs: the turn, its accounts, and the requests.
-- It returns what store.go unpacks: the reply to the turn, and that for each account.
--
-- A record is one list of numbers, stored as it is: fields, then its members, then what was
-- spent and when. Lists and numbers are quicker than tables with names and variables, so
-- store.go replaces the names below: a constant by its value, and r.made, the field of a
-- list r, by r[2]. A member m is where it begins in the list r: m.has is r[m+5].
--
-- Times of a record count from its base, so that most take five bytes; 0 is no time. What
-- is stored in the place of now is the base. What lease counts is seconds.
--[[ names
msec = 1000
sec = 1000000
latest = 150*msec
lease = 30
longLease = 300
returnsWithin = 25*sec
longWindow = 600*sec
recovery = 2*sec
wokenFor = 100*msec
comesBy = 2*sec
returnsEvery = 20*msec
lookShort = 20*msec
behind = 200*msec
lookReleased = 200*msec
idle = 10*sec
sameWindow = sec
maxPatience = 60*sec
forgets = 600*sec
unlimited = 2^50
maxHeld = 366*24*3600*sec
atOnce = 0
perhapsLog = 1
asSpent = 2
perhapsEven = 3
evenly = 4
steadily = 5
singly = 6
sureOf = 1000
doubtful = 500
marginStep = 75
marginPart = 16
maxSpendings = 16
longestModel = 24*3600*sec
largestModel = 100000000
parts = 1000000
justNow = 40*msec
lateBy = 10*msec
punctual = 2*msec
UNKNOWN = 0
REPORTED = 1
EXPIRED = 2
COUNTING = 3
OPEN = 4
earliest = 1000*sec
rebased = 1100*sec
farthest = 1300*sec
head = 29
firstFlight = 10
wide = 13
r: now made version state available over length began figured hold probe probes returns quota window how trust fails skip trial said from counted most spent before members spendings found
m: id seq at lease has stock least priority since hungry woken looks took
a: record mine old spare allowed kept hungers hungry shares ahead others granted probed stopped blocked wants want most id concurrent counts landed refused first shorter has stock wish version quota window figure left figureVersion figureAgo basis basisLeft spent served servedAgo silent hold found next
q: claims n priority waited number next
]]

local floor, min, max = math.floor, math.min, math.max
local call, pack, unpack = redis.call, struct.pack, struct.unpack

-- All that functions share is in one table: a closure looks for each variable of the
-- function that makes it. To make a function takes time, too, so those that most turns do
-- not need are made when the first of them is called.
local x

local function seldom(self, name)
local functions = {

-- How units come back, as in renewal.go.

forget = function(r)
  r.quota, r.window, r.how, r.trust, r.fails, r.skip, r.trial = -1, 0, atOnce, 0, 0, 0, 0
  r.said, r.from, r.counted, r.most, r.spent, r.before = 0, 0, 0, 0, 0, 0
end,

-- unspend forgets what was spent first.
unspend = function(r)
  local s = head + r.members*wide
  table.remove(r, s + 1)
  table.remove(r, s + 1)
  r.spendings = r.spendings - 1
end,

even = function(r, from, to, e)
  return floor(floor(r.before * r.trust / sureOf) * max(x.part(r, to, e) - x.part(r, from, e), 0) / parts)
end,

steady = function(r, d, rate)
  d = min(max(d - justNow, 0), 2*r.window)
  return floor(floor(floor(d / msec) * parts / floor(r.window / msec)) * rate / parts)
end,

soon = function(r) return floor(r.window / r.quota) < behind end,

rate = function(r) return floor(r.quota * r.trust / sureOf) end,

fail = function(r)
  r.fails = min(r.fails + 1, 10)
  r.how, r.trial, r.trust, r.skip, r.from, r.counted = atOnce, 0, 0, 4 * 2^r.fails, 0, 0
end,

doubt = function(r)
  if r.how == atOnce and r.trial > 0 then x.fail(r) end
  if r.how ~= asSpent and r.how < evenly then return end
  r.trust = floor(r.trust * 17 / 20)
  if r.trust < doubtful then x.fail(r) end
end,

age = function(r)
  local now, sum, n = r.now, 0, 0
  local last = head + (r.members-1)*wide
  for m = head, last, wide do
    if m.hungry > now then sum, n = sum + m.took, n + 1 end
  end
  for m = head, last, wide do
    m.took = n == 0 and 0 or max(m.took - floor(sum/n), 0)
  end
end,

turned = function(r, adjacent)
  x.age(r)
  if r.how == atOnce then
    r.trust, r.trial = 0, 0
    if r.began ~= 0 and r.quota ~= -1 and r.state == REPORTED and x.size(r) - r.available - r.spent - x.hasOf(r) > 1 + floor(x.size(r) / 8) then r.trust = 1 end
  end
  r.before, r.spent = r.spent, 0
  if not adjacent then r.before = 0 end
end,

each = function(r) return floor(floor(r.window / r.quota) * sureOf / max(r.trust, 1)) end,

lag = function(r) return min(max(floor(floor(r.window / r.quota) / 3), lateBy), justNow) end,

pace = function(r) return x.each(r) + x.lag(r) end,

taken = function(r, n)
  r.from = r.now + n*x.pace(r)
  if x.hasOf(r) == n then r.from = r.from + x.lag(r) end
end,

follow = function(r, a)
  if a.served > 0 and a.refused == 0 and a.hold <= 0 and x.hasOf(r) == 0 then
    r.from = r[head + r.members*wide + 2*r.spendings - 1] + x.each(r)
  end
end,

come = function(r, t)
  if r.how == singly then
    r.available = x.hasOf(r)
    if t >= r.from then
      local most = 1
      for m = head, head + (r.members-1)*wide, wide do most = max(most, m.least) end
      r.available = r.available + most
    end
    return
  end
  if r.how == steadily then
    local rate, most = x.rate(r), r.most
    local n = x.steady(r, t - r.from, rate)
    for m = head, head + (r.members-1)*wide, wide do most = max(most, m.least) end
    r.available = max(r.available, min(r.available + n - r.counted, most))
    r.counted = max(n, r.counted)
    if t - r.from - justNow >= r.window then
      r.from = r.from + floor(r.window / msec) * msec
      r.counted = r.counted - rate
    end
    return
  end
  local n = x.even(r, r.from, t, r.over)
  r.available = min(r.available + max(n - r.counted, 0), r.quota)
  r.counted = max(n, r.counted)
end,

notSingly = function(r, fig)
  if 2*fig <= x.size(r) then
    r.counted = 0
  elseif r.counted == 0 then
    r.counted = 1
  else
    r.how, r.trust, r.from = atOnce, 0, 0
  end
end,

rollModelled = function(r)
  local now = r.now
  if now >= r.said + r.window or r.said > now then
    if r.how == evenly then r.trial = r.over end
    return false
  end
  if r.how == asSpent then
    r.available = floor(max(r.quota - x.outOf(r, now), 0) * r.trust / sureOf)
    r.over, r.length = now + r.window, r.window
    return true
  end
  if r.how >= steadily then
    x.come(r, now)
    r.over, r.length = 0, 0
    return true
  end
  if r.over == 0 then return false end
  if now >= r.over then
    x.come(r, r.over)
    x.turned(r, true)
    r.from, r.counted = r.over, 0
    r.over = r.over + r.window
    r.version = r.version + 1
    if now >= r.over then return false end
  end
  r.length = r.window
  x.come(r, now)
  return true
end,

figureModelled = function(r, a, current)
  local now, fig = r.now, min(a.figure, r.quota)
  local date = now - max(a.figureAgo, 0)
  local new, was = r.state ~= REPORTED, r.available
  r.state, r.said, r.figured, r.probe = REPORTED, now, now, 0
  if fig > 0 then r.probes = 0 end
  if r.how == asSpent then
    local more = r.quota - x.outOf(r, date - 50*msec) - x.hasOf(r) - fig
    if more > 0 and more <= r.quota then
      local trust = r.trust
      x.spend(r, date, more, now)
      r.trust = trust
    end
    while current and r.spendings > 0 and r.quota - x.outOf(r, now) < fig do x.unspend(r) end
    x.rollModelled(r)
  elseif r.how == singly then
    if current and fig > 0 then r.from = min(r.from, now) end
    x.follow(r, a)
    x.come(r, now)
    r.over = 0
  elseif r.how == steadily then
    r.most = max(r.most, min(a.figure, largestModel))
    local n = x.steady(r, now - date, x.rate(r))
    fig = min(a.figure + n, r.most)
    if current or new or fig < r.available then
      r.available, r.from, r.counted = fig, date, n
    end
    r.over = 0
  else
    if a.left < 0 then return end
    local e = now + a.left
    if new then
      local known = r.trial + floor(max(now - r.trial + r.window - 1, 0) / r.window) * r.window
      local near = r.trial ~= 0 and known < e + sec and e < known + sec
      if not near or now >= r.trial then x.turned(r, near and known <= r.trial + r.window) end
      r.over = e
      if near and known < e then r.over = max(known, now + 1) end
    elseif e > r.over + sameWindow then
      x.turned(r, true)
      r.over = e
    elseif date >= r.over - r.window and e < r.over then
      r.over = max(e, now + 1)
    end
    r.length = r.window
    local from = date
    if not x.soon(r) then from = from + justNow end
    local n = x.even(r, from, now, r.over)
    fig = min(fig + n, r.quota)
    if current or new or fig < r.available then
      r.available, r.from, r.counted = fig, from, n
    end
  end
  if new or r.available ~= was then r.version = r.version + 1 end
end,

backAt = function(r, units)
  local now = r.now
  if r.how == asSpent then
    local s = head + r.members*wide
    for k = s + 1, s + 2*r.spendings, 2 do
      local t = r[k] + r.window
      if t > now then
        units = units - floor(r[k+1] * r.trust / sureOf)
        if units <= 0 then return t end
      end
    end
  elseif r.how == singly then
    return r.from + max(units - 1, 0)*x.pace(r)
  elseif r.how == steadily then
    local rate = max(x.rate(r), 1)
    local windows = floor((r.counted + min(max(units, 0), rate)) * parts / rate) + 1
    return r.from + (floor(windows * floor(r.window / msec) / parts) + 2) * msec + justNow
  elseif r.how == evenly and r.over > now then
    local rate = floor(r.before * r.trust / sureOf)
    if rate < 1 then return r.over end
    if x.soon(r) then return min(now + floor(min(units, rate) * floor(r.window / msec) / rate) * msec + msec, r.over) end
    local windows = floor((r.counted + min(max(units, 0), rate)) * parts / rate) + 1
    return min(r.from + (floor(windows * floor(r.window / msec) / parts) + 2) * msec, r.over)
  elseif r.trial > now and r.trial < r.over then
    return r.trial
  end
  return 0
end,

-- Records.

-- common returns those of some accounts, of 16 bytes each, that are among others, too.
common = function(some, others)
  local both = ''
  for i = 1, #some, 16 do
    local id = string.sub(some, i, i + 15)
    for j = 1, #others, 16 do
      if string.sub(others, j, j + 15) == id then
        both = both .. id
        break
      end
    end
  end
  return both
end,

-- move makes all times of a record earlier by d.
move = function(r, d)
  local function moved(t)
    if t == 0 then return 0 end
    return t == d and 1 or t - d
  end
  r.over, r.began, r.figured, r.hold, r.probe = moved(r.over), moved(r.began), moved(r.figured), moved(r.hold), moved(r.probe)
  r.returns, r.trial, r.said, r.from = moved(r.returns), moved(r.trial), moved(r.said), moved(r.from)
  local s = head + r.members*wide
  for m = head, s - wide, wide do
    m.at, m.since, m.hungry, m.woken, m.looks = moved(m.at), moved(m.since), moved(m.hungry), moved(m.woken), moved(m.looks)
  end
  for k = s + 1, s + 2*r.spendings, 2 do r[k] = moved(r[k]) end
end,

-- join adds a member of this process, between the others and what was spent.
join = function(r)
  local m = head + r.members*wide
  for k = m + 2*r.spendings, m + 1, -1 do r[k+wide] = r[k] end
  for k = m + 1, m + wide do r[k] = 0 end
  m.id = x.process
  r.members = r.members + 1
  return m
end,

-- expire removes the members whose leases are over. If the clock was set back, the record
-- moves with it before.
expire = function(r)
  local now = r.now
  local last, said = head + (r.members-1)*wide, now
  for m = head, last, wide do said = max(said, m.at) end
  if said > now then x.move(r, said - now) end
  for m = last, head, -wide do
    if m.at + m.lease*sec <= now then x.leave(r, m) end
  end
end,

-- leave removes a member: the last one takes its place.
leave = function(r, m)
  local last, n = head + (r.members-1)*wide, 2*r.spendings
  for k = 1, wide do r[m+k] = r[last+k] end
  for k = last + 1, last + n do r[k] = r[k+wide] end
  for k = last + n + wide, last + n + 1, -1 do r[k] = nil end
  r.members = r.members - 1
end,

-- What is known of an account, as in record.go.

patience = function(probes) return min(sec * 2^min(probes, 6), maxPatience) end,

silent = function(r, a)
  if r.state ~= UNKNOWN and r.state ~= EXPIRED then return end
  if a.quota ~= -1 and a.window > 0 and a.concurrent == 0 then
    r.state, r.available = COUNTING, max(a.quota - a.spent, 0)
    r.length = a.window
    r.over = r.now + r.length
  else
    r.state, r.available, r.over = OPEN, 0, 0
  end
  r.probe, r.probes = 0, 0
  r.version = r.version + 1
end,

looksAtHold = function(r, a)
  local heard, last = 0, nil
  if r.now < r.hold then return '' end
  for m = head, head + (r.members-1)*wide, wide do
    if m ~= a.mine and (not last or m.at > heard or (m.at == heard and m.id < last)) then heard, last = m.at, m.id end
  end
  return last and ' ' .. last or ''
end,

-- Who gets what there is, as in share.go.

-- sort lists those that are hungry, in their order, and their shares. Most turns do not
-- need it.
sort = function(a)
  if a.hungry then return end
  local r, own, hungry, shares, n = a.record, a.mine, {}, {}, 0
  local now, began = r.now, r.began
  for m = head, head + (r.members-1)*wide, wide do
    if m ~= own and m.hungry > now then
      local share, j = m.at >= began and m.took + m.has or m.took, n
      while j >= 1 and x.precedes(r, m, share, hungry[j], shares[j]) do
        hungry[j+1], shares[j+1] = hungry[j], shares[j]
        j = j - 1
      end
      hungry[j+1], shares[j+1], n = m, share, n + 1
    end
  end
  a.hungry, a.shares = hungry, shares
end,

levelOf = function(own, others, free)
  local shares, sum = {own}, 0
  for j = 1, #others do shares[j+1] = others[j] end
  table.sort(shares)
  for n = 1, #shares do
    sum = sum + shares[n]
    local level = floor((free + sum + n - 1) / n)
    if n == #shares or level <= shares[n+1] then return level end
  end
end,

late = function(a)
  local r = a.record
  local now = r.now
  if a.hungers == 0 or r.state ~= REPORTED or now < r.hold then return false end
  x.sort(a)
  local m = a.hungry[1]
  if now - m.woken < wokenFor then return false end
  if a.want > 0 and a.ahead == 0 then return false end
  local t = x.backAt(r, m.least - a.spare)
  for j = 1, a.hungers do
    local m = a.hungry[j]
    if m.hungry - comesBy <= t + punctual then return false end
  end
  return t > now
end,

yields = function(a)
  local r, m = a.record, a.mine
  if r.quota == -1 or r.before > floor(r.quota / 2) or a.hungers == 0 then return false end
  x.sort(a)
  local share, first = m.at >= r.began and m.took + m.has or m.took, a.shares[1]
  m = a.hungry[1]
  return (m.woken == 0 or r.now - m.woken < wokenFor) and share - first > 2*a.most
end,

}
setmetatable(self, {__index = functions})
return functions[name]
end

x = setmetatable({

-- How units come back, as in renewal.go.

policy = function(r, a)
  local quota, window = a.quota, a.window
  local seen = window <= 0
  window = max(window, -window)
  if quota == -1 and a.concurrent == 0 then return end
  if seen and a.shorter == 0 and a.concurrent == 0 and r.quota == quota and window <= r.window then return end
  if a.concurrent == 1 or quota < 1 or quota > largestModel or window < sec or window > longestModel then
    x.forget(r)
    while r.spendings > 0 do x.unspend(r) end
  elseif r.quota == quota and r.window ~= window then
    local most, spent, before = r.most, r.spent, r.before
    x.forget(r)
    r.quota, r.window, r.most, r.spent, r.before = quota, window, most, spent, before
  elseif r.quota ~= quota then
    local others = r.quota ~= -1
    x.forget(r)
    r.quota, r.window = quota, window
    return others
  end
end,

spend = function(r, t, n, began)
  if r.quota == -1 or n < 1 then return end
  n = min(n, largestModel)
  if t >= began or began == 0 then
    r.spent = min(r.spent + n, largestModel)
  else
    r.before = min(r.before + n, largestModel)
  end
  if r.how == asSpent or r.how >= evenly then
    r.trust = min(r.trust + n, sureOf)
  elseif r.from ~= 0 and t > r.from then
    r.counted = min(r.counted + n, largestModel)
  end
  local s = head + r.members*wide + 1
  local past = s + 2*r.spendings
  local i = past
  while i > s and r[i-2] > t do i = i - 2 end
  if r.spendings < maxSpendings then
    for k = past - 1, i, -1 do r[k+2] = r[k] end
    r[i], r[i+1] = t, n
    r.spendings = r.spendings + 1
    return
  end
  -- The two that are closest become one, of the later instant: the list does not grow.
  local close, least, last = 0, math.huge, nil
  for j = s, past, 2 do
    if j == i then
      if last and t - last < least then close, least = 0, t - last end
      last = t
    end
    if j < past then
      if last and r[j] - last < least then close, least = j, r[j] - last end
      last = r[j]
    end
  end
  if close == 0 then -- the new one and the one before
    r[i-2], r[i-1] = t, min(r[i-1] + n, largestModel)
  elseif close == i then -- the new one and the one after
    r[i+1] = min(r[i+1] + n, largestModel)
  else -- two others, so the place of the first of them is free
    r[close+1] = min(r[close+1] + r[close-1], largestModel)
    if close < i then
      for k = close, i - 1 do r[k-2] = r[k] end
      i = i - 2
    else
      for k = close - 3, i, -1 do r[k+2] = r[k] end
    end
    r[i], r[i+1] = t, n
  end
end,

outOf = function(r, t)
  local n, s = 0, head + r.members*wide
  for k = s + 1, s + 2*r.spendings, 2 do
    if r[k] + r.window > t then n = n + r[k+1] end
  end
  return n
end,

part = function(r, t, e)
  local over = min(max(t - (e - r.window), 0), r.window)
  return floor(floor(over / msec) * parts / floor(r.window / msec))
end,

size = function(r)
  if r.began ~= 0 and r.most > 0 and 2*r.most <= r.quota and 2*(r.over - r.began) <= r.window then return r.most end
  return r.quota
end,

hasOf = function(r)
  local n = 0
  for m = head, head + (r.members-1)*wide, wide do n = n + m.has end
  return n
end,

observe = function(r, a, available, e)
  if r.quota == -1 or a.left < 0 or (r.how == atOnce and r.trial > 0) then return end
  local now, how, quarter = r.now, r.how, floor(r.quota / 4)
  local date = now - max(a.figureAgo, 0)
  local used = r.quota - min(a.figure, r.quota)
  local waits = r.trial ~= 0 and date < r.trial
  if how == atOnce and used <= r.spent + quarter then
    r.trial = 0
    return
  end
  local most = 1 + floor(r.quota / 8)
  local due = r.spent + r.before - floor(r.before * x.part(r, now, now + a.left) / parts)
  local evens = max(due, used) - min(due, used) <= most
  if how == perhapsLog and not waits and date < e - lookShort and a.figure > available + quarter then
    r.how, r.trust, r.trial = asSpent, sureOf, 0
    return
  end
  if how == perhapsEven and not waits and (a.figure > 0 or (a.served > 0 and a.refused == 0)) and evens then
    r.how, r.trust, r.trial, r.from, r.counted = evenly, sureOf, 0, date, 0
    return
  end
  if used <= r.spent + quarter then
    r.how, r.trial = atOnce, 0
    return
  elseif used <= r.spent + x.hasOf(r) + quarter then
    return
  end
  local logs, n = false, x.outOf(r, date)
  local s = head + r.members*wide
  if n > 0 and max(n, used) - min(n, used) <= most then
    local soonest
    for k = s + 1, s + 2*r.spendings, 2 do
      if not soonest and r[k] + r.window > date then soonest = r[k] + r.window end
    end
    logs = max(soonest, date + a.left) - min(soonest, date + a.left) <= sec + floor(r.window / 16)
  end
  if (how == perhapsLog or how == perhapsEven) and waits then
    return
  elseif how == atOnce and r.skip > 0 then
    if logs or evens then r.skip = r.skip - 1 end
  elseif logs and how == atOnce then
    r.how, r.trial = perhapsLog, 0
    for k = s + 1, s + 2*r.spendings, 2 do
      if r.began ~= 0 and r[k] < r.began and (r.trial == 0 or r[k] + r.window > r.trial) then r.trial = r[k] + r.window end
    end
  elseif evens and how ~= perhapsEven and 2*a.left >= r.window then
    r.how, r.trial = perhapsEven, now + a.left - r.window + floor(r.window / 8)
    if a.left < 2*sec then r.trial = now + floor(r.window / 8) end
    r.trial = max(r.trial, now + floor(r.window / 16))
  elseif how ~= atOnce then
    x.fail(r)
  end
end,

refill = function(r, a)
  local fig = min(a.figure, largestModel)
  r.most = max(r.most, fig)
  if r.quota == -1 or r.how == asSpent or r.how >= evenly then return end
  local date, each = r.now - max(a.figureAgo, 0), floor(r.window / r.quota)
  if r.how == atOnce and x.single(r, a, date, each) then return end
  if a.left < 0 then
    r.from, r.counted = 0, 0
    return
  elseif a.left > each + sec then
    local full = floor((r.most - fig) * floor(r.window / msec) / r.quota) * msec
    if max(full, a.left) - min(full, a.left) > each + sec then
      r.from, r.counted = 0, 0
      return
    end
  end
  local since = date - r.from
  if r.from ~= 0 and since >= 0 and since <= r.window then
    local waits = a.hold > a.left + sec
    if not waits and since < max(floor(r.window / 2), 6*each, 2*(each + sec)) then return end
    local due = floor(floor(floor(since / msec) * parts / floor(r.window / msec)) * r.quota / parts)
    local grown = r.counted + fig
    if max(due, grown) - min(due, grown) > 1 + floor(due / 8) then
      grown = 0
    elseif r.skip > 0 then
      r.skip = floor(r.skip / 2)
    else
      r.how, r.trial, r.trust, r.from, r.counted = steadily, 0, sureOf, date, 0
      return
    end
  end
  r.from, r.counted = date, -fig
end,

single = function(r, a, date, each)
  local few = 2*a.figure <= x.size(r)
  if r.trial > 0 and date >= r.trial and few and a.served > 0 and a.refused == 0 and a.hold <= 0 then
    r.how, r.trial, r.trust, r.counted = singly, 0, sureOf, 0
    r.from = date + x.pace(r)
    return true
  elseif r.trial > 0 and few then
    return true
  elseif r.most > 1 or a.figure > 0 or a.refused == 1 or each >= sec or a.left > each + sec or 2*(x.outOf(r, date) + x.hasOf(r)) >= r.quota then
    return false
  elseif r.skip > 0 then
    r.skip = r.skip - 1
    return false
  end
  r.trial = date + each + justNow
  return true
end,

looks = function(r)
  return r.trial ~= 0 and r.now >= r.trial and (r.how == perhapsLog or r.how == perhapsEven or r.how == atOnce)
end,

-- Records.

load = function(key)
  local now, s = x.now, call('GET', key)
  if not s then
    return {rebased, now, now, UNKNOWN, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0, atOnce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
  end
  -- A table that is made of all values at once does not grow. Lua has room for 8,000 of them.
  local r = #s < 7000 and {select(2, cmsgpack.unpack_limit(s, 7000, 3))} or cmsgpack.unpack(s)
  local t = now - r.now
  if t < earliest or t > farthest then
    x.move(r, t - rebased) -- the base moves by as much
    t = rebased
  end
  r.now, r.version = t, r.version + r.made
  return r
end,

save = function(key, r)
  local now = r.now
  local lasts = floor((max(r.over, r.hold, now) - now + forgets) / msec)
  r.now, r.version = x.now - now, r.version - r.made
  call('SET', key, cmsgpack.pack(r), 'PX', string.format('%d', lasts))
end,

-- find returns the member of this process, 0 if there is none, and whether expire has
-- something to do.
find = function(r)
  local now, process, own, old = r.now, x.process, 0, false
  for m = head, head + (r.members-1)*wide, wide do
    local at = m.at
    if m.id == process then own = m end
    if at > now or at + m.lease*sec <= now then old = true end
  end
  return own, old
end,

fly = function()
  local now, process, flights, sum = x.now, x.process, x.flights, 0
  if flights > 0 then
    call('HSET', KEYS[1], process, string.format('%d %.0f', flights, now + lease*sec))
    call('PEXPIRE', KEYS[1], lease*sec / msec)
  elseif flights == 0 then
    call('HDEL', KEYS[1], process)
  end
  local all = call('HGETALL', KEYS[1])
  for j = 1, #all, 2 do
    local n, til = string.match(all[j+1], '(%S+) (%S+)')
    if tonumber(til) <= now then
      call('HDEL', KEYS[1], all[j])
    elseif all[j] ~= process then
      sum = sum + n
    end
  end
  return sum
end,

-- What is known of an account, as in record.go.

ends = function(r, leftover)
  r.length = leftover < 0 and x.patience(r.probes) or leftover
  r.over = r.now + max(r.length, 1)
end,

roll = function(r)
  local now = r.now
  if r.over ~= 0 and r.over - now > r.length + sec then r.over = now + r.length end
  while r.spendings > 0 and r[head + r.members*wide + 1] + r.window + sec <= now do x.unspend(r) end
  if (r.how == asSpent or r.how >= evenly) and r.state == REPORTED then
    if not x.rollModelled(r) then
      r.state, r.available, r.over = EXPIRED, 0, 0
      r.version = r.version + 1
    end
    return
  end
  if r.over == 0 or now < r.over then return end
  x.turned(r, now < r.over + r.window)
  if r.state == REPORTED then
    local out, began = 0, r.began
    for m = head, head + (r.members-1)*wide, wide do
      if m.at >= began then out = out + m.has end
    end
    r.state, r.available = EXPIRED, max(r.available - out, 0)
  end
  r.over, r.began, r.probe, r.probes = 0, now, 0, 0
  r.version = r.version + 1
  if r.state == COUNTING then r.available = -1 end
end,

figure = function(r, a, void)
  local now, fig, concurrent, state = r.now, a.figure, a.concurrent == 1, r.state
  if concurrent then
    for m = head, head + (r.members-1)*wide, wide do fig = fig + m.has - m.stock end
    if a.quota ~= -1 then fig = a.quota end
  end
  local current = concurrent or a.figureVersion == r.version or (r.version == r.made and state == UNKNOWN)
  if r.how == singly and current then x.notSingly(r, fig) end
  if (r.how == asSpent or r.how >= evenly) and (state == REPORTED or state == EXPIRED) then
    if not void then x.figureModelled(r, a, current) end
    return
  end
  local e = a.left > 0 and now + a.left or now
  local same = r.over ~= 0 and e - r.over <= sameWindow and r.over - e <= sameWindow
  if (current and not void) or state == COUNTING or state == OPEN then
    if same and a.left >= 0 and state == REPORTED then e = min(e, r.over) end
    if fig > 0 then r.probes = 0 end
    if not concurrent and (state == REPORTED or state == EXPIRED) then
      x.observe(r, a, r.available, r.over)
      x.refill(r, a)
    end
    r.said = now
    r.state, r.available, r.figured, r.probe = REPORTED, fig, now, 0
    x.ends(r, a.left)
    if concurrent then
      r.over = 0
    elseif a.left >= 0 then
      r.over = max(e, now + 1)
    end
    r.version = r.version + 1
  elseif state == UNKNOWN then
    return
  elseif state == EXPIRED then
    r.available = min(r.available, fig)
  elseif a.left >= 0 and e < r.over and not same then
    return
  elseif fig < r.available then
    r.available = fig
    if a.left >= 0 and r.over ~= 0 then
      if same then
        r.over = min(r.over, max(e, now + 1))
      else
        x.ends(r, a.left)
      end
    end
    r.version = r.version + 1
  end
end,

tell = function(a, void)
  local r = a.record
  local now = r.now
  if a.old then
    x.expire(r)
    a.mine = x.find(r)
  end
  x.roll(r)
  local m = a.mine
  local new = m == 0
  if new then m = x.join(r) end
  m.seq, m.at, m.has = x.seq, now, void and max(m.has, a.has) or a.has
  m.stock, m.least, m.priority, m.since, m.hungry, m.woken, m.looks = a.stock, 0, 0, 0, 0, 0, 0
  m.lease = a.window > longWindow and longLease or lease
  local took = m.took
  if x.bye then
    x.leave(r, m)
    m = 0
  end
  a.mine = m

  if a.basis ~= -1 and a.version ~= 0 and a.version < r.made then
    if r.state == UNKNOWN and not void then
      r.state, r.available, r.figured = REPORTED, a.basis, now
      x.ends(r, a.basisLeft)
    elseif r.state == REPORTED and new and x.now - r.made < recovery then
      r.available = min(r.available, a.basis)
    end
  end
  if r.state == UNKNOWN and a.counts == 1 and a.quota ~= -1 and a.concurrent == 0 then
    r.state, r.available, r.over = COUNTING, a.quota, 0
  end
  if x.policy(r, a) and (r.state == REPORTED or r.state == EXPIRED) then
    r.state, r.available, r.over = OPEN, 0, 0
    r.version = r.version + 1
  end
  if not void and r.quota ~= -1 then
    took = min(took + a.served, largestModel)
    if m > 0 then m.took = took end
    if took > r.quota then x.age(r) end
    x.spend(r, now - max(a.servedAgo, 0), a.served, r.began)
  end
  if a.version > r.version then r.version = a.version + 1 end
  local version = r.version
  if a.spent > 0 and r.available ~= -1 and r.state ~= UNKNOWN and r.state ~= OPEN and a.concurrent == 0 then
    r.available = max(r.available - a.spent, 0)
  end
  if a.figure ~= -1 then
    x.figure(r, a, void)
  elseif a.silent == version and not void then
    x.silent(r, a)
  end
  local refused, hold = a.refused == 1, a.hold
  if refused or hold > 0 then
    x.doubt(r)
    if r.state == REPORTED and r.over == 0 and r.how ~= asSpent and r.how < evenly and a.concurrent == 0 then x.ends(r, 0) end
  end
  if refused and r.how ~= asSpent and r.how < evenly then
    if r.state ~= OPEN and not (r.state == REPORTED and r.available == 0) then
      r.state, r.available, r.over = EXPIRED, 0, 0
      r.version = r.version + 1
    end
    r.probe = 0
  end
  if a.landed == 1 and r.state == REPORTED and r.version == version then r.version = r.version + 1 end
  if a.found ~= '' and not void then
    if r.found == 0 then r.found = a.found else r.found = x.common(r.found, a.found) end
  end
  if hold < 0 and now < r.hold and not void then
    r.hold = 0
    x.words[#x.words+1] = 'h ' .. a.id .. ' -1'
  end
  if hold > 0 then
    hold = now + min(hold, maxHeld)
    if hold > r.hold + msec then
      local word = 'h ' .. a.id .. ' ' .. string.format('%.0f', hold - now)
      if a.figure == -1 or (a.quota ~= -1 and 2*a.figure > a.quota) then word = word .. x.looksAtHold(r, a) end
      r.hold = hold
      if r.state == OPEN then
        r.state, r.available, r.over = EXPIRED, 0, 0
        r.version = r.version + 1
      end
      x.words[#x.words+1] = word
    end
  end
end,

-- Who gets what there is, as in share.go.

-- precedes is told the shares of both.
precedes = function(r, m, share, other, its)
  local priority, since, id = m.priority, m.since, m.id
  m = other
  if priority ~= m.priority then return priority > m.priority end
  if share ~= its then return share < its end
  if since ~= m.since then return since < m.since end
  return id < m.id
end,

contended = function(r, out)
  return r.quota ~= -1 and r.state == REPORTED and r.how == atOnce and
    (r.trust > 0 or x.size(r) - r.available - r.spent - out > floor(x.size(r) / 50))
end,

margin = function(r)
  if r.how ~= evenly and r.how ~= steadily then return 0 end
  return min(floor((sureOf - r.trust + marginStep - 1) / marginStep), floor(x.size(r) / marginPart))
end,

count = function(a)
  local r, own = a.record, a.mine
  local now, began, lines = r.now, r.began, r.members
  if r.state == COUNTING and r.available == -1 and a.quota ~= -1 then r.available = max(a.quota, 0) end
  local q, share, priority, out, others, silent, n, ahead = a.wants, 0, 0, 0, 0, 0, 0, 0
  if q and own > 0 then
    local m = own
    share = m.at >= began and m.took + m.has or m.took
    priority = q.priority
    m.priority, m.since = priority, now - q.waited
  end
  for m = head, head + (lines-1)*wide, wide do
    local here, has, hungry = m.at >= began, m.has, m.hungry
    if here then
      out = out + has
      if m ~= own then others = others + has end
    elseif hungry ~= 0 and hungry <= now then
      silent = silent + 1
    end
    if hungry > now and m ~= own then
      n = n + 1
      if q and own > 0 then
        local its, before = m.took, false
        if here then its = its + has end
        if its ~= share and m.priority == priority then before = its < share else before = not x.precedes(r, own, share, m, its) end
        if before then ahead = ahead + m.least end
      end
    end
  end
  a.others, a.hungers = others, n
  if own > 0 then
    local m = own
    m.priority, m.since = 0, 0
  end
  local all, state = r.available, r.state
  if state == REPORTED then
    if x.peers > lines and x.now - r.made < recovery then all = floor(all * lines / x.peers) end
    if silent > 0 and r.how ~= asSpent and r.how < evenly then
      all = max(floor(all * (lines - silent) / lines), min(all, 1))
    end
    if x.contended(r, out) then all = max(floor(all * 2 / 5), min(all, 1)) end
  end
  if now < r.hold or own == 0 then return end
  if state == OPEN then
    a.spare, a.allowed = unlimited, unlimited
    return
  end
  local free = max(all - x.margin(r) - out - x.flying*a.most, 0)
  a.spare, a.allowed = free, free
  if n == 0 or not q then return end
  a.ahead = ahead
  if ahead <= free then
    a.kept = ahead
  elseif r.how == asSpent or r.how >= evenly then
    a.kept = free
  elseif free > 0 then
    x.sort(a)
    local sum = 0
    for j = 1, n do
      local m = a.hungry[j]
      sum = sum + m.least
      if sum > free then break end
      a.kept = sum
    end
  end
  a.allowed = 0
  if free > a.kept then
    x.sort(a)
    a.allowed = min(max(x.levelOf(share, a.shares, free) - share, 0), free - a.kept)
  end
end,

mayProbe = function(a)
  local r = a.record
  local state = r.state
  local more = a.first == 1 and state == UNKNOWN and r.probes < firstFlight
  if (r.now < r.probe and not more) or a.probed then return false end
  if state == UNKNOWN or state == EXPIRED then return not x.yields(a) end
  if state == REPORTED then
    if a.concurrent == 1 then
      local m = a.mine
      return m.has == 0 and a.spare == r.available
    end
    return r.now - r.figured >= longWindow or (x.looks(r) and a.spare == r.available)
  end
  return state == COUNTING and r.over == 0
end,

one = function(claims)
  local probes = false
  for c = 1, #claims, 2 do
    local a, units = claims[c], claims[c+1]
    if not (units == 0 or (units <= a.allowed and not a.stopped)) then
      local r = a.record
      if a.stopped or a.granted > 0 or r.now < r.hold then return false end
      if units > a.spare - a.kept then
        if not x.mayProbe(a) then return false end
        probes = true
      end
    end
  end
  if probes then
    for c = 1, #claims, 2 do
      local a = claims[c]
      if claims[c+1] > a.spare - a.kept then a.probed = true end
    end
  end
  return true
end,

request = function(q)
  local n, claims = q.n, q.claims
  for c = 1, #claims, 2 do
    local a, units = claims[c], claims[c+1]
    if units > 0 then
      if a.stopped then n = 0 else n = min(n, floor(a.allowed / units)) end
    end
  end
  if n == 0 and x.one(claims) then n = 1 end
  if n > 0 then
    for c = 1, #claims, 2 do
      local a, units = claims[c], n * claims[c+1]
      a.granted, a.spare, a.allowed = a.granted + units, max(a.spare - units, 0), max(a.allowed - units, 0)
    end
  end
  if n == q.n then return end
  local lacking
  for c = 1, #claims, 2 do
    local a, units = claims[c], claims[c+1]
    if units > 0 then
      if a.stopped or (units > a.allowed and not x.mayProbe(a)) then
        lacking = a
        local r, m = a.record, a.mine
        if a.want == 0 then m.least, m.priority, m.since = units, q.priority, r.now - q.waited end
        a.want = a.want + (q.n - n) * units
        a.stopped = true
      else
        a.spare, a.allowed = max(a.spare - units, 0), max(a.allowed - units, 0)
      end
    end
  end
  for c = 1, #claims, 2 do
    local a = claims[c]
    if not a.blocked and claims[c+1] > 0 then a.blocked = lacking end
  end
end,

wake = function(a)
  local r, n, m = a.record, a.hungers, a.mine
  local now, state, concurrent, named = r.now, r.state, a.concurrent == 1, nil
  if n == 0 and a.want == 0 then return end
  if n > 0 and now >= r.hold and (a.spare > 0 or state == OPEN or state == UNKNOWN or state == EXPIRED) then
    x.sort(a)
    local free = a.spare
    for j = 1, n do
      local m = a.hungry[j]
      if not (state == OPEN or free >= m.least or
          ((state == UNKNOWN or state == EXPIRED) and now >= r.probe and not named)) then break end
      free = max(free - m.least, 0)
      if now - m.woken >= wokenFor then
        m.woken = now
        named = (named or 'w ' .. a.id) .. ' ' .. m.id
      end
    end
  end
  if not named and (r.how == singly or (r.how == evenly and not x.soon(r))) and x.late(a) then
    local m = a.hungry[1]
    m.woken, named = now, 'w ' .. a.id .. ' ' .. m.id
  end
  if named then
    x.words[#x.words+1] = named
  elseif (concurrent or a.others > 0) and now - r.returns >= (concurrent and lookReleased or returnsEvery) and state ~= OPEN then
    r.returns = now
    x.words[#x.words+1] = 'r ' .. a.id
  end
end,

deal = function(a)
  local r, m, wish = a.record, a.mine, a.wish
  local state = r.state
  if wish > 0 and a.hungers == 0 and a.spare > 0 and a.want == 0 and a.concurrent == 0 and state ~= OPEN and state ~= UNKNOWN then
    wish = min(wish, a.spare)
    if r.members > 1 then wish = min(wish, floor(a.spare / (2 * r.members))) end
    a.granted, a.spare = a.granted + wish, a.spare - wish
    m.stock = m.stock + wish
  end
  m.has = m.has + a.granted
  if r.how == singly and a.granted > 0 then x.taken(r, a.granted) end
  if state == COUNTING and r.over == 0 and a.granted > 0 and a.quota ~= -1 then
    r.length = max(a.window, sec)
    r.over = r.now + r.length
  end
  if a.probed then
    r.probe = r.now + (a.first == 1 and sec or x.patience(r.probes))
    r.probes = r.probes + 1
    r.figured = r.now
  end
  x.wake(a)
end,

looked = function(r, own)
  local now = r.now
  for m = head, head + (r.members-1)*wide, wide do
    if m ~= own and m.looks > now and m.hungry > now and m.looks <= r.over + 5*msec then return true end
  end
  return false
end,

stocked = function(r, own)
  for m = head, head + (r.members-1)*wide, wide do
    if m ~= own and m.stock > 0 and m.at >= r.began then return true end
  end
  return false
end,

againOf = function(a)
  local r, m = a.record, a.mine
  local now = r.now
  if now < r.hold then return r.hold - now end
  if a.concurrent == 1 then return lookReleased end
  local comes = r.how == asSpent or r.how >= evenly
  if a.spare > 0 and a.spare >= m.least and (not comes or a.ahead <= a.spare) then return wokenFor end
  if (comes and r.state == REPORTED) or (r.trial > now and now >= r.probe) then
    local t = x.backAt(r, m.least + a.ahead - a.spare)
    if t > now then return max(min(t - now, maxPatience), msec) end
    return max(min(r.over - now, sec), msec)
  end
  if r.over ~= 0 then
    local rest = r.over - now
    if r.available > 0 and rest > sec and x.stocked(r, m) then
      rest = min(rest, max(sec, floor(rest / 8)))
    elseif x.looked(r, m) then
      rest = rest + behind
    else
      m.looks = r.over
    end
    return max(min(rest, maxPatience), msec)
  end
  if r.probe > now then return max(min(r.probe - now, sec), msec) end
  if r.state == REPORTED then return lookReleased end
  return lookShort
end,

}, {__index = seldom})

-- The turn.

local turn = ARGV[1]
local now, process, seq, asOf, peers, flights, bye, sharded, naccounts, nrequests, pos =
  unpack('<i8Hc0i8i8i8i8BBHH', turn)
if now < 0 then
  local t = call('TIME')
  now = t[1]*sec + t[2]
end
x.now, x.process, x.seq, x.peers, x.flights, x.bye, x.words, x.flying = now, process, seq, peers, flights, bye == 1, {}, 0
local void, repeated = asOf > 0 and now - asOf > latest, false

local accounts = {}
for i = 1, naccounts do
  local a = {
    false, 0, false, 0, 0, 0, 0, false, false, 0, 0, 0, false, false, false, false, 0, 1, string.sub(KEYS[i+1], -22),
    unpack('<BBBBBBi8i8i8i8i8i8i8i8i8i8i8i8i8i8i8i8i8Hc0', turn, pos)
  }
  pos = a.next
  local r = x.load(KEYS[i+1])
  accounts[i], a.record = a, r
  local m, old = x.find(r)
  a.mine, a.old = m, old
  if m > 0 and m.seq >= seq then repeated = true end
end
local requests = {}
for k = 1, nrequests do
  local claims = {}
  local q = {claims, unpack('<i8i8i8H', turn, pos)}
  pos = q.next
  for c = 1, 2*q.number, 2 do
    local i, units
    i, units, pos = unpack('<Hi8', turn, pos)
    local a = accounts[i+1]
    claims[c], claims[c+1] = a, units
    a.wants, a.most = a.wants or q, max(a.most, min(units, largestModel))
  end
  requests[k] = q
end

if repeated then
  void = true
  for _, a in ipairs(accounts) do a.mine = 0 end
else
  x.flying = x.fly()
  for i = 1, naccounts do x.tell(accounts[i], void) end
end
for i = 1, naccounts do x.count(accounts[i]) end
if not void and bye == 0 then
  for k = 1, nrequests do x.request(requests[k]) end
  for i = 1, naccounts do
    local a = accounts[i]
    x.deal(a)
    if a.first == 1 and a.want > 0 then call('HDEL', KEYS[1], process) end
  end
end

local reply = pack('<i8B', now, void and 1 or 0)
for i = 1, naccounts do
  local a = accounts[i]
  local r, m = a.record, a.mine
  local now = r.now
  local again, lacks = idle, 0
  if not void then
    if a.want > 0 then
      lacks = 1
      again = min(x.againOf(a), returnsWithin)
      m.hungry = now + again + comesBy
    elseif a.blocked then
      again = min(x.againOf(a.blocked), returnsWithin)
    elseif a.wants then
      again = lookShort
    end
  end
  local found, bytes = '', -1
  if r.found ~= 0 then found, bytes = r.found, #r.found end
  reply = reply .. pack('<i8i8i8i8i8i8i8i8i8Bhc0', r.version, r.state, r.available, a.granted,
    r.over ~= 0 and max(r.over - now, 0) or -1, max(r.hold - now, 0), again, r.members, a.hungers, lacks, bytes, found)
end
for i, a in ipairs(accounts) do x.save(KEYS[i+1], a.record) end
for i = 1, #x.words do call(sharded == 1 and 'SPUBLISH' or 'PUBLISH', string.sub(KEYS[1], 1, -2) .. 'w', x.words[i]) end
return reply
