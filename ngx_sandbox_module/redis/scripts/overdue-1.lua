-- Runs whose claim is over.
--
-- KEYS[1]  active
-- ARGV[1]  members at most
-- ARGV[2]  members at the front that are left out
--
-- OK now members

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

return {'OK', now, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', ARGV[2], ARGV[1])}
