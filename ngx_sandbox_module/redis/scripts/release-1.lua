-- Gives a claim up: the run may be claimed at once, the token is worth nothing any more.
--
-- KEYS[1]  {r:run}:rec
-- ARGV[1]  token
-- ARGV[2]  channel
--
-- OK
-- LOST
-- FENCED

local rec = redis.call('HMGET', KEYS[1], 'status', 'claim', 'claimUntil')

if not rec[1] then
    return {'LOST'}
end

if rec[2] ~= ARGV[1] then
    -- Nobody's: it was released, by this caller for all that matters.
    return {not rec[2] and rec[3] == '0' and 'OK' or 'FENCED'}
end

redis.call('HDEL', KEYS[1], 'claim')
redis.call('HSET', KEYS[1], 'claimUntil', 0)
redis.call('PUBLISH', ARGV[2], 'released')

return {'OK'}
