-- Adds a run to its thread's list, which keeps the newest ones.
--
-- KEYS[1]  {t:thread}:runs
-- ARGV[1]  run id
-- ARGV[2]  runs kept
-- ARGV[3]  when it was started, ms; empty: now
-- ARGV[4]  how long the list is kept, s: as long as this run may take, and its
--          record is kept after it
--
-- OK

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

redis.call('ZADD', KEYS[1], 'NX', ARGV[3] ~= '' and ARGV[3] or now, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)

if redis.call('TTL', KEYS[1]) < tonumber(ARGV[4]) then
    redis.call('EXPIRE', KEYS[1], ARGV[4])
end

return {'OK'}
