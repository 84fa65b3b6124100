-- Takes a unit of a window if it fits (1), gives one back (-1), never below 0, or looks (0). The first unit opens the window.
-- KEYS: the counter   ARGV: units, limit, seconds of a window
-- {1: done or seen, 0: it does not fit; used; milliseconds until the window ends, a whole one where none is open}
local used, units = tonumber(redis.call('GET', KEYS[1]) or 0), tonumber(ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then left = 1000 * ARGV[3] end
if units > 0 and used + units > tonumber(ARGV[2]) then return {0, used, left} end
if used + units < 0 or units == 0 then return {1, used, left} end
used = redis.call('INCRBY', KEYS[1], units)
if redis.call('PTTL', KEYS[1]) < 0 then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
return {1, used, left}
