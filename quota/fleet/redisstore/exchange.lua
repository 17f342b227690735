-- One turn of a process, as fleet.Hub carries it out: the functions have the same names
-- and do the same. All numbers are integers below 2^53, all times microseconds.
--
-- KEYS[1]: the flights of the origin; then for each account its record and its members.
-- ARGV: now ('': the clock of Redis), process, seq, asOf, peers, flights, bye, channel,
-- how to publish, accounts, requests; then the accounts and the requests.

local msec, sec = 1000, 1000000
local latest, lease, longLease, longWindow = 150*msec, 30*sec, 300*sec, 600*sec
local recovery, wokenFor, returnsEvery = 2*sec, 100*msec, 20*msec
local lookShort, lookReleased, idle = 20*msec, 200*msec, 10*sec
local sameWindow, maxPatience, forgets = sec, 60*sec, 600*sec
local unlimited, maxHeld = 2^50, 366*24*3600*sec
local UNKNOWN, REPORTED, EXPIRED, COUNTING, OPEN = 0, 1, 2, 3, 4
local floor, min, max = math.floor, math.min, math.max

local at = 0
local function text() at = at + 1; return ARGV[at] end
local function number() return tonumber(text()) end

local now = text()
if now == '' then
  local t = redis.call('TIME')
  now = tonumber(t[1])*sec + tonumber(t[2])
else
  now = tonumber(now)
end
local process, seq, asOf, peers = text(), number(), number(), number()
local flights, bye, channel, publish = number(), number() == 1, text(), text()
local naccounts, nrequests = number(), number()

local accounts, requests = {}, {}
for i = 1, naccounts do
  accounts[i] = {
    id = text(), has = number(), stock = number(), wish = number(), version = number(),
    concurrent = number() == 1, quota = number(), window = number(), counts = number() == 1,
    figure = number(), left = number(), figureVersion = number(), basis = number(), basisLeft = number(),
    landed = number() == 1, spent = number(), silent = number(), refused = number() == 1, hold = number(),
  }
end
for k = 1, nrequests do
  local q = {n = number(), priority = number(), waited = number(), claims = {}}
  for c = 1, number() do
    q.claims[c] = {i = number() + 1, units = number()}
  end
  requests[k] = q
end

local words = {}
local records, mine = {}, {}
local left, allowed, first, others, granted, probed, stopped, blocked = {}, {}, {}, {}, {}, {}, {}, {}

local function ints(...)
  local s = {}
  for i = 1, select('#', ...) do s[i] = string.format('%.0f', (select(i, ...))) end
  return table.concat(s, ' ')
end

