-- Gives a lease back, and wakes those who wait for it.
--
-- KEYS[1]  the lease
-- ARGV[1]  the holder's token
-- ARGV[2]  channel; empty: nobody has to be woken
--
-- 1  released
-- 0  it was over, or somebody else's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end

redis.call('DEL', KEYS[1])

if ARGV[2] ~= '' then
    redis.call('PUBLISH', ARGV[2], 'released')
end

return 1
