-- Gives out the next epoch of an instance, with its record.
--
-- KEYS[1]  {i:key}:epoch
-- KEYS[2]  {i:key}:rec
-- ARGV[1]  seconds for which an epoch without a record is kept
--
-- OK now epoch record   (record: field, value ...; empty: none)

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local epoch = redis.call('INCR', KEYS[1])
local rec = redis.call('HGETALL', KEYS[2])

if #rec == 0 then
    redis.call('EXPIRE', KEYS[1], ARGV[1])
end

return {'OK', now, epoch, rec}
