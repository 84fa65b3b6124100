-- Puts hits back that were taken and not spent, if the counter still is what they were taken from. 1: done, 0: it is not.
-- KEYS: the run, the counter, what the counter belongs to   ARGV: run id, replication id, link id, limit, hits
if redis.call('GET', KEYS[1]) ~= ARGV[1] or redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
local of = redis.call('HMGET', KEYS[3], 'owner', 'limit')
if of[1] ~= ARGV[3] .. ':' .. ARGV[2] or of[2] ~= ARGV[4] then return 0 end
redis.call('INCRBY', KEYS[2], ARGV[5])
return 1
