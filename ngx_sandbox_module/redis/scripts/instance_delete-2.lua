-- Deletes an instance's record, unless a newer epoch was given out.
--
-- KEYS[1]  {i:key}:epoch
-- KEYS[2]  {i:key}:rec
-- ARGV[1]  epoch of the caller
-- ARGV[2]  seconds for which the epoch is kept: no holder of one lives longer
--
-- OK
-- FENCED

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return {'FENCED'}
end

redis.call('DEL', KEYS[2])
redis.call('EXPIRE', KEYS[1], ARGV[2])

return {'OK'}
