-- Takes a bundle of the hits that are left here; first adds what Postgres has just granted, if anything.
-- KEYS: the counter, what the counter belongs to
-- ARGV: run id and replication id that this process has read on this connection; link id, its version, its limit;
--       hits to add (0: none), what Postgres has granted with them, milliseconds to the month's end
-- Answers {bundle, left, granted, surplus}.
-- surplus: hits that were left of other terms (a changed limit); the counter is gone, and they go back to Postgres.
local run, owner, version, limit, add = ARGV[1], ARGV[3] .. ':' .. ARGV[2], tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
-- Of another type, put there by somebody else: not ours.
local held = redis.pcall('GET', KEYS[1])
local left = type(held) == 'string' and string.match(held, '^%d+$') and tonumber(held)
local of = redis.pcall('HMGET', KEYS[2], 'owner', 'version', 'limit', 'granted', 'run')
local ours, surplus = left and of[1] == owner and of[5] == run, 0
if ours and of[3] ~= limit and version > tonumber(of[2]) then
  ours, surplus = false, left
end

if not ours then
  -- Another link's, another server's or run's, or half of it was evicted: nothing is inherited.
  redis.call('UNLINK', KEYS[1], KEYS[2])
  if add == 0 then return {0, 0, -1, surplus} end
  redis.call('SET', KEYS[1], add, 'PX', ARGV[8])
  redis.call('HSET', KEYS[2], 'owner', owner, 'version', version, 'limit', limit, 'granted', ARGV[7], 'run', run)
  redis.call('PEXPIRE', KEYS[2], ARGV[8])
  left = add
elseif add > 0 then
  left = redis.call('INCRBY', KEYS[1], add)
  redis.call('HSET', KEYS[2], 'granted', ARGV[7])
end

-- A 32nd of what is left, at least 1, at most 100.
local bundle = math.min(left, math.max(1, math.min(100, math.floor(left / 32))))
if bundle > 0 then redis.call('DECRBY', KEYS[1], bundle) end
return {bundle, left - bundle, tonumber(redis.call('HGET', KEYS[2], 'granted')), surplus}
