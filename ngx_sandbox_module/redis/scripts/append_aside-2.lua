-- Appends one out-of-band chunk after whatever is the last entry of a log.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:log
-- ARGV[1]  token
-- ARGV[2]  channel
-- ARGV[3]  the chunk, JSON
--
-- OK n k
-- LOST     no record, or no log
-- FENCED
-- CLOSED   or its numbers are none
-- DAMAGED  the log has entries that nobody here wrote, and no next one fits behind them

-- What anybody else wrote is no number of ours.
local function whole(text)
    local n = text and string.match(text, '^%d+$') and tonumber(text)

    return n and n < 9007199254740992 and n
end

local rec = redis.call('HMGET', KEYS[1], 'claim', 'status', 'n', 'k', 'bytes')

if not rec[2] then
    return {'LOST'}
end

if rec[1] ~= ARGV[1] then
    return {'FENCED'}
end

local n, k, bytes = whole(rec[3]), whole(rec[4]), whole(rec[5])

if rec[2] ~= 'running' or not (n and k and bytes) then
    return {'CLOSED'}
end

if redis.call('EXISTS', KEYS[2]) == 0 then
    return {'LOST'}
end

-- The same bytes (they hold the time) as the last entry: asked again after a lost reply.
if k > 0 then
    local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)

    if last[1] and last[1][2][2] == ARGV[3] then
        return {'OK', n, k}
    end
end

k = k + 1

local added = redis.pcall('XADD', KEYS[2], string.format('%.0f-%.0f', n, k), 'c', ARGV[3])

if type(added) == 'table' then
    local behind = string.find(added.err, 'top item', 1, true) or string.find(added.err, 'last possible ID', 1, true)

    return behind and {'DAMAGED'} or added
end

redis.call('HSET', KEYS[1], 'k', k, 'bytes', bytes + #ARGV[3])
redis.call('PUBLISH', ARGV[2], 'more')

return {'OK', n, k}
