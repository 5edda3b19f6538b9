-- Begins a sweep of some engines, if one of them is due.
--
-- KEYS[1]  sweep: when the last sweep of each engine began, and how it went
-- ARGV[1]  ms between sweeps
-- ARGV[2]  1: due or not
-- ARGV[3]  engine ...
--
-- OK now
-- HELD now wait   (wait: ms until one is due)

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local wait = ARGV[2] == '1' and 0 or tonumber(ARGV[1])

for i = 3, #ARGV do
    local at = tonumber(redis.call('HGET', KEYS[1], 'at:' .. ARGV[i])) or 0

    -- One that lies ahead is of before the clock was set back.
    if at > now then
        at = 0
    end

    wait = math.min(wait, at + ARGV[1] - now)
end

if wait > 0 then
    return {'HELD', now, wait}
end

for i = 3, #ARGV do
    redis.call('HSET', KEYS[1], 'at:' .. ARGV[i], now)
end

redis.call('HSET', KEYS[1], 'startedAt', now)

return {'OK', now}
