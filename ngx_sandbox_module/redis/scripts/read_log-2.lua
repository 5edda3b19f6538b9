-- Reads a batch of an event log together with the record.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:log
-- ARGV[1]  id of the first entry wanted, <n>-<k>
-- ARGV[2]  entries at most
-- ARGV[3]  bytes of chunks after which no further entry is added
--
-- OK closed record entries   closed 1: the log is closed and ends with these
--                            entries; record: field, value ...; entries:
--                            id, JSON ...: flat, being twice as fast
-- LOST

-- Numbers beyond are none of ours.
local last_possible = '9007199254740990'

local rec = redis.call('HMGET', KEYS[1], 'status', 'n', 'k', 'bytes')

if not rec[1] then
    return {'LOST'}
end

local count, left = tonumber(ARGV[2]), tonumber(ARGV[3])
local from = ARGV[1]
local entries, size, last = {}, 0
local ended = false

-- As many at a time as would fit if all were of middle size: large ones are not read in vain.
local slice = math.floor(left * (tonumber(rec[2]) or 1) / math.max(tonumber(rec[4]) or 1, 1))

slice = math.max(1, math.min(slice, count))

while size < count and left > 0 and not ended do
    local want = math.min(slice, count - size)
    local got = redis.call('XRANGE', KEYS[2], from, last_possible, 'COUNT', want)

    ended = #got < want

    for i = 1, #got do
        local json = got[i][2][2]

        last = got[i][1]
        entries[2 * size + 1] = last
        entries[2 * size + 2] = json
        size = size + 1
        left = left - #json

        if left <= 0 then
            ended = ended and i == #got
            break
        end
    end

    if last then
        local n, k = string.match(last, '^(%d+)-(%d+)$')

        from = n .. '-' .. string.format('%.0f', k + 1)
    end
end

-- Cut exactly behind the last entry: say so rather than let the reader ask again.
if not ended then
    ended = last == (rec[2] or '') .. '-' .. (rec[3] or '')
end

local closed = rec[1] == 'completed' or rec[1] == 'failed' or rec[1] == 'aborted' or rec[1] == 'interrupted'

return {'OK', ended and closed and 1 or 0, redis.call('HGETALL', KEYS[1]), entries}
