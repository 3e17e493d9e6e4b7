#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that each rule of rdma-conform --list has a fault, and a row in documentation/conform.md with this fault and the number
of programs that found it.

With --write, enter the rows of files that faults.sh has printed. Keep the rows of other rules.

usage: table.py PROGRAM FAULTS FAULTY-SOURCE PAGE [--write FILE...]
"""
import re
import subprocess
import sys
from pathlib import Path

MOST = 1000  # programs
ROW = re.compile(r"\| (\d+) \| (\S+( \(one process\))?) \| (\d+) \|")


def rows_of(text):
    return {int(m[1]): (m[2], int(m[4])) for line in text.splitlines() if (m := ROW.fullmatch(line))}


def faults_of(path):
    lines = [line.split() for line in Path(path).read_text().splitlines() if line[0] != "#"]
    return {int(rule): fault + " (one process)" * bool(options) for rule, fault, *options in lines}


def wrong(rules, faults, source, rows):
    """Yield a text for each mistake of the table."""
    for rule in sorted(rules | faults.keys() | rows.keys()):
        fault, (named, programs) = faults.get(rule), rows.get(rule, (None, 0))
        if rule not in rules:
            yield f"rule {rule} does not exist"
        elif not fault or f'"{fault.split()[0]}"' not in source:
            yield f"rule {rule} has no fault: {fault}"
        elif named != fault:
            yield f"rule {rule} has the fault {fault}, and the table has {named}"
        elif not 1 <= programs <= MOST:
            yield f"rule {rule} needs {programs} programs, and must need at most {MOST}"


def write(path, page, files):
    new = {}
    for file in files:
        new.update(rows_of(Path(file).read_text()))
    old = [line for line in page.splitlines() if ROW.fullmatch(line)]
    rows = [f"| {rule} | {fault} | {programs} |" for rule, (fault, programs) in sorted((rows_of(page) | new).items())]
    Path(path).write_text(page.replace("\n".join(old), "\n".join(rows)))


def main():
    program, faults, source, path, *files = sys.argv[1:]
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout
    rules = {int(number) for number in re.findall(r"^ *(\d+)  ", listed, re.M)}
    page = Path(path).read_text()
    if files:
        write(path, page, files[1:])
        return
    found = list(wrong(rules, faults_of(faults), Path(source).read_text(), rows_of(page)))
    if found or not rules:
        sys.exit("\n".join(found) or f"{program} lists no rules")
    print(f"{len(rules)} rules have a fault and a row")


main()
