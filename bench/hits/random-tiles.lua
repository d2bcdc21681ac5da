-- Asks for tiles in a fixed random order, the same for everybody who is measured: for those that a file names, or for
-- all of one zoom.
local paths = {}
local at = 0

function init(args)
  local zoom, prefix, file = tonumber(args[1]), args[2], args[3]
  local names = {}
  if file then
    for name in io.lines(file) do names[#names + 1] = name end
  else
    for x = 0, 2 ^ zoom - 1 do
      for y = 0, 2 ^ zoom - 1 do names[#names + 1] = string.format('%d/%d/%d.png', zoom, x, y) end
    end
  end
  math.randomseed(7)
  for i = 1, 10000 do paths[i] = prefix .. '/' .. names[math.random(#names)] end
end

function request()
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end
