-- Takes units of a tenant's quota if they fit: {1, used, limit, generation}; else {-1, …}, and nothing has changed.
-- KEYS: quota:tenant:{id}:used, :limit, :generation   ARGV: amount
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
local limit = tonumber(redis.call('GET', KEYS[2]) or 0)
local generation = redis.call('GET', KEYS[3]) or ''
if used + ARGV[1] > limit then
  return {-1, used, limit, generation}
end
return {1, redis.call('INCRBY', KEYS[1], ARGV[1]), limit, generation}
