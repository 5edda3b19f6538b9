--[[
  Gives a lease back, and wakes those who wait for it.

  KEYS[1]  lease

  ARGV[1]  the holder's token
  ARGV[2]  channel of the release message

  Result: 1, or 0 when the lease was over or somebody else's.
]]

if redis.call("GET", KEYS[1]) ~= ARGV[1] then
    return 0
end

redis.call("DEL", KEYS[1])
redis.call("PUBLISH", ARGV[2], "released")

return 1
