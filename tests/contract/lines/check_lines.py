#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compare the lines of providers with a table of the lines of rdma-core.

check_lines.py PROVIDERS TABLE   complain about each provider above its limit, and about a limit that is too high by now
check_lines.py --self-test       prove that each kind of mistake is found
"""
import sys
import tempfile
from pathlib import Path

LIMIT = 0.60
SLACK = 0.03  # a recorded limit that is higher than needed by more than this is stale


def table_read(text):
    """Return the rows: (names, folders that count, lines of rdma-core, limit, reason)."""
    rows = []
    for line in text.splitlines():
        line = line.split("#", 1)[0].strip()
        if not line:
            continue
        names, lines, limit, reason = (cell.strip() for cell in line.split("|"))
        names, _, shared = names.partition(":")
        rows.append((names.split(), names.split() + shared.split(), 0 if lines == "-" else int(lines), float(limit) if limit else LIMIT, reason))
    return rows


def lines_count(folder):
    return sum(p.read_bytes().count(b"\n") for p in folder.rglob("*") if p.suffix in (".c", ".h"))


def providers_of(folder):
    """Return the names of the folders that make a plug-in."""
    return {p.parent.name for p in folder.glob("*/*.driver")}


def row_wrong(folder, row):
    names, counted, theirs, limit, reason = row
    name = " ".join(names)
    gone = [n for n in counted if not (folder / n).is_dir()]
    if gone:
        return f"{name}: there is no folder {gone[0]}"
    if not theirs:
        return None
    ours = sum(lines_count(folder / n) for n in counted)
    ratio = ours / theirs
    if limit > LIMIT and not reason:
        return f"{name}: the limit {limit:.2f} has no reason"
    if ratio > limit:
        return f"{name}: {ours} lines are {ratio:.2f} of rdma-core's {theirs}, at most {limit:.2f} are allowed"
    if limit > LIMIT and max(ratio, LIMIT) < limit - SLACK:
        return f"{name}: {ours} lines are {ratio:.2f} of rdma-core's {theirs}: lower the limit {limit:.2f}"
    return None


def check(folder, text):
    rows = table_read(text)
    known = {name for row in rows for name in row[0]}
    wrong = [f"{name}: has no row in the table" for name in sorted(providers_of(folder) - known)]
    return wrong + [w for w in (row_wrong(folder, row) for row in rows) if w]


TABLE = "a | 10 | |\nb c : s | 10 | 0.80 | two # kinds\n"
CASES = [
    (None, TABLE, {}),
    ("a: 7 lines are 0.70 of rdma-core's 10, at most 0.60", TABLE, {"a/a.c": "\n" * 7}),
    ("b c: 9 lines are 0.90", TABLE, {"s/s.h": "\n" * 6}),
    ("d: has no row", TABLE, {"d/d.driver": ""}),
    (None, TABLE + "d | - | |\n", {"d/d.driver": "", "d/d.c": "\n"}),
    ("no folder gone", TABLE + "gone | 1 | |\n", {}),
    ("has no reason", TABLE.replace("two", ""), {}),
    ("lower the limit 0.80", TABLE, {"s/s.h": ""}),
]


def self_test():
    wrong = []
    for expected, table, change in CASES:
        with tempfile.TemporaryDirectory() as root:
            files = {"a/a.c": "\n" * 6, "a/a.driver": "\n" * 99, "b/b.c": "\n\n", "c/c.c": "\n", "s/s.h": "\n" * 5, **change}
            for path, text in files.items():
                Path(root, path).parent.mkdir(exist_ok=True)
                Path(root, path).write_text(text)
            found = check(Path(root), table)
        if (not expected and found) or (expected and (len(found) != 1 or expected not in found[0])):
            wrong.append(f"expected {expected!r}, found {found}")
    return wrong


def main():
    wrong = self_test() if sys.argv[1] == "--self-test" else check(Path(sys.argv[1]), Path(sys.argv[2]).read_text())
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
