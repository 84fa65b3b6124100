-- The only way anything about a code is written to Redis, by a cache fill, the API after its commit, or a pass.
--
-- It writes nothing at all unless the cursor still stands where the writer saw it BEFORE it read Postgres. A pass moves
-- the cursor in the same step as it writes what changed; so a copy read before a change can never land after it, however
-- long it was under way, and whatever became of the tombstone.
-- Below that, per code: never over a newer version.
--
-- KEYS: cursor, then per entry the link key and the hint key of every schema version, newest first
-- ARGV: the cursor as seen ('' = none), the next cursor ('' = leave it), number of schema versions,
--       then per entry: how, version, lifetime in ms (0 = over), value
-- how:  put    write it                                       (fill, API)
--       amend  write it only over an older copy               (pass: nothing cached, nothing to mend)
--       hint   nobody has this code: remember that for a while (fill)
-- Answers the number of entries written, or -1 when the cursor has moved.

local seen, following, schemas = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- What is not a string was put there by a hand or by another program: it counts as not there, and goes.
local function get(key)
  local held = redis.pcall('GET', key)
  if type(held) ~= 'table' then return held end
  redis.call('UNLINK', key)
  return false
end

-- What no writer of ours has written is older than anything.
local function version_of(held)
  local ok, value = pcall(cjson.decode, held)
  if not ok or type(value) ~= 'table' then return 0 end
  local version = value.v or value.x
  local ours = type(version) == 'number' and version >= 0 and version <= 9007199254740991 and version % 1 == 0
  return ours and version or 0
end

if (get(KEYS[1]) or '') ~= seen then return -1 end

local written, key = 0, 2
for arg = 4, #ARGV, 4 do
  local how, version, life, value = ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), ARGV[arg + 3]
  local tombstone = string.sub(value, 1, 5) == '{"x":'
  local held = get(KEYS[key])
  local newer_held = held and version_of(held) > version

  if how == 'hint' then
    if not held then
      redis.call('SET', KEYS[key + 1], '1', 'PX', life)
      written = written + 1
    end
  elseif not newer_held then
    if held or how == 'put' then
      if life > 0 then redis.call('SET', KEYS[key], value, 'PX', life) else redis.call('UNLINK', KEYS[key]) end
      written = written + 1
    end
    if not tombstone then redis.call('UNLINK', KEYS[key + 1]) end
    for older = 1, schemas - 1 do
      local link, hint = KEYS[key + 2 * older], KEYS[key + 2 * older + 1]
      if not tombstone then
        redis.call('UNLINK', link, hint)
      elseif redis.call('EXISTS', link) == 1 then
        redis.call('SET', link, value, 'PX', life)
      end
    end
  end
  key = key + 2 * schemas
end

if following ~= '' then redis.call('SET', KEYS[1], following) end
return written
