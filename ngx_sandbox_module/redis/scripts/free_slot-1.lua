-- Frees a thread's slot if the run holds it.
--
-- KEYS[1]  {t:thread}:slot: <ms when taken>:<run id>
-- ARGV[1]  run id
--
-- OK

local value = redis.call('GET', KEYS[1])

if value and string.match(value, '^%d+:(.*)$') == ARGV[1] then
    redis.call('DEL', KEYS[1])
end

return {'OK'}
