-- Runs whose claim is over, and behind them those whose expiry is no claim's.
--
-- KEYS[1]  active
-- ARGV[1]  members at most
-- ARGV[2]  members at the front that are left out
--
-- OK now members

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- What sandbox_claim_ttl may be at most, ms; as in claim.
local longest = 600000

local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', ARGV[2], ARGV[1])
local left = ARGV[1] - #members

if left > 0 then
    local skip = math.max(0, ARGV[2] - redis.call('ZCOUNT', KEYS[1], '-inf', now))
    local far = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + longest), '+inf', 'LIMIT', skip, left)

    for i = 1, #far do
        members[#members + 1] = far[i]
    end
end

return {'OK', now, members}
