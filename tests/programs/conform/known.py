#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that rdma-conform reads its files of known deviations, and that a known deviation is no failure.

usage: known.py FOLDER PROGRAM FAULTY-LIBRARY
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def status(program, *options, **environment):
    run = subprocess.run([program, *options], env=dict(os.environ, **environment), capture_output=True, text=True)
    return run.returncode, run.stdout


def main():
    folder, program, library = sys.argv[1:]
    files = sorted(Path(folder).iterdir())
    rules = re.findall(r"^ *(\d+)  ", status(program, "--list")[1], re.M)
    if len(files) < 2 or status(program, *(f"--known={f}" for f in files), "--list")[0]:
        sys.exit(f"rdma-conform does not read the files of {folder}")
    for file in files:
        lines = [line for line in file.read_text().splitlines() if line and line[0] != "#"]
        form = re.compile(r"\S+: rule (\d+)(?: if [a-z]+)?: .{10,159}")
        wrong = [line for line in lines if not (match := form.fullmatch(line)) or match[1] not in rules]
        if wrong or not lines:
            sys.exit(f"{file}: {wrong or 'has no line'}")
    broken = ["--device", os.environ["RT_DEVICE"], "--rules", "29", "--first", "--no-shrink", "--quiet", "--programs", "100"]
    lines = {"uroce_*: rule 29: a reason": 0, "rxe*: rule 29: a reason": 1, "uroce_*: rule 30: a reason": 1,
             "uroce_*: rule 29 if recv: a reason": 0, "uroce_*: rule 29 if mcast: a reason": 1}
    for line, code in lines.items():
        with tempfile.NamedTemporaryFile("w") as known:
            print(line, file=known, flush=True)
            seen, text = status(program, *broken, "--known", known.name, FAULTY="length", LD_PRELOAD=library)
        if seen != code or ("as known: a reason" in text) == bool(code):
            sys.exit(f"with the line {line!r} the exit code is {seen}, not {code}:\n{text}")


if __name__ == "__main__":
    main()
