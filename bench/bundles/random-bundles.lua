-- Asks for the corner tiles of pages in the first so many bundles, which stand in rows of `side`.
local paths = {}
local at = 0

function init(args)
  local zoom, bundles, side = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  math.randomseed(7)
  for i = 1, 20000 do
    local bundle = math.random(0, bundles - 1)
    local x = (bundle % side) * 128 + math.random(0, 7) * 16
    local y = math.floor(bundle / side) * 128 + math.random(0, 7) * 16
    paths[i] = string.format('/tiles/layer-0/%d/%d/%d.png', zoom, x, y)
  end
end

function request()
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end
