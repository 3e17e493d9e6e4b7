#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Follow a recipe of documentation/ to the letter, in a copy of the tree, and build the result.

follow.py verb|provider TREE
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NAME = "ibv_frobnicate_mr"


def run(*command, cwd=None, fails=False):
    """Run a command and return its output. It must succeed, or must fail."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if bool(done.returncode) != fails:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def copy(tree, target):
    listed = subprocess.run(["git", "-C", tree, "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode:
        print(f"{tree} is no git tree")
        sys.exit(77)
    for name in listed.stdout.split("\0"):
        source = tree / name
        if name and source.is_file() and not name.startswith(("tests/adapters/lab/", "tests/fuzz/", "documentation/man/")):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / name)


def blocks(page):
    """The code of a page as (heading, text)."""
    heading, found = "", []
    for match in re.finditer(r"^## ([^\n]+)$|^```\w*\n(.*?)^```$", page, re.M | re.S):
        if match[1]:
            heading = match[1]
        else:
            found.append((heading, match[2]))
    return found


def block(page, heading, number=0):
    found = [text for title, text in blocks(page) if title == heading]
    if number >= len(found):
        sys.exit(f"the recipe has {len(found)} blocks of code below '{heading}', and number {number} is needed")
    return found[number]


def insert(path, before, text):
    """Put @text in front of the last line that begins with @before."""
    whole = path.read_text()
    place = whole.rfind("\n" + before)
    if place < 0:
        sys.exit(f"{path}: no line begins with '{before.strip()}'")
    path.write_text(whole[:place + 1] + text + whole[place + 1:])


def configure(tree):
    run("cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja", "-DRDMA_TESTS=OFF", "-DRDMA_MAN_PAGES=OFF", "-DRDMA_WERROR=ON")


def symbols(tree, fails=False):
    return run("python3", tree / "buildlib/abi_check.py", "symbols", "compare", tree / "build/lib/libibverbs.so.1", "--baseline",
               tree / "tests/contract/abi/libibverbs-44.symbols", "--additions", tree / "tests/contract/abi/libibverbs-additions", fails=fails)


def verb(tree, page):
    insert(tree / "libibverbs/include/infiniband/verbs/mr.h", "#ifdef __cplusplus\n}", block(page, "1. The header") + "\n")
    mr = tree / "libibverbs/mr.c"
    mr.write_text(mr.read_text() + "\n" + block(page, "2. The function"))
    insert(tree / "libibverbs/objects.h", "struct verbs_rereg_mr {", block(page, "3. The op", 0) + "\n")
    insert(tree / "libibverbs/provider.h", "\tint (*dereg_mr)(", block(page, "3. The op", 1))
    insert(tree / "libibverbs/libibverbs.map", "IBVERBS_PRIVATE_", f"IBVERBS_1.99 {{\n\tglobal:\n{block(page, '5. The map')}}};\n\n")
    configure(tree)
    run("cmake", "--build", tree / "build", "--target", "ibverbs")
    if NAME not in symbols(tree, fails=True):
        sys.exit(f"{NAME} without an addition is not reported")
    additions = tree / "tests/contract/abi/libibverbs-additions"
    additions.write_text(additions.read_text() + "\n" + block(page, "6. The additions"))
    print(symbols(tree))
    print(run("python3", tree / "buildlib/abi_check.py", "layout", "compare", *(f"infiniband/{name}.h" for name in ("verbs", "opcode", "sa", "tm_types")),
              "--include", tree / "build/include", "--baseline", tree / "tests/contract/abi/libibverbs-44.layout",
              "--additions", additions))


def provider(tree, page):
    folder = tree / "providers/example"
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text("rdma_provider(example WITH kit)\n")
    (folder / "example.driver").write_text(block(page, "The driver file").replace("<name>", "example").replace("<prefix>", "example"))
    (folder / "example.c").write_text(block(page, "The struct"))
    configure(tree)
    run("cmake", "--build", tree / "build", "--target", "example")
    made = [path.name for path in (tree / "build/lib").rglob("*example*")]
    if len([name for name in made if name.endswith((".so", ".driver"))]) != 2:
        sys.exit(f"not a plug-in and a driver file: {made}")
    print("built: " + ", ".join(sorted(made)))


def main(recipe, tree):
    tree = Path(tree).resolve()
    page = (tree / f"documentation/adding-a-{recipe}.md").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        copied = Path(scratch) / "tree"
        copy(tree, copied)
        {"verb": verb, "provider": provider}[recipe](copied, page)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("verb", "provider"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
