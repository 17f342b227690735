-- One turn of a process, as fleet.Hub carries it out: the functions have the same names
-- and do the same. All numbers are integers below 2^53, all times microseconds.
--
-- KEYS[1]: the flights of the origin; then for each account its record.
-- ARGV[1]: what store.go packs: the turn, its accounts, and the requests.

local msec, sec = 1000, 1000000
local latest, lease, longLease, longWindow = 150*msec, 30*sec, 300*sec, 600*sec
local recovery, wokenFor, returnsEvery = 2*sec, 100*msec, 20*msec
local lookShort, behind, lookReleased, idle = 20*msec, 200*msec, 200*msec, 10*sec
local sameWindow, maxPatience, forgets = sec, 60*sec, 600*sec
local unlimited, maxHeld = 2^50, 366*24*3600*sec
local atOnce, perhapsLog, asSpent, perhapsEven, evenly = 0, 1, 2, 3, 4
local sureOf, doubtful, maxSpendings = 1000, 500, 16
local longestModel, largestModel, parts = 24*3600*sec, 1e8, 1e6
local UNKNOWN, REPORTED, EXPIRED, COUNTING, OPEN = 0, 1, 2, 3, 4
local floor, min, max = math.floor, math.min, math.max

local unpack = struct.unpack

-- The rest is one function: a closure finds the variables of the function that makes it by
-- searching a list, but those outside of that at once. It saves four microseconds of forty.
local function run()

local now, process, seq, asOf, peers, flights, bye, channel, publish, naccounts, nrequests, pos =
  unpack('<i8Hc0i8i8i8i8BHc0Hc0HH', ARGV[1])
bye = bye == 1
if now < 0 then
  local t = redis.call('TIME')
  now = tonumber(t[1])*sec + tonumber(t[2])
end

local accounts, requests = {}, {}
for i = 1, naccounts do
  local id, bits, has, stock, wish, version, quota, window, figure, left, figureVersion, figureAgo, basis, basisLeft,
    spent, served, servedAgo, silent, hold
  id, bits, has, stock, wish, version, quota, window, figure, left, figureVersion, figureAgo, basis, basisLeft,
    spent, served, servedAgo, silent, hold, pos = unpack('<Hc0Bi8i8i8i8i8i8i8i8i8i8i8i8i8i8i8i8i8', ARGV[1], pos)
  accounts[i] = {
    id = id, has = has, stock = stock, wish = wish, version = version,
    concurrent = bits % 2 >= 1, counts = bits % 4 >= 2, landed = bits % 8 >= 4, refused = bits >= 8,
    quota = quota, window = window, figure = figure, left = left, figureVersion = figureVersion, figureAgo = figureAgo,
    basis = basis, basisLeft = basisLeft, spent = spent, served = served, servedAgo = servedAgo, silent = silent, hold = hold,
  }
end
for k = 1, nrequests do
  local n, priority, waited, nclaims
  n, priority, waited, nclaims, pos = unpack('<i8i8i8H', ARGV[1], pos)
  local claims = {}
  for c = 1, nclaims do
    local i, units
    i, units, pos = unpack('<Hi8', ARGV[1], pos)
    claims[c] = {i = i + 1, units = units}
  end
  requests[k] = {n = n, priority = priority, waited = waited, claims = claims}
end

local words = {}
local records, mine = {}, {}
local left, allowed, kept, hungry, ahead, granted, probed, stopped, blocked = {}, {}, {}, {}, {}, {}, {}, {}, {}

local function ints(...)
  local s = {}
  for i = 1, select('#', ...) do s[i] = string.format('%.0f', (select(i, ...))) end
  return table.concat(s, ' ')
end

-- How units come back, as in renewal.go.

local function forget(r)
  r.quota, r.window, r.how, r.trust, r.fails, r.skip, r.trial = -1, 0, atOnce, 0, 0, 0, 0
  r.said, r.from, r.counted, r.spent, r.before = 0, 0, 0, 0, 0
end

local function modelled(r) return r.how == asSpent or r.how == evenly end

