-- Notes the harness's session of a thread, unless a later run has noted its own,
-- or a later driver of the same run.
--
-- KEYS[1]  {t:thread}:session: <startedAt>.<driverEpoch> LF <session>
-- ARGV[1]  startedAt of the caller's run
-- ARGV[2]  driverEpoch of the caller
-- ARGV[3]  session; empty: there is none any more
-- ARGV[4]  time to live, s
--
-- OK
-- FENCED

local started, epoch = string.match(redis.call('GET', KEYS[1]) or '', '^(%d+)%.(%d+)\n')

if started then
    local ahead = tonumber(started) - tonumber(ARGV[1])

    if ahead == 0 then
        ahead = tonumber(epoch) - tonumber(ARGV[2])
    end

    if ahead > 0 then
        return {'FENCED'}
    end
end

redis.call('SET', KEYS[1], ARGV[1] .. '.' .. ARGV[2] .. '\n' .. ARGV[3], 'EX', ARGV[4])

return {'OK'}
