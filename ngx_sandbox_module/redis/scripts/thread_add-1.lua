-- Adds a run to its thread's list, which keeps the newest ones.
--
-- KEYS[1]  {t:thread}:runs
-- ARGV[1]  run id
-- ARGV[2]  runs kept
--
-- OK

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -tonumber(ARGV[2]) - 1)

return {'OK'}