local function policy(r, a)
  if a.quota == -1 and not a.concurrent then return end
  if a.concurrent or a.quota < 1 or a.quota > largestModel or a.window < sec or a.window > longestModel then
    forget(r)
    r.spending = {}
  elseif r.quota ~= a.quota or r.window ~= a.window then
    forget(r)
    r.quota, r.window = a.quota, a.window
  end
end

local function spend(r, t, n, began)
  if r.quota == -1 or n < 1 then return end
  n = min(n, largestModel)
  if t >= began then
    r.spent = min(r.spent + n, largestModel)
  else
    r.before = min(r.before + n, largestModel)
  end
  if modelled(r) then r.trust = min(r.trust + 3*n, sureOf) end
  local s = r.spending
  local i = #s + 1
  while i > 1 and s[i-1].at > t do i = i - 1 end
  table.insert(s, i, {at = t, n = n})
  if #s <= maxSpendings then return end
  i = 2
  for j = 3, #s do
    if s[j].at - s[j-1].at < s[i].at - s[i-1].at then i = j end
  end
  s[i].n = min(s[i].n + s[i-1].n, largestModel)
  table.remove(s, i-1)
end

local function outOf(r, t)
  local n = 0
  for _, s in ipairs(r.spending) do
    if s.at + r.window > t then n = n + s.n end
  end
  return n
end

local function part(r, t, e)
  local over = min(max(t - (e - r.window), 0), r.window)
  return floor(floor(over / msec) * parts / floor(r.window / msec))
end

local function even(r, from, to, e)
  return floor(floor(r.before * r.trust / sureOf) * max(part(r, to, e) - part(r, from, e), 0) / parts)
end

local function fail(r)
  r.fails = min(r.fails + 1, 10)
  r.how, r.trial, r.trust, r.skip = atOnce, 0, 0, 4 * 2^r.fails
end

local function doubt(r)
  if not modelled(r) then return end
  r.trust = floor(r.trust * 4 / 5)
  if r.trust < doubtful then fail(r) end
end

local function age(r)
  local sum, n = 0, 0
  for _, m in pairs(r.members) do
    if m.hungry > now then sum, n = sum + m.took, n + 1 end
  end
  for _, m in pairs(r.members) do
    m.took = n == 0 and 0 or max(m.took - floor(sum/n), 0)
  end
end

local function turned(r, adjacent)
  age(r)
  r.before, r.spent = r.spent, 0
  if not adjacent then r.before = 0 end
end

local function come(r, t)
  local n = even(r, r.from, t, r['end'])
  r.available = min(r.available + max(n - r.counted, 0), r.quota)
  r.counted = max(n, r.counted)
end

local function hasOf(r)
  local n = 0
  for _, m in pairs(r.members) do n = n + m.has end
  return n
end

local function rollModelled(r)
  if now >= r.said + r.window or r.said > now then
    if r.how == evenly then r.trial = r['end'] end
    return false
  end
  if r.how == asSpent then
    r.available = floor(max(r.quota - outOf(r, now), 0) * r.trust / sureOf)
    r['end'], r.length = now + r.window, r.window
    return true
  end
  if r['end'] <= 0 then return false end
  if now >= r['end'] then
    come(r, r['end'])
    turned(r, true)
    r.from, r.counted = r['end'], 0
    r['end'] = r['end'] + r.window
    r.version = r.version + 1
    if now >= r['end'] then return false end
  end
  r.length = r.window
  come(r, now)
  return true
end

