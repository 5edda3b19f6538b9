-- Members of an index whose time is over.
--
-- KEYS[1]  detached or reclaim
-- ARGV[1]  members at most
-- ARGV[2]  members at the front that are left out
-- ARGV[3]  ms for which the time must be over at least
--
-- OK now members

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

return {'OK', now, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3],
                              'LIMIT', ARGV[2], ARGV[1])}
