-- Sets the number to what the rows say, plus what has been counted here and is not in those rows (see tenant-quota.ts).
-- KEYS: quota:tenant:{id}:used, :limit, :ops
-- ARGV: rows, limit ('' for none), milliseconds that entries are kept, how many entries follow that the rows contain,
--       those entries, and then the deletes among them whose refund may still be on its way
-- {before (-1: there was none), after}
local before = tonumber(redis.call('GET', KEYS[1]) or -1)
if ARGV[2] == '' then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
  return {before, -1}
end
local time = redis.call('TIME')
local now_ms = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now_ms - ARGV[3])
local used, contained = tonumber(ARGV[1]), {}
for i = 5, 4 + ARGV[4] do
  contained[ARGV[i]] = true
end
local counted = {}
for _, entry in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  counted[entry] = true
  if not contained[entry] then
    used = used + (string.sub(entry, 1, 1) == '+' and 1 or -1)
  end
end
for i = 5 + ARGV[4], #ARGV do
  if not counted[ARGV[i]] then
    used = used + 1
  end
end
used = math.max(0, used)
redis.call('SET', KEYS[1], used)
redis.call('SET', KEYS[2], ARGV[2])
return {before, used}