local function figureModelled(r, a, current)
  local fig = min(a.figure, r.quota)
  local date = now - max(a.figureAgo, 0)
  local new, was = r.state ~= REPORTED, r.available
  r.state, r.said, r.figured, r.probe = REPORTED, now, now, 0
  if fig > 0 then r.probes = 0 end
  if r.how == asSpent then
    local more = r.quota - outOf(r, date - 50*msec) - hasOf(r) - fig
    if more > 0 and more <= r.quota then
      local trust = r.trust
      spend(r, date, more, now)
      r.trust = trust
    end
    while current and #r.spending > 0 and r.quota - outOf(r, now) < fig do
      table.remove(r.spending, 1)
    end
    rollModelled(r)
  else
    if a.left < 0 then return end
    local e = now + max(a.left, 0)
    if new then
      turned(r, false)
      r['end'] = e
      local known = r.trial + floor(max(now - r.trial + r.window - 1, 0) / r.window) * r.window
      if r.trial > 0 and known < e and e < known + sec then r['end'] = max(known, now + 1) end
    elseif e > r['end'] + sameWindow then
      turned(r, true)
      r['end'] = e
    elseif date >= r['end'] - r.window and e < r['end'] then
      r['end'] = max(e, now + 1)
    end
    r.length = r.window
    local n = even(r, date, now, r['end'])
    fig = min(fig + n, r.quota)
    if current or new or fig < r.available then
      r.available, r.from, r.counted = fig, date, n
    end
  end
  if new or r.available ~= was then r.version = r.version + 1 end
end

local function observe(r, a, available, e)
  if r.quota == -1 or a.left < 0 then return end
  local date = now - max(a.figureAgo, 0)
  local used = r.quota - min(a.figure, r.quota)
  local most = 1 + floor(r.quota / 8)
  local function near(units) return max(units, used) - min(units, used) <= most end
  local evens = near(r.spent + r.before - floor(r.before * part(r, now, now + a.left) / parts))
  if r.how == perhapsLog and date >= r.trial and date < e - lookShort and a.figure > available + floor(r.quota / 4) then
    r.how, r.trust, r.trial = asSpent, sureOf, 0
    return
  end
  if r.how == perhapsEven and date >= r.trial and a.figure > 0 and evens then
    r.how, r.trust, r.trial, r.from, r.counted = evenly, sureOf, 0, date, 0
    return
  end
  if used <= r.spent + floor(r.quota / 4) then
    r.how, r.trial = atOnce, 0
    return
  elseif used <= r.spent + hasOf(r) + floor(r.quota / 4) then
    return
  end
  local logs, n = false, outOf(r, date)
  if n > 0 and near(n) then
    local soonest = 0
    for _, s in ipairs(r.spending) do
      if s.at + r.window > date and soonest == 0 then soonest = s.at + r.window end
    end
    logs = max(soonest, date + a.left) - min(soonest, date + a.left) <= sec + floor(r.window / 16)
  end
  if (r.how == perhapsLog or r.how == perhapsEven) and date < r.trial then
    return
  elseif r.how == atOnce and r.skip > 0 then
    if logs or evens then r.skip = r.skip - 1 end
  elseif logs and r.how == atOnce then
    r.how, r.trial = perhapsLog, 0
    for _, s in ipairs(r.spending) do
      if s.at < r.began then r.trial = max(r.trial, s.at + r.window) end
    end
  elseif evens and r.how ~= perhapsEven and 2*a.left >= r.window then
    r.how, r.trial = perhapsEven, now + a.left - r.window + floor(r.window / 8)
    if a.left < 2*sec then r.trial = now + floor(r.window / 8) end
    r.trial = max(r.trial, now + floor(r.window / 16))
  elseif r.how ~= atOnce then
    fail(r)
  end
end

local function looks(r)
  return r.trial > 0 and now >= r.trial and (r.how == perhapsLog or r.how == perhapsEven)
end

local function backAt(r, units)
  if r.how == asSpent then
    for _, s in ipairs(r.spending) do
      local t = s.at + r.window
      if t > now then
        units = units - floor(s.n * r.trust / sureOf)
        if units <= 0 then return t end
      end
    end
  elseif r.how == evenly and r['end'] > now then
    local rate = floor(r.before * r.trust / sureOf)
    if rate < 1 then return r['end'] end
    return min(now + floor(min(units, rate) * floor(r.window / msec) / rate) * msec + msec, r['end'])
  elseif r.trial > now and r.trial < r['end'] then
    return r.trial
  end
  return 0
end

