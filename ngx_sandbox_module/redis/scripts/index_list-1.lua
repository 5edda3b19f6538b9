-- How many runs an index names, and the first of them.
--
-- KEYS[1]  active or detached
-- ARGV[1]  members at most
--
-- OK now total past members   past: of `total`, those whose score is over, or is no claim's expiry

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local members = {}

-- What sandbox_claim_ttl may be at most, ms; as in claim.
local longest = 600000

if tonumber(ARGV[1]) > 0 then
    members = redis.call('ZRANGE', KEYS[1], 0, ARGV[1] - 1)
end

local past = redis.call('ZCOUNT', KEYS[1], '-inf', now)
             + redis.call('ZCOUNT', KEYS[1], string.format('(%.0f', now + longest), '+inf')

return {'OK', now, redis.call('ZCARD', KEYS[1]), past, members}
