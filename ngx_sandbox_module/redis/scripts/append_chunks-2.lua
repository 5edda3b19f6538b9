-- Appends a batch to an event log under the run's claim, which it extends.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:log
-- ARGV[1]  token
-- ARGV[2]  claim's time to live, ms
-- ARGV[3]  channel
-- ARGV[4]  chain before the batch
-- ARGV[5]  chain after it
-- ARGV[6]  journal position after it
-- ARGV[7]  n of the first entry
-- ARGV[8]  n of the last entry
-- ARGV[9]  k of the last entry
-- ARGV[10] k, JSON ...: k 0 is in-band and takes the next n; numbers are dense
--
-- Publishes "more", and of a small batch also what was appended, and behind
-- what:   more <n>-<k> LF k LF JSON LF k LF JSON ...
--
-- OK n k   as stored now; a batch that was there already is OK too
-- LOST     no record, or no log: what is missing would never be seen again
-- FENCED   the token is not the record's
-- CLOSED
-- FORKED   the chain is not the record's, or its numbers are none
-- GAP n k  the first entry is not the next one
-- DAMAGED  the log has entries that nobody here wrote, and no next one fits behind them

local carried = 8192

-- What anybody else wrote is no number of ours.
local function whole(text)
    local n = text and string.match(text, '^%d+$') and tonumber(text)

    return n and n < 9007199254740992 and n
end

local rec = redis.call('HMGET', KEYS[1], 'claim', 'status', 'chain', 'n', 'k', 'bytes', 'journalPos')

if not rec[2] then
    return {'LOST'}
end

if rec[1] ~= ARGV[1] then
    return {'FENCED'}
end

local n, k, bytes = whole(rec[4]), whole(rec[5]), whole(rec[6])
local entries = #ARGV > 9
local there = entries and rec[3] == ARGV[5] and rec[4] == ARGV[8] and k and k >= tonumber(ARGV[9])

if rec[2] ~= 'running' then
    return there and {'OK', n, k} or {'CLOSED'}
end

if redis.call('EXISTS', KEYS[2]) == 0 then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local till = now + ARGV[2]

if there then
    redis.call('HSET', KEYS[1], 'claimUntil', till)
    return {'OK', n, k}
end

if rec[3] ~= ARGV[4] or not (n and k and bytes) then
    return {'FORKED'}
end

if entries then
    local first = tonumber(ARGV[7])

    if ARGV[10] == '0' then
        if first ~= n + 1 then
            return {'GAP', n, k}
        end

    elseif first ~= n or tonumber(ARGV[10]) ~= k + 1 then
        return {'GAP', n, k}
    end
end

-- %.0f: beyond 10^14 Lua itself would print an exponent.
for i = 10, #ARGV, 2 do
    local json = ARGV[i + 1]

    if ARGV[i] == '0' then
        n = n + 1
        k = 0
    else
        k = k + 1
    end

    local added = redis.pcall('XADD', KEYS[2], string.format('%.0f-%.0f', n, k), 'c', json)

    if type(added) == 'table' then
        local behind = string.find(added.err, 'top item', 1, true) or string.find(added.err, 'last possible ID', 1, true)

        return behind and {'DAMAGED'} or added
    end

    bytes = bytes + #json
end

redis.call('HSET', KEYS[1], 'n', n, 'k', k, 'chain', ARGV[5], 'journalPos', ARGV[6],
           'bytes', bytes, 'claimUntil', till)

if entries then
    redis.call('HSET', KEYS[1], 'outputAt', now)

    local message = 'more'

    -- With the JSON: who has all before it need not read.
    if bytes - rec[6] <= carried then
        message = message .. ' ' .. rec[4] .. '-' .. rec[5] .. '\n' .. table.concat(ARGV, '\n', 10)
    end

    redis.call('PUBLISH', ARGV[3], message)
end

return {'OK', n, k}
