-- Takes units of a tenant's quota if they fit: {1, used, limit}; else {-1, used, limit}, and nothing has changed.
-- KEYS: quota:tenant:{id}:used, :limit, :ops   ARGV: amount, entry ('+' and an id), milliseconds that entries are kept
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local limit = tonumber(redis.call('GET', KEYS[2]) or 0)
local amount = tonumber(ARGV[1])
if used + amount > limit then
  return {-1, used, limit}
end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now_ms - ARGV[3])
redis.call('ZADD', KEYS[3], now_ms, ARGV[2])
return {1, redis.call('INCRBY', KEYS[1], amount), limit}
