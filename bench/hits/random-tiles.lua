-- Asks for the tiles of one zoom in a fixed random order, the same for everybody who is measured.
local paths = {}
local at = 0

function init(args)
  local zoom = tonumber(args[1])
  local prefix = args[2]
  local side = 2 ^ zoom
  math.randomseed(7)
  for i = 1, 10000 do
    paths[i] = string.format('%s/%d/%d/%d.png', prefix, zoom, math.random(0, side - 1), math.random(0, side - 1))
  end
end

function request()
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end