-- A record is one string: numbers in MessagePack, and the names of processes. Times are told
-- from when it was saved, so that most take five bytes; false is 0.
local function load(i)
  local s = redis.call('GET', KEYS[i+1])
  if not s then
    local r = {members = {}, spending = {}, made = now, version = now, state = UNKNOWN, available = 0, ['end'] = 0, length = 0,
      began = 0, figured = 0, hold = 0, probe = 0, probes = 0, returns = 0}
    forget(r)
    return r
  end
  local v = cmsgpack.unpack(s)
  local saved = v[1]
  local function time(t) return t and t + saved or 0 end
  local r = {
    members = {}, spending = {}, made = v[2], version = v[2] + v[3], state = v[4], available = v[5], ['end'] = time(v[6]), length = v[7],
    began = time(v[8]), figured = time(v[9]), hold = time(v[10]), probe = time(v[11]), probes = v[12], returns = time(v[13]),
    quota = v[14], window = v[15], how = v[16], trust = v[17], fails = v[18], skip = v[19],
    trial = time(v[20]), said = time(v[21]), from = time(v[22]), counted = v[23], spent = v[24], before = v[25],
  }
  local k = 27
  for j = 1, v[26] do
    r.spending[j] = {at = time(v[k]), n = v[k+1]}
    k = k + 2
  end
  for k = k, #v, 14 do
    local since, hungry, woken, looks = v[k+9], v[k+10], v[k+11], v[k+12]
    r.members[v[k]] = {
      id = v[k], seq = v[k+1], at = v[k+2] + saved, ['until'] = v[k+3] + saved, has = v[k+4], stock = v[k+5], want = v[k+6],
      least = v[k+7], priority = v[k+8], since = since and since + saved or 0, hungry = hungry and hungry + saved or 0,
      woken = woken and woken + saved or 0, looks = looks and looks + saved or 0, took = v[k+13], share = 0,
    }
  end
  return r
end

local function save(i)
  local r = records[i]
  local function time(t) return t > 0 and t - now end
  local v = {
    now, r.made, r.version - r.made, r.state, r.available, time(r['end']), r.length,
    time(r.began), time(r.figured), time(r.hold), time(r.probe), r.probes, time(r.returns),
    r.quota, r.window, r.how, r.trust, r.fails, r.skip,
    time(r.trial), time(r.said), time(r.from), r.counted, r.spent, r.before, #r.spending,
  }
  local k = #v
  for _, s in ipairs(r.spending) do
    v[k+1], v[k+2] = time(s.at), s.n
    k = k + 2
  end
  for id, m in pairs(r.members) do
    local since, hungry, woken, looks = m.since, m.hungry, m.woken, m.looks
    v[k+1], v[k+2], v[k+3], v[k+4], v[k+5], v[k+6], v[k+7] = id, m.seq, m.at - now, m['until'] - now, m.has, m.stock, m.want
    v[k+8], v[k+9], v[k+10], v[k+11] = m.least, m.priority, since > 0 and since - now, hungry > 0 and hungry - now
    v[k+12], v[k+13], v[k+14] = woken > 0 and woken - now, looks > 0 and looks - now, m.took
    k = k + 14
  end
  local lasts = floor((max(r['end'], r.hold, now) - now + forgets) / msec)
  redis.call('SET', KEYS[i+1], cmsgpack.pack(v), 'PX', ints(lasts))
end

local function fly()
  if flights > 0 then
    redis.call('HSET', KEYS[1], process, ints(flights, now + lease))
    redis.call('PEXPIRE', KEYS[1], ints(lease / msec))
  elseif flights == 0 then
    redis.call('HDEL', KEYS[1], process)
  end
  local sum = 0
  local all = redis.call('HGETALL', KEYS[1])
  for j = 1, #all, 2 do
    local n, til = string.match(all[j+1], '(%S+) (%S+)')
    if tonumber(til) <= now then
      redis.call('HDEL', KEYS[1], all[j])
    elseif all[j] ~= process then
      sum = sum + tonumber(n)
    end
  end
  return sum
