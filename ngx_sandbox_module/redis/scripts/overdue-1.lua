-- Runs whose claim is over.
--
-- KEYS[1]  active
-- ARGV[1]  members at most
--
-- OK now members

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

return {'OK', now, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])}
