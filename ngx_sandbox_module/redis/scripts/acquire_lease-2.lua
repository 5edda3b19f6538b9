-- Takes a lease that nobody has, and gives it a fencing number.
--
-- KEYS[1]  the lease
-- KEYS[2]  the highest number that this server gave
-- ARGV[1]  the holder's token
-- ARGV[2]  time to live, ms
-- ARGV[3]  number that the caller would like
--
-- 1, number       taken; the number is the caller's, or higher
-- 0, time left    somebody has it, for so many ms (-1: for ever)

if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
    return {0, redis.call('PTTL', KEYS[1])}
end

local last = tonumber(redis.call('GET', KEYS[2]) or 0)
local number = math.max(tonumber(ARGV[3]), last + 1)

redis.call('SET', KEYS[2], string.format('%.0f', number))

return {1, number}
