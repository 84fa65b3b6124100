-- Accesses of links, added to what is known of them. Every process brings its own share.
-- KEYS: per link the hot key
-- ARGV: now in seconds, life of a hot key in ms, then per link: accesses since the last time
-- Answers per link: accesses in about the last minute, of all processes.
local now, life = tonumber(ARGV[1]), ARGV[2]
local answers = {}
for i, hot in ipairs(KEYS) do
  local n = tonumber(ARGV[i + 2])
  local ok, held = pcall(cjson.decode, redis.call('GET', hot) or '')
  local frequency = n
  if ok and type(held) == 'table' and tonumber(held.f) and tonumber(held.t) then
    -- An access of a minute ago counts for a third.
    frequency = n + held.f * math.exp(-math.max(0, now - held.t) / 60)
  end
  answers[i] = math.floor(frequency + 0.5)
  redis.call('SET', hot, cjson.encode({ f = answers[i], t = now }), 'PX', life)
end
return answers
