-- Takes a run out of the index of active runs, unless its claim is not over:
-- then it was accepted again a moment ago.
--
-- KEYS[1]  active
-- ARGV[1]  member
--
-- OK
-- HELD

-- What sandbox_claim_ttl may be at most, ms; as in claim.
local longest = 600000

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])

if score and tonumber(score) > now and tonumber(score) <= now + longest then
    return {'HELD'}
end

redis.call('ZREM', KEYS[1], ARGV[1])

return {'OK'}