end

local function patience(probes) return min(sec * 2^min(probes, 6), maxPatience) end

local function ends(r, leftover)
  r.length = leftover
  if leftover < 0 then r.length = patience(r.probes) end
  r['end'] = now + max(r.length, 1)
end

local function roll(r)
  if r['end'] > 0 and r['end'] - now > r.length + sec then r['end'] = now + r.length end
  while #r.spending > 0 and r.spending[1].at + r.window + sec <= now do table.remove(r.spending, 1) end
  if modelled(r) and r.state == REPORTED then
    if not rollModelled(r) then
      r.state, r.available, r['end'] = EXPIRED, 0, 0
      r.version = r.version + 1
    end
    return
  end
  if r['end'] == 0 or now < r['end'] then return end
  turned(r, now < r['end'] + r.window)
  local out = 0
  for _, m in pairs(r.members) do
    if m.at >= r.began then out = out + m.has end
  end
  if r.state == REPORTED then
    r.state, r.available = EXPIRED, max(r.available - out, 0)
  end
  r['end'], r.began, r.probe, r.probes = 0, now, 0, 0
  r.version = r.version + 1
  if r.state == COUNTING then r.available = -1 end
end

local function figure(r, a, void)
  local fig = a.figure
  if a.concurrent then
    for _, m in pairs(r.members) do fig = fig + m.has - m.stock end
    if a.quota ~= -1 then fig = a.quota end
  end
  local current = a.concurrent or a.figureVersion == r.version or (r.version == r.made and r.state == UNKNOWN)
  local e = now + max(a.left, 0)
  if modelled(r) and (r.state == REPORTED or r.state == EXPIRED) then
    if not void then figureModelled(r, a, current) end
    return
  end
  local same = r['end'] > 0 and max(e, r['end']) - min(e, r['end']) <= sameWindow
  if (current and not void) or r.state == COUNTING or r.state == OPEN then
    if same and a.left >= 0 and r.state == REPORTED then e = min(e, r['end']) end
    if fig > 0 then r.probes = 0 end
    if not a.concurrent and (r.state == REPORTED or r.state == EXPIRED) then observe(r, a, r.available, r['end']) end
    r.said = now
    r.state, r.available, r.figured, r.probe = REPORTED, fig, now, 0
    ends(r, a.left)
    if a.left >= 0 and not a.concurrent then r['end'] = max(e, now + 1) end
    if a.concurrent then r['end'] = 0 end
    r.version = r.version + 1
  elseif r.state == UNKNOWN then
    return
  elseif r.state == EXPIRED then
    r.available = min(r.available, fig)
  elseif a.left >= 0 and e < r['end'] and not same then
    return
  elseif fig < r.available then
    r.available = fig
    if a.left >= 0 and r['end'] > 0 then
      if same then
        r['end'] = min(r['end'], max(e, now + 1))
      else
        ends(r, a.left)
      end
    end
    r.version = r.version + 1
  end
end

local function silent(r, a)
  if r.state ~= UNKNOWN and r.state ~= EXPIRED then return end
  if a.quota ~= -1 and a.window > 0 and not a.concurrent then
    r.state, r.available = COUNTING, max(a.quota - a.spent, 0)
    r.length = a.window
    r['end'] = now + r.length
  else
    r.state, r.available, r['end'] = OPEN, 0, 0
  end
  r.probe, r.probes = 0, 0
  r.version = r.version + 1
end

