-- Gives units back, never below 0; a negative amount counts units that Redis has not counted yet. Only in the generation that
-- they are of: the number of any other one has them right without (see tenant-quota.ts).
-- KEYS: quota:tenant:{id}:used, :generation   ARGV: amount, generation
-- The used number afterwards; -1: it is of another generation, and nothing has changed.
if redis.call('GET', KEYS[2]) ~= ARGV[2] then
  return -1
end
local used = math.max(0, tonumber(redis.call('GET', KEYS[1]) or 0) - ARGV[1])
redis.call('SET', KEYS[1], used)
return used
