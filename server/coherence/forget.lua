-- A pass that has too many changes to look each of them up: whatever is cached of these codes goes, and the cursor moves,
-- in one step. No tombstone is needed for it: a copy that was read before the change is refused by the cursor.
--
-- KEYS: cursor, then everything that goes. All of them are declared: while a slot of a cluster moves, a script that touches
-- others would miss those that have moved already.
-- ARGV: the cursor as seen, the next cursor
-- Answers -1 when the cursor has moved.

if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return -1 end

for from = 2, #KEYS, 1000 do redis.call('UNLINK', unpack(KEYS, from, math.min(from + 999, #KEYS))) end
redis.call('SET', KEYS[1], ARGV[2])
return 0
