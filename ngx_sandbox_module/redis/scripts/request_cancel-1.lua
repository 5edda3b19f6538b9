-- Asks for the end of a run.  Whoever drives it hears of it, or finds it in the record.
--
-- KEYS[1]  {r:run}:rec
-- ARGV[1]  channel
--
-- OK now record        (record: field, value ...)
-- LOST
-- TERMINAL now record

local status = redis.call('HGET', KEYS[1], 'status')

if not status then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

if status ~= 'running' then
    return {'TERMINAL', now, redis.call('HGETALL', KEYS[1])}
end

redis.call('HSET', KEYS[1], 'cancelRequested', 'true')
redis.call('PUBLISH', ARGV[1], 'cancel')

return {'OK', now, redis.call('HGETALL', KEYS[1])}
