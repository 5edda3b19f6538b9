-- Writes fields of a record under its claim.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:input, deleted when the phase moves beyond launching
-- ARGV[1]  token
-- ARGV[2]  field, value ...: an empty value clears the field
--
-- OK
-- LOST
-- FENCED

local rec = redis.call('HMGET', KEYS[1], 'status', 'claim')

if not rec[1] then
    return {'LOST'}
end

if rec[2] ~= ARGV[1] then
    return {'FENCED'}
end

local before = {accepted = true, ensuring = true, launching = true}

for i = 2, #ARGV, 2 do
    local field, value = ARGV[i], ARGV[i + 1]

    if value == '' then
        redis.call('HDEL', KEYS[1], field)
    else
        redis.call('HSET', KEYS[1], field, value)
    end

    if field == 'phase' and not before[value] then
        redis.call('DEL', KEYS[2])
    end
end

return {'OK'}
