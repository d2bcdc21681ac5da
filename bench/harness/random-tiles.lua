-- Requests the tiles that a file names in a fixed random order, the same for all contestants. With a third argument each
-- connection pauses before every request, for that many milliseconds on average.
local paths = {}
local at = 0

function init(args)
  local prefix, file, pause = args[1], args[2], tonumber(args[3] or 0)
  local names = {}
  for name in io.lines(file) do names[#names + 1] = name end
  math.randomseed(7)
  for i = 1, math.max(10000, #names) do paths[i] = prefix .. '/' .. names[math.random(#names)] end
  if pause > 0 then
    function delay() return math.random(0, 2 * pause) end
  end
end

function request()
  at = at % #paths + 1
  return wrk.format('GET', paths[at])
end
