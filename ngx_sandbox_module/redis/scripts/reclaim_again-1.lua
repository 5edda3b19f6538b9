-- When the destruction of a sandbox is tried next.
--
-- KEYS[1]  reclaim
-- ARGV[1]  <engine>/<id>
-- ARGV[2]  ms from now on; empty: now, unless a time was given before
--
-- OK now
-- EXISTS now   a time was given before

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

if ARGV[2] ~= '' then
    redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])

elseif redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1]) == 0 then
    return {'EXISTS', now}
end

return {'OK', now}
