-- Notes the presence of a viewer.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:viewers
-- ARGV[1]  viewer
-- ARGV[2]  time to live of its presence, ms
--
-- OK now record   (record: field, value ...)
-- LOST

local rec = redis.call('HMGET', KEYS[1], 'status', 'detachedSince')

if not rec[1] then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

if rec[1] == 'running' then
    redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
    redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])

    -- No viewer outlives the set, no set its viewers.
    if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then
        redis.call('PEXPIRE', KEYS[2], ARGV[2])
    end

    if rec[2] then
        redis.call('HDEL', KEYS[1], 'detachedSince')
    end
end

return {'OK', now, redis.call('HGETALL', KEYS[1])}
