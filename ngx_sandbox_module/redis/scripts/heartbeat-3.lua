-- Extends a claim, expires viewers and follows in detachedSince.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:viewers
-- KEYS[3]  {r:run}:log
-- ARGV[1]  token
-- ARGV[2]  claim's time to live, ms
--
-- OK now claimUntil cancel viewers detachedSince   (cancel 2: by the reaper; detachedSince 0: not detached)
-- LOST     no record, or no log although the run is not finished
-- FENCED

local rec = redis.call('HMGET', KEYS[1], 'claim', 'status', 'cancelRequested', 'detachedSince', 'cancelCode')

if not rec[2] then
    return {'LOST'}
end

if rec[1] ~= ARGV[1] then
    return {'FENCED'}
end

if rec[2] == 'running' and redis.call('EXISTS', KEYS[3]) == 0 then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local till = now + ARGV[2]
local since = tonumber(rec[4]) or 0

redis.call('HSET', KEYS[1], 'claimUntil', till)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)

local viewers = redis.call('ZCARD', KEYS[2])

if rec[2] == 'running' then
    if viewers > 0 then
        if rec[4] then
            redis.call('HDEL', KEYS[1], 'detachedSince')
            since = 0
        end

    -- One that lies ahead is of before the clock was set back.
    elseif not rec[4] or since > now then
        redis.call('HSET', KEYS[1], 'detachedSince', now)
        since = now
    end

else
    since = 0
end

local cancel = rec[3] and rec[3] ~= 'false' and (rec[5] and 2 or 1) or 0

return {'OK', now, till, cancel, viewers, since}
