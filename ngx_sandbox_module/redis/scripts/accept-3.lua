-- Creates the record of a run, claims it and writes entry 1-0, unless the run exists.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:log
-- KEYS[3]  {r:run}:input
-- ARGV[1]  token of the claim
-- ARGV[2]  claim's time to live, ms
-- ARGV[3]  channel
-- ARGV[4]  entry 1-0, JSON
-- ARGV[5]  launch input, may be empty
-- ARGV[6]  field, value ...: empty values are left out; startedAt, driverEpoch,
--          phase and launchedIn are given only when a driver makes what was lost
--          again: its record, or only the log of a record that names its token
--
-- OK now epoch             created, or created before by this very token
-- EXISTS now epoch record  (record: field, value ...)

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local old = redis.call('HMGET', KEYS[1], 'status', 'claim', 'phase', 'driverEpoch')

local only_log = old[1] == 'running' and old[2] == ARGV[1] and redis.call('EXISTS', KEYS[2]) == 0

if old[1] and not only_log then
    local epoch = tonumber(old[4]) or 0

    if old[2] == ARGV[1] and old[3] == 'accepted' then
        redis.call('HSET', KEYS[1], 'claimUntil', now + ARGV[2])
        return {'OK', now, epoch}
    end

    return {'EXISTS', now, epoch, redis.call('HGETALL', KEYS[1])}
end

if not only_log then
    redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
end

redis.call('HSET', KEYS[1], 'status', 'running', 'startedAt', now,
           'driverEpoch', 1, 'phase', 'accepted')

for i = 6, #ARGV, 2 do
    if ARGV[i + 1] ~= '' then
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
end

-- The chain of no chunks is the SHA-256 of nothing.
redis.call('HSET', KEYS[1], 'claim', ARGV[1], 'claimUntil', now + ARGV[2],
           'n', 1, 'k', 0, 'journalPos', 0, 'bytes', #ARGV[4],
           'chain', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
redis.call('XADD', KEYS[2], '1-0', 'c', ARGV[4])

if ARGV[5] ~= '' then
    redis.call('SET', KEYS[3], ARGV[5])
end

redis.call('PUBLISH', ARGV[3], 'more')

return {'OK', now, tonumber(redis.call('HGET', KEYS[1], 'driverEpoch'))}