local function tell(i, void)
  local r, a = records[i], accounts[i]
  for id, m in pairs(r.members) do
    if m['until'] <= now then
      r.members[id] = nil
    end
  end
  roll(r)
  local m = r.members[process]
  local new = m == nil
  if new then
    m = {id = process, has = 0, priority = 0, since = 0, took = 0}
    r.members[process] = m
  end
  mine[i] = m
  m.seq, m.at = seq, now
  if void then m.has = max(m.has, a.has) else m.has = a.has end
  m.stock, m.want, m.least, m.hungry, m.woken, m.looks = a.stock, 0, 0, 0, 0, 0
  m['until'] = now + lease
  if a.window > longWindow then m['until'] = now + longLease end
  if bye then
    r.members[process] = nil
  end

  if a.basis ~= -1 and a.version ~= 0 and a.version < r.made then
    if r.state == UNKNOWN and not void then
      r.state, r.available, r.figured = REPORTED, a.basis, now
      ends(r, a.basisLeft)
    elseif r.state == REPORTED and new and now - r.made < recovery then
      r.available = min(r.available, a.basis)
    end
  end
  if r.state == UNKNOWN and a.counts and a.quota ~= -1 and not a.concurrent then
    r.state, r.available, r['end'] = COUNTING, a.quota, 0
  end
  policy(r, a)
  if not void and r.quota ~= -1 then
    m.took = min(m.took + a.served, largestModel)
    if m.took > r.quota then age(r) end
    spend(r, now - max(a.servedAgo, 0), a.served, r.began)
  end
  local version = r.version
  if a.spent > 0 and r.state ~= UNKNOWN and r.state ~= OPEN and not a.concurrent then
    r.available = max(r.available - a.spent, 0)
  end
  if a.figure ~= -1 then
    figure(r, a, void)
  elseif a.silent == version and not void then
    silent(r, a)
  end
  if a.refused or a.hold > 0 then doubt(r) end
  if a.refused and not modelled(r) then
    if r.state ~= OPEN and not (r.state == REPORTED and r.available == 0) then
      r.state, r.available, r['end'] = EXPIRED, 0, 0
      r.version = r.version + 1
    end
    r.probe = 0
  end
  if a.landed and r.state == REPORTED and r.version == version then r.version = r.version + 1 end
  local hold = now + min(a.hold, maxHeld)
  if a.hold > 0 and hold > r.hold + msec then
    r.hold = hold
    if r.state == OPEN then
      r.state, r.available, r['end'] = EXPIRED, 0, 0
      r.version = r.version + 1
    end
    words[#words+1] = 'h ' .. a.id .. ' ' .. ints(hold - now)
  end
end

local function share(r, m)
  if m.at >= r.began then return m.took + m.has end
  return m.took
end

-- by shares as count has noted them
local function precedes(m, n)
  if m.priority ~= n.priority then return m.priority > n.priority end
  if m.share ~= n.share then return m.share < n.share end
  if m.since ~= n.since then return m.since < n.since end
  return m.id < n.id
end

local function wants(i)
  for _, q in ipairs(requests) do
    for _, c in ipairs(q.claims) do
      if c.i == i then return q end
    end
  end
end

local function levelOf(own, hungry, free)
  local shares = {own.share}
  for j, m in ipairs(hungry) do shares[j+1] = m.share end
  table.sort(shares)
  local sum = 0
  for n = 1, #shares do
    sum = sum + shares[n]
    local level = floor((free + sum + n - 1) / n)
    if n == #shares or level <= shares[n+1] then return level end
  end
end

local function contended(r, out)
  return r.quota ~= -1 and r.state == REPORTED and r.how == atOnce and r.quota - r.available - r.spent - out > floor(r.quota / 50)
end

local flying = 0

local function count(i)
  local r, a, own = records[i], accounts[i], mine[i]
  if r.state == COUNTING and r.available == -1 then r.available = max(a.quota, 0) end
  local out, lines, silent, hungers = 0, 0, 0, {}
  for _, m in pairs(r.members) do
    lines = lines + 1
    if m.at >= r.began then
      out = out + m.has
    elseif m.want > 0 and m.hungry <= now then
      silent = silent + 1
    end
    if m ~= own and m.hungry > now then
      m.share = share(r, m)
      hungers[#hungers+1] = m
    end
  end
  table.sort(hungers, precedes)
  r.lines = lines
  left[i], allowed[i], kept[i], hungry[i], granted[i], blocked[i], ahead[i] = 0, 0, 0, hungers, 0, 0, 0
  local all = r.available
  if now - r.made < recovery and peers > lines and r.state == REPORTED then
    all = floor(all * lines / peers)
  end
  if silent > 0 and r.state == REPORTED and not modelled(r) then
    all = max(floor(all * (lines - silent) / lines), min(all, 1))
  end
  if contended(r, out) then all = max(floor(all * 2 / 5), min(all, 1)) end
  local free = max(all - out - flying, 0)
  if now < r.hold or own == nil then return end
  if r.state == OPEN then
    left[i], allowed[i] = unlimited, unlimited
    return
  end
  left[i], allowed[i] = free, free
  local q = wants(i)
  if #hungers == 0 or q == nil then return end
  local me = {id = own.id, priority = q.priority, since = now - q.waited, share = share(r, own)}
  for _, m in ipairs(hungers) do
    if precedes(me, m) then break end
    ahead[i] = ahead[i] + m.least
    if ahead[i] <= free then kept[i] = ahead[i] end
  end
  allowed[i] = min(max(levelOf(me, hungers, free) - me.share, 0), free - kept[i])
end

local function mayProbe(i)
  local r = records[i]
  if now < r.probe or probed[i] then return false end
  if r.state == UNKNOWN or r.state == EXPIRED then return true end
  if r.state == REPORTED then
    if accounts[i].concurrent then return mine[i].has == 0 and left[i] == r.available end
    return now - r.figured >= longWindow or (looks(r) and left[i] == r.available)
  end
  return r.state == COUNTING and r['end'] == 0
end

local function one(q)
  local probes = false
  for _, c in ipairs(q.claims) do
    local i = c.i
    if not (c.units == 0 or (c.units <= allowed[i] and not stopped[i])) then
      if stopped[i] or granted[i] > 0 or now < records[i].hold then return false end
      if c.units > left[i] - kept[i] then
        if not mayProbe(i) then return false end
        probes = true
      end
    end
  end
  for _, c in ipairs(q.claims) do
    if probes and c.units > left[c.i] - kept[c.i] then probed[c.i] = true end
  end
  return true
end

local function request(q)
  local n = q.n
  for _, c in ipairs(q.claims) do
    if c.units > 0 then
      if stopped[c.i] then n = 0 else n = min(n, floor(allowed[c.i] / c.units)) end
    end
  end
  if n == 0 and one(q) then n = 1 end
  for _, c in ipairs(q.claims) do
    local i, units = c.i, n * c.units
    granted[i] = granted[i] + units
    left[i] = max(left[i] - units, 0)
    allowed[i] = max(allowed[i] - units, 0)
  end
  if n == q.n then return end
  local lacking = 0
  for _, c in ipairs(q.claims) do
    local i = c.i
    if c.units > 0 then
      if stopped[i] or (c.units > allowed[i] and not mayProbe(i)) then
        lacking = i
        local m = mine[i]
        if m.want == 0 then m.least, m.priority, m.since = c.units, q.priority, now - q.waited end
        m.want = m.want + (q.n - n) * c.units
        stopped[i] = true
      else
        allowed[i] = max(allowed[i] - c.units, 0)
        left[i] = max(left[i] - c.units, 0)
      end
    end
  end
  for _, c in ipairs(q.claims) do
    if blocked[c.i] == 0 and c.units > 0 then blocked[c.i] = lacking end
  end
end

local function wake(i)
  local r, own = records[i], mine[i]
  local others, every = 0, returnsEvery
  if accounts[i].concurrent then others, every = 1, lookReleased end
  for _, m in pairs(r.members) do
    if m ~= own and m.at >= r.began then others = others + m.has end
  end
  if #hungry[i] == 0 and own.want == 0 then return end
  local free, named = left[i], {}
  for _, m in ipairs(hungry[i]) do
    local may = r.state == OPEN or free >= m.least or
      ((r.state == UNKNOWN or r.state == EXPIRED) and now >= r.probe and #named == 0)
    if not may or now < r.hold then break end
    free = max(free - m.least, 0)
    if now - m.woken >= wokenFor then
      m.woken = now
      named[#named+1] = m.id
    end
  end
  if #named > 0 then
    words[#words+1] = 'w ' .. accounts[i].id .. ' ' .. table.concat(named, ' ')
  elseif others > 0 and now - r.returns >= every and r.state ~= OPEN then
    r.returns = now
    words[#words+1] = 'r ' .. accounts[i].id
  end
end

local function deal()
  for _, q in ipairs(requests) do request(q) end
  for i = 1, naccounts do
    local r, a, m = records[i], accounts[i], mine[i]
    local wish = a.wish
    if wish > 0 and m.want == 0 and #hungry[i] == 0 and not a.concurrent and
        r.state ~= OPEN and r.state ~= UNKNOWN and left[i] > 0 then
      if r.lines > 1 then wish = min(wish, floor(left[i] / (2 * r.lines))) end
      wish = min(wish, left[i])
      granted[i] = granted[i] + wish
      left[i] = left[i] - wish
      m.stock = m.stock + wish
    end
    m.has = m.has + granted[i]
    if r.state == COUNTING and r['end'] == 0 and granted[i] > 0 then
      r.length = max(a.window, sec)
      r['end'] = now + r.length
    end
    if probed[i] then
      r.probe = now + patience(r.probes)
      r.probes = r.probes + 1
      r.figured = now
    end
    wake(i)
  end
end

local function looked(r, own)
  for _, m in pairs(r.members) do
    if m ~= own and m.hungry > now and m.looks > now and m.looks <= r['end'] + 5*msec then return true end
  end
  return false
end

local function stocked(r, own)
  for _, m in pairs(r.members) do
    if m ~= own and m.at >= r.began and m.stock > 0 then return true end
  end
  return false
end

local function againOf(i)
  local r = records[i]
  if now < r.hold then return r.hold - now end
  if accounts[i].concurrent then return lookReleased end
  if left[i] > 0 and left[i] >= mine[i].least then return wokenFor end
  if (modelled(r) and r.state == REPORTED) or (r.trial > now and now >= r.probe) then
    local t = backAt(r, mine[i].least + ahead[i] - left[i])
    if t > now then return max(min(t - now, maxPatience), msec) end
    return max(min(r['end'] - now, sec), msec)
  end
  if r['end'] > 0 then
    local rest = r['end'] - now
    if r.available > 0 and stocked(r, mine[i]) then rest = min(rest, max(sec, floor(rest / 8))) end
    if rest == r['end'] - now and looked(r, mine[i]) then
      rest = rest + behind
    elseif rest == r['end'] - now then
      mine[i].looks = r['end']
    end
    return max(min(rest, maxPatience), msec)
  end
  if r.probe > now then return max(min(r.probe - now, sec), msec) end
  return lookShort
end

local void, repeated = asOf > 0 and now - asOf > latest, false
for i = 1, naccounts do
  records[i] = load(i)
  local m = records[i].members[process]
  if m and m.seq >= seq then repeated = true end
end
if repeated then
  void = true
else
  flying = fly()
  for i = 1, naccounts do tell(i, void) end
end
for i = 1, naccounts do count(i) end
if not void and not bye then deal() end

local reply = {now, void and 1 or 0}
for i = 1, naccounts do
  local r, m = records[i], mine[i]
  local again, lacks = idle, 0
  if not void then
    if m.want > 0 then
      lacks = 1
      again = againOf(i)
      m.hungry = now + again + 2*sec
    elseif blocked[i] > 0 then
      again = againOf(blocked[i])
    elseif wants(i) then
      again = lookShort
    end
  end
  local rest, held = -1, 0
  if r['end'] > 0 then rest = max(r['end'] - now, 0) end
  if now < r.hold then held = r.hold - now end
  for _, v in ipairs({r.version, r.state, r.available, granted[i], rest, held, again, lacks, r.lines, #hungry[i]}) do
    reply[#reply+1] = v
  end
  save(i)
end
for _, w in ipairs(words) do redis.call(publish, channel, w) end
return reply

end

return run()
