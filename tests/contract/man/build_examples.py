#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Build the examples of the manual pages that are whole programs, and write the other ones to headers.

build_examples.py CC BUILD-FOLDER OUTPUT-FOLDER HEADERS-FOLDER: one program for each example with a main(), named
after its page; several of one page have numbers, page-1 and so on. The functions of a page are in the header
HEADERS-FOLDER/page.h, which the programs in functions/ include.
"""

import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from page import read_pages  # noqa: E402

TREE = Path(__file__).resolve().parents[3]


def main():
    compiler, build, output, headers = sys.argv[1], *(Path(name) for name in sys.argv[2:5])
    for folder in (output, headers):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    for page in read_pages(TREE / "documentation/man"):
        functions = [source for source in page.code("EXAMPLE") if "int main(" not in source]
        if functions:
            (headers / f"{page.name}.h").write_text("\n".join(functions))
        programs = [source for source in page.code("EXAMPLE") if "int main(" in source]
        for number, source in enumerate(programs, 1):
            name = page.name if len(programs) == 1 else f"{page.name}-{number}"
            command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I", build / "include"]
            command += ["-o", output / name, "-xc", "-", "-L", build / "lib"]
            command += ["-Wl,--as-needed", "-luroce", "-lrdmacm", "-libverbs"]
            subprocess.run(command, input=source, text=True, check=True)


if __name__ == "__main__":
    main()
