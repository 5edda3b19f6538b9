-- A viewer left: when it was the last one of a running run, the run is detached.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:viewers
-- ARGV[1]  viewer
--
-- OK now detachedSince viewers   (detachedSince 0: not detached)
-- LOST

local rec = redis.call('HMGET', KEYS[1], 'status', 'detachedSince')

if not rec[1] then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local since = tonumber(rec[2]) or 0

redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)

local viewers = redis.call('ZCARD', KEYS[2])

if rec[1] ~= 'running' then
    return {'OK', now, 0, viewers}
end

if viewers == 0 and not rec[2] then
    redis.call('HSET', KEYS[1], 'detachedSince', now)
    since = now
end

return {'OK', now, since, viewers}
