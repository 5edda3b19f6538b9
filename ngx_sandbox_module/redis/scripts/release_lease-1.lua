-- Gives a lease back, and wakes those who wait for it.
--
-- KEYS[1]  the lease
-- ARGV[1]  the holder's token
-- ARGV[2]  channel
--
-- 1  released
-- 0  it was over, or somebody else's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end

redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[2], 'released')

return 1
