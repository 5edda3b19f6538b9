-- Notes how a sweep went.
--
-- KEYS[1]  sweep
-- ARGV[1]  summary, JSON
-- ARGV[2]  outcome, number ...: added to what sweeps before counted
--
-- OK now

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

redis.call('HSET', KEYS[1], 'finishedAt', now, 'summary', ARGV[1])
redis.call('HINCRBY', KEYS[1], 'sweeps', 1)

for i = 2, #ARGV, 2 do
    redis.call('HINCRBY', KEYS[1], 'n:' .. ARGV[i], ARGV[i + 1])
end

return {'OK', now}
