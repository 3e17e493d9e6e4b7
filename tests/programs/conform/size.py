#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Check that rdma-conform has at most 6,000 lines of C, without comments and empty lines.

usage: size.py FOLDER
"""
import re
import sys
from pathlib import Path

MOST = 6000


def lines_of(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return sum(bool(line.strip()) for line in text.splitlines())


def main():
    files = sorted(Path(sys.argv[1]).glob("*.[ch]"))
    count = sum(lines_of(file.read_text()) for file in files)
    if not files or count > MOST:
        sys.exit(f"{count} lines in {len(files)} files, at most {MOST} are permitted: share repeated code")
    print(f"{count} lines in {len(files)} files")


main()
