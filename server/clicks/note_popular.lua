-- Accesses of links, added to what is known of them. Every process brings its own share.
-- KEYS: per link the hot key and the meta key
-- ARGV: now in seconds, life of a hot key in ms, then per link: accesses since the last time
-- Answers per link: accesses in about the last minute, of all processes; and 1 if the meta key is there.
local now, life = tonumber(ARGV[1]), ARGV[2]
local answers = {}
for i = 3, #ARGV do
  local n, hot, meta = tonumber(ARGV[i]), KEYS[2 * (i - 3) + 1], KEYS[2 * (i - 3) + 2]
  local ok, held = pcall(cjson.decode, redis.call('GET', hot) or '')
  local frequency = n
  if ok and type(held) == 'table' and tonumber(held.f) and tonumber(held.t) then
    -- An access of a minute ago counts for a third.
    frequency = n + held.f * math.exp(-math.max(0, now - held.t) / 60)
  end
  frequency = math.floor(frequency + 0.5)
  redis.call('SET', hot, cjson.encode({ f = frequency, t = now }), 'PX', life)
  local known
  ok, known = pcall(cjson.decode, redis.call('GET', meta) or '')
  local has_meta = ok and type(known) == 'table' and tonumber(known.c) ~= nil
  if has_meta then
    -- Its life is not prolonged: at its end Postgres is asked again.
    known.c = known.c + n
    redis.call('SET', meta, cjson.encode(known), 'KEEPTTL')
  end
  answers[#answers + 1] = { frequency, has_meta and 1 or 0 }
end
return answers
