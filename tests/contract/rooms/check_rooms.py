#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compare the includes and calls of a folder with the plan of its rooms.

check_rooms.py FOLDER PLAN      complain about each include that the plan does not know
check_rooms.py --calls FOLDER OBJECTS PLAN   read the compiled files, and complain about each call of a room above. Also complain
                                if rooms above fill in more than UPCALLS tables of rooms below
check_rooms.py --floors FOLDER OBJECTS PLAN   for a room whose plan puts files on floors: complain about each call of a floor
                                above. A name that ends with "/" means all files of a folder
check_rooms.py --shared TREE PLAN   for rooms that several folders share: complain about each user that the plan does not know
check_rooms.py --self-test      prove that each kind of mistake is found
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\}", re.M | re.S)
POINTER = re.compile(r"\(\*\w+\)\s*\(")
FILLED = re.compile(r"struct (\w+)(?: \w+ = |\))\s*\{")
SYMBOL = re.compile(r"(?:[0-9a-f]+)?\s+([A-Za-z]) (\S+)")
UPCALLS = 5
NEIGHBOURS = 5  # files of a floor, which may call each other


def plan_read(text):
    """Return the rooms in order, each with the rooms that it may include, and the mistakes of the plan."""
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
    """Return why the file may not include the other one, or None."""
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


def files_of(folder, suffixes):
    for file in sorted(p for p in Path(folder).rglob("*") if p.suffix in suffixes):
        yield str(file.relative_to(folder)), file


def symbols_of(objects):
    """Return for the path of each object the symbols that it defines, and the symbols that it imports."""
    found = {}
    for path, file in files_of(objects, (".o",)):
        lines = subprocess.run(["nm", file], capture_output=True, text=True, check=True).stdout.splitlines()
        symbols = [m.groups() for m in map(SYMBOL.match, lines) if m]
        found[path] = ({n for k, n in symbols if k.isupper() and k != "U"}, {n for k, n in symbols if k == "U"})
    return found


def calls_wrong(rooms, symbols):
    order = {room: i for i, room in enumerate(rooms)}
    owner = {name: room_of(path) for path, (defined, _) in symbols.items() for name in defined}
    wrong = [] if owner else ["no symbol in any object"]
    for path, (_, wanted) in symbols.items():
        for name in sorted(wanted & owner.keys()):
            if order[owner[name]] > order[room_of(path)]:
                wrong.append(f"{path}: calls {name}() of {owner[name]}, which is above it")
    return wrong


def tables_wrong(rooms, folder):
    """Check the number of tables of functions that a room declares and a room above fills in. They are calls upwards."""
    order = {room: i for i, room in enumerate(rooms)}
    texts = {path: file.read_text() for path, file in files_of(folder, (".c", ".h")) if "/infiniband/" not in path}
    tables = {name: room_of(path) for path, text in texts.items() for name, body in STRUCT.findall(text)
              if POINTER.search(body)}
    filled = {(name, tables[name]) for path, text in texts.items() for name in FILLED.findall(text)
              if name in tables and order[tables[name]] < order[room_of(path)]}
    return [f"{len(filled)} tables for calls upwards, of {UPCALLS}: " +
            ", ".join(f"{name} of {room}" for name, room in sorted(filled))] if len(filled) > UPCALLS else []


def calls_check(folder, objects, plan):
    rooms, wrong = plan_read(plan)
    return wrong + calls_wrong(rooms, symbols_of(objects)) + tables_wrong(rooms, folder)


def floors_read(text):
    """Return the floor of each file, and the mistakes of the plan."""
    lines = [line.split("#", 1)[0].split() for line in text.splitlines()]
    floors = {name: number for number, names in enumerate(lines) for name in names}
    wrong = [f"plan: {names[0]} has {len(names)} files on its floor, of {NEIGHBOURS}" for names in lines
             if len(names) > NEIGHBOURS]
    return floors, wrong


