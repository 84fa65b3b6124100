-- A pass that has too many changes to look each of them up: whatever is cached of these codes goes, and the cursor moves,
-- in one step. No tombstone is needed for it: a copy that was read before the change is refused by the cursor.
--
-- KEYS: cursor
-- ARGV: the cursor as seen, the next cursor, codes with a space between them, then what keys about a code begin with
-- Answers -1 when the cursor has moved.

if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return -1 end

local keys = {}
local function unlink()
  if #keys > 0 then redis.call('UNLINK', unpack(keys)) end
  keys = {}
end
for code in string.gmatch(ARGV[3], '[^ ]+') do
  for n = 4, #ARGV do keys[#keys + 1] = ARGV[n] .. code end
  if #keys >= 1000 then unlink() end
end
unlink()
redis.call('SET', KEYS[1], ARGV[2])
return 0
