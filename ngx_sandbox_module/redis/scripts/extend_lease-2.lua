-- Extends a lease that its holder still has; one that is over stays over.
--
-- KEYS[1]  the lease
-- KEYS[2]  the highest number that this server gave
-- ARGV[1]  the holder's token
-- ARGV[2]  time to live from now on, ms
-- ARGV[3]  the holder's fencing number, 0 when it is not known
--
-- 1  extended; later numbers of this server are higher than the holder's
-- 0  it is over, or somebody else's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end

if tonumber(ARGV[3]) > tonumber(redis.call('GET', KEYS[2]) or 0) then
    redis.call('SET', KEYS[2], ARGV[3])
end

return redis.call('PEXPIRE', KEYS[1], ARGV[2])
