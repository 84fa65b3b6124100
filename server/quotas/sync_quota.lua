-- Sets the number, the limit ('' for none) and the generation that they are of.
-- KEYS: quota:tenant:{id}:used, :limit, :generation, :ops (of the version before)   ARGV: used, limit, generation
-- The used number before; -1: there was none.
local before = tonumber(redis.call('GET', KEYS[1]) or -1)
redis.call('UNLINK', KEYS[4])
if ARGV[2] == '' then
  redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3])
else
  redis.call('MSET', KEYS[1], ARGV[1], KEYS[2], ARGV[2], KEYS[3], ARGV[3])
end
return before