def floors_wrong(plan, symbols):
    """Return the wrong calls between the files of a room. Objects have names such as file.c.o."""
    floors, wrong = floors_read(plan)
    symbols = {path.removesuffix(".o"): both for path, both in symbols.items()}
    floors |= {path: floors[folder] for path in symbols if (folder := path.split("/")[0] + "/") in floors}
    wrong += [f"plan: {name} has no floor" for name in sorted(symbols.keys() - floors.keys())]
    wrong += [f"plan: {name} was not compiled" for name in sorted(floors.keys() - symbols.keys())
              if not any(path.startswith(name) for path in symbols)]
    if wrong:
        return wrong
    owner = {name: path for path, (defined, _) in symbols.items() for name in defined}
    return [f"{path}: calls {name}() of {owner[name]}, which is above it" for path, (_, wanted) in symbols.items()
            for name in sorted(wanted & owner.keys()) if floors[owner[name]] > floors[path]]


def sources(tree):
    """Yield the paths of C files of the tree, without hidden folders and build folders."""
    for folder, below, files in os.walk(tree):
        below[:] = [b for b in below if b[0] != "." and not (Path(folder) / b / "CMakeCache.txt").exists()]
        yield from (Path(folder, f).relative_to(tree) for f in sorted(files) if f.endswith((".c", ".h")))


def shared_read(text):
    """Return each room with its users."""
    lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
    return {room: users.split() for room, users in (line.split(":", 1) for line in lines if line)}


def user_wrong(rooms, path, included):
    """Return why a file outside of the included room may not include it, or None."""
    here, there = room_of(path), room_of(included)
    if there not in rooms or here == there:
        return None
    if not any(here == user or here.startswith(user + "/") for user in rooms[there]):
        return f"{path}: includes {included}, and is no user of {there}"
    if included != door_of(there):
        return f"{path}: includes {included}, which is not the door of {there}: {door_of(there)}"
    return None


def shared_check(tree, plan):
    rooms, wrong = shared_read(plan), []
    for room, users in rooms.items():
        wrong += [f"plan: {room} has no door {door_of(room)}"] if not (tree / door_of(room)).is_file() else []
        wrong += [f"plan: {room} has the user {g}, which is not there" for g in users if not (tree / g).is_dir()]
    for path in sources(tree):
        for included in INCLUDE.findall((tree / path).read_text(errors="replace")):
            wrong.append(user_wrong(rooms, str(path), included))
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


SHARED = "providers/s: providers/p providers/q # both\n"
TOWN = {
    "providers/s/s.h": "",
    "providers/s/own.h": "",
    "providers/s/s.c": '#include "providers/s/own.h"\n',
    "providers/p/p.c": '#include "providers/s/s.h"\n#include "own.h"\n',
    "providers/q/deep/q.c": '#include "providers/s/s.h"\n',
    "providers/sr/sr.c": '#include "providers/sr/sr.h"\n',
    "built/CMakeCache.txt": "",
    "built/copy.c": '#include "providers/s/s.h"\n',
}
INTO = '#include "providers/s/s.h"\n'
PAST = '#include "providers/s/own.h"\n'
INTRUSIONS = [
    ("r.c: includes providers/s/s.h, and is no user", SHARED, {"providers/r/r.c": INTO}),
    ("pq.h: includes providers/s/s.h, and is no user", SHARED, {"providers/pq/pq.h": " " + INTO}),
    ("main.c: includes providers/s/own.h, and is no user", SHARED, {"main.c": PAST}),
    ("p.c: includes providers/s/own.h, which is not the door", SHARED, {"providers/p/p.c": PAST}),
    ("no user of providers/s", SHARED.replace("providers/p ", ""), {}),
    ("has no door", SHARED + "providers/t: providers/p\n", {}),
    ("which is not there", SHARED.replace("#", "providers/gone #"), {}),
]


def town_check(plan, change):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**TOWN, **change}.items():
            Path(root, path).parent.mkdir(parents=True, exist_ok=True)
            Path(root, path).write_text(text)
        return shared_check(Path(root), plan)


def house_check(plan, change):
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "providers" / "p"
        for path, text in {**HOUSE, **change}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder_check(folder, plan)


SYMBOLS = {"base/base.c.o": ({"lock"}, {"printf"}), "host/host.c.o": ({"tell"}, {"lock"})}
UPWARDS = {"wire/wire.c.o": ({"pack"}, {"lock", "tell"})}


