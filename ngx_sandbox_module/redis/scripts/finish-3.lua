-- Finishes a run: last entries, status, closing of the log and expiries at once.
-- The claim stays, for aftercare.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:log
-- KEYS[3]  {r:run}:input
-- ARGV[1]  token
-- ARGV[2]  claim's time to live, ms
-- ARGV[3]  channel
-- ARGV[4]  chain before the last entries; empty: the end of a run whose record
--          or log cannot be gone on from.  Its one entry then goes behind
--          whatever is the last of the log.
-- ARGV[5]  chain after them
-- ARGV[6]  journal position after them
-- ARGV[7]  n of the first entry
-- ARGV[8]  n of the last entry
-- ARGV[9]  k of the last entry
-- ARGV[10] status
-- ARGV[11] retention of the record, s
-- ARGV[12] retention of the log, s
-- ARGV[13] number of fields
-- ARGV[14] field, value ... (an empty value clears the field),
--          then k, JSON ... as in append_chunks
--
-- OK n k   finished now, or before by this very call
-- LOST     no record, or no log
-- FENCED
-- CLOSED   finished before, in another way
-- FORKED   the chain is not the record's, or its numbers are none
-- GAP n k
-- DAMAGED  the log has entries that nobody here wrote, and the last ones do not fit behind them

-- What anybody else wrote is no number of ours.
local function whole(text)
    local n = text and string.match(text, '^%d+$') and tonumber(text)

    return n and n < 9007199254740992 and n
end

local rec = redis.call('HMGET', KEYS[1], 'claim', 'status', 'chain', 'n', 'k', 'bytes')

if not rec[2] then
    return {'LOST'}
end

if rec[1] ~= ARGV[1] then
    return {'FENCED'}
end

local n, k, bytes = whole(rec[4]), whole(rec[5]), whole(rec[6])
local forced = ARGV[4] == ''

if forced then
    if rec[2] == ARGV[10] then
        return {'OK', n or 0, k or 0}
    end

    -- Nothing can follow an entry with a number that is none of ours, nor would it be read.
    repeat
        local strange = redis.call('XREVRANGE', KEYS[2], '+', '9007199254740990', 'COUNT', 100)

        for i = 1, #strange do
            redis.call('XDEL', KEYS[2], strange[i][1])
        end
    until #strange < 100

    local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)[1]

    if redis.call('EXISTS', KEYS[2]) == 1 then
        redis.call('XSETID', KEYS[2], last and last[1] or '0-0')
    end

    n = math.max(n and n < 9007199254740990 and n or 0, last and tonumber(string.match(last[1], '^%d+')) or 0)
    k, bytes = 0, bytes or 0

elseif rec[2] ~= 'running' then
    if rec[2] == ARGV[10] and rec[3] == ARGV[5] and rec[4] == ARGV[8] then
        return {'OK', n, k or 0}
    end

    return {'CLOSED'}

elseif redis.call('EXISTS', KEYS[2]) == 0 then
    return {'LOST'}

elseif rec[3] ~= ARGV[4] or not (n and k and bytes) then
    return {'FORKED'}
end

local from = 14 + 2 * tonumber(ARGV[13])

if from <= #ARGV and not forced then
    local first = tonumber(ARGV[7])

    if ARGV[from] == '0' then
        if first ~= n + 1 then
            return {'GAP', n, k}
        end

    elseif first ~= n or tonumber(ARGV[from]) ~= k + 1 then
        return {'GAP', n, k}
    end
end

for i = from, #ARGV, 2 do
    if ARGV[i] == '0' then
        n = n + 1
        k = 0
    else
        k = k + 1
    end

    local added = redis.pcall('XADD', KEYS[2], string.format('%.0f-%.0f', n, k), 'c', ARGV[i + 1])

    if type(added) == 'table' then
        local behind = string.find(added.err, 'top item', 1, true) or string.find(added.err, 'last possible ID', 1, true)

        return behind and {'DAMAGED'} or added
    end

    bytes = bytes + #ARGV[i + 1]
end

for i = 14, from - 1, 2 do
    if ARGV[i + 1] == '' then
        redis.call('HDEL', KEYS[1], ARGV[i])
    else
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

redis.call('HSET', KEYS[1], 'status', ARGV[10], 'finishedAt', now, 'phase', 'aftercare',
           'n', n, 'k', k, 'chain', ARGV[5], 'journalPos', ARGV[6], 'bytes', bytes,
           'claimUntil', now + ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[11])
redis.call('EXPIRE', KEYS[2], ARGV[12])
redis.call('DEL', KEYS[3])
redis.call('PUBLISH', ARGV[3], 'closed')

return {'OK', n, k}
