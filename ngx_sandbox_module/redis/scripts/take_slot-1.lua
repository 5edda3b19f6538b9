-- Takes a thread's slot for a run.
--
-- KEYS[1]  {t:thread}:slot: <ms when taken>:<run id>
-- ARGV[1]  run id
-- ARGV[2]  run id of a holder that may be replaced, may be empty
--
-- OK
-- BUSY holder age   (age: ms since the slot was taken)

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local value = redis.call('GET', KEYS[1])

if value then
    local since, holder = string.match(value, '^(%d+):(.*)$')

    if holder == ARGV[1] then
        return {'OK'}
    end

    if holder and (ARGV[2] == '' or holder ~= ARGV[2]) then
        return {'BUSY', holder, math.max(now - since, 0)}
    end
end

redis.call('SET', KEYS[1], string.format('%.0f:', now) .. ARGV[1])

return {'OK'}
