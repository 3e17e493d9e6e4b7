#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hold a folder's includes against the plan of its rooms.

check_rooms.py FOLDER PLAN      complain about each include that the plan does not know
check_rooms.py --self-test      prove that each kind of mistake is found
"""
import re
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def plan_read(text):
    """The rooms in order, each with the doors it may open; and what is wrong with the plan itself."""
    rooms, wrong = {}, []
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        room, doors = line.split(":", 1)
        for door in doors.split():
            if door not in rooms:
                wrong.append(f"plan: {room} opens {door}, which is not below it")
        rooms[room] = set(doors.split())
    return rooms, wrong


def door_of(room):
    return f"{room}/{room.split('/')[-1]}.h"


def room_of(path):
    parent = str(Path(path).parent)
    return "." if parent == "" else parent


def include_wrong(rooms, path, included):
    """Why the file may not include that, or None."""
    here, there = room_of(path), room_of(included)
    if here == there:
        return None
    if there not in rooms:
        return f"{path}: includes {included}, which is in no room of the plan"
    if there not in rooms[here]:
        return f"{path}: includes {included}, and the plan has no door from {here} to {there}"
    if included != door_of(there):
        return f"{path}: includes {included}, which is not the door of {there}: {door_of(there)}"
    return None


def folder_check(folder, plan):
    folder = Path(folder)
    prefix = "/".join(folder.resolve().parts[-2:]) + "/"
    rooms, wrong = plan_read(plan)
    for room in rooms:
        if room != "." and not (folder / door_of(room)).is_file():
            wrong.append(f"plan: {room} has no door {door_of(room)}")
    for file in sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h")):
        path = str(file.relative_to(folder))
        if "/infiniband/" in path:  # a public header
            continue
        if room_of(path) not in rooms:
            wrong.append(f"{path}: is in no room of the plan")
            continue
        for included in INCLUDE.findall(file.read_text()):
            if included.startswith(prefix):
                wrong.append(include_wrong(rooms, path, included[len(prefix):]))
    return [w for w in wrong if w]


# --- the self-test: one sound house, and each mistake alone ---

PLAN = "base:\nwire: base\nhost: wire base\n.: host\n"
HOUSE = {
    "base/base.h": "",
    "base/lock.h": "",
    "wire/wire.h": '#include "providers/p/base/base.h"\n',
    "wire/wire.c": '#include "providers/p/wire/wire.h"\n#include <stdio.h>\n#include "util/util.h"\n',
    "host/host.h": '#include "providers/p/wire/wire.h"\n',
    "p.c": '#include "providers/p/host/host.h"\n',
}
MISTAKES = [
    ("no door from base to wire", PLAN, {"base/base.c": '#include "providers/p/wire/wire.h"\n'}),
    ("not the door of base", PLAN, {"wire/wire.h": '#  include "providers/p/base/lock.h"\n'}),
    ("no door from . to wire", PLAN, {"p.c": '#include "providers/p/wire/wire.h"\n'}),
    ("is in no room", PLAN, {"cellar/cellar.c": ""}),
    ("which is in no room", PLAN, {"host/host.h": '#include "providers/p/cellar/cellar.h"\n'}),
    ("has no door", PLAN.replace(".: host", "roof: host\n.: host"), {}),
    ("not below it", PLAN.replace("base:", "base: host"), {}),
]


def house_check(plan, change):
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "providers" / "p"
        for path, text in {**HOUSE, **change}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder_check(folder, plan)


def self_test():
    failed = [f"the sound house: {w}" for w in house_check(PLAN, {})]
    for expected, plan, change in MISTAKES:
        found = house_check(plan, change)
        if not any(expected in w for w in found):
            failed.append(f"not found: {expected}; found: {found}")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        wrong = self_test()
    else:
        wrong = folder_check(sys.argv[1], Path(sys.argv[2]).read_text())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
