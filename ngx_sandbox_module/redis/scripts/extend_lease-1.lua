-- Extends a lease that its holder still has.
--
-- KEYS[1]  the lease
-- ARGV[1]  the holder's token
-- ARGV[2]  time to live from now on, ms
--
-- 1  extended
-- 0  it is over, or somebody else's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end

return redis.call('PEXPIRE', KEYS[1], ARGV[2])
