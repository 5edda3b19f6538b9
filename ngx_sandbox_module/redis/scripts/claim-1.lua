-- Claims a run whose claim is over: one that runs, or is in aftercare.
--
-- KEYS[1]  {r:run}:rec
-- ARGV[1]  token of the new claim
-- ARGV[2]  claim's time to live, ms
-- ARGV[3]  who claims, for people
--
-- OK now epoch cancel record  (cancel 2: by the reaper; record: field, value ...)
-- LOST
-- HELD now                    the claim of another token is not over
-- TERMINAL now                nothing is left to do

-- What sandbox_claim_ttl may be at most, ms.  An expiry beyond that was never a claim's, or the clock was put back.
local longest = 600000

local rec = redis.call('HMGET', KEYS[1], 'status', 'phase', 'claim', 'claimUntil', 'cancelRequested',
                       'cancelCode')

if not rec[1] then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

if not rec[2] then
    return {'TERMINAL', now}
end

-- Asked again after a lost reply: the same claim, the same epoch.
if rec[3] ~= ARGV[1] then
    local till = tonumber(rec[4]) or 0

    if till > now and till <= now + longest then
        return {'HELD', now}
    end

    redis.call('HINCRBY', KEYS[1], 'driverEpoch', 1)
end

redis.call('HSET', KEYS[1], 'claim', ARGV[1], 'claimUntil', now + ARGV[2])

if ARGV[3] then
    redis.call('HSET', KEYS[1], 'driver', ARGV[3])
end

return {'OK', now, tonumber(redis.call('HGET', KEYS[1], 'driverEpoch')),
        rec[5] and rec[5] ~= 'false' and (rec[6] and 2 or 1) or 0, redis.call('HGETALL', KEYS[1])}
