-- Puts hits back that were taken and not spent, if the counter still is what they were taken from. 1: done, 0: it is not.
-- KEYS: the counter, what the counter belongs to   ARGV: run id, replication id, link id, limit, hits
if type(redis.pcall('GET', KEYS[1])) ~= 'string' then return 0 end
local of = redis.pcall('HMGET', KEYS[2], 'owner', 'limit', 'run')
if of[1] ~= ARGV[3] .. ':' .. ARGV[2] or of[2] ~= ARGV[4] or of[3] ~= ARGV[1] then return 0 end
redis.call('INCRBY', KEYS[1], ARGV[5])
return 1
