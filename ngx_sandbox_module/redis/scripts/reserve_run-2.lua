-- Takes a place among the running runs of a definition, in all and of its tenant.
--
-- KEYS[1]  {d:definition}:runs: members <tenant>:<run id>, by ms when taken
-- KEYS[2]  {d:definition}:runs:<tenant>
-- ARGV[1]  member
-- ARGV[2]  places in all, 0: any number
-- ARGV[3]  places of the tenant, 0: any number
--
-- OK
-- FULL member age   the oldest of those that are too many (age: ms since it was taken)

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
    return {'OK'}
end

for i = 1, 2 do
    local places = tonumber(ARGV[i + 1])

    if places > 0 and redis.call('ZCARD', KEYS[i]) >= places then
        local oldest = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')

        return {'FULL', oldest[1], math.max(now - oldest[2], 0)}
    end
end

redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZADD', KEYS[2], now, ARGV[1])

return {'OK'}
