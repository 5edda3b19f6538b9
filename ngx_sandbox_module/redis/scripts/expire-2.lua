-- Asks for the end of a run that nobody has watched for too long.  Whether that
-- is so is decided here, against the time and the viewers of this moment: who
-- comes later finds a run that is ending.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:viewers
-- ARGV[1]  ms for which a run may be detached
-- ARGV[2]  channel
--
-- OK now record      (record: field, value ...)
-- EXISTS now record  its end was asked for before
-- HELD now           it is watched, or not detached for so long
-- LOST
-- TERMINAL now

local rec = redis.call('HMGET', KEYS[1], 'status', 'detachedSince', 'cancelRequested')

if not rec[1] then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

if rec[1] ~= 'running' then
    return {'TERMINAL', now}
end

if rec[3] and rec[3] ~= 'false' then
    return {'EXISTS', now, redis.call('HGETALL', KEYS[1])}
end

local since = tonumber(rec[2])

if not since or since > now - ARGV[1] or redis.call('ZCOUNT', KEYS[2], now + 1, '+inf') > 0 then
    return {'HELD', now}
end

redis.call('HSET', KEYS[1], 'cancelRequested', 'true', 'cancelCode', 'detached-expired')
redis.call('PUBLISH', ARGV[2], 'cancel')

return {'OK', now, redis.call('HGETALL', KEYS[1])}
