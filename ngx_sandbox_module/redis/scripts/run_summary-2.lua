-- What a status page shows of a run: a few fields of its record, never what
-- may be large, and how many workers watch it.
--
-- KEYS[1]  {r:run}:rec
-- KEYS[2]  {r:run}:viewers
-- ARGV[1]  field ...
--
-- OK now viewers record   (record: field, value ...; absent fields are left out)
-- LOST

local values = redis.call('HMGET', KEYS[1], 'status', unpack(ARGV))

if not values[1] then
    return {'LOST'}
end

local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local record = {'status', values[1]}

for i, field in ipairs(ARGV) do
    if values[i + 1] then
        record[#record + 1] = field
        record[#record + 1] = values[i + 1]
    end
end

return {'OK', now, redis.call('ZCOUNT', KEYS[2], '(' .. now, '+inf'), record}
