-- Gives units back, never below 0, and once per entry: '+…' is a reservation that came to nothing, '-…' a deleted link.
-- KEYS: quota:tenant:{id}:used, :ops   ARGV: amount, entry, milliseconds that entries are kept
-- The used number afterwards.
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local entry = ARGV[2]
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now_ms - ARGV[3])
local first
if string.sub(entry, 1, 1) == '+' then
  first = redis.call('ZREM', KEYS[2], entry)
else
  first = redis.call('ZADD', KEYS[2], 'NX', now_ms, entry)
end
if first == 0 then
  return used
end
used = math.max(0, used - tonumber(ARGV[1]))
redis.call('SET', KEYS[1], used)
return used