def table_house(count):
    """Return files in which base declares @count tables, and host fills in all of them."""
    ops = "".join(f"struct ops{i} {{\n\tint (*call)(int a);\n}};\n" for i in range(count))
    use = "".join(f"static const struct ops{i} mine{i} = {{ call }};\n" for i in range(count - 1))
    return {"base/base.h": ops, "host/host.c": use + f"\thost->ops = (struct ops{count - 1}){{ call }};\n"}


def calls_test():
    rooms, _ = plan_read(PLAN)
    failed = [f"the sound house's calls: {w}" for w in calls_wrong(rooms, SYMBOLS)]
    if calls_wrong(rooms, {**SYMBOLS, **UPWARDS}) != ["wire/wire.c.o: calls tell() of host, which is above it"]:
        failed.append("not found: a call upwards")
    if not calls_wrong(rooms, {}):
        failed.append("not found: no symbols")
    for count, found in ((UPCALLS, 0), (UPCALLS + 1, 1)):
        with tempfile.TemporaryDirectory() as root:
            for path, text in table_house(count).items():
                Path(root, path).parent.mkdir(parents=True, exist_ok=True)
                Path(root, path).write_text(text)
            if len(tables_wrong(rooms, root)) != found:
                failed.append(f"{count} tables: {tables_wrong(rooms, root)}")
    return failed


def floors_test():
    symbols = {"a.c.o": ({"low"}, set()), "b.c.o": ({"left"}, {"low", "right"}), "c.c.o": ({"right"}, {"left"})}
    cases = [
        ("a.c\nb.c c.c # a pair\n", []),
        ("b.c c.c\na.c\n", ["b.c: calls low() of a.c, which is above it"]),
        ("a.c\nb.c\n", ["plan: c.c has no floor"]),
        ("a.c\nb.c c.c\nd.c\n", ["plan: d.c was not compiled"]),
        ("a.c\nb.c c.c\nd/\n", ["plan: d/ was not compiled"]),
        ("a.c b.c c.c d.c e.c f.c\n", ["plan: a.c has 6 files on its floor, of 5", "plan: d.c was not compiled",
                                       "plan: e.c was not compiled", "plan: f.c was not compiled"]),
    ]
    failed = [f"floors {plan!r}: {floors_wrong(plan, symbols)}" for plan, expected in cases
              if floors_wrong(plan, symbols) != expected]
    below = {**symbols, "d/e.c.o": ({"deep"}, {"low", "left"})}
    for plan, expected in (("a.c\nb.c c.c\nd/\n", []),
                           ("a.c\nd/\nb.c c.c\n", ["d/e.c: calls left() of b.c, which is above it"])):
        if floors_wrong(plan, below) != expected:
            failed.append(f"floors {plan!r}: {floors_wrong(plan, below)}")
    return failed


def self_test():
    failed = [f"the sound house: {w}" for w in house_check(PLAN, {}) + town_check(SHARED, {})] + calls_test() + floors_test()
    for check, mistakes in (house_check, MISTAKES), (town_check, INTRUSIONS):
        for expected, plan, change in mistakes:
            found = check(plan, change)
            if not any(expected in w for w in found):
                failed.append(f"not found: {expected}; found: {found}")
    return failed


def main():
    if sys.argv[1:] == ["--self-test"]:
        wrong = self_test()
    elif sys.argv[1] == "--calls":
        wrong = calls_check(sys.argv[2], sys.argv[3], Path(sys.argv[4]).read_text())
    elif sys.argv[1] == "--floors":
        # The build folder may have an old object whose source has gone.
        symbols = {path: both for path, both in symbols_of(sys.argv[3]).items() if Path(sys.argv[2], path[:-2]).exists()}
        wrong = floors_wrong(Path(sys.argv[4]).read_text(), symbols)
    elif sys.argv[1] == "--shared":
        wrong = shared_check(Path(sys.argv[2]), Path(sys.argv[3]).read_text())
    else:
        wrong = folder_check(sys.argv[1], Path(sys.argv[2]).read_text())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
