-- Replaces an instance's whole record, unless a newer epoch was given out.
--
-- KEYS[1]  {i:key}:epoch
-- KEYS[2]  {i:key}:rec
-- ARGV[1]  epoch of the caller
-- ARGV[2]  field, value ...: empty values are left out
--
-- OK now
-- FENCED

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return {'FENCED'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

redis.call('PERSIST', KEYS[1])
redis.call('DEL', KEYS[2])

for i = 2, #ARGV, 2 do
    if ARGV[i + 1] ~= '' then
        redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
    end
end

redis.call('HSET', KEYS[2], 'updatedAt', now)

return {'OK', now}
