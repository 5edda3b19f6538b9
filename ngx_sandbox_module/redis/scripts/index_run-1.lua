-- Puts a run that is about to be accepted into the index of active runs, with
-- the expiry that its claim will have.  An expiry never moves back.
--
-- KEYS[1]  active
-- ARGV[1]  member
-- ARGV[2]  claim's time to live, ms
--
-- OK

local t = redis.call('TIME')
local till = t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[2]
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])

if not score or tonumber(score) < till then
    redis.call('ZADD', KEYS[1], till, ARGV[1])
end

return {'OK'}
