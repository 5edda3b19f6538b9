-- Ends the aftercare of a finished run.  Repeated by its own token it is OK.
--
-- KEYS[1]  {r:run}:rec
-- ARGV[1]  token
--
-- OK
-- LOST
-- FENCED

local rec = redis.call('HMGET', KEYS[1], 'claim', 'status')

if not rec[2] then
    return {'LOST'}
end

if rec[1] ~= ARGV[1] then
    return {'FENCED'}
end

-- Index entries go next: a run that is not finished must not lose them.
if rec[2] == 'running' then
    return redis.error_reply('ERR the run is not finished')
end

redis.call('HDEL', KEYS[1], 'phase')

return {'OK'}