local function load(i)
  local r = {members = {}, changed = {}, gone = {}}
  local s = redis.call('GET', KEYS[2*i])
  if s then
    local n = {}
    for v in string.gmatch(s, '%S+') do n[#n+1] = tonumber(v) end
    r.made, r.version, r.state, r.available, r['end'], r.length = n[1], n[2], n[3], n[4], n[5], n[6]
    r.began, r.figured, r.hold, r.probe, r.probes, r.returns = n[7], n[8], n[9], n[10], n[11], n[12]
    local all = redis.call('HGETALL', KEYS[2*i+1])
    for j = 1, #all, 2 do
      local m = {id = all[j]}
      local a, b, c, d, e, f, g, h, k, l, o = string.match(all[j+1], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
      m.seq, m.at, m['until'], m.has, m.stock = tonumber(a), tonumber(b), tonumber(c), tonumber(d), tonumber(e)
      m.want, m.least, m.priority, m.since = tonumber(f), tonumber(g), tonumber(h), tonumber(k)
      m.hungry, m.woken = tonumber(l), tonumber(o)
      r.members[m.id] = m
    end
  else
    r.made, r.version, r.state, r.available, r['end'], r.length = now, now, UNKNOWN, 0, 0, 0
    r.began, r.figured, r.hold, r.probe, r.probes, r.returns = 0, 0, 0, 0, 0, 0
    redis.call('DEL', KEYS[2*i+1])
  end
  return r
end

local function save(i)
  local r, a = records[i], accounts[i]
  local lasts = floor((max(r['end'], r.hold, now) - now + forgets) / msec)
  redis.call('SET', KEYS[2*i], ints(r.made, r.version, r.state, r.available, r['end'], r.length,
    r.began, r.figured, r.hold, r.probe, r.probes, r.returns), 'PX', ints(lasts))
  if #r.gone > 0 then redis.call('HDEL', KEYS[2*i+1], unpack(r.gone)) end
  local set = {}
  for id in pairs(r.changed) do
    local m = r.members[id]
    if m then
      set[#set+1] = id
      set[#set+1] = ints(m.seq, m.at, m['until'], m.has, m.stock, m.want, m.least, m.priority, m.since, m.hungry, m.woken)
    end
  end
  if #set > 0 then
    redis.call('HSET', KEYS[2*i+1], unpack(set))
    redis.call('PEXPIRE', KEYS[2*i+1], ints(lasts))
  end
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
  if r['end'] == 0 or now < r['end'] then return end
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
  local same = r['end'] > 0 and max(e, r['end']) - min(e, r['end']) <= sameWindow
  if (current and not void) or r.state == COUNTING or r.state == OPEN then
    if same and a.left >= 0 and r.state == REPORTED then e = min(e, r['end']) end
    if fig > 0 then r.probes = 0 end
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
      r.gone[#r.gone+1] = id
    end
  end
  roll(r)
  local m = r.members[process]
  local new = m == nil
  if new then
    m = {id = process, has = 0, priority = 0, since = 0}
    r.members[process] = m
  end
  r.changed[process] = true
  mine[i] = m
  m.seq, m.at = seq, now
  if void then m.has = max(m.has, a.has) else m.has = a.has end
  m.stock, m.want, m.least, m.hungry, m.woken = a.stock, 0, 0, 0, 0
  m['until'] = now + lease
  if a.window > longWindow then m['until'] = now + longLease end
  if bye then
    r.members[process] = nil
    r.gone[#r.gone+1] = process
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
  local version = r.version
  if a.spent > 0 and r.state ~= UNKNOWN and r.state ~= OPEN and not a.concurrent then
    r.available = max(r.available - a.spent, 0)
  end
  if a.figure ~= -1 then
    figure(r, a, void)
  elseif a.silent == version and not void then
    silent(r, a)
  end
  if a.refused then
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

local function before(m, n)
  if m.priority ~= n.priority then return m.priority > n.priority end
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

local function levelOf(r, own, free)
  local has = {}
  for _, m in pairs(r.members) do
    if m == own or m.hungry > now then
      has[#has+1] = m.at >= r.began and m.has or 0
    end
  end
  table.sort(has)
  local sum = 0
  for n = 1, #has do
    sum = sum + has[n]
    local level = floor((free + sum + n - 1) / n)
    if n == #has or level <= has[n+1] then return level end
  end
end

local flying = 0

local function count(i)
  local r, a, own = records[i], accounts[i], mine[i]
  if r.state == COUNTING and r.available == -1 then r.available = max(a.quota, 0) end
  local out, lines, wanting = 0, 0, 0
  for _, m in pairs(r.members) do
    lines = lines + 1
    if m.at >= r.began then out = out + m.has end
    if m ~= own and m.hungry > now then wanting = wanting + 1 end
  end
  r.lines = lines
  left[i], allowed[i], first[i], others[i], granted[i], blocked[i] = 0, 0, 0, wanting, 0, 0
  local all = r.available
  if now - r.made < recovery and peers > lines and r.state == REPORTED then
    all = floor(all * lines / peers)
  end
  local free = max(all - out - flying, 0)
  if now < r.hold or own == nil then return end
  if r.state == OPEN then
    left[i], allowed[i] = unlimited, unlimited
    return
  end
  left[i], allowed[i] = free, free
  local q = wants(i)
  if wanting == 0 or q == nil then return end
  local f = {id = own.id, priority = q.priority, since = now - q.waited, least = 0}
  for _, m in pairs(r.members) do
    if m ~= own and m.hungry > now and before(m, f) then f = m end
  end
  if f.least <= free then first[i] = f.least end
  allowed[i] = min(max(levelOf(r, own, free) - own.has, 0), free - first[i])
end

local function mayProbe(i)
  local r = records[i]
  if now < r.probe or probed[i] then return false end
  if r.state == UNKNOWN or r.state == EXPIRED then return true end
  if r.state == REPORTED then
    if accounts[i].concurrent then return mine[i].has == 0 and left[i] == r.available end
    return now - r.figured >= longWindow
  end
  return r.state == COUNTING and r['end'] == 0
end

local function one(q)
  local probes = false
  for _, c in ipairs(q.claims) do
    local i = c.i
    if not (c.units == 0 or (c.units <= allowed[i] and not stopped[i])) then
      if stopped[i] or now < records[i].hold then return false end
      if c.units > left[i] - first[i] then
        if not mayProbe(i) then return false end
        probes = true
      end
    end
  end
  for _, c in ipairs(q.claims) do
    if probes and c.units > left[c.i] - first[c.i] then probed[c.i] = true end
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
  local hungry, stock, every = {}, 0, returnsEvery
  if accounts[i].concurrent then stock, every = 1, lookReleased end
  for _, m in pairs(r.members) do
    if m ~= own then
      if m.hungry > now then hungry[#hungry+1] = m end
      if m.at >= r.began then stock = stock + m.stock end
    end
  end
  if #hungry == 0 and own.want == 0 then return end
  table.sort(hungry, before)
  local free, named = left[i], {}
  for _, m in ipairs(hungry) do
    local may = r.state == OPEN or free >= m.least or
      ((r.state == UNKNOWN or r.state == EXPIRED) and now >= r.probe and #named == 0)
    if not may or now < r.hold then break end
    free = max(free - m.least, 0)
    if now - m.woken >= wokenFor then
      m.woken = now
      r.changed[m.id] = true
      named[#named+1] = m.id
    end
  end
  if #named > 0 then
    words[#words+1] = 'w ' .. accounts[i].id .. ' ' .. table.concat(named, ' ')
  elseif stock > 0 and now - r.returns >= every and r.state ~= OPEN then
    r.returns = now
    words[#words+1] = 'r ' .. accounts[i].id
  end
end

local function deal()
  for _, q in ipairs(requests) do request(q) end
  for i = 1, naccounts do
    local r, a, m = records[i], accounts[i], mine[i]
    local wish = a.wish
    if wish > 0 and m.want == 0 and others[i] == 0 and not a.concurrent and
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

local function againOf(i)
  local r = records[i]
  if now < r.hold then return r.hold - now end
  if accounts[i].concurrent then return lookReleased end
  if left[i] > 0 and left[i] >= mine[i].least then return lookShort end
  if r['end'] > 0 then
    local rest = r['end'] - now
    if r.available > 0 then rest = min(rest, max(sec, floor(rest / 8))) end
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
  for _, v in ipairs({r.version, r.state, r.available, granted[i], rest, held, again, lacks, r.lines, others[i]}) do
    reply[#reply+1] = v
  end
  save(i)
end
for _, w in ipairs(words) do redis.call(publish, channel, w) end
return reply
