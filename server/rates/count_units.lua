-- Takes units of each window if each has them left (above 0), gives them back to each (below 0), never below 0, or looks (0). The first
-- unit opens a window.
-- KEYS: the counters   ARGV: units, seconds of a window, and each counter's limit
-- {0, or which of them has fewer left; then of each: used, milliseconds until its window ends, a whole one where none is open}
local units, reply = tonumber(ARGV[1]), {0}
for i, key in ipairs(KEYS) do
  local used, left = tonumber(redis.call('GET', key) or 0), redis.call('PTTL', key)
  if units > 0 and used + units > tonumber(ARGV[2 + i]) and reply[1] == 0 then reply[1] = i end
  if left < 0 then left = 1000 * ARGV[2] end
  table.insert(reply, used)
  table.insert(reply, left)
end
if units == 0 or reply[1] ~= 0 then return reply end
for i, key in ipairs(KEYS) do
  if reply[2 * i] + units >= 0 then
    reply[2 * i] = redis.call('INCRBY', key, units)
    if redis.call('PTTL', key) < 0 then redis.call('EXPIRE', key, ARGV[2]) end
  end
end
return reply
