-- Gives a run's place among those of its definition back.
--
-- KEYS[1]  {d:definition}:runs
-- KEYS[2]  {d:definition}:runs:<tenant>
-- ARGV[1]  member
--
-- OK

redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])

return {'OK'}
