-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- Column widths for tables of manual pages: as wide as their text where a line has room for all of them, else
-- the columns with the most slack give way, none below its longest word. pandoc's own widths follow the dashes
-- of the source and are wider than a line of man(1).

local LINE = 68 -- characters of an 80-column page, without the indentation
local GAP = 3   -- between columns
local UNIT = 70 -- characters that pandoc takes for the width 1.0

local function longest_word(text)
  local longest = 0
  for word in text:gmatch("%S+") do
    longest = math.max(longest, utf8.len(word))
  end
  return longest
end

local function measure(rows, column)
  local text, word = 1, 1
  for _, row in ipairs(rows) do
    local cell = pandoc.utils.stringify(row[column])
    text = math.max(text, utf8.len(cell))
    word = math.max(word, longest_word(cell))
  end
  return { width = text, least = word }
end

local function shrink(columns, room)
  local total = 0
  for _, column in ipairs(columns) do
    total = total + column.width
  end
  while total > room do
    table.sort(columns, function(a, b) return a.width - a.least > b.width - b.least end)
    if columns[1].width == columns[1].least then
      return
    end
    columns[1].width = columns[1].width - 1
    total = total - 1
  end
end

function Table(source)
  local simple = pandoc.utils.to_simple_table(source)
  local columns, rows = {}, { simple.headers }
  for _, row in ipairs(simple.rows) do
    rows[#rows + 1] = row
  end
  for i = 1, #simple.widths do
    columns[i] = measure(rows, i)
  end
  local by_size = { table.unpack(columns) }
  shrink(by_size, LINE - GAP * (#columns - 1))
  for i, column in ipairs(columns) do
    simple.widths[i] = column.width / UNIT
  end
  return pandoc.utils.from_simple_table(simple)
end
