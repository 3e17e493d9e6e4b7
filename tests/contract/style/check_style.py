#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the tree is written: its sentences and the subjects of its commits.

check_style.py prose TREE LIMITS    complain about each riddle (prose.py) of a place that has more than its limit
check_style.py list TREE [PATH...]  print the riddles of these files or folders, or of the whole tree
check_style.py commits TREE FIRST   complain about subjects of the commits after FIRST
check_style.py readme FOLDER        complain about files of FOLDER without a line in its README.md, and lines without a file
check_style.py inventory FOLDER PAGE [write]
                                    compare PAGE's table of the folders below FOLDER with the first comments of their
                                    CMakeLists.txt, or write the table
check_style.py subject              complain about the commit message on standard input
check_style.py self-test            prove that each kind of mistake is found
"""
import collections
import itertools
import re
import subprocess
import sys
from pathlib import Path

import prose

SUBJECT_LENGTH = 72
INVENTORY = ("<!-- inventory -->", "<!-- end of the inventory -->")
NO_IMPERATIVE = re.compile(r"^(?:a|an|the|who|what|that|those|one|it|each|some|no|nobody|nothing|\w+(?:ed|ing|s))\b", re.I)
# Imperatives that end like another form of a verb.
IMPERATIVE = {"pass", "process", "preprocess", "address", "discuss", "express", "guess", "need", "feed", "seed", "embed",
              "bring", "string", "access", "press", "bypass", "focus", "exceed", "proceed", "succeed", "shed"}


def git(tree, *arguments):
    return subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True)


def tree_files(tree, paths=()):
    listed = git(tree, "ls-files", "--", *(paths or ["*.c", "*.h", "*.md"]))
    if listed.returncode:
        raise SystemExit(f"check_style: {tree}: {listed.stderr.strip()}")
    return [path for path in listed.stdout.split()
            if path.endswith((".c", ".h", ".md")) and not path.startswith("kernel-headers/") and (Path(tree) / path).exists()]


def tree_riddles(tree, paths=()):
    for path in tree_files(tree, paths):
        for number, sentence, patterns in prose.file_riddles(path, (Path(tree) / path).read_text(errors="replace")):
            yield path, f"{path}:{number}: {sentence} [{', '.join(patterns)}]"


def limits_read(text):
    """Places in order and the riddles each may still have."""
    rows = [line.split("#", 1)[0].split() for line in text.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row}


def place_of(path, limits):
    """The longest place of the list that the path lies in; '.' is the rest of the tree."""
    inside = [place for place in limits if path == place or path.startswith(place + "/")]
    return max(inside, key=len, default=".")


def prose_wrong(riddles, limits):
    """The riddles of each place that has more than its limit."""
    places = collections.defaultdict(list)
    for path, line in riddles:
        places[place_of(path, limits)].append(line)
    wrong = []
    for place, lines in places.items():
        limit = limits.get(place, 0)
        if len(lines) > limit:
            wrong += lines + [f"{place}: {len(lines)} sentences to read twice, at most {limit} are allowed"]
    return wrong


def subject_wrong(subject):
    """Why this is no subject of a commit, or None."""
    if subject.startswith(("Merge ", "Revert ", "fixup! ", "squash! ")):
        return None
    if len(subject) > SUBJECT_LENGTH:
        return f"{len(subject)} characters, at most {SUBJECT_LENGTH} are allowed"
    if ";" in subject:
        return "a ';' joins two things: make two commits"
    if ": " not in subject:
        return "no component before the first ': '"
    words = subject.rsplit(": ", 1)[1].split()
    if not words:
        return "nothing after the component"
    if NO_IMPERATIVE.match(words[0]) and words[0].lower() not in IMPERATIVE:
        return f"'{words[0]}' is no imperative: say what the commit does to the code"
    return None


def commits_wrong(tree, first):
    if git(tree, "merge-base", "--is-ancestor", first, "HEAD").returncode:
        print(f"{tree} has no history back to {first}")
        raise SystemExit(77)
    log = git(tree, "log", "--no-merges", "--format=%h%x09%s", f"{first}..HEAD").stdout
    rows = [line.split("\t", 1) for line in log.splitlines()]
    return [f"{commit} {subject}: {why}" for commit, subject in rows for why in [subject_wrong(subject)] if why]


def readme_wrong(files, text):
    """The tables of a README name each file, and nothing else, in code spans of the first column."""
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("|")]
    named = {name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    return ([f"README.md: no line for {name}" for name in sorted(files - named)]
            + [f"README.md: there is no {name}" for name in sorted(named - files)])


def inventory_row(folder, source):
    """A row of the table from the first paragraph of comment: sentences, and a last one that begins with "Needs:"."""
    lines = source.splitlines()[1:]
    comment = " ".join(line[2:] for line in itertools.takewhile(lambda line: line.startswith("# "), lines))
    what, _, needs = comment.partition(" Needs: ")
    linked = re.sub(r"\bdocumentation/([\w/-]+\.md)", r"[\1](\1)", what)
    return f"| `{folder}` | {linked.rstrip('.')} | {needs.rstrip('.')} |", bool(needs)


def inventory(folder):
    """The table of the folders below @folder, and complaints about comments that are no rows."""
    rows, wrong = ["| folder | what | needs |", "| --- | --- | --- |"], []
    lists = [path for depth in ("*", "*/*") for path in Path(folder).glob(f"{depth}/CMakeLists.txt")]
    for path in sorted(path for path in lists if path.parent.parent.name != "unit"):
        row, whole = inventory_row(f"{Path(folder).name}/{path.parent.relative_to(folder)}", path.read_text())
        rows.append(row)
        wrong += [] if whole else [f"{path}: the first comment does not end with 'Needs: ...'"]
    return "\n".join(rows) + "\n", wrong


def inventory_wrong(folder, page, write=False):
    table, wrong = inventory(folder)
    begin, end = INVENTORY
    before, _, rest = Path(page).read_text().partition(begin + "\n")
    old, _, after = rest.partition(end)
    if write:
        Path(page).write_text(f"{before}{begin}\n\n{table}\n{end}{after}")
        return wrong
    missing, extra = set(table.splitlines()), set(old.splitlines()) - {""}
    return wrong + [f"{page}: no line '{line}'" for line in sorted(missing - extra)] + [
        f"{page}: no comment says '{line}'" for line in sorted(extra - missing)]


def folder_files(folder):
    """Return the names of the files and folders in @folder."""
    return {path.name for path in Path(folder).iterdir()} - {"README.md", "__pycache__"}


RIDDLES = [
    "Who listens shows it to nobody.",
    "What of an entry is not plain goes there alone.",
    "The number is the program's again, and nobody has it.",
    "Those that wait are told of it, for the peer has none.",
    "Of what a peer can reach nothing is said.",
]
PLAIN = [
    "Return the number of completions, or a negative errno.",
    "Wait until no peer copies from the region.",
    "The kernel's queue pair exists: map its rings and enter its number.",
    "Bits that send a completion to the slow path.",
]
BAD_SUBJECTS = [
    "uroce/shm: a slow processor is not taken for one far away",
    "tests: wait for the server; print its port",
    "documentation: " + "explain " * 10,
    "rxe: fixes the length of a list",
    "Add a test",
    "mlx5: ",
]
GOOD_SUBJECTS = [
    "uroce/shm: wait for copies of a peer before a queue pair ends",
    "tests/lib: pass child results as 32 bits",
    "rdma-ndd: warn about unknown % sequences",
]


def self_test():
    wrong = [f"not found: {s}" for s in RIDDLES if not prose.riddle(s)]
    wrong += [f"found: {s}" for s in PLAIN if prose.riddle(s)]
    source = "int x; /* " + RIDDLES[0] + "\n * " + PLAIN[0] + " */\nchar *s = \"/* " + RIDDLES[1] + " */\";\n// " + RIDDLES[2]
    found = [number for number, *_ in prose.file_riddles("a.c", source)]
    wrong += [] if found == [1, 4] else [f"comments of C: lines {found}"]
    page = "# Page\n\n" + RIDDLES[0] + "\n\n```\n" + RIDDLES[1] + "\n```\n\n* " + RIDDLES[2] + "\n\n| x | " + RIDDLES[3] + " |\n"
    found = [number for number, *_ in prose.file_riddles("a.md", page)]
    wrong += [] if found == [3, 9, 11] else [f"a page: lines {found}"]
    riddles = [("a/b/c.c", "1"), ("a/b/d.c", "2"), ("a/e.c", "3"), ("f.c", "4")]
    limits = limits_read("a/b 1 # of two\na 1\n. 0\n")
    wrong += [] if [w.split(":")[0] for w in prose_wrong(riddles, limits)] == ["1", "2", "a/b", "4", "."] else ["limits"]
    readme = readme_wrong({"a", "b", "c"}, "| file | purpose |\n| `a`, `d/` | see `c` |\n")
    wrong += [] if [line.split()[-1] for line in readme] == ["b", "c", "d"] else [f"readme: {readme}"]
    source = "# SPDX\n# Test a part:\n# documentation/a.md.\n# Needs: nothing.\n#\n# More.\n"
    if inventory_row("tests/a", source) != ("| `tests/a` | Test a part: [a.md](a.md) | nothing |", True):
        wrong.append("a row of the inventory")
    wrong += ["a comment without needs"] if inventory_row("tests/a", "# SPDX\n# Test a part.\n")[1] else []
    wrong += [f"taken: {s}" for s in BAD_SUBJECTS if not subject_wrong(s)]
    wrong += [f"refused: {s}: {subject_wrong(s)}" for s in GOOD_SUBJECTS if subject_wrong(s)]
    return wrong


def main(arguments):
    if arguments[:1] == ["self-test"]:
        wrong = self_test()
    elif arguments[:1] == ["prose"] and len(arguments) == 3:
        wrong = prose_wrong(tree_riddles(arguments[1]), limits_read(Path(arguments[2]).read_text()))
    elif arguments[:1] == ["list"] and len(arguments) >= 2:
        wrong = [line for _, line in tree_riddles(arguments[1], arguments[2:])]
    elif arguments[:1] == ["commits"] and len(arguments) == 3:
        wrong = commits_wrong(arguments[1], arguments[2])
    elif arguments[:1] == ["readme"] and len(arguments) == 2:
        wrong = readme_wrong(folder_files(arguments[1]), (Path(arguments[1]) / "README.md").read_text())
    elif arguments[:1] == ["inventory"] and len(arguments) in (3, 4):
        wrong = inventory_wrong(*arguments[1:3], write=arguments[3:] == ["write"])
    elif arguments == ["subject"]:
        subject = sys.stdin.readline().rstrip("\n")
        why = subject_wrong(subject)
        wrong = [f"{subject}: {why}"] if why else []
    else:
        raise SystemExit(__doc__)
    print("\n".join(wrong) if wrong else "nothing wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
