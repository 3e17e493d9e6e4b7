#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that the manual page lists the rules of rdma-conform --list. With --write, write them into the page.

usage: page.py PROGRAM PAGE [--write]
"""
import re
import subprocess
import sys

HEAD = "| rule | name | sentence and source |\n| --- | --- | --- |\n"


def table(program):
    rows = []
    for line in subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout.splitlines():
        number, name, sentence, source = re.fullmatch(r" *(\d+) +(\S+) +(.*?)  \[(.*)\]", line).groups()
        rows.append(f"| {number} | {name} | {sentence} [{source}] |\n")
    return HEAD + "".join(rows)


def main():
    program, path = sys.argv[1:3]
    page = open(path, encoding="utf-8").read()
    before, rest = page.split("## Rules\n\n", 1)
    old, behind = rest.split("\n## Known deviations\n", 1)
    new = table(program)
    if sys.argv[3:] == ["--write"]:
        open(path, "w", encoding="utf-8").write(before + "## Rules\n\n" + new + "\n## Known deviations\n" + behind)
    elif old != new:
        sys.exit(f"{path} does not have the rules of {program} --list: run {sys.argv[0]} {program} {path} --write")


main()
